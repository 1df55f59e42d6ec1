"""Paths into foreign JSON: ``a.b[0]``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adjudge.core.domain.json_types import JsonValue
from adjudge.errors import SetupError

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|\[\"([^\"]*)\"\]")


class NotThere(Exception):
    """Raised if a path leads nowhere."""


def steps_of(path: str) -> list[str | int]:
    """Split ``a.b[0]["c d"]`` into keys and indexes; SetupError if it is written otherwise."""
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path):
        match = _STEP.match(path, at)
        if not match:
            raise SetupError("the path {path!r} is invalid: write it like a.b[0]", path=path)
        name, place, quoted = match.groups()
        steps.append(int(place) if place is not None else name if name is not None else quoted)
        at = match.end()
    return steps


def value_at(found: JsonValue, path: str) -> JsonValue:
    """Return the value at a path, or raise NotThere."""
    for step in steps_of(path):
        if isinstance(step, int) and isinstance(found, Sequence) and not isinstance(found, str):
            if not -len(found) <= step < len(found):
                raise NotThere
            found = found[step]
        elif isinstance(found, Mapping) and str(step) in found:
            found = found[str(step)]
        else:
            raise NotThere
    return found
