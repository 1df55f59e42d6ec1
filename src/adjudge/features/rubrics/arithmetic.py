"""Compute the exact score of a row from verdicts on points, with bounds if verdicts are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from adjudge.features.rubrics.rubric import LOGICAL, Group, Node, Point, Rubric, Unit, divisor

Values = Mapping[str, Fraction | None]
"""Point → what its verdict is worth, from 0 to 1; None if it has no verdict."""
NOTHING, EVERYTHING = Fraction(0), Fraction(1)


class Bounds(NamedTuple):
    """The least and the greatest value that a figure can have, given missing verdicts."""

    lower: Fraction
    upper: Fraction

    @property
    def value(self) -> Fraction | None:
        """The figure, if it does not depend on missing verdicts."""
        return self.lower if self.lower == self.upper else None

    def times(self, weight: Fraction) -> Bounds:
        ends = (self.lower * weight, self.upper * weight)
        return Bounds(min(ends), max(ends))


def score_of(rubric: Rubric, values: Values) -> Bounds:
    """Return the score of a row.

    A missed gate makes it 0, or leaves it below 0. With a missing verdict the lower bound assumes
    the worst answer, and the upper the best.

    >>> score_of(rubric, {"1": Fraction(1), "2": None}).value is None
    True
    """
    bounds = _all_bounds(rubric.root, values)
    lower, upper = bounds[_key(rubric.root)]
    for gate in rubric.gates:
        may_fail, must_fail = _gate(gate, bounds[_key(gate)])
        lower = min(lower, NOTHING) if may_fail else lower
        upper = min(upper, NOTHING) if must_fail else upper
    return Bounds(lower, upper)


def failed_gates(rubric: Rubric, values: Values) -> tuple[str, ...]:
    """Return the gates that are certainly missed."""
    bounds = _all_bounds(rubric.root, values)
    return tuple(gate.id for gate in rubric.gates if _gate(gate, bounds[_key(gate)])[1])


def open_gates(rubric: Rubric, values: Values) -> tuple[str, ...]:
    """Return the gates that are undecided because a verdict is missing."""
    bounds = _all_bounds(rubric.root, values)
    ends = {gate.id: _gate(gate, bounds[_key(gate)]) for gate in rubric.gates}
    return tuple(id for id, (may_fail, must_fail) in ends.items() if may_fail and not must_fail)


def category_scores(rubric: Rubric, values: Values) -> dict[str, Bounds | None]:
    """Return category → score over its own points; None if none of them is worth more than 0.

    Penalties of other categories do not count. A category of groups that add up uses the shares of
    the whole.
    """
    bounds = _all_bounds(rubric.root, values)
    return {
        tag: _share([unit for unit in rubric.units if tag in unit.tags], bounds)
        for tag in rubric.tags
    }


def _share(units: Sequence[Unit], bounds: Mapping[int, Bounds]) -> Bounds | None:
    total_weight = sum((unit.weight for unit in units if unit.weight > 0), Fraction())
    if not total_weight:
        return None
    return _sum([bounds[_key(unit.node)].times(unit.weight / total_weight) for unit in units])


def _gate(node: Node, bounds: Bounds) -> tuple[bool, bool]:
    """Return (may be missed, is certainly missed)."""
    if node.points < 0:
        return bounds.upper > NOTHING, bounds.lower > NOTHING
    return bounds.lower < EVERYTHING, bounds.upper < EVERYTHING


def _key(node: Node) -> int:
    return id(node)


def _all_bounds(root: Group, values: Values) -> dict[int, Bounds]:
    bounds: dict[int, Bounds] = {}
    _bounds(root, values, bounds)
    return bounds


def _bounds(node: Node, values: Values, bounds_by_node: dict[int, Bounds]) -> Bounds:
    if isinstance(node, Point):
        value = values.get(node.id)
        bounds = Bounds(NOTHING, EVERYTHING) if value is None else Bounds(value, value)
    else:
        parts = [_bounds(part, values, bounds_by_node) for part in node.parts]
        bounds = _logical(node, parts) if node.combine in LOGICAL else _add_up(node, parts)
    bounds_by_node[_key(node)] = bounds
    return bounds


def _add_up(group: Group, parts: Sequence[Bounds]) -> Bounds:
    total_points = divisor(group)
    total = _sum(
        [
            part.times(node.points / total_points)
            for part, node in zip(parts, group.parts, strict=True)
        ]
    )
    if group.combine == "penalties":
        return Bounds(1 + total.lower, 1 + total.upper)
    return total


def _sum(parts: Sequence[Bounds]) -> Bounds:
    return Bounds(
        sum((part.lower for part in parts), Fraction()),
        sum((part.upper for part in parts), Fraction()),
    )


def _logical(group: Group, parts: Sequence[Bounds]) -> Bounds:
    if group.combine == "at most one":
        surely = sum(part.lower == EVERYTHING for part in parts)
        perhaps = sum(part.upper == EVERYTHING for part in parts)
        return Bounds(Fraction(int(perhaps <= 1)), Fraction(int(surely <= 1)))
    choose = max if group.combine == "any" else min
    return Bounds(choose(part.lower for part in parts), choose(part.upper for part in parts))
