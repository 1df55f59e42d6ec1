"""One recorded run with its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading.foreign_values import Object
from adjudge.features.agents.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A trajectory with its columns."""

    trajectory: Trajectory
    columns: JsonObject = field(default_factory=dict)
    """``id``, ``task_id``, ``trial``, ``reward``, ``reference``, ``reference_calls`` and what else
    the file has.
    """

    def instance(self, place: str) -> Instance:
        """Return the instance to judge. ``place`` is its location, and its id if it has none."""
        id = self.columns.get("id")
        about = {"place": place, "row": self.columns, "trajectory": self.trajectory}
        return Instance(
            self.trajectory.fields or {"response": ""},
            str(id) if isinstance(id, str | int) and id != "" else place,
            about,
        )


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A trace format: how to recognise and read it."""

    name: str
    """The name that users write after ``as:``."""
    read: Callable[[Sequence[Object]], Iterator[TraceRow]]
    """Returns the trajectories of objects that belong together: those of one document, or the lines
    of a file that ``lines`` recognises.
    """
    document: Callable[[Object], bool] = lambda _: False
    """True if a single object is one or more traces."""
    lines: Callable[[Sequence[Object]], bool] = lambda _: False
    """True if the objects together are one or more traces: spans, messages."""


def present(**columns: object) -> JsonObject:
    """Return the columns that are not None."""
    return cast(JsonObject, {name: value for name, value in columns.items() if value is not None})


def reference_call(name: object, arguments: object) -> Mapping[str, object]:
    """Return one expected call in the form that rules read: ``kwargs`` are literal, not
    matchers.
    """
    return {"name": str(name), "kwargs": arguments if isinstance(arguments, Mapping) else {}}
