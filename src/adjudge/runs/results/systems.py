"""Systems that answered the same rows, compared by two: paired by row, with an interval, and able
to say "cannot tell".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import asked_row
from adjudge.messages import Message, join
from adjudge.runs.counts import count_rows, count_tasks
from adjudge.runs.numbers import level_text
from adjudge.stats.difference import ComparisonOutcome, Difference, PairedScores, PairOfScores, holm

Scores = Mapping[str, Sequence[tuple[float, float, float]]]
"""Row → what its answers scored, with the least and the most that each score would be with the
votes that a panel lost.
"""


@dataclass(frozen=True)
class SystemDifference:
    """The second system less the first by one criterion, over the rows with a score of both."""

    judge: str
    criteria: str
    systems: tuple[str, str]
    means: tuple[float, float]
    difference: Difference
    rows: int
    missing: int
    """Rows without a score of one of the two: it failed, or the system never answered the row."""
    outcome: ComparisonOutcome
    """Of the second: a count is better the lower it is."""
    is_count: bool = False
    of_tasks: bool = False
    adjusted: float | None = None
    """The p-value over all such comparisons of the run (Holm)."""

    @property
    def sentence(self) -> Message:
        """Who is better by how much, in a line."""
        found, (one, two) = self.difference.estimate, self.systems
        counted = count_tasks(self.rows) if self.of_tasks else count_rows(self.rows)
        said: list[str] = [
            Message(
                "{name}: {outcome}: {one} {first:.3f}, {two} {second:.3f} on {rows}",
                name=self.criteria,
                outcome=self._said,
                one=one,
                first=self.means[0],
                two=two,
                second=self.means[1],
                rows=counted,
            )
        ]
        if found.lower is None or found.upper is None or found.value is None:
            said += [found.reason] if found.reason else []
        else:
            said.append(
                Message(
                    "difference {value:+.3f} ({lower:+.3f} to {upper:+.3f} at {level})",
                    value=found.value,
                    lower=found.lower,
                    upper=found.upper,
                    level=level_text(found.level),
                )
            )
        if self.missing:
            missing = count_tasks(self.missing) if self.of_tasks else count_rows(self.missing)
            said.append(Message("without a score of both: {rows}", rows=missing))
        return join("; ", said)

    @property
    def _said(self) -> Message:
        if self.outcome is ComparisonOutcome.CANNOT_TELL:
            return Message("cannot tell")
        better = self.systems[self.outcome is ComparisonOutcome.BETTER]
        return Message("{system} is better", system=better)

    def to_dict(self) -> JsonDict:
        found = self.difference.estimate
        return {
            **some_of(self, "judge", "criteria", "systems", "means"),
            "difference": found.value,
            "interval": None if found.lower is None else some_of(found, "lower", "upper", "level"),
            "p_value": self.adjusted,
            "outcome": self.outcome.value,
            "rows": self.rows,
            "missing": self.missing,
        }


class SystemsTally:
    """Adds up what systems scored on the rows they answered; a few bytes for each row."""

    def __init__(self) -> None:
        self._scores: dict[
            tuple[str, str], dict[str, dict[str, list[tuple[float, float, float]]]]
        ] = {}
        """Judge and criterion → system → row → scores with their ends."""
        self._counts: set[tuple[str, str]] = set()
        self._of_tasks = False

    def add(self, one: JudgmentRecord) -> None:
        system, row = one.answered_by, asked_row(one)
        if not system or row is None:
            return
        key = (one.judge, one.criterion)
        scores = self._scores.setdefault(key, {}).setdefault(system, {}).setdefault(row, [])
        self._of_tasks |= one.detail.kind == "agent"
        if one.scored and one.score is not None:
            scores.append((one.score, *(one.possible_scores() or (one.score, one.score))))
            if one.detail.is_count:
                self._counts.add(key)

    def summary(self) -> tuple[SystemDifference, ...]:
        """Every two systems by every criterion; what only one of many would show is not called
        better (Holm).
        """
        found = list(self._each())
        known = [one for one in found if one.difference.p_value is not None]
        adjusted = holm([one.difference.p_value or 0.0 for one in known])
        by_pair = {id(one): value for one, value in zip(known, adjusted, strict=True)}
        return tuple(_adjusted(one, by_pair.get(id(one))) for one in found)

    def _each(self) -> Iterator[SystemDifference]:
        for (judge, criterion), systems in self._scores.items():
            for one, two in combinations(systems, 2):
                made = self._compared(judge, criterion, (one, two), (systems[one], systems[two]))
                yield from [] if made is None else [made]

    def _compared(
        self, judge: str, criterion: str, names: tuple[str, str], scores: tuple[Scores, Scores]
    ) -> SystemDifference | None:
        one, two = scores
        rows = dict.fromkeys((*one, *two))  # a row that one of them never answered is unknown
        both = [row for row in rows if one.get(row) and two.get(row)]
        if not both:
            return None
        paired, is_count = PairedScores(), (judge, criterion) in self._counts
        for row in both:
            paired.add([_pair(two[row], one[row])])
        missing = len(rows) - len(both)
        for _ in range(missing):
            paired.add([None])
        found = paired.compared(reach=math.inf if is_count else 1.0)
        return SystemDifference(
            judge,
            criterion,
            names,
            (paired.second / paired.rows, paired.first / paired.rows),
            found,
            len(both),
            missing,
            _TURNED[found.outcome] if is_count else found.outcome,
            is_count,
            self._of_tasks,
        )


def _pair(
    first: Sequence[tuple[float, float, float]], second: Sequence[tuple[float, float, float]]
) -> PairOfScores:
    """Return the mean scores of a row, and what lost votes could make of their difference."""
    one, low, high = map(fmean, zip(*first, strict=True))
    two, least, most = map(fmean, zip(*second, strict=True))
    return (one, two, low - most, high - least) if low < high or least < most else (one, two)


_TURNED = {
    ComparisonOutcome.BETTER: ComparisonOutcome.WORSE,
    ComparisonOutcome.WORSE: ComparisonOutcome.BETTER,
    ComparisonOutcome.CANNOT_TELL: ComparisonOutcome.CANNOT_TELL,
}


def _adjusted(one: SystemDifference, p_value: float | None) -> SystemDifference:
    unsure = p_value is None or p_value > 1 - one.difference.estimate.level
    outcome = ComparisonOutcome.CANNOT_TELL if unsure else one.outcome
    return replace(one, adjusted=p_value, outcome=outcome)
