"""What is estimated: how verdicts and labels become numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.core.domain.label import LabelScale
from adjudge.core.domain.verdict import TIE
from adjudge.stats.correction import to_unit

_UNIT = (0.0, 1.0)


@dataclass(frozen=True)
class Measure:
    """The mean score, the share of one option, or the win rate of one system."""

    name: str
    """What the number is of: an option, a system, or "score"."""
    options: tuple[str, ...]
    """What may be decided, from the worst to the best where that is known; nothing where a number
    is asked for.
    """
    values: Mapping[str, float]
    """Each option's worth, from 0 to 1."""
    range: tuple[float, float] = _UNIT
    """What 0 and 1 are on the criteria's own scale."""
    ordered: bool = True
    """Whether the options stand in an order."""

    @property
    def is_number(self) -> bool:
        """Whether a number is asked for, and no option."""
        return not self.options

    @property
    def is_binary(self) -> bool:
        """Whether something passes or fails: two options, the one worth nothing
        and the other all.
        """
        return len(self.options) == 2 and sorted(self.values.values()) == [0.0, 1.0]

    @property
    def is_ordinal(self) -> bool:
        """Whether more than two options stand in an order."""
        return self.ordered and len(self.options) > 2

    @property
    def ends(self) -> tuple[str, str]:
        """The worst and the best option, wherever they stand: without points the measured one is
        listed first.
        """
        return min(self.options, key=self.value), max(self.options, key=self.value)

    def value(self, said: str | float) -> float:
        """A verdict or a label, from 0 to 1."""
        return self.values[said] if isinstance(said, str) else to_unit(said, self.range)


def measure_of(scale: LabelScale, systems: Sequence[str] = ()) -> Measure:
    """Of the criteria that people and judge were asked by; ``systems``: what is compared."""
    # without options nobody said anything that would tell
    if scale.range or not (scale.compares or scale.criteria.options):
        return Measure("score", (), {}, scale.range or _UNIT)
    if scale.compares:
        return _comparison(systems)
    points = {option.name: option.points for option in scale.criteria.options}
    scores = {name: score for name, score in points.items() if score is not None}
    if len(scores) < len(points) or len(set(scores.values())) < 2:
        return _share_of(tuple(points))
    low, high = min(scores.values()), max(scores.values())
    order = tuple(sorted(scores, key=lambda name: scores[name]))
    name = order[-1] if len(order) == 2 else "score"
    return Measure(
        name,
        order,
        {one: to_unit(score, (low, high)) for one, score in scores.items()},
        (low, high),
    )


def _comparison(systems: Sequence[str]) -> Measure:
    """Of two, the win rate of the first, to which a tie adds a half; of more, how often the first
    is best.
    """
    if len(systems) != 2:
        return _share_of((*systems, TIE))
    first, second = systems
    return Measure(first, (second, TIE, first), {second: 0.0, TIE: 0.5, first: 1.0})


def _share_of(options: tuple[str, ...]) -> Measure:
    """Options without scores: the share of the one listed first."""
    return Measure(
        options[0], options, {one: float(one == options[0]) for one in options}, ordered=False
    )
