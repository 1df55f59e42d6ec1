"""The steps of an agent on an axis of time: a line for everybody who did something, a bar for each
step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from adjudge.features.agents.report import StepTime
from adjudge.messages import Message
from adjudge.runs.numbers import figure

_MOST_ACTORS = 8
_MOST_BARS = 120
"""Of longer trajectories the failed steps and the longest ones are drawn."""


class TimeBar(NamedTuple):
    """Where a step lies, in percent of the whole time."""

    left: float
    width: float
    told: Message
    link: str
    failed: bool


class ActorBars(NamedTuple):
    actor: str
    bars: Sequence[TimeBar]


class TimeAxis(NamedTuple):
    seconds: float
    lanes: Sequence[ActorBars]
    steps: int
    """All of them, drawn or not."""

    @property
    def drawn(self) -> int:
        return sum(len(one.bars) for one in self.lanes)


def time_axis(times: Sequence[StepTime], link: Callable[[int], str]) -> TimeAxis:
    """``link``: where a step is shown; empty where it is not."""
    whole = max(one.started + one.seconds for one in times)
    by_weight = sorted(times, key=lambda one: (not one.failed, -one.seconds))[:_MOST_BARS]
    busiest = dict(Counter(one.actor for one in times).most_common(_MOST_ACTORS))
    lanes = [
        ActorBars(
            actor,
            [
                _bar(one, whole, link(one.number))
                for one in sorted(by_weight, key=lambda each: each.started)
                if one.actor == actor
            ],
        )
        for actor in dict.fromkeys(one.actor for one in times)
        if actor in busiest
    ]
    return TimeAxis(whole, lanes, len(times))


def _bar(one: StepTime, whole: float, link: str) -> TimeBar:
    told = Message(
        "step {number}, {what}: from {started} s on, {seconds} s",
        number=one.number,
        what=one.what,
        started=figure(one.started),
        seconds=figure(one.seconds),
    )
    return TimeBar(100 * one.started / whole, 100 * one.seconds / whole, told, link, one.failed)
