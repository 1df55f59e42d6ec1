"""The alternative annotator test of Calderon, Reichart and Dror (2025): may this judge replace a
person?

Each person is compared with the judge by how well either agrees with the other people. Needs
several people on the same rows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

from adjudge.messages import Message
from adjudge.stats.student import t_cdf

Said = TypeVar("Said", bound=Hashable)
Identity = TypeVar("Identity", bound=Hashable)
Alignment = Callable[[Said, Sequence[Said]], float]
FEWEST_ROWS = 30
FALSE_DISCOVERIES = 0.05
PASSES_FROM = 0.5
EPSILON = 0.15
"""How much worse than a person the judge may be and still win, because it is cheaper. The paper
uses 0.2 for experts, 0.15 for skilled annotators and 0.1 for a crowd.
"""


@dataclass(frozen=True, slots=True)
class AnnotatorComparison:
    """The judge compared with one person."""

    annotator: str
    rows: int
    advantage: float
    """The share of rows on which the judge is at least as close to the others as this person."""
    p_value: float
    won: bool


@dataclass(frozen=True, slots=True)
class AltTest:
    """The test's result; undefined, with a reason, if no person shared enough rows with others."""

    winning_rate: float | None
    """ω: the share of people against whom the judge won."""
    advantage: float | None
    """ρ: the mean advantage, by which judges are ranked."""
    passed: bool
    epsilon: float
    comparisons: tuple[AnnotatorComparison, ...] = ()
    nearby: Mapping[float, float] | None = None
    """ω at ε - 0.05 and ε + 0.05: ε is a choice, and it decides."""
    skipped: tuple[str, ...] = ()
    """People with too few rows."""
    reason: str = ""


def share_alike(said: Hashable, others: Sequence[Hashable]) -> float:
    """Return the share of others with the same answer."""
    return fmean(said == answer for answer in others)


def closeness(said: float, others: Sequence[float]) -> float:
    """Return the negative root mean square distance from the others' numbers; higher is closer."""
    return -math.sqrt(fmean((said - answer) ** 2 for answer in others))


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    differences: list[int]
    wins: list[int]


def alt_test(
    judge: Mapping[Identity, Said],
    people: Mapping[str, Mapping[Identity, Said]],
    *,
    epsilon: float = EPSILON,
    alignment: Alignment[Said] = share_alike,
) -> AltTest:
    """Compare the judge's answers with people's, by row. Rows without the judge's answer are left
    out.
    """
    answers: dict[Identity, dict[str, Said]] = defaultdict(dict)
    for name, answers_of_person in people.items():
        for row, answer in answers_of_person.items():
            answers[row][name] = answer
    shared = {row: answer for row, answer in answers.items() if row in judge and len(answer) > 1}
    compared = [
        _compare(name, judge, answers_of_person, shared, alignment)
        for name, answers_of_person in people.items()
    ]
    enough = [person for person in compared if len(person.differences) >= FEWEST_ROWS]
    skipped = tuple(person.name for person in compared if len(person.differences) < FEWEST_ROWS)
    if not enough:
        reason = Message(
            "no annotator has {fewest} rows that the judge and another annotator answered too",
            fewest=FEWEST_ROWS,
        )
        return AltTest(None, None, False, epsilon, skipped=skipped, reason=reason)
    p_values = [p_value_below(person.differences, epsilon) for person in enough]
    won = benjamini_yekutieli(p_values, FALSE_DISCOVERIES)
    comparisons = tuple(
        AnnotatorComparison(
            person.name, len(person.wins), fmean(person.wins), p_value, place in won
        )
        for place, (person, p_value) in enumerate(zip(enough, p_values, strict=True))
    )
    nearby = {
        round(epsilon + step, 6): _winning_rate(enough, epsilon + step) for step in (-0.05, 0.05)
    }
    rate = len(won) / len(enough)
    advantage = fmean(comparison.advantage for comparison in comparisons)
    return AltTest(rate, advantage, rate >= PASSES_FROM, epsilon, comparisons, nearby, skipped)


def _winning_rate(people: Sequence[_Person], epsilon: float) -> float:
    p_values = [p_value_below(person.differences, epsilon) for person in people]
    return len(benjamini_yekutieli(p_values, FALSE_DISCOVERIES)) / len(people)


def _compare(
    name: str,
    judge: Mapping[Identity, Said],
    own: Mapping[Identity, Said],
    shared: Mapping[Identity, Mapping[str, Said]],
    alignment: Alignment[Said],
) -> _Person:
    """Compare the judge with one person. ``shared``: row → annotator → answer, for rows with
    several people.
    """
    person = _Person(name, [], [])
    for row, own_answer in own.items():
        if row in shared:
            other_answers = [
                answer for annotator, answer in shared[row].items() if annotator != name
            ]
            judge_score = alignment(judge[row], other_answers)
            person_score = alignment(own_answer, other_answers)
            person.wins.append(int(judge_score >= person_score))
            person.differences.append(
                int(person_score >= judge_score) - int(judge_score >= person_score)
            )
    return person


def p_value_below(differences: Sequence[int], epsilon: float) -> float:
    """Return the one-sided p-value of a mean below ``epsilon``, by Student's test."""
    # Without variance Student's test is undefined.
    if min(differences) == max(differences):
        return 0.0 if differences[0] < epsilon else 1.0
    error = stdev(differences) / math.sqrt(len(differences))
    return t_cdf((fmean(differences) - epsilon) / error, len(differences) - 1)


def benjamini_yekutieli(p_values: Sequence[float], risk: float) -> set[int]:
    """Return the indexes of hypotheses rejected at false discovery rate ``risk``, under any
    dependence.
    """
    count = len(p_values)
    harmonic = math.fsum(1 / place for place in range(1, count + 1))
    order = sorted(range(count), key=p_values.__getitem__)
    last = max(
        (
            rank
            for rank, at in enumerate(order, 1)
            if p_values[at] <= rank * risk / (count * harmonic)
        ),
        default=0,
    )
    return set(order[:last])
