"""Compare two runs by rubrics: the change of each score, category and point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics.record import RubricDetail, rubric_detail


class RubricChangeShape(TypedDict):
    """A figure in both runs, over the rows that have it in both."""

    kind: Annotated[str, "score, category, theme or point"]
    name: str
    rows: int
    before: float | None
    now: float | None
    change: float | None
    better: int
    worse: int
    left_out: Annotated[int, "rows that have it in one run only, or without a verdict"]


@dataclass(frozen=True)
class PairedFigure:
    """A figure in both runs, over the rows that have it in both."""

    kind: str
    """score, category, theme or point."""
    name: str
    rows: int
    before: float | None
    """The earlier value; None if no row has it in both runs."""
    now: float | None
    better: int
    worse: int
    left_out: int
    """Rows that have the figure in one run only, or without a verdict."""

    @property
    def change(self) -> float | None:
        return None if self.now is None or self.before is None else self.now - self.before

    def to_dict(self) -> JsonDict:
        return fill(RubricChangeShape, self)


def compare(
    before: Iterable[JudgmentRecord], now: Iterable[JudgmentRecord]
) -> tuple[list[PairedFigure], int]:
    """Return the changes, and how many rows are in one run only. Rows are joined by id."""
    old_rows, new_rows = _by_row(before), _by_row(now)
    shared = [row for row in old_rows if row in new_rows]
    alone = len(old_rows) + len(new_rows) - 2 * len(shared)
    pairs: dict[tuple[str, str], list[tuple[float | None, float | None]]] = {}
    for row in shared:
        earlier, later = _figures(old_rows[row]), _figures(new_rows[row])
        for key in dict.fromkeys((*earlier, *later)):
            pairs.setdefault(key, []).append((earlier.get(key), later.get(key)))
    return [_change(*key, values) for key, values in pairs.items()], alone


def _by_row(records: Iterable[JudgmentRecord]) -> dict[str, RubricDetail]:
    return {
        record.id or str(record.row): detail
        for record in records
        if (detail := rubric_detail(record))
    }


def _figures(detail: RubricDetail) -> dict[tuple[str, str], float | None]:
    score = detail.lower if detail.lower == detail.upper else None
    return {
        ("score", ""): score,
        **{("category", name): category.score for name, category in detail.categories.items()},
        **{("theme", name): score for name in detail.themes},
        # more is better: a penalty that is met counts as 0
        **{
            ("point", point.text): point.value
            if point.points >= 0 or point.value is None
            else 1 - point.value
            for point in detail.points
        },
    }


def _change(kind: str, name: str, pairs: list[tuple[float | None, float | None]]) -> PairedFigure:
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    count = len(both)
    return PairedFigure(
        kind,
        name,
        count,
        sum(a for a, _ in both) / count if count else None,
        sum(b for _, b in both) / count if count else None,
        sum(b > a for a, b in both),
        sum(b < a for a, b in both),
        len(pairs) - count,
    )
