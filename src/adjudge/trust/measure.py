"""The estimated quantity: how verdicts and labels become numbers from 0 to 1."""

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
    """The measured thing: an option, a system, or "score"."""
    options: tuple[str, ...]
    """The possible answers, from the worst to the best if that is known; empty for numbers."""
    values: Mapping[str, float]
    """Each option's worth, from 0 to 1."""
    range: tuple[float, float] = _UNIT
    """The ends of the criterion's own scale, which are 0 and 1 here."""
    ordered: bool = True
    """True if the options are ordered. Options that share a score have no order."""

    @property
    def is_number(self) -> bool:
        """True if the criterion asks for a number instead of an option."""
        return not self.options

    @property
    def is_binary(self) -> bool:
        """True for pass and fail: two options, worth 0 and 1."""
        return len(self.options) == 2 and sorted(self.values.values()) == [0.0, 1.0]

    @property
    def is_ordinal(self) -> bool:
        """True if more than two options are ordered."""
        return self.ordered and len(self.options) > 2

    @property
    def ends(self) -> tuple[str, str]:
        """The worst and the best option by value.

        Their positions do not matter: without points, the measured option is listed first.
        """
        return min(self.options, key=self.value), max(self.options, key=self.value)

    def value(self, answer: str | float) -> float:
        """Return a verdict or label as a number from 0 to 1."""
        return self.values[answer] if isinstance(answer, str) else to_unit(answer, self.range)


def measure_of(scale: LabelScale, systems: Sequence[str] = ()) -> Measure:
    """Return the quantity measured for a criterion. ``systems``: the systems that it compares."""
    # without options nothing says otherwise
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
        {option_name: to_unit(score, (low, high)) for option_name, score in scores.items()},
        (low, high),
        ordered=len(set(scores.values())) == len(scores),
    )


def _comparison(systems: Sequence[str]) -> Measure:
    """Return the win rate of the first of two systems, with ties counting half.

    With more systems, return how often the first is best.
    """
    if len(systems) != 2:
        return _share_of((*systems, TIE))
    system_a, system_b = systems
    return Measure(system_a, (system_b, TIE, system_a), {system_b: 0.0, TIE: 0.5, system_a: 1.0})


def _share_of(options: tuple[str, ...]) -> Measure:
    """Return the share of the option listed first, for options without scores."""
    return Measure(
        options[0],
        options,
        {option: float(option == options[0]) for option in options},
        ordered=False,
    )
