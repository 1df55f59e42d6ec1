"""One trajectory and one of its measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.instance import TRAJECTORY, Instance
from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import SetupError
from adjudge.features.agents.step_prompts import ShownTrajectory, show_within
from adjudge.features.agents.steps import steps_identity
from adjudge.features.agents.trajectory import Step, Trajectory
from adjudge.messages import Message


@dataclass
class RowWork:
    """Results that several measures of one trajectory share."""

    shown: dict[tuple[object, ...], ShownTrajectory] = field(default_factory=dict)
    known: str | None = None
    """The identity of its steps."""


@dataclass(frozen=True)
class AgentItem:
    """One measure to apply to a trajectory or to a part of it."""

    instance: Instance
    trajectory: Trajectory
    measure: str
    first: bool = False
    """True for the first measure of its row."""
    judged_step: int | None = None
    """The one step that is asked about; None: all of them."""
    work: RowWork = field(default_factory=RowWork, repr=False, compare=False)
    """The same for all measures of a row."""

    @property
    def id(self) -> str | None:
        return self.instance.id

    @property
    def columns(self) -> JsonObject:
        id_column = nonempty(id=self.instance.id)
        return {**id_column, **self.instance.input}

    def column(self, *names: str) -> str | None:
        """Return the text of the first of these columns or fields that has any; None if none
        has.
        """
        cells = {**self.instance.fields, **self.instance.input}
        values = (cells.get(name) for name in names)
        return next((text for text in values if isinstance(text, str) and text.strip()), None)

    @property
    def points(self) -> tuple[str, ...]:
        """The points of the row's checklist: a list, or text with one point per line. May be
        empty.
        """
        checklist = self.instance.input.get("checklist", self.instance.fields.get("checklist"))
        if isinstance(checklist, str):
            checklist = checklist.splitlines()
        if not isinstance(checklist, Sequence):
            return ()
        return tuple(point.strip() for point in map(str, checklist) if point.strip())

    def shown(
        self, budget: int, language: str, *, tools: bool = False, results: bool = True
    ) -> ShownTrajectory:
        """Return the steps as shown to a judge; cached per row."""
        key = (budget, language, tools, results)
        if key not in self.work.shown:
            run = self.trajectory if results else _without_results(self.trajectory)
            self.work.shown[key] = show_within(run, budget, tools=tools, language=language)
        return self.work.shown[key]

    @property
    def light(self) -> Instance:
        """The row without its steps, for rule results.

        The row's first measure stores the steps; the other measures refer to them by hash.
        """
        fields = {
            name: value
            for name, value in self.instance.fields.items()
            if name in ("user_input", "response")
        }
        if self.work.known is None:
            self.work.known = steps_identity([step.canonical for step in self.trajectory.steps])
        metadata = {
            name: value for name, value in self.instance.metadata.items() if name != TRAJECTORY
        }
        light_fields = {**fields, TRAJECTORY: self.work.known}
        return replace(self.instance, fields=light_fields, metadata=metadata)


def trajectory_in(instance: Instance) -> Trajectory:
    """Return the trajectory of a row; raise a SetupError if it has none."""
    trajectory = instance.metadata.get(TRAJECTORY)
    if not isinstance(trajectory, Trajectory):
        raise SetupError(
            "{id} contains no trajectory: pass a file of traces, messages, or a Trajectory",
            id=instance.id or Message("the row"),
        )
    return trajectory


def as_instance(trajectory: Trajectory, number: int, columns: Mapping[str, object]) -> Instance:
    """Wrap a trajectory that was passed from Python as an instance."""
    id = columns.get("id")
    return Instance(
        trajectory.fields or {"response": ""},
        str(number) if id is None else str(id),
        {TRAJECTORY: trajectory, **nonempty(row=columns)},
    )


def _without_results(run: Trajectory) -> Trajectory:
    """Return the run with the results of its calls removed."""

    def line(step: Step) -> Step:
        call = step.call
        return step if call is None else replace(step, call=replace(call, result=""))

    return replace(run, steps=tuple(map(line, run.steps)))
