"""Every format of traces, in the order in which a file is tried: the first that fits."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.errors import WrongData
from adjudge.traces.formats.chats import ANTHROPIC, CHAT, LANGCHAIN, PYDANTIC, RESPONSES
from adjudge.traces.formats.tau_bench import TAU_BENCH
from adjudge.traces.row import TraceFormat
from adjudge.traces.values import Object

FORMATS: tuple[TraceFormat, ...] = (
    TAU_BENCH,
    PYDANTIC,
    LANGCHAIN,
    RESPONSES,
    ANTHROPIC,
    CHAT,
)
TRACE_FORMATS = tuple(dict.fromkeys(format.name for format in FORMATS))
"""What may stand after ``as:``."""


def formats_named(name: str) -> tuple[TraceFormat, ...]:
    """Those of one name; a WrongData where there is none."""
    found = tuple(format for format in FORMATS if format.name == name)
    if not found:
        raise WrongData(
            "there is no trace format {name!r}; there are {formats}",
            name=name,
            formats=", ".join(TRACE_FORMATS),
        )
    return found


def format_of(
    given: Sequence[Object], among: Sequence[TraceFormat] = FORMATS
) -> TraceFormat | None:
    """The first that knows the objects as one document each, or all of them together."""
    for format in among:
        if given and (format.document(given[0]) or format.lines(given)):
            return format
    return None
