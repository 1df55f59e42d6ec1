"""How earlier versions worded what ready-made criteria say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files


@cache
def earlier_texts() -> Mapping[str, Sequence[str]]:
    """A text of today → the same text of earlier versions."""
    import yaml

    found: dict[str, list[str]] = yaml.safe_load(
        (files(__package__) / "data" / "earlier.yaml").read_text(encoding="utf-8")
    )
    return found
