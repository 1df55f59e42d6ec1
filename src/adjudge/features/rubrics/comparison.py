"""Compare two runs by rubrics: the change of each score, category and point."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics.record import RubricDetail, RubricPointRecord, rubric_detail
from adjudge.runs.diff import run_diff

_ORDER = ("score", "category", "theme", "point", "penalty")
Details = Mapping[tuple[str, int], RubricDetail]
"""(judge, row from 1) → the points of a judgment."""


class RubricChangeShape(TypedDict):
    """A figure in both runs, over the rows that have it in both."""

    judge: Annotated[str, "as the earlier run names it, with the target if there are several"]
    kind: Annotated[str, "score, category, theme, point or penalty (avoided)"]
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

    judge: str
    kind: str
    """score, category, theme, point or penalty (avoided)."""
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

    @property
    def is_shown(self) -> bool:
        """True unless it is a point in which nothing changed."""
        return self.kind not in ("point", "penalty") or bool(
            self.better or self.worse or self.left_out
        )

    def to_dict(self) -> JsonDict:
        return fill(RubricChangeShape, self)


@dataclass(frozen=True)
class RubricComparison:
    """The changes between two runs: per judge the score first, then the largest changes."""

    changes: tuple[PairedFigure, ...]
    alone: int
    """Judgments that are in one run only."""
    other_rubrics: int
    """Rows whose rubrics differ between the runs."""
    settings: int
    """Settings that differ between the runs."""

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change.judge for change in self.changes))

    @property
    def shown(self) -> list[PairedFigure]:
        """The changes without the points in which nothing changed."""
        return [change for change in self.changes if change.is_shown]


def compare(
    before: Path,
    now: Path,
    old_records: Sequence[JudgmentRecord],
    new_records: Sequence[JudgmentRecord],
) -> RubricComparison:
    """Compare two run folders. Rows are paired as everywhere: by their id, else by their texts.

    ``old_records``, ``new_records``: the judgments by rubric of each run.
    """
    old_details, new_details = _details(old_records), _details(new_records)
    changes: list[PairedFigure] = []
    paired, other_rubrics = 0, set[int]()
    with run_diff(before, now) as diff:
        for line in diff.lines():
            judge, _, system = json.loads(line)
            figures: dict[tuple[str, str], list[tuple[float | None, float | None]]] = {}
            for pair in diff.pairs(line):
                old = old_details.get((pair.before.judge, pair.before.row))
                new = new_details.get((pair.after.judge, pair.after.row))
                if old is None or new is None:
                    continue
                paired += 1
                if old.identity != new.identity:
                    other_rubrics.add(pair.after.row)  # once, however many judges judged it
                earlier, later = _figures(old), _figures(new)
                for key in dict.fromkeys((*earlier, *later)):
                    figures.setdefault(key, []).append((earlier.get(key), later.get(key)))
            of_judge = [
                _change(of_system(judge, system), *key, values) for key, values in figures.items()
            ]
            changes += sorted(
                of_judge,
                key=lambda change: (_ORDER.index(change.kind), -abs(change.change or 0.0)),
            )
        settings = len(diff.settings)
    alone = len(old_details) + len(new_details) - 2 * paired
    return RubricComparison(tuple(changes), alone, len(other_rubrics), settings)


def _details(records: Sequence[JudgmentRecord]) -> Details:
    return {
        (record.judge, record.row): detail
        for record in records
        if (detail := rubric_detail(record))
    }


def _figures(detail: RubricDetail) -> dict[tuple[str, str], float | None]:
    score = detail.lower if detail.lower == detail.upper else None
    return {
        ("score", ""): score,
        **{("category", name): category.score for name, category in detail.categories.items()},
        **{("theme", name): score for name in detail.themes},
        **{
            _point_key(point): point.value
            if point.points >= 0 or point.value is None
            else 1 - point.value
            for point in detail.points
        },
    }


def _point_key(point: RubricPointRecord) -> tuple[str, str]:
    """Return a point's kind and text. More is always better: a point that should not be met is
    counted as avoided.
    """
    return "penalty" if (point.points < 0) != point.invert else "point", point.text


def _change(
    judge: str, kind: str, name: str, pairs: list[tuple[float | None, float | None]]
) -> PairedFigure:
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    count = len(both)
    return PairedFigure(
        judge,
        kind,
        name,
        count,
        sum(a for a, _ in both) / count if count else None,
        sum(b for _, b in both) / count if count else None,
        sum(b > a for a, b in both),
        sum(b < a for a, b in both),
        len(pairs) - count,
    )
