"""Passed or failed, for tools that know nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adjudge.runs.label_scales import scales_in

Row = Mapping[str, object]
Ends = Mapping[str, tuple[float, float]]
"""Criteria → the ends of its scale."""
_HALF = 0.5


def scale_ends(run: Path) -> dict[str, tuple[float, float]]:
    """The lowest and the highest score of each criteria of a run that has scores."""
    found: dict[str, tuple[float, float]] = {}
    for one in scales_in(run):
        points = [option.score for option in one.scale.criteria.options if option.score is not None]
        if one.scale.range:
            found[one.name] = one.scale.range
        elif len(set(points)) > 1:
            found[one.name] = (min(points), max(points))
    return found


def passed(row: Row, ends: Ends) -> bool | None:
    """Whether a judgment passes: its verdict says so, or its score lies above the middle of the scale. None: nobody can say."""
    score = row.get("score")
    if row.get("status") != "scored":
        return None
    if row.get("verdict") in ("PASS", "FAIL"):
        return row["verdict"] == "PASS"
    if not isinstance(score, int | float) or isinstance(score, bool):
        return None
    low, high = ends.get(str(row.get("criteria")), (0.0, 1.0))
    return (float(score) - low) / (high - low) > _HALF if high > low else None
