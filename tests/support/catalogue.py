"""What the catalogue of ready-made criteria holds."""

from __future__ import annotations

from adjudge.catalog.criteria import all_names, entry
from adjudge.catalog.entry import Kind


def criteria_names(kind: Kind = "direct", language: str = "en") -> list[str]:
    """What there is of a kind, by the alphabet."""
    return [name for name in all_names(language) if entry(name, language).kind == kind]
