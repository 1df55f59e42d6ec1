"""Probe points with answers that deserve nothing: a sound point gives them no credit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, TypedDict

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.engine.run import RunLike
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent
from adjudge.features.rubrics.judge import RubricJudge
from adjudge.features.rubrics.result import RubricResult
from adjudge.features.rubrics.rubric import Point, Rubric
from adjudge.messages import Message

REFUSAL = "I cannot help with that."
PROBE_TITLES: Mapping[str, Message] = {
    "empty": Message("an empty answer"),
    "refusal": Message("a refusal"),
    "question": Message("the question repeated"),
    "rubric": Message("the points pasted as the answer"),
}


class PointProbesShape(TypedDict):
    """A point that probes were credited for."""

    row: str
    point: str
    text: str
    credited: Annotated[Sequence[str], "the probes that earned something"]


class ProbeCountsShape(TypedDict):
    """One probe over all points that earn something if they are met."""

    judged: int
    credited: int
    undecided: int
    failed: Annotated[int, "points without a verdict; they are in no share"]


@dataclass
class PointProbes:
    """A point, and the probes to which it gave credit."""

    row: str
    point: Point
    credited: list[str] = field(default_factory=list)
    """The probes that earned something."""

    def to_dict(self) -> JsonDict:
        return fill(PointProbesShape, self, point=self.point.id, text=self.point.text)


@dataclass
class ProbeCounts:
    """One probe over all points that earn something if they are met."""

    judged: int = 0
    credited: int = 0
    undecided: int = 0
    failed: int = 0
    """Points without a verdict; they are in no share."""

    def to_dict(self) -> JsonDict:
        return fill(ProbeCountsShape, self)


@dataclass(frozen=True)
class ProbeReport:
    """The credit that points gave to answers that deserve none."""

    rows: int
    counts: Mapping[str, ProbeCounts]
    points: Sequence[PointProbes]
    stopped: Message | None = None
    """The reason why the probes of some rows were not judged."""

    @property
    def leaking(self) -> list[PointProbes]:
        """Points that gave credit to a probe."""
        return [point for point in self.points if point.credited]


def probe_rubrics(
    judge: RubricJudge,
    rows: Sequence[tuple[Instance, Rubric]],
    *,
    run: RunLike | None = None,
    budget: Budget | None = None,
) -> ProbeReport:
    """Judge each row's probes by its rubric.

    Points below 0, inverted points and points without worth are left out, since it is right not to
    meet them.
    """
    probes = [
        (number, name, replace(row, id=f"{row.id}: {name}", fields={**row.fields, **fields}))
        for number, (row, rubric) in enumerate(rows)
        for name, fields in _probes(judge, row, rubric)
    ]
    stopped: Message | None = None
    results: Mapping[int, object]
    try:
        judged = judge.evaluate([probe for _, _, probe in probes], run=run, budget=budget)
        results = dict(enumerate(judged))
    except BudgetSpent as spent:
        if not spent.results:
            raise
        results, stopped = spent.results, spent.message
    counts = {name: ProbeCounts() for name in PROBE_TITLES}
    points: dict[tuple[int, str], PointProbes] = {}
    for place, (number, name, _) in enumerate(probes):
        result = results.get(place)
        verdicts = (
            {verdict.point.id: verdict for verdict in result.points}
            if isinstance(result, RubricResult)
            else {}
        )
        row, rubric = rows[number]
        for point in rubric.points:
            if point.points <= 0 or point.invert:
                continue
            figures = points.setdefault((number, point.id), PointProbes(str(row.id), point))
            verdict = verdicts.get(point.id)
            if verdict is None:
                counts[name].failed += 1
            elif verdict.undecided:
                counts[name].undecided += 1
            elif verdict.value is None:
                counts[name].failed += 1
            else:
                counts[name].judged += 1
                if verdict.value > 0:
                    counts[name].credited += 1
                    figures.credited.append(name)
    return ProbeReport(len(rows), counts, list(points.values()), stopped)


def _probes(
    judge: RubricJudge, row: Instance, rubric: Rubric
) -> Iterator[tuple[str, dict[str, str]]]:
    question = row.fields.get("user_input")
    texts = {
        "empty": "",
        "refusal": REFUSAL,
        "question": question if isinstance(question, str) else None,
        "rubric": "\n".join(point.text for point in rubric.points),
    }
    for name, text in texts.items():
        if text is not None:
            yield name, {judge.text_field: text}
