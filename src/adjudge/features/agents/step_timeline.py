"""The steps of an agent on a time axis: a lane per actor, a bar per step."""

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
    """A step on the axis, in percent of the total time."""

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
        return sum(len(lane.bars) for lane in self.lanes)


def time_axis(times: Sequence[StepTime], link: Callable[[int], str]) -> TimeAxis:
    """Lay out the steps on a time axis. ``link``: the address of a step; empty if it is not
    shown.
    """
    total = max(step.started + step.seconds for step in times)
    # failed and long steps first
    by_weight = sorted(times, key=lambda step: (not step.failed, -step.seconds))[:_MOST_BARS]
    busiest = dict(Counter(step.actor for step in times).most_common(_MOST_ACTORS))
    lanes = [
        ActorBars(
            actor,
            [
                _bar(step, total, link(step.number))
                for step in sorted(by_weight, key=lambda drawn_step: drawn_step.started)
                if step.actor == actor
            ],
        )
        for actor in dict.fromkeys(step.actor for step in times)
        if actor in busiest
    ]
    return TimeAxis(total, lanes, len(times))


def _bar(step: StepTime, total: float, link: str) -> TimeBar:
    title = Message(
        "step {number}, {what}: from {started} s on, {seconds} s",
        number=step.number,
        what=step.what,
        started=figure(step.started),
        seconds=figure(step.seconds),
    )
    return TimeBar(100 * step.started / total, 100 * step.seconds / total, title, link, step.failed)
