"""One trajectory and the measure it is looked at by."""

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
    """What several measures of one trajectory need, worked out once."""

    shown: dict[tuple[object, ...], ShownTrajectory] = field(default_factory=dict)
    known: str | None = None
    """By what its steps are known."""


@dataclass(frozen=True)
class AgentItem:
    """A trajectory, or a part of it, and a measure."""

    instance: Instance
    trajectory: Trajectory
    measure: str
    first: bool = False
    """Whether it is the first measure of its row."""
    judged_step: int | None = None
    """The one step that is asked about; None: all of them."""
    work: RowWork = field(default_factory=RowWork, repr=False, compare=False)
    """The same for all measures of a row."""

    @property
    def id(self) -> str | None:
        return self.instance.id

    @property
    def columns(self) -> JsonObject:
        own = nonempty(id=self.instance.id)
        return {**own, **self.instance.input}

    def column(self, *names: str) -> str | None:
        """The first of the columns, or fields, that holds a text."""
        held = {**self.instance.fields, **self.instance.input}
        found = (held.get(name) for name in names)
        return next((one for one in found if isinstance(one, str) and one.strip()), None)

    @property
    def points(self) -> tuple[str, ...]:
        """The checklist of the row: a list, or a text with one point a line."""
        given = self.instance.input.get("checklist", self.instance.fields.get("checklist"))
        if isinstance(given, str):
            given = given.splitlines()
        if not isinstance(given, Sequence):
            return ()
        return tuple(one.strip() for one in map(str, given) if one.strip())

    def shown(
        self, budget: int, language: str, *, tools: bool = False, results: bool = True
    ) -> ShownTrajectory:
        """The steps as a judge is shown them; worked out once."""
        key = (budget, language, tools, results)
        if key not in self.work.shown:
            run = self.trajectory if results else _without_results(self.trajectory)
            self.work.shown[key] = show_within(run, budget, tools=tools, language=language)
        return self.work.shown[key]

    @property
    def light(self) -> Instance:
        """What is kept of the row with a number that a rule gives: the steps are with the first
        measure of the row, and here is by what they are known.
        """
        fields = {
            name: value
            for name, value in self.instance.fields.items()
            if name in ("user_input", "response")
        }
        if self.work.known is None:
            self.work.known = steps_identity([step.canonical for step in self.trajectory.steps])
        beside = {
            name: value for name, value in self.instance.metadata.items() if name != TRAJECTORY
        }
        known = {**fields, TRAJECTORY: self.work.known}
        return replace(self.instance, fields=known, metadata=beside)


def trajectory_in(instance: Instance) -> Trajectory:
    """What the agent did in a row; a SetupError where it holds no trajectory."""
    found = instance.metadata.get(TRAJECTORY)
    if not isinstance(found, Trajectory):
        raise SetupError(
            "{id} holds no trajectory: give a file of traces, messages, or a Trajectory",
            id=instance.id or Message("the row"),
        )
    return found


def as_instance(trajectory: Trajectory, number: int, columns: Mapping[str, object]) -> Instance:
    """A trajectory of a program's, as something to judge."""
    id = columns.get("id")
    return Instance(
        trajectory.fields or {"response": ""},
        str(number) if id is None else str(id),
        {TRAJECTORY: trajectory, **nonempty(row=columns)},
    )


def _without_results(run: Trajectory) -> Trajectory:
    """A conversation: what was said, and calls as lines."""

    def line(step: Step) -> Step:
        call = step.call
        return step if call is None else replace(step, call=replace(call, result=""))

    return replace(run, steps=tuple(map(line, run.steps)))
