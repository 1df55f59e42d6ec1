"""What agents did, as a run keeps it: found beside any judgment of the row, read a stretch at a
time.

A trajectory lies with the first measure of its row. Where a run has none (an import, another
judge), the texts of the steps tell.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import STEPS, GivenFields
from adjudge.core.domain.json_types import JsonObject, JsonValue, object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.verdict import KeptCitation, KeptPlace
from adjudge.core.ledger.row_groups import RowJudgment, row_group
from adjudge.core.reading.foreign_values import arguments_of
from adjudge.core.reading.typed_json import WrongType, read_as
from adjudge.errors import RunError
from adjudge.features.agents.record import MeasuredPart
from adjudge.features.agents.steps import steps_identity
from adjudge.features.agents.trajectory import Step, StepKind, ToolCall, ToolDefinition, Trajectory

_HEADER = re.compile(
    r"(?P<actor>.+?) (?P<kind>said|called|handed over|thought|retrieved|noted)"
    r"(?: (?P<name>[^\s(]+)\((?P<arguments>.*)\))?"
)
_ERROR = "error: "
_TRAJECTORY = "trajectory"
"""Where a result keeps the trajectory; of a row that rules measured, the field that names it."""
_TRAJECTORY_KEY = f'"{_TRAJECTORY}":'


@dataclass(frozen=True)
class KeptSteps:
    """The steps of one row. Each is read when it is wanted: there may be thousands."""

    kept: Sequence[JsonValue]
    """Objects of a trajectory, or texts."""
    about: JsonObject = NOTHING
    """What else the run keeps of the trajectory."""

    def __len__(self) -> int:
        return len(self.kept)

    def window(self, first: int, count: int) -> tuple[Step, ...]:
        """Up to ``count`` steps from the place ``first``, counted from 0."""
        return tuple(self.at(place) for place in range(len(self))[first : first + count])

    def at(self, place: int) -> Step:
        """The step at a place, from 0. A RunError where it cannot be read."""
        kept = self.kept[place]
        if isinstance(kept, str):
            return step_of_text(kept, place + 1)
        try:
            return read_as(Step, kept)
        except WrongType as error:
            raise RunError(
                "step {number} of the trajectory is not what adjudge writes: {error}",
                number=place + 1,
                error=error,
            ) from error

    def place_of(self, number: int) -> int | None:
        """Where the step of that number is, from 0: steps of a turn keep their numbers."""
        if 0 < number <= len(self) and self._number(number - 1) == number:
            return number - 1
        return next((at for at in range(len(self)) if self._number(at) == number), None)

    def _number(self, place: int) -> object:
        kept = self.kept[place]
        return kept.get("number") if isinstance(kept, Mapping) else place + 1

    @cached_property
    def counts(self) -> StepCounts:
        """What can be said of all steps without reading each."""
        return _counts(self.kept)

    @cached_property
    def times(self) -> tuple[StepTime, ...]:
        """When steps began, of those that say so; nothing where all is one moment."""
        timed = [
            (one, at)
            for one in self.kept
            if isinstance(one, Mapping) and (at := number_of(one.get("started"))) is not None
        ]
        first = min((at for _, at in timed), default=0.0)
        found = tuple(_time(one, at - first) for one, at in timed)
        return found if any(one.started or one.seconds for one in found) else ()


class StepTime(NamedTuple):
    """When a step began and how long it took, in seconds since the first one began."""

    number: int
    actor: str
    what: str
    """The tool that was called, or the kind of step."""
    started: float
    seconds: float
    failed: bool


def _time(step: JsonObject, started: float) -> StepTime:
    call = object_in(step.get("call"))
    return StepTime(
        int(number_of(step.get("number")) or 0),
        str(step.get("actor")),
        str(call.get("name") or step.get("kind")),
        started,
        max(0.0, number_of(step.get("seconds")) or 0.0),
        call.get("error") is not None,
    )


@dataclass(frozen=True)
class StepCounts:
    """What a list of trajectories is filtered by, and what bars are drawn against."""

    steps: int
    errors: tuple[int, ...]
    """The numbers of the steps whose calls failed."""
    tools: Mapping[str, int]
    agents: tuple[str, ...]
    most_tokens: int = 0
    most_seconds: float = 0.0


class RowMeasure(NamedTuple):
    """What one measure says of a row, for the marks at its steps."""

    criterion: str
    verdict: str | None
    evidence: tuple[KeptCitation, ...]
    parts: tuple[MeasuredPart, ...]
    place: KeptPlace | None


class TrajectoryFacts(NamedTuple):
    """What a judgment is filtered by where its row is a trajectory."""

    criterion: str
    steps: int
    errors: int
    tools: frozenset[str]


def judged_row(connection: sqlite3.Connection, judge: str, index: int) -> RowJudgment | None:
    """What a list says of a judgment, without its texts; None where there is none."""
    query = (
        "SELECT id, criterion, status, score, verdict FROM judgments WHERE judge = ? AND number = ?"
    )
    found = connection.execute(query, (judge, index)).fetchone()
    return None if found is None else RowJudgment(judge, index, *found)


def steps_of(connection: sqlite3.Connection, judge: str, index: int) -> KeptSteps | None:
    """The steps behind a judgment; None where its row is no trajectory, or nobody can tell which
    it is. A judgment beside it keeps them: it is of this row where the steps are the same.
    """
    query = "SELECT instance, result FROM judgments WHERE judge = ? AND number = ?"
    fields: JsonObject = NOTHING
    for one in reversed(row_group(connection, judge, index)):
        if one.index > index:
            continue
        instance, result = connection.execute(query, (judge, one.index)).fetchone()
        if one.index == index:
            fields = object_in(json.loads(instance))
        if _TRAJECTORY_KEY not in result:
            continue
        trajectory = object_in(object_in(json.loads(result)).get(_TRAJECTORY))
        if not trajectory:
            continue
        if one.index == index or _known(fields) == _known(object_in(json.loads(instance))):
            steps = trajectory.get(STEPS)
            return KeptSteps(steps if isinstance(steps, list) else (), trajectory)
        break
    texts = fields.get(STEPS)
    return KeptSteps(tuple(map(str, texts))) if texts and isinstance(texts, list) else None


def _known(fields: JsonObject) -> object:
    """By what the steps of a row are known; of a row without steps nothing that another has."""
    texts = fields.get(STEPS)
    if isinstance(texts, list):
        return steps_identity([str(text) for text in texts])
    return fields.get(_TRAJECTORY) or object()


def steps_in(fields: GivenFields) -> KeptSteps | None:
    """The steps that stand in the fields of a row as texts; None where there are none."""
    texts = fields.get(STEPS)
    return KeptSteps(tuple(texts)) if texts and not isinstance(texts, str) else None


def measures_of_row(connection: sqlite3.Connection, judge: str, index: int) -> list[RowMeasure]:
    """What every measure of the judge says of the same row, in their order."""
    group = row_group(connection, judge, index)
    query = (
        "SELECT json_extract(result, '$.evidence', '$.parts', '$.place') FROM judgments "
        "WHERE judge = ? AND number = ?"
    )
    said = (connection.execute(query, (judge, one.index)).fetchone()[0] for one in group)
    return [
        RowMeasure(one.criterion, one.verdict, *_said(json.loads(kept)))
        for one, kept in zip(group, said, strict=True)
    ]


def trials_in(
    connection: sqlite3.Connection, group: Sequence[RowJudgment], own: RowJudgment
) -> list[RowJudgment]:
    """Other rows of the same task (``task_id``) by the same criterion, up to 20. Of each row its
    last measure is looked into: the first keeps the trajectory, and takes long to read.
    """
    last = group[-1]
    (task,) = connection.execute(
        "SELECT json_extract(result, '$.input.task_id') FROM judgments "
        "WHERE judge = ? AND number = ?",
        (own.judge, last.index),
    ).fetchone()
    query = (
        "SELECT own.number, own.id, own.criterion, own.status, own.score, own.verdict "
        "FROM judgments AS last JOIN judgments AS own ON own.judge = last.judge "
        "AND own.number = last.number + :from_last AND own.criterion = :criterion "
        "WHERE last.judge = :judge AND last.criterion = :last AND last.number <> :number "
        "AND json_extract(last.result, '$.input.task_id') = :task LIMIT 20"
    )
    values = {
        "task": task,
        "judge": own.judge,
        "criterion": own.criterion,
        "last": last.criterion,
        "number": last.index,
        "from_last": own.index - last.index,
    }
    return [RowJudgment(own.judge, *one) for one in connection.execute(query, values)]


def _said(
    kept: Sequence[JsonValue],
) -> tuple[tuple[KeptCitation, ...], tuple[MeasuredPart, ...], KeptPlace | None]:
    """Evidence, parts and place; nothing of what is not as adjudge writes it."""
    try:
        evidence, parts, place = kept
        return (
            read_as(tuple[KeptCitation, ...], evidence or []),
            read_as(tuple[MeasuredPart, ...], parts or []),
            read_as(KeptPlace, place) if place else None,
        )
    except (WrongType, ValueError):
        return (), (), None


def facts_in(connection: sqlite3.Connection, judge: str) -> dict[int, TrajectoryFacts]:
    """Row, from 1 → what it is filtered by; nothing of a judge that saw no trajectories."""
    first = connection.execute(
        "SELECT json_type(result, '$.trajectory'), json_type(instance, '$.steps') "
        "FROM judgments WHERE judge = ? ORDER BY number LIMIT 1",
        (judge,),
    ).fetchone()
    if first is None or first == (None, None):
        return {}
    query = (
        "SELECT number, CAST(coalesce(id, json_extract(instance, '$.trajectory')) AS BLOB), "
        "criterion, json_extract(result, '$.trajectory.steps'), "
        "CASE WHEN id IS NOT NULL AND json_extract(result, '$.kind') IS 'agent' THEN NULL "
        "ELSE json_extract(instance, '$.steps') END "
        "FROM judgments WHERE judge = ? ORDER BY number"
    )
    found: dict[int, TrajectoryFacts] = {}
    row_before, counts = None, _counts(())
    for number, row, criterion, steps, texts in connection.execute(query, (judge,)):
        if (held := steps or texts) is not None:
            counts = _counts(json.loads(held))
        elif row is None or row != row_before:
            continue  # nobody knows its steps
        row_before = row
        found[number + 1] = TrajectoryFacts(
            criterion,
            counts.steps,
            len(counts.errors),
            frozenset(counts.tools),
        )
    return found


def _counts(kept: Sequence[JsonValue]) -> StepCounts:
    errors: list[int] = []
    tools: Counter[str] = Counter()
    agents: dict[str, None] = {}
    tokens, seconds = 0, 0.0
    for place, one in enumerate(kept, 1):
        step = one if isinstance(one, Mapping) else _glance(str(one))
        actor, call = str(step.get("actor")), step.get("call")
        if actor not in ("user", "None"):
            agents[actor] = None
        if isinstance(call, Mapping):
            tools[str(call.get("name"))] += 1
            if call.get("error") is not None:
                number = step.get("number")
                errors.append(number if isinstance(number, int) else place)
        if (usage := step.get("usage")) is not None:
            tokens = max(tokens, _tokens(usage))
        if (took := step.get("seconds")) is not None:
            seconds = max(seconds, number_of(took) or 0.0)
    return StepCounts(len(kept), tuple(errors), tools, tuple(agents), tokens, seconds)


def _tokens(usage: object) -> int:
    """Of the model call that made a step; 0 where nothing was recorded."""
    kept = usage if isinstance(usage, Mapping) else {}
    found = (number_of(kept.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return int(sum(one or 0 for one in found))


def _glance(text: str) -> JsonObject:
    """What counts of a step's text: its first line, and whether the call failed."""
    header, _, body = text.partition("\n")
    said = _HEADER.fullmatch(header)
    if said is None:
        return {"actor": "assistant"}
    error = body.startswith(_ERROR) or None
    return {
        "actor": said["actor"],
        "call": {"name": said["name"], "error": error} if said["name"] else None,
    }


def trajectory_of(record: JudgmentRecord) -> Trajectory | None:
    """The whole, where the record has it; else what the texts of its steps tell."""
    kept = getattr(record.detail, "trajectory", None)
    if isinstance(kept, Trajectory):
        return kept
    steps = steps_in(record.fields)
    if steps is None:
        return None
    goal, answer, system = (
        value if isinstance(value := record.fields.get(name, ""), str) else ""
        for name in ("user_input", "response", "system")
    )
    tools = record.fields.get("tools", ())
    named = [_tool(text) for text in tools] if not isinstance(tools, str) else []
    return Trajectory(goal, steps.window(0, len(steps)), answer or None, system, tuple(named))


def _tool(text: str) -> ToolDefinition:
    name, _, rest = text.partition(": ")
    described, _, schema = rest.partition("\n")
    found = arguments_of(schema) if schema else None
    return ToolDefinition(name, described, found if not isinstance(found, str) else None)


def step_of_text(text: str, number: int) -> Step:
    """A step from its canonical text."""
    header, _, body = text.partition("\n")
    said = _HEADER.fullmatch(header)
    if said is None:
        return Step(number, "assistant", "said", text)
    kind: StepKind = said["kind"]  # type: ignore[assignment]
    if said["name"] is None:
        return Step(number, said["actor"], kind, body)
    error, result = None, body or None
    if body.startswith(_ERROR):
        error, _, rest = body.removeprefix(_ERROR).partition("\n")
        result = rest or None
    call = ToolCall(said["name"], arguments_of(said["arguments"]), result, error)
    return Step(number, said["actor"], kind, "", call)


def common_beginning(one: KeptSteps, other: KeptSteps) -> int:
    """How many steps two trajectories have in common at their beginning: who did what, with the
    same arguments or words. What came of a call may differ.
    """
    most = min(len(one), len(other))
    for place in range(most):
        if one.kept[place] != other.kept[place] and _deed(one.at(place)) != _deed(other.at(place)):
            return place
    return most


def _deed(step: Step) -> tuple[str, str]:
    return step.header, "" if step.call else " ".join(step.text.split())
