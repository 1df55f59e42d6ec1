"""Correct rates of points and the mean score by people's labels of some rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, variance
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics.labels import PointLabels
from adjudge.features.rubrics.record import RubricDetail, RubricPointRecord, rubric_detail
from adjudge.features.rubrics.rubric import MET, NOT_MET
from adjudge.messages import Message
from adjudge.stats.correction import corrected_mean
from adjudge.stats.student import t_two_sided

FEWEST_LABELS = 20
"""Labels of a point, and rows of which all points are labelled, that a correction needs."""


class CorrectedRateShape(TypedDict):
    """The share of met points, overall, of a category or of one point; or the mean score."""

    name: str
    rows: Annotated[int, "verdicts, or rows"]
    labels: int
    judged: Annotated[float | None, "the judge's own rate"]
    corrected: float | None
    lower: float | None
    upper: float | None
    refusal: Annotated[str | None, "why it is not corrected"]


@dataclass(frozen=True)
class CorrectedRate:
    """The share of met points, overall, of a category or of one point; or the mean score."""

    name: str
    rows: int
    """Verdicts, or rows."""
    labels: int
    judged: float | None
    """The judge's own rate."""
    value: float | None
    lower: float | None
    upper: float | None
    refusal: str | None = None
    """The reason why it is not corrected."""

    def to_dict(self) -> JsonDict:
        return fill(CorrectedRateShape, self, corrected=self.value)


@dataclass(frozen=True)
class _Verdict:
    row: str
    point: RubricPointRecord
    label: float | None


def corrected_rates(
    records: Sequence[JudgmentRecord], labels: PointLabels, *, level: float = 0.95
) -> list[CorrectedRate]:
    """Return the corrected share of met points: overall, per category, and per point with enough
    labels.

    Rows are the unit, since the points of a row are not independent. The labelled rows must have
    been drawn at random.
    """
    verdicts = [
        _Verdict(record.id or str(number), point, _number(labels.of_row(record.id).get(point.id)))
        for number, record in enumerate(records)
        if (detail := rubric_detail(record))
        for point in detail.points
        if point.kind == "met"
    ]
    groups: dict[str, list[_Verdict]] = {"": verdicts} if verdicts else {}
    for verdict in verdicts:
        for tag in verdict.point.tags:
            groups.setdefault(tag, []).append(verdict)
    texts: dict[str, list[_Verdict]] = {}
    for verdict in verdicts:
        texts.setdefault(verdict.point.text, []).append(verdict)
    several = {
        same_text[0].point.id: same_text
        for same_text in texts.values()
        if sum(labelled.label is not None for labelled in same_text) >= FEWEST_LABELS
    }
    rates = [_rate(name, group, level) for name, group in groups.items()]
    return rates + [_rate(f"point {id}", same_text, level) for id, same_text in several.items()]


def _number(label: str | None) -> float | None:
    return None if label is None else float(label == MET)


def _rate(name: str, verdicts: Sequence[_Verdict], level: float) -> CorrectedRate:
    answers = [verdict.point.answer for verdict in verdicts]
    known_answers = [answer for answer in answers if answer is not None]
    labels = [verdict.label for verdict in verdicts]
    count = sum(label is not None for label in labels)
    judge_rate = known_answers.count(MET) / len(known_answers) if known_answers else None
    if count < FEWEST_LABELS:
        refusal = Message("{count} labels; {needed} are needed", count=count, needed=FEWEST_LABELS)
        return CorrectedRate(name, len(verdicts), count, judge_rate, None, None, None, refusal)
    clusters: list[Hashable] = [verdict.row for verdict in verdicts]
    estimate = corrected_mean(answers, labels, (MET, NOT_MET), clusters=clusters, level=level)
    return CorrectedRate(
        name, len(verdicts), count, judge_rate, estimate.value, estimate.lower, estimate.upper
    )


def corrected_score(
    records: Sequence[JudgmentRecord], labels: PointLabels, *, level: float = 0.95
) -> CorrectedRate:
    """Return the mean score, corrected by the rows with labels for every point.

    It is the judge's mean plus the mean difference between people's score and the judge's on those
    rows, which must have been drawn at random.
    """
    name = "score"
    rows = [
        (detail, labels.of_row(record.id))
        for record in records
        if (detail := rubric_detail(record))
    ]
    judge_scores = [detail.lower for detail, _ in rows if detail.lower == detail.upper]
    plain = fmean(judge_scores) if judge_scores else None
    scores = [_score_by_people(detail, row_labels) for detail, row_labels in rows]
    count = sum(score is not None for score in scores)
    if count < FEWEST_LABELS:
        refusal = Message(
            "{count} rows have a label for every point; {needed} are needed",
            count=count,
            needed=FEWEST_LABELS,
        )
        return CorrectedRate(name, len(rows), count, plain, None, None, None, refusal)
    low = _difference_estimate([detail.lower for detail, _ in rows], scores, level)
    high = _difference_estimate([detail.upper for detail, _ in rows], scores, level)
    value = low[0] if low[0] == high[0] else None
    return CorrectedRate(
        name, len(rows), count, plain, value, min(low[1], high[1]), max(low[2], high[2])
    )


def _score_by_people(detail: RubricDetail, labels: object) -> float | None:
    """Return the score by people's labels; None unless every point is labelled and the points add
    up without groups.
    """
    label_of = labels if isinstance(labels, dict) else {}
    total = Fraction()
    for point in detail.points:
        if point.id not in label_of or point.share is None or point.kind != "met":
            return None
        total += Fraction(point.share) * int(label_of[point.id] == MET)
        if point.required and (label_of[point.id] == MET) != (point.points >= 0):
            return min(0.0, float(total))
    return float(total)


def _difference_estimate(
    judge_scores: Sequence[float], people_scores: Sequence[float | None], level: float
) -> tuple[float, float, float]:
    """Return (value, lower, upper) of the corrected mean."""
    differences = [
        score - verdict
        for score, verdict in zip(people_scores, judge_scores, strict=True)
        if score is not None
    ]
    value = fmean(judge_scores) + fmean(differences)
    # The variances of the mean and of the mean difference add up (a difference estimator).
    spread = variance(differences) / len(differences) + variance(judge_scores) / len(judge_scores)
    reach = t_two_sided(level, len(differences) - 1) * math.sqrt(spread)
    return value, value - reach, value + reach
