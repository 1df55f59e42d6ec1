"""Traces as data: whether a path holds some, and what is judged of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from adjudge.data.sources.row import BadRow
from adjudge.domain.instance import Instance
from adjudge.messages import Message
from adjudge.traces.files import TRACE_FILES, first_objects, placed_traces

_ALWAYS = (".eval", ".traj", ".gz")
"""Endings of files that hold nothing else that we read."""
_LARGEST = 200_000_000
"""Bytes of a document that is looked into to find out what it is."""
_ANSWERS = ("response", "responses", "answer", "output", "completion")


def holds_traces(path: Path) -> bool:
    """Whether a file or folder holds traces, by its structure.

    Rows whose column is a conversation are rows: they become traces where ``as`` says so.
    """
    if path.is_dir():
        return True
    ending = path.suffix.lower()
    if not path.is_file() or ending not in (*TRACE_FILES, *_ALWAYS):
        return False
    if ending in _ALWAYS:
        return True
    return ending not in (".log", ".txt") and path.stat().st_size <= _LARGEST and _is_trace(path)


def _is_trace(path: Path) -> bool:
    from adjudge.traces.formats.chats import MESSAGES
    from adjudge.traces.registry import format_of

    first, alone = first_objects(path)
    known = format_of(first)
    if known is None:
        return False
    if known not in MESSAGES or alone:
        return True
    return known.lines(first) and not any(
        key in one for one in first if "role" in one for key in _ANSWERS
    )


def trace_instances(
    path: Path,
    format: str | None = None,
    needed: Sequence[str] = (),
    on_bad_row: Callable[[BadRow], None] | None = None,
) -> Iterator[Instance]:
    """One instance a trajectory. ``needed``: the fields that each must have."""
    from adjudge.errors import WrongData

    for place, row in placed_traces(path, format, on_bad_row=on_bad_row):
        instance = row.instance(place)
        missing = [name for name in needed if name not in instance.fields]
        if not missing:
            yield instance
            continue
        bad = BadRow(place, Message("the trajectory has no {field!r}", field=missing[0]))
        if on_bad_row is None:
            raise WrongData(str(bad))
        on_bad_row(bad)
