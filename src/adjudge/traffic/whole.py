"""The spans of a trace, put together again: one row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adjudge.domain.json_types import JsonObject
from adjudge.errors import AdjudgeError
from adjudge.traces.read import read_rows

_INSIDE = {"otlp": "resourceSpans", "langfuse": "data", "phoenix": "data"}
"""Format → the key under which a file of it has its spans; others are plain lists."""


def row_of(trace: str, format: str, spans: Sequence[str]) -> JsonObject:
    """What the agent was asked, did and answered. ValueError where the trace holds nothing that
    could be judged.
    """
    found = [json.loads(one) for one in spans]
    document = {_INSIDE[format]: found} if format in _INSIDE else found
    try:
        (row, *_) = read_rows(document, format)
    except AdjudgeError as error:
        raise ValueError(error) from error
    fields = {
        name: value if isinstance(value, str) else list(value)
        for name, value in row.trajectory.fields.items()
    }
    return {**row.columns, **fields, "id": trace}
