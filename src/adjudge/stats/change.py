"""Evidence that repeated answers to the same questions have changed, however often one looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
            _Figure(steps, every, own, 1 if is_late else -1)
            for track in scores
            if (steps := _steps(track, last)) is not None
            for every, own, is_late in _sides(track, split, last)
        ]
        unlikely = [
            _Figure(None, *_merge_rare(every, own), 1)
            for track in options
            for every, own, _ in _sides(track, split, last)
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


def _sides(
    track: _Track[Answer], split: int, last: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """How often each answer was given at all, and on the shorter side of a split, and whether
    that is the later side; nothing if a side is empty, or all answers are alike.
    """
    every, before = track.counts[last], track.counts[split - 1]
    since = tuple(late - early for late, early in zip(every, before, strict=True))
    if any(before) and any(since) and sum(map(bool, every)) > 1:
        is_late = sum(since) <= sum(before)
        yield every, since if is_late else before, is_late


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
    each = _chances(values, every, sum(own))
    mean = math.fsum(value * chance for value, chance in each)
    variance = math.fsum((value - mean) ** 2 * chance for value, chance in each)
    return sign * (_observed(figure) - mean), variance


def _observed(figure: _Figure) -> int:
    """The figure, without its sign."""
    return sum(
        _added(figure.values[place] if figure.values else None, count, own)
        for place, (count, own) in enumerate(zip(figure.every, figure.own, strict=True))
    )


@lru_cache(maxsize=100_000)
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
    which errs on the safe side.
    """
    places = [_standing(one) for one in figures]
    above = sign * math.fsum(each for each, _ in places)
    if above <= 0 or above < least * math.sqrt(math.fsum(each for _, each in places)):
        return 1.0
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
