"""JSON as others write it, and where in it something stands: ``a.b[0]``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adjudge.core.domain.json_types import JsonValue
from adjudge.errors import SetupError

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|\[\"([^\"]*)\"\]")


class NotThere(Exception):
    """Nothing stands at a path."""


def steps_of(path: str) -> list[str | int]:
    """``a.b[0]["c d"]`` as keys and places; a SetupError where it is written otherwise."""
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path):
        found = _STEP.match(path, at)
        if not found:
            raise SetupError("the path {path!r} is not written as a.b[0]", path=path)
        name, place, quoted = found.groups()
        steps.append(int(place) if place is not None else name if name is not None else quoted)
        at = found.end()
    return steps


def value_at(found: JsonValue, path: str) -> JsonValue:
    """What stands at a path; raises NotThere where nothing does."""
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
