"""Measure how well the points of a rubric work, from the verdicts of a run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist, fmean
from typing import Annotated, TypedDict

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics.labels import PointLabels
from adjudge.features.rubrics.record import RubricDetail, RubricPointRecord, rubric_detail
from adjudge.messages import Message
from adjudge.stats.intervals import share_limits

FEWEST_ROWS = 20
"""Rows that a finding about a point needs: with fewer, chance explains too much."""
_SURE = 0.95
_UNDECIDED = 0.1
_UNSTABLE = 0.1
_RISK = 0.05
# Points whose pairs are compared: those that occur in most rows.
_MOST_PAIRED = 300


class PointFiguresShape(TypedDict):
    """One point over all rows that one judge judged."""

    judge: Annotated[str, "with the target if there are several"]
    id: str
    text: str
    points: float
    tags: Sequence[str]
    rows: int
    with_verdict: int
    met: Annotated[float | None, "null without a verdict"]
    undecided: Annotated[int, "rows in which the answer does not decide it"]
    failed: Annotated[int, "rows without a verdict"]
    quoted: Annotated[int, "verdicts with a quote that is in the answer"]
    vote_variance: float | None
    labels: Annotated[Count, "verdict/label: rows"]
    balanced_accuracy: Annotated[float | None, "with people; null without labels of both kinds"]
    balanced_accuracy_lower: float | None


class RemarkShape(TypedDict):
    """Something about a point that deserves a look."""

    judge: str
    point: str
    text: str
    message: str


class AuditShape(TypedDict):
    """Findings about the points of a run."""

    rows: int
    points: int
    points_in_few_rows: Annotated[int, "points that occur in too few rows for a finding"]
    points_not_paired: Annotated[int, "points whose pairs were not compared: they are too many"]
    tied_labels: Annotated[int, "points on which as many annotators say met as not met"]
    labels_of_other_rows: Annotated[int, "labels of rows or points that the run does not have"]
    findings: Sequence[RemarkShape]


@dataclass
class PointFigures:
    """One judge's verdicts on one point in all rows that have it.

    Points with the same text are one.
    """

    judge: str
    id: str
    text: str
    points: float
    tags: tuple[str, ...]
    inverted: bool = False
    """True if the point earns its points by not being met."""
    kind: str = "met"
    verdicts: dict[int, float] = field(default_factory=dict)
    """Row → the verdict: 1 if the point is met, 0 if it is not, a share for levels and counts."""
    rest: dict[int, float] = field(default_factory=dict)
    """Row → the sum of the points of all other points, as a share."""
    rows: int = 0
    undecided: int = 0
    failed: int = 0
    quoted: int = 0
    variances: list[float] = field(default_factory=list)
    """Variances of a row's votes, if there were several."""
    agreed: dict[str, int] = field(default_factory=dict)
    """Pairs of the verdict and a person's label, such as "met/not met"."""

    @property
    def met(self) -> float | None:
        """The mean of the verdicts. For met and not met, this is the share that is met."""
        return fmean(self.verdicts.values()) if self.verdicts else None

    @property
    def vote_variance(self) -> float | None:
        """The disagreement between the votes of one row: 0 if all agree, 0.5 for two that
        differ.
        """
        return fmean(self.variances) if self.variances else None

    @property
    def balanced_accuracy(self) -> tuple[float, float, float] | None:
        """Agreement with people: the mean of the judge's hit rates on met and on not met, with
        limits.

        None without labels of both kinds.
        """
        shares = []
        for label in ("met", "not met"):
            of = sum(count for pair, count in self.agreed.items() if pair.endswith(f"/{label}"))
            if not of:
                return None
            hits = self.agreed.get(f"{label}/{label}", 0)
            limits = share_limits(hits, of)
            shares.append((hits / of, limits.lower, limits.upper))
        value, lower, upper = (fmean(column) for column in zip(*shares, strict=True))
        return value, lower, upper

    def to_dict(self) -> JsonDict:
        agreement = self.balanced_accuracy
        return fill(
            PointFiguresShape,
            self,
            with_verdict=len(self.verdicts),
            labels=self.agreed,
            balanced_accuracy=None if agreement is None else agreement[0],
            balanced_accuracy_lower=None if agreement is None else agreement[1],
        )


@dataclass(frozen=True)
class PointRemark:
    """A finding about a point that deserves attention."""

    judge: str
    point: str
    text: str
    message: str

    def to_dict(self) -> JsonDict:
        return fill(RemarkShape, self)


@dataclass(frozen=True)
class Audit:
    """Findings about the points of a run."""

    points: tuple[PointFigures, ...]
    remarks: tuple[PointRemark, ...]
    rows: int
    single: int
    """Points that occur in fewer rows than a finding needs."""
    unpaired: int = 0
    """Points whose pairs were not compared: there are too many."""
    tied: int = 0
    """Points on which as many annotators say met as not met."""
    unmatched: int = 0
    """Labels of a row or a point that the run does not have."""

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges of the run, with the target if there are several."""
        return tuple(dict.fromkeys(point.judge for point in self.points))

    def to_dict(self) -> JsonDict:
        return fill(
            AuditShape,
            self,
            points=len(self.points),
            points_in_few_rows=self.single,
            points_not_paired=self.unpaired,
            tied_labels=self.tied,
            labels_of_other_rows=self.unmatched,
            findings=self.remarks,
        )


def audit(records: Iterable[JudgmentRecord], labels: PointLabels | None = None) -> Audit:
    """Return the figures of every point of each judge, and remarks on suspicious ones."""
    figures: dict[str, dict[str, PointFigures]] = {}
    rows: set[int] = set()
    unmatched = set(labels.answers) if labels else set()
    for number, record in enumerate(records):
        detail = rubric_detail(record)
        if detail is None:
            continue
        rows.add(record.index)
        judge = of_system(record.judge, record.answered_by)
        of_row = labels.of_row(record.id) if labels else FrozenDict()
        unmatched -= {(record.id or "", point.id) for point in detail.points}
        _add(figures.setdefault(judge, {}), judge, detail, number, of_row)
    remarks: list[PointRemark] = []
    single = unpaired = 0
    for of_judge in figures.values():
        points = of_judge.values()
        frequent = [point for point in points if len(point.verdicts) >= FEWEST_ROWS]
        paired = sorted(frequent, key=lambda point: -len(point.verdicts))[:_MOST_PAIRED]
        single += len(points) - len(frequent)
        unpaired += len(frequent) - len(paired)
        remarks += [
            *(remark for point in points for remark in _alone(point)),
            *_wrong_signs(frequent),
            *_pairs(paired),
        ]
    every_point = tuple(point for of_judge in figures.values() for point in of_judge.values())
    return Audit(
        every_point,
        tuple(remarks),
        len(rows),
        single,
        unpaired,
        tied=labels.tied if labels else 0,
        unmatched=len(unmatched),
    )


def _add(
    figures: dict[str, PointFigures],
    judge: str,
    detail: RubricDetail,
    row: int,
    labels: Mapping[str, str],
) -> None:
    earned = {
        point.id: point.points * point.value for point in detail.points if point.value is not None
    }
    best_total = sum(point.points for point in detail.points if point.points > 0) or 1.0
    complete = len(earned) == len(detail.points)
    for point in detail.points:
        point_figures = figures.setdefault(
            point.text,
            PointFigures(
                judge, point.id, point.text, point.points, point.tags, point.invert, point.kind
            ),
        )
        point_figures.rows += 1
        point_figures.undecided += point.undecided
        point_figures.failed += point.value is None and not point.undecided
        point_figures.quoted += point.quote is not None
        if point.value is not None:
            point_figures.verdicts[row] = 1 - point.value if point.invert else point.value
            if complete:
                point_figures.rest[row] = (sum(earned.values()) - earned[point.id]) / best_total
        if (variance := _variance(point)) is not None:
            point_figures.variances.append(variance)
        if point.id in labels and point.answer in ("met", "not met"):
            pair = f"{point.answer}/{labels[point.id]}"
            point_figures.agreed[pair] = point_figures.agreed.get(pair, 0) + 1


def _variance(point: RubricPointRecord) -> float | None:
    """Return the unbiased variance k / (k − 1) · p (1 − p) of the votes for met; None with fewer
    than two votes.
    """
    votes = sum(count for answer, count in point.votes.items() if answer in ("met", "not met"))
    if votes < 2:
        return None
    share = point.votes.get("met", 0) / votes
    return votes / (votes - 1) * share * (1 - share)


def _alone(point: PointFigures) -> Iterable[PointRemark]:
    def remark(message: Message) -> PointRemark:
        return PointRemark(point.judge, point.id, point.text, message)

    if point.rows >= FEWEST_ROWS and point.undecided / point.rows > _UNDECIDED:
        yield remark(
            Message(
                "cannot be decided in {count} of {rows} rows: say what the answer must contain",
                count=point.undecided,
                rows=point.rows,
            )
        )
    if len(point.verdicts) >= FEWEST_ROWS and len(set(point.verdicts.values())) == 1:
        value = next(iter(point.verdicts.values()))
        yield remark(
            Message(
                "has the same answer in all {rows} rows, so it does not distinguish answers",
                rows=len(point.verdicts),
            )
            if point.kind != "met"
            else Message(
                "is met in all {rows} rows, so it does not distinguish answers",
                rows=len(point.verdicts),
            )
            if value
            else Message(
                "is met in none of the {rows} rows, so it does not distinguish answers",
                rows=len(point.verdicts),
            )
        )
    variance = point.vote_variance
    if variance is not None and len(point.variances) >= FEWEST_ROWS and variance > _UNSTABLE:
        yield remark(
            Message("the votes of a row often differ (variance {variance:.2f})", variance=variance)
        )
    agreement = point.balanced_accuracy
    if agreement is not None and agreement[1] <= 0.5:
        yield remark(
            Message(
                "is not shown to agree with people better than chance by {count} labels "
                "(balanced accuracy {value:.2f}, lower bound {lower:.2f})",
                count=sum(point.agreed.values()),
                value=agreement[0],
                lower=agreement[1],
            )
        )


def _wrong_signs(points: Sequence[PointFigures]) -> list[PointRemark]:
    """Return remarks on points whose verdicts go against the rest of the score."""
    tested: list[tuple[float, float, PointFigures]] = []
    for point in points:
        rows = [row for row in point.verdicts if row in point.rest]
        if len(rows) < FEWEST_ROWS:
            continue
        value = _correlation(
            [point.verdicts[row] for row in rows], [point.rest[row] for row in rows]
        )
        if value is None or not point.points:
            continue
        sign = math.copysign(1.0, -point.points if point.inverted else point.points)
        signed = sign * max(-0.999999, min(0.999999, value))
        # Fisher's transformation gives the chance of such a correlation.
        chance = NormalDist().cdf(math.atanh(signed) * math.sqrt(len(rows) - 3))
        tested.append((chance, signed, point))
    remarks = []
    for place, (chance, signed, point) in enumerate(sorted(tested, key=lambda test: test[0])):
        # Holm's correction: the smallest chance has the strictest limit.
        if chance > _RISK / (len(tested) - place):
            break
        message = Message(
            "goes against the rest of the rubric (correlation {value:.2f}): are its sign and "
            "wording right?",
            value=signed,
        )
        remarks.append(PointRemark(point.judge, point.id, point.text, message))
    return remarks


def _correlation(values_a: Sequence[float], values_b: Sequence[float]) -> float | None:
    mean_first, mean_second = fmean(values_a), fmean(values_b)
    both = math.fsum(
        (a - mean_first) * (b - mean_second) for a, b in zip(values_a, values_b, strict=True)
    )
    squares = math.fsum((a - mean_first) ** 2 for a in values_a) * math.fsum(
        (b - mean_second) ** 2 for b in values_b
    )
    return both / math.sqrt(squares) if squares > 0 else None


def _pairs(points: Sequence[PointFigures]) -> Iterable[PointRemark]:
    by_row: dict[str, set[int]] = defaultdict(set)
    for point in points:
        by_row[point.text] = {row for row, value in point.verdicts.items() if value == 1}
    for point_a, point_b in combinations(points, 2):
        shared = point_a.verdicts.keys() & point_b.verdicts.keys()
        if len(shared) < FEWEST_ROWS:
            continue
        rows_a, rows_b = by_row[point_a.text] & shared, by_row[point_b.text] & shared
        both = len(rows_a & rows_b)
        if (
            0 < len(rows_a) < len(shared)
            and 0 < len(rows_b) < len(shared)
            and both >= _SURE * len(rows_a)
            and both >= _SURE * len(rows_b)
        ):
            yield PointRemark(
                point_b.judge,
                point_b.id,
                point_b.text,
                Message(
                    "is met whenever point {other} is, in {both} of {rows} rows: the two "
                    "duplicate each other",
                    other=point_a.id,
                    both=both,
                    rows=len(shared),
                ),
            )
        # Too few expected rows would make "never together" a matter of chance.
        expected = len(rows_a) * len(rows_b) / len(shared)
        if not both and expected >= 5 and point_a.points > 0 and point_b.points > 0:
            yield PointRemark(
                point_b.judge,
                point_b.id,
                point_b.text,
                Message(
                    "is never met together with point {other}, though {expected:.0f} of {rows} "
                    "rows would be expected: do they contradict each other?",
                    other=point_a.id,
                    expected=expected,
                    rows=len(shared),
                ),
            )
