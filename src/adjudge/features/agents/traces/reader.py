"""Whatever holds what agents did → trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.reading.foreign_values import HOSTILE, Object, inner_object, plain
from adjudge.errors import WrongData
from adjudge.features.agents.traces.format_table import FORMATS, format_of, formats_named
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.features.agents.trajectory import Trajectory
from adjudge.messages import Message


def trajectory_of(value: object) -> Trajectory:
    """The one trajectory of messages, of spans, or of what an SDK returned."""
    found = read_trajectories(value)
    if len(found) != 1:
        raise WrongData(
            "there are {count} trajectories in it, not one: use read_trajectories", count=len(found)
        )
    return found[0]


def read_trajectories(value: object, format: str | None = None) -> list[Trajectory]:
    """The trajectories of messages, of spans, of a parsed file, or of what an SDK returned."""
    return [row.trajectory for row in read_rows(value, format)]


def read_rows(value: object, format: str | None = None) -> Iterator[TraceRow]:
    """The same, with the columns that stand beside them."""
    found = plain(value)
    if isinstance(found, str):
        found = [{"role": "user", "content": found}]
    if isinstance(found, list) and found and all(isinstance(one, list) for one in found):
        for one in found:
            yield from read_rows(one, format)
        return
    given = [found] if isinstance(found, Mapping) else found if isinstance(found, list) else []
    given = [as_message(one) for one in given]
    among = FORMATS if format is None else formats_named(format)
    known = format_of(given, among)
    if known is None:
        raise WrongData(unknown(format))
    yield from rows_of(known, given)


def as_message(one: object) -> Object:
    """A pair of role and text as a message."""
    if isinstance(one, list) and len(one) == len(("role", "text")) and isinstance(one[0], str):
        return {"role": one[0], "content": one[1]}
    return inner_object(one)


def unknown(format: str | None) -> Message:
    """What is said where no trajectory is found."""
    if format is None:
        return Message("no agent trace was recognised; name its format with as")
    return Message("was not recognised as {format}", format=format)


def rows_of(format: TraceFormat, given: Sequence[Object]) -> Iterator[TraceRow]:
    """The trajectories of objects in a format: of each by itself, or of all together."""
    together = format.lines(given) or not format.document(given[0])
    for objects in [given] if together else ([one] for one in given):
        for row in checked(format, objects):
            if (reason := lack_of_texts(row)) is not None:
                raise WrongData(reason)
            yield row


def checked(format: TraceFormat, given: Sequence[Object]) -> Iterator[TraceRow]:
    """What the format reads; a WrongData where the value is not as its tool writes it."""
    count = 0
    try:
        for row in format.read(given):
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
        raise WrongData("holds no trajectory of {format}", format=format.name)


def lack_of_texts(row: TraceRow) -> Message | None:
    """What is said of a run that holds nothing of what was said or done; None where it does."""
    trajectory = row.trajectory
    said = (
        step.text or step.call is not None or step.kind == "handed over"
        for step in trajectory.steps
    )
    if trajectory.goal or trajectory.answer or any(said):
        return None
    return Message(
        "the trace holds no texts: record them with "
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (older: true), or "
        "without OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS"
    )
