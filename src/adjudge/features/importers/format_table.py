"""All formats, and the recognition of a file's format by its structure, never by its name."""

from __future__ import annotations

from contextlib import nullcontext

from adjudge.features.importers.format import Format
from adjudge.features.importers.source import Head
from adjudge.plugins import Parts

FORMATS: Parts[Format] = Parts("importers")
"""Formats by their ``--as`` names."""


def detect(head: Head) -> Format | None:
    """Return the first format that matches the head, or None. Plugins are tried last."""
    return next((candidate for candidate in FORMATS.load_all() if _matches(candidate, head)), None)


def _matches(candidate: Format, head: Head) -> bool:
    part = FORMATS.find(candidate.name)
    with part.blame_package() if part else nullcontext():
        return candidate.matches(head)
