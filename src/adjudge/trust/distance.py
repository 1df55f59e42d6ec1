"""How far people's answer lies from the judge's, where answers stand in an order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.verdict import TIE
from adjudge.stats.conformal import conformal_distance
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow, independent_rows


@dataclass(frozen=True)
class Distance:
    """On a further row people's answer lies within ``within`` of the judge's, with probability
    ``level``.
    """

    within: float
    """In options, or in points of the scale where a number is asked for."""
    level: float
    count: int
    """Labelled rows that it was learnt from."""
    options: bool

    def to_dict(self) -> JsonDict:
        of = "options" if self.options else "scale"
        return {"within": self.within, "of": of, "level": self.level, "n": self.count}


def distance_of(
    drawn: Sequence[LabelledRow], measure: Measure, level: float, clusters: Sequence[Hashable]
) -> Distance | None:
    """None where answers have no order, or there are too few labels.

    Of each text and each cluster one row counts. ``clusters``: by the place of a row.
    """
    if not measure.ordered or TIE in measure.options or len(measure.options) == 2:
        return None
    found = [
        one
        for row in independent_rows(drawn, clusters)
        if row.random and (one := _between(row, measure)) is not None
    ]
    within = conformal_distance(found, level=level)
    return None if within is None else Distance(within, level, len(found), not measure.is_number)


def _between(row: LabelledRow, measure: Measure) -> float | None:
    said, truth = row.said, row.truth
    if isinstance(said, str) and isinstance(truth, str):
        return float(abs(measure.options.index(said) - measure.options.index(truth)))
    return (
        abs(said - truth)
        if isinstance(said, int | float) and isinstance(truth, int | float)
        else None
    )
