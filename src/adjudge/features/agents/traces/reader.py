"""Read trajectories from any object that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.reading.foreign_values import HOSTILE, Object, inner_object, plain
from adjudge.errors import WrongData
from adjudge.features.agents.traces.format_table import FORMATS, format_of, formats_named
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.features.agents.trajectory import Trajectory
from adjudge.messages import Message


def trajectory_of(value: object) -> Trajectory:
    """Return the only trajectory in messages, spans, or an SDK's result.

    Raise a WrongData if there is not exactly one.
    """
    trajectories = read_trajectories(value)
    if len(trajectories) != 1:
        raise WrongData(
            "it contains {count} trajectories, not one: use read_trajectories",
            count=len(trajectories),
        )
    return trajectories[0]


def read_trajectories(value: object, format: str | None = None) -> list[Trajectory]:
    """Return the trajectories in messages, spans, a parsed file, or an SDK's result."""
    return [row.trajectory for row in read_rows(value, format)]


def read_rows(value: object, format: str | None = None) -> Iterator[TraceRow]:
    """Like ``read_trajectories``, but yield each trajectory with its columns."""
    data = plain(value)
    if isinstance(data, str):
        data = [{"role": "user", "content": data}]
    if isinstance(data, list) and data and all(isinstance(item, list) for item in data):
        for item in data:
            yield from read_rows(item, format)
        return
    items = [data] if isinstance(data, Mapping) else data if isinstance(data, list) else []
    messages = [as_message(item) for item in items]
    formats = FORMATS if format is None else formats_named(format)
    trace_format = format_of(messages, formats)
    if trace_format is None:
        raise WrongData(unrecognised_text(format))
    yield from rows_of(trace_format, messages)


def as_message(value: object) -> Object:
    """Convert a pair of role and text to a message; return other objects unchanged."""
    if (
        isinstance(value, list)
        and len(value) == len(("role", "text"))
        and isinstance(value[0], str)
    ):
        return {"role": value[0], "content": value[1]}
    return inner_object(value)


def unrecognised_text(format: str | None) -> Message:
    """Return the message for data in which no trajectory was found."""
    if format is None:
        return Message("no agent trace was recognised; name its format with as")
    return Message("was not recognised as {format}", format=format)


def rows_of(format: TraceFormat, trace_objects: Sequence[Object]) -> Iterator[TraceRow]:
    """Yield the trajectories in a format's objects, read one by one or all together."""
    together = format.lines(trace_objects) or not format.document(trace_objects[0])
    for objects in [trace_objects] if together else ([item] for item in trace_objects):
        for row in read_checked(format, objects):
            if (reason := lack_of_texts(row)) is not None:
                raise WrongData(reason)
            yield row


def read_checked(format: TraceFormat, trace_objects: Sequence[Object]) -> Iterator[TraceRow]:
    """Yield the rows that a format reads; raise a WrongData if the data is malformed."""
    count = 0
    try:
        for row in format.read(trace_objects):
            count += 1
            yield row
    except WrongData:
        raise
    except HOSTILE as error:
        raise WrongData(
            "cannot be read as {format}: {error}",
            format=format.name,
            error=f"{type(error).__name__} {error}"[:200],
        ) from error
    if not count:
        raise WrongData("contains no {format} trajectory", format=format.name)


def lack_of_texts(row: TraceRow) -> Message | None:
    """Return a message if the run contains no text, else None."""
    trajectory = row.trajectory
    has_content = (
        step.text or step.call is not None or step.kind == "handed over"
        for step in trajectory.steps
    )
    if trajectory.goal or trajectory.answer or any(has_content):
        return None
    return Message(
        "the trace contains no message texts: record them with "
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (older versions: true), or "
        "without OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS"
    )
