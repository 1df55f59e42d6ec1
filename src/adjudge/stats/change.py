"""Evidence that repeated answers to the same questions have changed, however often one looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

from adjudge.stats.distributions import z_quantile

_SPANS = (1, 2, 4, 8, 16)
"""How many looks the shorter side of a split holds: those since the change, or those before it."""
_EARLY = 10
"""Ten looks share half of the risk; the next twenty a sixth, and so on forever."""
_KINDS = 4
"""Scores are compared in quarters, and options that are not among the three most frequent ones of
a question as one: so that all orders can be counted.
"""
_YOUNG = 32
"""Looks up to which a change is also sought right after the first looks."""
_HOPELESS = 100.0
"""A total is counted only if a normal one so far from its mean has a tail of at most so many times
the share of the risk: counting takes time, and a larger tail is no evidence.
"""


_MOST_STEPS = 1_000_000
"""Additions up to which all orders are counted, about half a second. Since the last look that is
enough for 1,000 questions with two options, since 16 looks for 80 of them, or for 20 with scores in
quarters. Beyond that an upper limit of the tail stands for it.
"""
_STEEPEST = 2.5
"""The largest tilt of such a limit: any is valid, and with this one no power overflows."""


@dataclass(frozen=True, slots=True)
class AnchorAnswer:
    """What was answered to one question."""

    option: Hashable
    score: float | None = None
    """From 0 to 1, where the option has one."""


Look = Mapping[str, AnchorAnswer]
"""Question → its answer, of those that were answered."""


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
    """One question over all looks."""

    answers: tuple[Answer, ...]
    """Its different answers."""
    counts: tuple[tuple[int, ...], ...]
    """After each look, how often each of these was given so far."""


def _tracks(
    looks: Sequence[Look], read: Callable[[AnchorAnswer], Answer]
) -> Iterator[_Track[Answer]]:
    """The questions that were answered in two ways or more: others say nothing of a change."""
    for question in dict.fromkeys(name for look in looks for name in look):
        series = {
            number: read(look[question]) for number, look in enumerate(looks) if question in look
        }
        answers = sorted(set(series.values()), key=repr)
        if len(answers) < 2:
            continue
        counts = dict.fromkeys(answers, 0)
        after = []
        for number in range(len(looks)):
            if number in series:
                counts[series[number]] += 1
            after.append(tuple(counts.values()))
        yield _Track(tuple(answers), tuple(after))


def _comparisons(
    scores: Sequence[_Track[int | None]], options: Sequence[_Track[Hashable]], last: int
) -> Iterator[float]:
    """The evidence of each comparison that a look makes: scores that are higher since a split,
    or lower, and options that are rare before it.
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
    """The score of each answer; None if one without a score was given up to this look."""
    counted = zip(track.answers, track.counts[last], strict=True)
    if any(step is None and count for step, count in counted):
        return None
    return tuple(step or 0 for step in track.answers)


def _splits(last: int) -> dict[int, float]:
    """The first look after each split → its weight: splits near either end weigh most."""
    weights: dict[int, float] = {}
    for place, span in enumerate(_SPANS, 1):
        if span <= last:
            for split in (last + 1 - span, span) if last <= _YOUNG else (last + 1 - span,):
                weights[split] = weights.get(split, 0.0) + 1 / place
    return weights


class _Side(NamedTuple):
    """The shorter side of a split, of one question."""

    own: tuple[int, ...]
    """How often each answer was given there."""
    is_late: bool


@lru_cache(maxsize=100_000)
def _shorter_side(every: tuple[int, ...], before: tuple[int, ...]) -> _Side | None:
    """The shorter side, by how often each answer was given at all and before the split; None if a
    side is empty, or all answers are alike.
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
    """Order options by how often they were given, and make one of all but the first three."""
    # Ties stay in order: one that looked at the sides would not be alike for all orders.
    pairs = sorted(zip(every, own, strict=True), key=lambda pair: -pair[0])
    first, rest = pairs[: _KINDS - 1], pairs[_KINDS - 1 :]
    merged = [*first, (sum(one for one, _ in rest), sum(one for _, one in rest))]
    return tuple(one for one, _ in merged), tuple(one for _, one in merged)


_Chances = tuple[tuple[int, float], ...]
"""(value, probability), of all values that are possible."""


class _Figure(NamedTuple):
    """A figure of the answers to one question on one side of a split."""

    values: tuple[int, ...] | None
    """What each answer adds. None: the figure is how unlikely it is to draw these answers."""
    every: tuple[int, ...]
    own: tuple[int, ...]
    sign: int


def _added(value: int | None, count: int, drawn: int) -> int:
    """What answers of one kind add to a figure: ``drawn`` of the ``count`` that there are.

    The probability of a draw is the product of the ways to choose from each kind, divided by a
    constant: in half bits, a draw that can be made in few ways has a high figure.
    """
    return -_half_bits(count, drawn) if value is None else value * drawn


@lru_cache(maxsize=100_000)
def _half_bits(count: int, drawn: int) -> int:
    return round(2 * math.log2(math.comb(count, drawn)))


@lru_cache(maxsize=100_000)
def _standing(figure: _Figure) -> tuple[float, float]:
    """How far a figure is above its mean over all orders of the answers, and its variance."""
    values, every, own, sign = figure
    size, total = sum(own), sum(every)
    kinds = [
        (count, values[place] if values else None) for place, count in enumerate(every) if count
    ]
    moments = [_moments(kind, size, total) for kind in kinds]
    variance = math.fsum(square - mean * mean for mean, square in moments)
    variance += 2 * math.fsum(
        _mean_product(*sorted(pair), size, total) - first * second
        for pair, ((first, _), (second, _)) in zip(
            combinations(kinds, 2), combinations(moments, 2), strict=True
        )
    )
    mean = math.fsum(mean for mean, _ in moments)
    return sign * (_observed(figure) - mean), max(0.0, variance)


_Kind = tuple[int, int | None]
"""How many answers of one kind there are, and what each adds to a figure (``_Figure.values``)."""


@lru_cache(maxsize=10_000)
def _moments(kind: _Kind, size: int, total: int) -> tuple[float, float]:
    """Return the mean of what answers of a kind add if ``size`` of ``total`` are drawn, and of its
    square.
    """
    count, value = kind
    each = [(_added(value, count, drawn), chance) for drawn, chance in _drawn(count, size, total)]
    mean = math.fsum(added * chance for added, chance in each)
    return mean, math.fsum(added * added * chance for added, chance in each)


@lru_cache(maxsize=100_000)
def _mean_product(one: _Kind, other: _Kind, size: int, total: int) -> float:
    """Return the mean product of what answers of two kinds add."""
    return math.fsum(
        chance * _added(one[1], one[0], drawn) * _moments(other, size - drawn, total - one[0])[0]
        for drawn, chance in _drawn(one[0], size, total)
    )


@lru_cache(maxsize=10_000)
def _drawn(count: int, size: int, total: int) -> _Chances:
    """How many of ``count`` answers are among ``size`` that are drawn from ``total``."""
    every = math.comb(total, size)
    return tuple(
        (drawn, math.comb(count, drawn) * math.comb(total - count, size - drawn) / every)
        for drawn in range(max(0, size - (total - count)), min(count, size) + 1)
    )


def _observed(figure: _Figure) -> int:
    """The figure, without its sign."""
    return sum(
        _added(figure.values[place] if figure.values else None, count, own)
        for place, (count, own) in enumerate(zip(figure.every, figure.own, strict=True))
    )


@lru_cache(maxsize=10_000)
def _chances(values: tuple[int, ...] | None, counts: tuple[int, ...], size: int) -> _Chances:
    """The distribution of a figure if ``size`` answers are drawn at random from all of them."""
    ways: dict[tuple[int, int], int] = {(0, 0): 1}
    left = sum(counts)
    for place, count in enumerate(counts):
        value = values[place] if values else None
        left -= count
        following: dict[tuple[int, int], int] = {}
        for (drawn, total), number in ways.items():
            for more in range(max(0, size - drawn - left), min(count, size - drawn) + 1):
                key = drawn + more, total + _added(value, count, more)
                following[key] = following.get(key, 0) + number * math.comb(count, more)
        ways = following
    every = math.comb(sum(counts), size)
    return tuple((total, number / every) for (_, total), number in ways.items())


def _tail(figures: Sequence[_Figure], least: float, sign: int = 1) -> float:
    """The probability of a total as high as this one, over all orders of the answers; with a
    ``sign`` of -1, as low.

    Returns 1 without counting if the total is less than ``least`` standard errors from its mean,
    and an upper limit if there is too much to count: both err on the safe side.
    """
    places = [_standing(one) for one in figures]
    above = sign * math.fsum(each for each, _ in places)
    variance = math.fsum(each for _, each in places)
    if above <= 0 or above < least * math.sqrt(variance):
        return 1.0
    if _steps_to_count(figures) > _MOST_STEPS:
        return _tail_limit(figures, sign, min(above / variance, _STEEPEST))
    total = sum(sign * one.sign * _observed(one) for one in figures)
    sums = {0: 1.0}
    for one in figures:
        chances = [
            (sign * one.sign * value, chance)
            for value, chance in _chances(one.values, one.every, sum(one.own))
        ]
        following: dict[int, float] = {}
        for so_far, likely in sums.items():
            for value, chance in chances:
                following[so_far + value] = following.get(so_far + value, 0.0) + likely * chance
        sums = following
    return min(1.0, math.fsum(chance for value, chance in sums.items() if value >= total))


def _steps_to_count(figures: Sequence[_Figure]) -> int:
    """Return an upper limit of the additions that counting all orders takes."""
    steps, sums = 0, 1
    for one in figures:
        size, total = sum(one.own), sum(one.every)
        if one.values is None:
            span = _half_bits(total, size) + len(one.every)
        else:
            least = min(one.values)
            step = math.gcd(*(value - least for value in one.values))
            span = size * (max(one.values) - least) // step
        kinds = sum(map(bool, one.every))
        values = min(span + 1, math.comb(size + kinds - 1, kinds - 1))
        steps += (sums + kinds * size) * values  # the second part: the chances of this figure
        sums += span
    return steps


def _tail_limit(figures: Sequence[_Figure], sign: int, tilt: float) -> float:
    """Return an upper limit of a tail: for any ``tilt`` above 0 no more than the mean of
    exp(tilt × (total − this one)), which is a product over the questions (Chernoff).

    A normal total has its least limit at ``tilt``, distance from the mean divided by variance. The
    true one is close to that, so a few tilts around it are tried.
    """
    return min(
        1.0,
        *(
            math.exp(
                min(0.0, math.fsum(_log_mean_exp(one, sign * one.sign * each) for one in figures))
            )
            for each in (0.7 * tilt, 0.85 * tilt, tilt, 1.2 * tilt)
        ),
    )


@lru_cache(maxsize=10_000)
def _log_mean_exp(figure: _Figure, tilt: float) -> float:
    """Return the logarithm of the mean of exp(tilt × (figure − the one that was observed)).

    The ways to draw from each kind of answer, weighted, are a polynomial in the number that is
    drawn; the coefficient of the product at ``size`` is the sum over all draws.
    """
    values, every, own, _ = figure
    size = sum(own)
    product = [1.0]
    for place, count in enumerate(every):
        value = values[place] if values else None
        base = _added(value, count, own[place])
        weights = [
            math.comb(count, drawn) * math.exp(tilt * (_added(value, count, drawn) - base))
            for drawn in range(min(count, size) + 1)
        ]
        following = [0.0] * min(size + 1, len(product) + len(weights) - 1)
        for first, likely in enumerate(product):
            for second, weight in enumerate(weights[: size + 1 - first], first):
                following[second] += likely * weight
        product = following
    return math.log(product[size]) - math.log(math.comb(sum(every), size))
