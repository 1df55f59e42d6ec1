"""What ``help()`` says of a judge's parameters, those of its base classes among them."""

from __future__ import annotations

import inspect
import re

_HEADING = "\n\nParameters:\n"
_BEFORE_AN_ENTRY = re.compile(r"^(?= {4}\w+: )", re.MULTILINE)


def explain_parameters(judge: type) -> None:
    """Add to a judge's docstring the parameters that its base classes explain; its own words come
    first.
    """
    doc = inspect.cleandoc(judge.__dict__.get("__doc__") or "")
    if not doc:
        return
    known: dict[str, str] = {}
    for one in judge.__mro__:
        known = {**_entries(one), **known}
    if known:
        judge.__doc__ = doc.partition(_HEADING)[0] + _HEADING + "\n".join(known.values())


def _entries(kind: type) -> dict[str, str]:
    """Name → its lines in the docstring, under the heading."""
    listed = inspect.cleandoc(kind.__dict__.get("__doc__") or "").partition(_HEADING)[2]
    return {
        entry.split(":")[0].strip(): entry.rstrip()
        for entry in _BEFORE_AN_ENTRY.split(listed)
        if entry
    }
