"""Evidence that repeated answers to the same questions have changed, valid however often
one looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

from adjudge.stats.distributions import z_quantile

# Possible lengths of the shorter side of a split, in looks: since the change, or before it.
_SPANS = (1, 2, 4, 8, 16)
# Ten looks share half of the risk; the next twenty a sixth, and so on forever.
_EARLY = 10
# Scores are compared in quarters, and all but the three most frequent options of a question are
# merged, so that all orders can be counted.
_KINDS = 4
# Looks up to which a change is also sought right after the first looks.
_YOUNG = 32
# A total is counted only if a normal one so far from its mean has a tail of at most so many times
# the share of the risk: counting takes time, and a larger tail is no evidence.
_HOPELESS = 100.0


# Additions up to which all orders are counted, about half a second. Since the last look that is
# enough for 1,000 questions with two options, since 16 looks for 80 of them, or for 20 with scores
# in quarters. Beyond that an upper limit of the tail stands for it.
_MOST_STEPS = 1_000_000
# The largest tilt of such a limit: any is valid, and with this one no power overflows.
_STEEPEST = 2.5


@dataclass(frozen=True, slots=True)
class AnchorAnswer:
    """The answer to one question."""

    option: Hashable
    score: float | None = None
    """The option's score from 0 to 1, if it has one."""


Look = Mapping[str, AnchorAnswer]
"""Question → its answer, for the answered questions."""


def change_evidence(looks: Sequence[Look], bar: float) -> list[float]:
    """Return the evidence of a change after each look but the first.

    Unchanged answers reach ``bar`` at any look, however many there are, with probability at most
    ``1 / bar``. This assumes that the answers to one question are exchangeable, and that different
    questions are answered independently. Once the bar is reached the evidence stays what it is.

    Each look compares the answers since some earlier look with those before it. If nothing
    changed, every order of the answers to one question was as likely, whatever the noise of each
    question: that gives an exact p-value. All comparisons of all looks share one risk: each has a
    part of it, the parts add up to 1, and the evidence is the part divided by the p-value.

    Multiplying what successive looks win would be wrong: given the past, such a product is not a
    supermartingale, because the answers that a look is compared with also say what is to come.
    """
    scores = list(_tracks(looks, _step_of))
    options = list(_tracks(looks, lambda answer: answer.option))
    evidence: list[float] = []
    for last in range(1, len(looks)):
        if evidence and evidence[-1] >= bar:
            evidence.append(evidence[-1])
        else:
            evidence.append(max(1.0, *_comparisons(scores, options, last)))
    return evidence


def _step_of(answer: AnchorAnswer) -> int | None:
    return None if answer.score is None else round(_KINDS * answer.score)


Answer = TypeVar("Answer", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Track(Generic[Answer]):
    """The answers to one question over time."""

    answers: tuple[Answer, ...]
    """Its different answers."""
    counts: tuple[tuple[int, ...], ...]
    """Per look, the count of each answer so far."""


def _tracks(
    looks: Sequence[Look], read: Callable[[AnchorAnswer], Answer]
) -> Iterator[_Track[Answer]]:
    """Yield the questions with at least two different answers; others show no change."""
    for question in dict.fromkeys(name for look in looks for name in look):
        series = {
            number: read(look[question]) for number, look in enumerate(looks) if question in look
        }
        answers = sorted(set(series.values()), key=repr)
        if len(answers) < 2:
            continue
        counts = dict.fromkeys(answers, 0)
        running_counts = []
        for number in range(len(looks)):
            if number in series:
                counts[series[number]] += 1
            running_counts.append(tuple(counts.values()))
        yield _Track(tuple(answers), tuple(running_counts))


def _comparisons(
    scores: Sequence[_Track[int | None]], options: Sequence[_Track[Hashable]], last: int
) -> Iterator[float]:
    """Yield the evidence of each comparison at a look: scores higher or lower since a split, or
    options rare before it.
    """
    risk = _EARLY / ((last + _EARLY - 1) * (last + _EARLY))  # sums to 1 over all looks
    splits = _splits(last)
    for split, weight in splits.items():
        part = risk * weight / math.fsum(splits.values()) / 3
        risen = [
            _Figure(steps, track.counts[last], side.own, 1 if side.is_late else -1)
            for track in scores
            if (side := _shorter_side(track.counts[last], track.counts[split - 1]))
            if (steps := _steps(track, last)) is not None
        ]
        unlikely = [
            _Figure(None, *_merge_rare(track.counts[last], side.own), 1)
            for track in options
            if (side := _shorter_side(track.counts[last], track.counts[split - 1]))
        ]
        least = z_quantile(1 - min(0.02, _HOPELESS * part))
        yield part / _tail(risen, least)
        yield part / _tail(risen, least, -1)
        yield part / _tail(unlikely, least)


def _steps(track: _Track[int | None], last: int) -> tuple[int, ...] | None:
    """Return each answer's score; None if an answer so far has no score."""
    counted = zip(track.answers, track.counts[last], strict=True)
    if any(step is None and count for step, count in counted):
        return None
    return tuple(step or 0 for step in track.answers)


def _splits(last: int) -> dict[int, float]:
    """Return the first look after each split → weight. Splits near either end weigh most."""
    weights: dict[int, float] = {}
    for place, span in enumerate(_SPANS, 1):
        if span <= last:
            for split in (last + 1 - span, span) if last <= _YOUNG else (last + 1 - span,):
                weights[split] = weights.get(split, 0.0) + 1 / place
    return weights


class _Side(NamedTuple):
    """The answers to one question on the shorter side of a split."""

    own: tuple[int, ...]
    """Count of each answer on this side."""
    is_late: bool


@lru_cache(maxsize=100_000)
def _shorter_side(every: tuple[int, ...], before: tuple[int, ...]) -> _Side | None:
    """Return the shorter side of a split; None if a side is empty or all answers are equal.

    ``every``: counts of all answers. ``before``: counts before the split.
    """
    since = tuple(late - early for late, early in zip(every, before, strict=True))
    if not any(before) or not any(since) or sum(map(bool, every)) < 2:
        return None
    is_late = sum(since) <= sum(before)
    return _Side(since if is_late else before, is_late)


@lru_cache(maxsize=100_000)
def _merge_rare(
    every: tuple[int, ...], own: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sort options by frequency, and merge all but the first three."""
    # Ties stay in order: one that looked at the sides would not be alike for all orders.
    pairs = sorted(zip(every, own, strict=True), key=lambda pair: -pair[0])
    frequent, rare = pairs[: _KINDS - 1], pairs[_KINDS - 1 :]
    merged = [*frequent, (sum(count for count, _ in rare), sum(count for _, count in rare))]
    return tuple(count for count, _ in merged), tuple(count for _, count in merged)


# (value, probability), of all values that are possible.
_Chances = tuple[tuple[int, float], ...]


class _Figure(NamedTuple):
    """A figure for the answers to one question on one side of a split."""

    values: tuple[int, ...] | None
    """Contribution of each answer. None: the figure is the improbability of drawing these
    answers.
    """
    every: tuple[int, ...]
    own: tuple[int, ...]
    sign: int


def _contribution(value: int | None, count: int, drawn: int) -> int:
    """Return the contribution of answers of one kind to a figure: ``drawn`` of ``count``.

    The probability of a draw is the product of the ways to choose from each kind, divided by a
    constant: in half bits, a draw that can be made in few ways has a high figure.
    """
    return -_half_bits(count, drawn) if value is None else value * drawn


@lru_cache(maxsize=100_000)
def _half_bits(count: int, drawn: int) -> int:
    return round(2 * math.log2(math.comb(count, drawn)))


@lru_cache(maxsize=100_000)
def _distance_from_mean(figure: _Figure) -> tuple[float, float]:
    """Return a figure's distance from its mean over all orders of the answers, and its variance."""
    values, every, side_counts, sign = figure
    size, total = sum(side_counts), sum(every)
    kinds = [
        (count, values[place] if values else None) for place, count in enumerate(every) if count
    ]
    moments = [_moments(kind, size, total) for kind in kinds]
    variance = math.fsum(square - mean * mean for mean, square in moments)
    variance += 2 * math.fsum(
        _mean_product(*sorted(pair), size, total) - mean_a * mean_b
        for pair, ((mean_a, _), (mean_b, _)) in zip(
            combinations(kinds, 2), combinations(moments, 2), strict=True
        )
    )
    mean = math.fsum(mean for mean, _ in moments)
    return sign * (_observed_value(figure) - mean), max(0.0, variance)


# The number of answers of one kind, and the contribution of each (``_Figure.values``).
_Kind = tuple[int, int | None]


@lru_cache(maxsize=10_000)
def _moments(kind: _Kind, size: int, total: int) -> tuple[float, float]:
    """Return a kind's mean contribution if ``size`` of ``total`` answers are drawn, and the mean of
    its square.
    """
    count, value = kind
    outcomes = [
        (_contribution(value, count, drawn), chance)
        for drawn, chance in _hypergeometric(count, size, total)
    ]
    mean = math.fsum(added * chance for added, chance in outcomes)
    return mean, math.fsum(added * added * chance for added, chance in outcomes)


@lru_cache(maxsize=100_000)
def _mean_product(one: _Kind, other: _Kind, size: int, total: int) -> float:
    """Return the mean product of two kinds' contributions."""
    return math.fsum(
        chance
        * _contribution(one[1], one[0], drawn)
        * _moments(other, size - drawn, total - one[0])[0]
        for drawn, chance in _hypergeometric(one[0], size, total)
    )


@lru_cache(maxsize=10_000)
def _hypergeometric(count: int, size: int, total: int) -> _Chances:
    """Return the hypergeometric distribution of how many of ``count`` answers are among ``size`` of
    ``total``.
    """
    every = math.comb(total, size)
    return tuple(
        (drawn, math.comb(count, drawn) * math.comb(total - count, size - drawn) / every)
        for drawn in range(max(0, size - (total - count)), min(count, size) + 1)
    )


def _observed_value(figure: _Figure) -> int:
    """Return the figure without its sign."""
    return sum(
        _contribution(figure.values[place] if figure.values else None, count, side_count)
        for place, (count, side_count) in enumerate(zip(figure.every, figure.own, strict=True))
    )


@lru_cache(maxsize=10_000)
def _chances(values: tuple[int, ...] | None, counts: tuple[int, ...], size: int) -> _Chances:
    """Return the distribution of a figure if ``size`` of all answers are drawn at random."""
    ways: dict[tuple[int, int], int] = {(0, 0): 1}
    remaining = sum(counts)
    for place, count in enumerate(counts):
        value = values[place] if values else None
        remaining -= count
        following: dict[tuple[int, int], int] = {}
        for (drawn, total), number in ways.items():
            for more in range(max(0, size - drawn - remaining), min(count, size - drawn) + 1):
                key = drawn + more, total + _contribution(value, count, more)
                following[key] = following.get(key, 0) + number * math.comb(count, more)
        ways = following
    every = math.comb(sum(counts), size)
    return tuple((total, number / every) for (_, total), number in ways.items())


def _tail(figures: Sequence[_Figure], least: float, sign: int = 1) -> float:
    """Return the probability of a total this high over all orders of the answers; with a ``sign``
    of -1, this low.

    Returns 1 without counting if the total is less than ``least`` standard errors from its mean,
    and an upper limit if there is too much to count: both err on the safe side.
    """
    places = [_distance_from_mean(figure) for figure in figures]
    above = sign * math.fsum(moment for moment, _ in places)
    variance = math.fsum(moment for _, moment in places)
    if above <= 0 or above < least * math.sqrt(variance):
        return 1.0
    if _steps_to_count(figures) > _MOST_STEPS:
        return _tail_limit(figures, sign, min(above / variance, _STEEPEST))
    total = sum(sign * figure.sign * _observed_value(figure) for figure in figures)
    sums = {0: 1.0}
    for figure in figures:
        chances = [
            (sign * figure.sign * value, chance)
            for value, chance in _chances(figure.values, figure.every, sum(figure.own))
        ]
        following: dict[int, float] = {}
        for so_far, likely in sums.items():
            for value, chance in chances:
                following[so_far + value] = following.get(so_far + value, 0.0) + likely * chance
        sums = following
    return min(1.0, math.fsum(chance for value, chance in sums.items() if value >= total))


def _steps_to_count(figures: Sequence[_Figure]) -> int:
    """Return an upper limit for the number of additions that counting all orders takes."""
    steps, sums = 0, 1
    for figure in figures:
        size, total = sum(figure.own), sum(figure.every)
        if figure.values is None:
            span = _half_bits(total, size) + len(figure.every)
        else:
            least = min(figure.values)
            step = math.gcd(*(value - least for value in figure.values))
            span = size * (max(figure.values) - least) // step
        kinds = sum(map(bool, figure.every))
        values = min(span + 1, math.comb(size + kinds - 1, kinds - 1))
        steps += (sums + kinds * size) * values  # the second part: the chances of this figure
        sums += span
    return steps


def _tail_limit(figures: Sequence[_Figure], sign: int, tilt: float) -> float:
    """Return an upper limit of a tail (Chernoff): for any ``tilt`` above 0, the mean of exp(tilt ×
    (total − this one)), which is a product over the questions.

    For a normal total the best tilt is the distance from the mean divided by the variance. The true
    best is close to it, so a few tilts around it are tried.
    """
    return min(
        1.0,
        *(
            math.exp(
                min(
                    0.0,
                    math.fsum(
                        _log_mean_exp(figure, sign * figure.sign * try_tilt) for figure in figures
                    ),
                )
            )
            for try_tilt in (0.7 * tilt, 0.85 * tilt, tilt, 1.2 * tilt)
        ),
    )


@lru_cache(maxsize=10_000)
def _log_mean_exp(figure: _Figure, tilt: float) -> float:
    """Return the logarithm of the mean of exp(tilt × (figure − the observed one)).

    The ways to draw from each kind of answer, weighted, are a polynomial in the number that is
    drawn; the coefficient of the product at ``size`` is the sum over all draws.
    """
    values, every, side_counts, _ = figure
    size = sum(side_counts)
    product = [1.0]
    for place, count in enumerate(every):
        value = values[place] if values else None
        base = _contribution(value, count, side_counts[place])
        weights = [
            math.comb(count, drawn) * math.exp(tilt * (_contribution(value, count, drawn) - base))
            for drawn in range(min(count, size) + 1)
        ]
        following = [0.0] * min(size + 1, len(product) + len(weights) - 1)
        for index_a, likely in enumerate(product):
            for index_b, weight in enumerate(weights[: size + 1 - index_a], index_a):
                following[index_b] += likely * weight
        product = following
    return math.log(product[size]) - math.log(math.comb(sum(every), size))
