"""Rates of points and the score, corrected by what people say of some rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, variance

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics.labels import PointLabels
from adjudge.features.rubrics.record import RubricDetail, RubricPointRecord
from adjudge.features.rubrics.rubric import MET, NOT_MET
from adjudge.messages import Message
from adjudge.stats.correction import corrected_mean
from adjudge.stats.student import t_two_sided

FEWEST_LABELS = 20
"""Labels of a point, and rows of which all points are labelled, that a correction needs."""


@dataclass(frozen=True)
class CorrectedRate:
    """How often a point, or the points of a category, are met; or the mean score."""

    name: str
    rows: int
    """Verdicts, or rows."""
    labels: int
    judged: float | None
    """As the judge says."""
    value: float | None
    lower: float | None
    upper: float | None
    refusal: str | None = None
    """Why it is not corrected."""

    def to_dict(self) -> JsonDict:
        return {
            "name": self.name,
            "rows": self.rows,
            "labels": self.labels,
            "judged": self.judged,
            "corrected": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "refusal": None if self.refusal is None else str(self.refusal),
        }


@dataclass(frozen=True)
class _Verdict:
    row: str
    point: RubricPointRecord
    label: float | None


def corrected_rates(
    records: Sequence[JudgmentRecord], labels: PointLabels, *, level: float = 0.95
) -> list[CorrectedRate]:
    """Return the corrected share of met points: of all, of each category, and of each point with
    enough labels. Rows are the unit: the points of a row are not independent.

    It holds if the labelled rows were drawn at random.
    """
    verdicts = [
        _Verdict(record.id or str(number), point, _number(labels.of_row(record.id).get(point.id)))
        for number, record in enumerate(records)
        if isinstance(record.detail, RubricDetail)
        for point in record.detail.points
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
        each[0].point.id: each
        for each in texts.values()
        if sum(one.label is not None for one in each) >= FEWEST_LABELS
    }
    made = [_rate(name, each, level) for name, each in groups.items()]
    return made + [_rate(f"point {id}", each, level) for id, each in several.items()]


def _number(label: str | None) -> float | None:
    return None if label is None else float(label == MET)


def _rate(name: str, verdicts: Sequence[_Verdict], level: float) -> CorrectedRate:
    answers = [one.point.answer for one in verdicts]
    known = [answer for answer in answers if answer is not None]
    labels = [one.label for one in verdicts]
    count = sum(label is not None for label in labels)
    judged = known.count(MET) / len(known) if known else None
    if count < FEWEST_LABELS:
        refusal = Message("{count} labels; {needed} are needed", count=count, needed=FEWEST_LABELS)
        return CorrectedRate(name, len(verdicts), count, judged, None, None, None, refusal)
    clusters: list[Hashable] = [one.row for one in verdicts]
    estimate = corrected_mean(answers, labels, (MET, NOT_MET), clusters=clusters, level=level)
    return CorrectedRate(
        name, len(verdicts), count, judged, estimate.value, estimate.lower, estimate.upper
    )


def corrected_score(
    records: Sequence[JudgmentRecord], labels: PointLabels, *, level: float = 0.95
) -> CorrectedRate:
    """Return the mean score, corrected by the rows of which people labelled every point.

    The judge's mean plus the mean difference between people's score and the judge's on those rows.
    It holds if they were drawn at random.
    """
    name = "score"
    rows = [
        (record.detail, labels.of_row(record.id))
        for record in records
        if isinstance(record.detail, RubricDetail)
    ]
    judged = [detail.lower for detail, _ in rows if detail.lower == detail.upper]
    plain = fmean(judged) if judged else None
    scores = [_score_by(detail, own) for detail, own in rows]
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


def _score_by(detail: RubricDetail, labels: object) -> float | None:
    """Return the score that people's labels make; None unless all points are labelled, and the
    points add up without groups.
    """
    given = labels if isinstance(labels, dict) else {}
    total = Fraction()
    for point in detail.points:
        if point.id not in given or point.share is None or point.kind != "met":
            return None
        total += Fraction(point.share) * int(given[point.id] == MET)
        if point.required and (given[point.id] == MET) != (point.points >= 0):
            return min(0.0, float(total))
    return float(total)


def _difference_estimate(
    judged: Sequence[float], people: Sequence[float | None], level: float
) -> tuple[float, float, float]:
    differences = [
        score - verdict for score, verdict in zip(people, judged, strict=True) if score is not None
    ]
    value = fmean(judged) + fmean(differences)
    spread = variance(differences) / len(differences) + variance(judged) / len(judged)
    reach = t_two_sided(level, len(differences) - 1) * math.sqrt(spread)
    return value, value - reach, value + reach
