"""Pairs of systems that answered the same rows: differences paired by row, with an interval, that
may be undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Annotated, Literal, NamedTuple, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import asked_row
from adjudge.messages import Message, join
from adjudge.runs.counts import count_rows, count_tasks
from adjudge.runs.numbers import level_text
from adjudge.runs.results.summary import IntervalShape
from adjudge.stats.difference import (
    ComparisonOutcome,
    Difference,
    PairedScores,
    PairOfScores,
    UnknownPair,
    holm,
)


class AnswerScore(NamedTuple):
    """The score of an answer, with the least and the most that it could be."""

    score: float | None
    """None if the answer has these bounds instead of a score."""
    least: float
    """Less than the score if votes that a panel lost could lower it."""
    most: float


Scores = Mapping[str, Sequence[AnswerScore]]
"""Row → what its answers scored."""


class SystemDifferenceShape(TypedDict):
    """The second system minus the first by one criterion, over the rows that both answered."""

    judge: str
    criteria: str
    systems: Sequence[str]
    means: Sequence[float]
    difference: float | None
    interval: IntervalShape | None
    p_value: Annotated[float | None, "adjusted over all such comparisons of the run (Holm)"]
    outcome: Annotated[
        Literal["better", "worse", "cannot tell"],
        "the second system; a count is better the lower it is",
    ]
    rows: int
    missing: Annotated[int, "rows without a score of one of the two"]


@dataclass(frozen=True)
class SystemDifference:
    """The second system's mean minus the first's by one criterion, over rows where both have
    scores.
    """

    judge: str
    criteria: str
    systems: tuple[str, str]
    means: tuple[float, float]
    difference: Difference
    rows: int
    missing: int
    """Rows without a score of one of the two: it failed, or the system never answered the row."""
    outcome: ComparisonOutcome
    """The outcome for the second system. A count is better the lower it is."""
    is_count: bool = False
    of_tasks: bool = False
    adjusted: float | None = None
    """The p-value over all such comparisons of the run (Holm)."""

    @property
    def sentence(self) -> Message:
        """A line that says which system is better and by how much, or that they cannot be
        distinguished.
        """
        estimate, (system_a, system_b) = self.difference.estimate, self.systems
        counted = count_tasks(self.rows) if self.of_tasks else count_rows(self.rows)
        parts: list[str] = [
            Message(
                "{name}: {outcome}: {one} {first:.3f}, {two} {second:.3f} on {rows}",
                name=self.criteria,
                outcome=self._outcome_text,
                one=system_a,
                first=self.means[0],
                two=system_b,
                second=self.means[1],
                rows=counted,
            )
        ]
        if estimate.lower is None or estimate.upper is None or estimate.value is None:
            parts += [estimate.reason] if estimate.reason else []
        else:
            parts.append(
                Message(
                    "difference {value:+.3f} ({lower:+.3f} to {upper:+.3f} at {level})",
                    value=estimate.value,
                    lower=estimate.lower,
                    upper=estimate.upper,
                    level=level_text(estimate.level),
                )
            )
        if self.missing:
            missing = count_tasks(self.missing) if self.of_tasks else count_rows(self.missing)
            parts.append(Message("without a score for both: {rows}", rows=missing))
        return join("; ", parts)

    @property
    def _outcome_text(self) -> Message:
        if self.outcome is ComparisonOutcome.CANNOT_TELL:
            return Message("cannot tell")
        better = self.systems[self.outcome is ComparisonOutcome.BETTER]
        return Message("{system} is better", system=better)

    def to_dict(self) -> JsonDict:
        estimate = self.difference.estimate
        return fill(
            SystemDifferenceShape,
            self,
            difference=estimate.value,
            interval=None if estimate.lower is None else fill(IntervalShape, estimate),
            p_value=self.adjusted,
        )


class SystemsTally:
    """Adds up the scores of systems on the rows they answered, using a few bytes per row."""

    def __init__(self) -> None:
        self._scores: dict[tuple[str, str], dict[str, dict[str, list[AnswerScore]]]] = {}
        """Judge and criterion → system → row → scores with their ends."""
        self._limits: dict[tuple[str, str], tuple[float, float]] = {}
        """Judge and criterion → the lowest and the highest score that a row allows."""
        self._counts: set[tuple[str, str]] = set()
        self._of_tasks = False

    def add(self, record: JudgmentRecord) -> None:
        system, row = record.answered_by, asked_row(record)
        if not system or row is None:
            return
        key = (record.judge, record.criterion)
        scores = self._scores.setdefault(key, {}).setdefault(system, {}).setdefault(row, [])
        self._of_tasks |= record.detail.unit == "task"
        low, high = self._limits.get(key, (0.0, 1.0))
        least, most = record.detail.limits or (low, high)
        self._limits[key] = min(low, least), max(high, most)
        if record.scored and record.score is not None:
            ends = record.possible_scores() or (record.score, record.score)
            scores.append(AnswerScore(record.score, *ends))
            if record.detail.is_count:
                self._counts.add(key)
        elif record.detail.has_bounds and record.status != "skipped":
            scores.append(AnswerScore(None, *record.missing_score()))

    def summary(self) -> tuple[SystemDifference, ...]:
        """Return the difference of each pair of systems, per judge and criterion, on rows that both
        answered.

        Pairs without such a row are left out. P-values are adjusted for the number of tests (Holm);
        an outcome that is not significant becomes "cannot tell".
        """
        differences = list(self._each())
        tested = [
            difference_of_pair
            for difference_of_pair in differences
            if difference_of_pair.difference.p_value is not None
        ]
        adjusted = holm(
            [difference_of_pair.difference.p_value or 0.0 for difference_of_pair in tested]
        )
        by_pair = {
            id(difference_of_pair): value
            for difference_of_pair, value in zip(tested, adjusted, strict=True)
        }
        return tuple(
            _adjust(difference_of_pair, by_pair.get(id(difference_of_pair)))
            for difference_of_pair in differences
        )

    def _each(self) -> Iterator[SystemDifference]:
        for (judge, criterion), systems in self._scores.items():
            for system_a, system_b in combinations(systems, 2):
                difference = self._compare(
                    judge, criterion, (system_a, system_b), (systems[system_a], systems[system_b])
                )
                yield from [] if difference is None else [difference]

    def _compare(
        self, judge: str, criterion: str, names: tuple[str, str], scores: tuple[Scores, Scores]
    ) -> SystemDifference | None:
        scores_a, scores_b = scores
        rows = dict.fromkeys(
            (*scores_a, *scores_b)
        )  # a row that one of them never answered is unknown
        paired, is_count = PairedScores(), (judge, criterion) in self._counts
        for row in rows:
            paired.add([_pair(scores_b.get(row), scores_a.get(row))])
        if not paired.rows:
            return None
        low, high = self._limits.get((judge, criterion), (0.0, 1.0))
        compared = paired.compared(reach=math.inf if is_count else high - low)
        return SystemDifference(
            judge,
            criterion,
            names,
            (paired.second / paired.rows, paired.first / paired.rows),
            compared,
            paired.rows,
            len(rows) - paired.rows,
            _TURNED[compared.outcome] if is_count else compared.outcome,
            is_count,
            self._of_tasks,
        )


def _pair(
    answers_a: Sequence[AnswerScore] | None, answers_b: Sequence[AnswerScore] | None
) -> PairOfScores | UnknownPair | None:
    """Return both mean scores of a row, plus the range of their difference if lost votes leave it
    open; only the range if an answer has bounds; None if a system has no answer.
    """
    if not answers_a or not answers_b:
        return None
    (low, high), (least, most) = (
        (fmean(low for _, low, _ in answers), fmean(high for _, _, high in answers))
        for answers in (answers_a, answers_b)
    )
    scores_a, scores_b = (
        [score for score, _, _ in answers if score is not None]
        for answers in (answers_a, answers_b)
    )
    if len(scores_a) < len(answers_a) or len(scores_b) < len(answers_b):
        return UnknownPair(low - most, high - least)
    mean_a, mean_b = fmean(scores_a), fmean(scores_b)
    if low < high or least < most:
        return mean_a, mean_b, low - most, high - least
    return mean_a, mean_b


_TURNED = {
    ComparisonOutcome.BETTER: ComparisonOutcome.WORSE,
    ComparisonOutcome.WORSE: ComparisonOutcome.BETTER,
    ComparisonOutcome.CANNOT_TELL: ComparisonOutcome.CANNOT_TELL,
}


def _adjust(difference: SystemDifference, p_value: float | None) -> SystemDifference:
    unsure = p_value is None or p_value > 1 - difference.difference.estimate.level
    outcome = ComparisonOutcome.CANNOT_TELL if unsure else difference.outcome
    return replace(difference, adjusted=p_value, outcome=outcome)
