"""Distance of people's answer from the judge's, for ordinal options and numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.verdict import TIE
from adjudge.stats.conformal import conformal_distance
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow, independent_rows


class DistanceShape(TypedDict):
    """The distance from the judge's answer to people's."""

    within: float
    of: Annotated[Literal["options", "scale"], "the unit of the distance"]
    level: Annotated[float, "the probability that a new row is within it"]
    n: Annotated[int, "labelled rows that it was learned from"]


@dataclass(frozen=True)
class Distance:
    """On a new row, people's answer is within ``within`` of the judge's, with probability
    ``level``.
    """

    within: float
    """Distance in options, or in points of the scale for numbers."""
    level: float
    count: int
    """Labelled rows that it was learned from."""
    options: bool

    def to_dict(self) -> JsonDict:
        return fill(DistanceShape, self, of="options" if self.options else "scale", n=self.count)


def distance_of(
    drawn: Sequence[LabelledRow], measure: Measure, level: float, clusters: Sequence[Hashable]
) -> Distance | None:
    """Return the distance; None for unordered or binary options, or with too few labels.

    One row counts per text and cluster. ``clusters``: indexed by the rows' positions. If annotators
    are evenly split between options, the one farthest from the judge's counts.
    """
    if not measure.ordered or TIE in measure.options or len(measure.options) == 2:
        return None
    distances = [
        distance
        for row in independent_rows(drawn, clusters)
        if row.random and (distance := _distance(row, measure)) is not None
    ]
    within = conformal_distance(distances, level=level)
    return (
        None if within is None else Distance(within, level, len(distances), not measure.is_number)
    )


def _distance(row: LabelledRow, measure: Measure) -> float | None:
    answer, truth = row.judge_answer, row.truth
    if isinstance(answer, str):
        place = measure.options.index(answer)
        distances = [abs(place - measure.options.index(option)) for option in row.leading_options]
        return float(max(distances)) if distances else None
    return (
        abs(answer - truth)
        if isinstance(answer, int | float) and isinstance(truth, int | float)
        else None
    )
