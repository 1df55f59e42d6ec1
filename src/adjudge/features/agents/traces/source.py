"""Traces as a data source: whether a path holds traces, and the instances to judge."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.instance import Instance
from adjudge.errors import NothingToJudge, WrongData
from adjudge.features.agents.traces.names import TRACE_FILES, TRACE_FORMATS
from adjudge.messages import Message
from adjudge.runs.row_source import RowSource

_ALWAYS = (".eval", ".traj", ".gz")
"""Endings of files that hold nothing else that we read."""
_LARGEST = 200_000_000
"""Bytes of a document that is looked into to find out what it is."""
_ANSWERS = ("response", "responses", "answer", "output", "completion")
_LOOKED_AT = 50
"""Rows of a table that are looked at."""
_OF_TRACES = frozenset(
    (
        *("agent", "context.span_id", "from", "object", "role"),
        *("run_type", "traceId", "trace_id", "type"),
    )
)
"""Columns of which every table of traces has one, unless its cells have parts."""


def holds_traces(path: Path) -> bool:
    """Return True if a path is a folder or a file that holds traces, judging by its structure.

    A table with a column of conversations does not count; ``as`` reads it as traces.
    """
    if path.is_dir():
        return True
    ending = path.suffix.lower()
    if not path.is_file() or ending not in (*TRACE_FILES, *_ALWAYS):
        return False
    if ending in _ALWAYS:
        return True
    if ending == ".csv" and _is_plain(path):
        return False
    return ending not in (".log", ".txt") and path.stat().st_size <= _LARGEST and _is_trace(path)


def _is_plain(path: Path) -> bool:
    """Return True if a table holds only texts.

    Most tables do, so this avoids loading the trace formats for them.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            header, *rows = islice(csv.reader(file), _LOOKED_AT + 1)
        except (csv.Error, ValueError):
            return False
    cells = (cell.lstrip() for row in rows for cell in row)
    return not _OF_TRACES.intersection(header) and not any(
        cell.startswith(("{", "[")) for cell in cells
    )


def _is_trace(path: Path) -> bool:
    from adjudge.features.agents.traces.files import first_objects
    from adjudge.features.agents.traces.format_table import format_of
    from adjudge.features.agents.traces.formats.chats import MESSAGES

    first_entries, alone = first_objects(path)
    trace_format = format_of(first_entries)
    if trace_format is None:
        return False
    if trace_format not in MESSAGES or alone:
        return True
    return trace_format.lines(first_entries) and not any(
        key in entry for entry in first_entries if "role" in entry for key in _ANSWERS
    )


def trace_instances(
    path: Path,
    format: str | None,
    needed: Sequence[str],
    on_bad_row: Callable[[BadRow], None] | None,
) -> Iterator[Instance]:
    """Yield one instance per trajectory. ``needed``: the fields that each must have."""
    from adjudge.features.agents.traces.files import placed_traces

    nothing = True
    for place, row in placed_traces(path, format, on_bad_row=on_bad_row):
        instance = row.instance(place)
        missing = [name for name in needed if name not in instance.fields]
        if not missing:
            nothing = False
            yield instance
            continue
        bad = BadRow(place, Message("the trajectory has no {field!r}", field=missing[0]))
        if on_bad_row is None:
            raise WrongData(str(bad))
        on_bad_row(bad)
    if nothing:
        raise NothingToJudge("{path} contains no readable trajectory", path=path)


TRACES = RowSource(TRACE_FORMATS, holds_traces, trace_instances)
