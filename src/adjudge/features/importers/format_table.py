"""All formats, and which one a file is in: by its structure, never by its name."""

from __future__ import annotations

from contextlib import nullcontext

from adjudge.features.importers.format import Format
from adjudge.features.importers.source import Head
from adjudge.plugins import Parts

FORMATS: Parts[Format] = Parts("importers")
"""By what ``--as`` calls them."""


def detect(head: Head) -> Format | None:
    """The format of a file that begins like this; None where none fits. Plugins are asked last."""
    return next((one for one in FORMATS.load_all() if _matches(one, head)), None)


def _matches(one: Format, head: Head) -> bool:
    part = FORMATS.find(one.name)
    with part.blamed() if part else nullcontext():
        return one.matches(head)
