"""The spans of a trace, put together again: one row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.errors import AdjudgeError
from adjudge.features.agents.atif_export import atif_of
from adjudge.features.agents.traces.reader import read_rows
from adjudge.runs.traffic_rows import COLUMN

TRAJECTORY = "adjudge.trajectory"
"""Where a row keeps what the agent did, beside its texts."""
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
    whole = atif_of(row.trajectory, trace, row.columns)
    return {**row.columns, **fields, "id": trace, TRAJECTORY: whole}


def line_of(row: JsonObject, *, as_trajectory: bool) -> JsonObject:
    """A row as a data file has it: with its texts as columns, or as a trajectory for those who
    judge agents.
    """
    kept = object_in(row.get(TRAJECTORY))
    if not kept:
        return row
    if not as_trajectory:
        return {name: value for name, value in row.items() if name != TRAJECTORY}
    beside: JsonDict = {**object_in(kept.get("extra")), COLUMN: row.get(COLUMN)}
    return {**kept, "extra": beside}
