"""Assemble the spans of a trace into one row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.errors import AdjudgeError
from adjudge.features.agents.atif_export import atif_of
from adjudge.features.agents.traces.reader import read_rows
from adjudge.runs.traffic_rows import COLUMN

TRAJECTORY = "adjudge.trajectory"
"""The key in a row for the agent's steps, next to its texts."""
_INSIDE = {"otlp": "resourceSpans", "langfuse": "data", "phoenix": "data"}
"""Format → the key under which a file of it has its spans; others are plain lists."""


def row_of(trace: str, format: str, spans: Sequence[str]) -> JsonObject:
    """Return the agent's input, steps and answer.

    Raise a ValueError if there is nothing to judge.
    """
    parsed_spans = [json.loads(span) for span in spans]
    document = {_INSIDE[format]: parsed_spans} if format in _INSIDE else parsed_spans
    try:
        (row, *_) = read_rows(document, format)
    except AdjudgeError as error:
        raise ValueError(error) from error
    fields = {
        name: value if isinstance(value, str) else list(value)
        for name, value in row.trajectory.fields.items()
    }
    trajectory = atif_of(row.trajectory, trace, row.columns)
    return {**row.columns, **fields, "id": trace, TRAJECTORY: trajectory}


def line_of(row: JsonObject, *, as_trajectory: bool) -> JsonObject:
    """Return a row as a line of a data file: its texts as columns, or a trajectory for judges of
    agents.
    """
    trajectory = object_in(row.get(TRAJECTORY))
    if not trajectory:
        return row
    if not as_trajectory:
        return {name: value for name, value in row.items() if name != TRAJECTORY}
    extra: JsonDict = {**object_in(trajectory.get("extra")), COLUMN: row.get(COLUMN)}
    return {**trajectory, "extra": extra}
