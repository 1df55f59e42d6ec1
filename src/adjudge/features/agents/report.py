"""Read the trajectories of a run for reports: from any judgment of the row, one window at a time.

A trajectory is stored with the first measure of its row. If a run has none (an import, another
judge), the steps are read from their texts.
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
    """The stored steps of one row, parsed on access because there may be thousands."""

    kept: Sequence[JsonValue]
    """Objects of a trajectory, or texts."""
    about: JsonObject = NOTHING
    """Other stored facts about the trajectory."""

    def __len__(self) -> int:
        return len(self.kept)

    def window(self, first: int, count: int) -> tuple[Step, ...]:
        """Return up to ``count`` steps, starting at index ``first``."""
        return tuple(self.at(place) for place in range(len(self))[first : first + count])

    def at(self, place: int) -> Step:
        """Return the step at an index, from 0; raise a RunError if it cannot be read."""
        stored = self.kept[place]
        if isinstance(stored, str):
            return step_of_text(stored, place + 1)
        try:
            return read_as(Step, stored)
        except WrongType as error:
            raise RunError(
                "step {number} of the trajectory is damaged or was not written by adjudge: {error}",
                number=place + 1,
                error=error,
            ) from error

    def place_of(self, number: int) -> int | None:
        """Return the index of the step with this number, or None. Steps of a turn keep their
        numbers.
        """
        if 0 < number <= len(self) and self._number(number - 1) == number:
            return number - 1
        return next((at for at in range(len(self)) if self._number(at) == number), None)

    def _number(self, place: int) -> object:
        stored = self.kept[place]
        return stored.get("number") if isinstance(stored, Mapping) else place + 1

    @cached_property
    def counts(self) -> StepCounts:
        """Counts over all steps, without parsing each."""
        return _counts(self.kept)

    @cached_property
    def times(self) -> tuple[StepTime, ...]:
        """Start and duration of the steps that have a start time; empty if all are zero."""
        timed = [
            (step, at)
            for step in self.kept
            if isinstance(step, Mapping) and (at := number_of(step.get("started"))) is not None
        ]
        start = min((at for _, at in timed), default=0.0)
        step_times = tuple(_time(step, at - start) for step, at in timed)
        return step_times if any(time.started or time.seconds for time in step_times) else ()


class StepTime(NamedTuple):
    """Start and duration of a step, in seconds since the first step began."""

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
    """Counts of a trajectory, for filters and for the scale of bars."""

    steps: int
    errors: tuple[int, ...]
    """The numbers of the steps whose calls failed."""
    tools: Mapping[str, int]
    agents: tuple[str, ...]
    most_tokens: int = 0
    most_seconds: float = 0.0


class RowMeasure(NamedTuple):
    """The result of one measure of a row, for marking its steps."""

    criterion: str
    verdict: str | None
    evidence: tuple[KeptCitation, ...]
    parts: tuple[MeasuredPart, ...]
    place: KeptPlace | None


class TrajectoryFacts(NamedTuple):
    """Facts for filtering trajectory judgments."""

    criterion: str
    steps: int
    errors: int
    tools: frozenset[str]


def judged_row(connection: sqlite3.Connection, judge: str, index: int) -> RowJudgment | None:
    """Return a judgment's short form for lists, without its texts; None if there is none."""
    query = (
        "SELECT id, criterion, status, score, verdict FROM judgments WHERE judge = ? AND number = ?"
    )
    row = connection.execute(query, (judge, index)).fetchone()
    return None if row is None else RowJudgment(judge, index, *row)


def steps_of(connection: sqlite3.Connection, judge: str, index: int) -> KeptSteps | None:
    """Return the steps of a judgment; None if its row is not a trajectory, or its steps are not
    stored.

    An earlier judgment of the same row may store them, if its steps have the same identity.
    """
    query = "SELECT instance, result FROM judgments WHERE judge = ? AND number = ?"
    fields: JsonObject = NOTHING
    for judgment in reversed(row_group(connection, judge, index)):
        if judgment.index > index:
            continue
        instance, result = connection.execute(query, (judge, judgment.index)).fetchone()
        if judgment.index == index:
            fields = object_in(json.loads(instance))
        if _TRAJECTORY_KEY not in result:
            continue
        trajectory = object_in(object_in(json.loads(result)).get(_TRAJECTORY))
        if not trajectory:
            continue
        if judgment.index == index or _steps_key(fields) == _steps_key(
            object_in(json.loads(instance))
        ):
            steps = trajectory.get(STEPS)
            return KeptSteps(steps if isinstance(steps, list) else (), trajectory)
        break
    texts = fields.get(STEPS)
    return KeptSteps(tuple(map(str, texts))) if texts and isinstance(texts, list) else None


def _steps_key(fields: JsonObject) -> object:
    """Return the identity of a row's steps. A row without steps equals no other."""
    texts = fields.get(STEPS)
    if isinstance(texts, list):
        return steps_identity([str(text) for text in texts])
    return fields.get(_TRAJECTORY) or object()


def steps_in(fields: GivenFields) -> KeptSteps | None:
    """Return the steps that a row's fields hold as texts; None if there are none."""
    texts = fields.get(STEPS)
    return KeptSteps(tuple(texts)) if texts and not isinstance(texts, str) else None


def measures_of_row(connection: sqlite3.Connection, judge: str, index: int) -> list[RowMeasure]:
    """Return the results of all of the row's measures, in order."""
    group = row_group(connection, judge, index)
    query = (
        "SELECT json_extract(result, '$.evidence', '$.parts', '$.place') FROM judgments "
        "WHERE judge = ? AND number = ?"
    )
    details = (
        connection.execute(query, (judge, judgment.index)).fetchone()[0] for judgment in group
    )
    return [
        RowMeasure(judgment.criterion, judgment.verdict, *_read_details(json.loads(detail_json)))
        for judgment, detail_json in zip(group, details, strict=True)
    ]


def trials_in(
    connection: sqlite3.Connection, group: Sequence[RowJudgment], judgment: RowJudgment
) -> list[RowJudgment]:
    """Return up to 20 other rows with the same ``task_id``, judged by the same criterion.

    The task is read from the last measure of each row, because the first also stores the trajectory
    and is slow to read.
    """
    last_measure = group[-1]
    (task,) = connection.execute(
        "SELECT json_extract(result, '$.input.task_id') FROM judgments "
        "WHERE judge = ? AND number = ?",
        (judgment.judge, last_measure.index),
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
        "judge": judgment.judge,
        "criterion": judgment.criterion,
        "last": last_measure.criterion,
        "number": last_measure.index,
        "from_last": judgment.index - last_measure.index,
    }
    return [RowJudgment(judgment.judge, *row) for row in connection.execute(query, values)]


def _read_details(
    details: Sequence[JsonValue],
) -> tuple[tuple[KeptCitation, ...], tuple[MeasuredPart, ...], KeptPlace | None]:
    """Read evidence, parts and place; ignore anything that adjudge did not write."""
    try:
        evidence, parts, place = details
        return (
            read_as(tuple[KeptCitation, ...], evidence or []),
            read_as(tuple[MeasuredPart, ...], parts or []),
            read_as(KeptPlace, place) if place else None,
        )
    except (WrongType, ValueError):
        return (), (), None


def facts_in(connection: sqlite3.Connection, judge: str) -> dict[int, TrajectoryFacts]:
    """Return the filter facts of each judgment, numbered from 1; empty if the judge saw no
    trajectories.
    """
    types = connection.execute(
        "SELECT json_type(result, '$.trajectory'), json_type(instance, '$.steps') "
        "FROM judgments WHERE judge = ? ORDER BY number LIMIT 1",
        (judge,),
    ).fetchone()
    if types is None or types == (None, None):
        return {}
    query = (
        "SELECT number, CAST(coalesce(id, json_extract(instance, '$.trajectory')) AS BLOB), "
        "criterion, json_extract(result, '$.trajectory.steps'), "
        "CASE WHEN id IS NOT NULL AND json_extract(result, '$.kind') IS 'agent' THEN NULL "
        "ELSE json_extract(instance, '$.steps') END "
        "FROM judgments WHERE judge = ? ORDER BY number"
    )
    facts: dict[int, TrajectoryFacts] = {}
    row_before, counts = None, _counts(())
    for number, row, criterion, steps, texts in connection.execute(query, (judge,)):
        if (steps_json := steps or texts) is not None:
            counts = _counts(json.loads(steps_json))
        elif row is None or row != row_before:
            continue  # its steps are not stored
        row_before = row
        facts[number + 1] = TrajectoryFacts(
            criterion,
            counts.steps,
            len(counts.errors),
            frozenset(counts.tools),
        )
    return facts


def _counts(stored_steps: Sequence[JsonValue]) -> StepCounts:
    errors: list[int] = []
    tools: Counter[str] = Counter()
    agents: dict[str, None] = {}
    tokens, seconds = 0, 0.0
    for place, stored_step in enumerate(stored_steps, 1):
        step = stored_step if isinstance(stored_step, Mapping) else _glance(str(stored_step))
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
    return StepCounts(len(stored_steps), tuple(errors), tools, tuple(agents), tokens, seconds)


def _tokens(usage: object) -> int:
    """Return the tokens of a step's model call; 0 if none were recorded."""
    usage_data = usage if isinstance(usage, Mapping) else {}
    counts = (number_of(usage_data.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return int(sum(count or 0 for count in counts))


def _glance(text: str) -> JsonObject:
    """Return a step's actor and call, and whether the call failed, from the start of its text."""
    header, _, body = text.partition("\n")
    match = _HEADER.fullmatch(header)
    if match is None:
        return {"actor": "assistant"}
    error = body.startswith(_ERROR) or None
    return {
        "actor": match["actor"],
        "call": {"name": match["name"], "error": error} if match["name"] else None,
    }


def trajectory_of(record: JudgmentRecord) -> Trajectory | None:
    """Return the trajectory of a record, rebuilt from the step texts if it is not stored; None
    without steps.
    """
    stored = getattr(record.detail, "trajectory", None)
    if isinstance(stored, Trajectory):
        return stored
    steps = steps_in(record.fields)
    if steps is None:
        return None
    goal, answer, system = (
        value if isinstance(value := record.fields.get(name, ""), str) else ""
        for name in ("user_input", "response", "system")
    )
    tools = record.fields.get("tools", ())
    definitions = [_tool(text) for text in tools] if not isinstance(tools, str) else []
    return Trajectory(goal, steps.window(0, len(steps)), answer or None, system, tuple(definitions))


def _tool(text: str) -> ToolDefinition:
    name, _, description_and_schema = text.partition(": ")
    described, _, schema = description_and_schema.partition("\n")
    schema_data = arguments_of(schema) if schema else None
    return ToolDefinition(
        name, described, schema_data if not isinstance(schema_data, str) else None
    )


def step_of_text(text: str, number: int) -> Step:
    """Parse a step from its canonical text."""
    header, _, body = text.partition("\n")
    match = _HEADER.fullmatch(header)
    if match is None:
        return Step(number, "assistant", "said", text)
    kind: StepKind = match["kind"]  # type: ignore[assignment]
    if match["name"] is None:
        return Step(number, match["actor"], kind, body)
    error, result = None, body or None
    if body.startswith(_ERROR):
        error, _, output = body.removeprefix(_ERROR).partition("\n")
        result = output or None
    call = ToolCall(match["name"], arguments_of(match["arguments"]), result, error)
    return Step(number, match["actor"], kind, "", call)


def common_beginning(steps_a: KeptSteps, steps_b: KeptSteps) -> int:
    """Return the number of steps that two trajectories share at the beginning.

    Steps are equal if actor, action and arguments or text are equal; call results may differ.
    """
    most = min(len(steps_a), len(steps_b))
    for place in range(most):
        if steps_a.kept[place] != steps_b.kept[place] and _action(steps_a.at(place)) != _action(
            steps_b.at(place)
        ):
            return place
    return most


def _action(step: Step) -> tuple[str, str]:
    return step.header, "" if step.call else " ".join(step.text.split())
