"""The rows of an earlier or imported run, to be judged anew, and how they came out before and after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adjudge.domain.instance import Instance
from adjudge.ledger.file import FILE
from adjudge.ledger.rows import INPUT
from adjudge.runs.diff import run_diff
from adjudge.runs.folder import judgments, run_info
from adjudge.stats.difference import Difference, compare


class PairedChange(NamedTuple):
    """One criteria on the rows that both runs scored."""

    criteria: str
    before: float
    after: float
    difference: Difference
    """The new run less the old one."""


def holds_run(path: Path) -> bool:
    """Whether a path is a run folder."""
    return (path / FILE).is_file()


def may_be_reused(folder: Path) -> bool:
    """Whether answers of a run can be to questions of ours: those that were imported were asked in other words."""
    return "imported" not in run_info(folder).facts


def rows_of_run(folder: Path) -> Iterator[Instance]:
    """Each row once, however many judges judged it, as it was: what is about it stays about it."""
    seen: set[int] = set()
    for one in judgments(folder):
        about = {name: one[key] for name, key in (("row", INPUT), ("systems", "systems")) if one.get(key)}
        instance = Instance(one["fields"], one["id"], {"place": one["id"] or f"row {one['row']}", **about})
        if (known := hash(instance.identity)) not in seen:
            seen.add(known)
            yield instance


def paired_changes(before: Path, after: Path) -> list[PairedChange]:
    """How each criteria that both runs have came out, row by row."""
    with run_diff(before, after) as found:
        scores: dict[str, list[tuple[float, float]]] = {}
        for criteria, old, new in found.scores():
            scores.setdefault(criteria, []).append((old, new))
    return [_paired(criteria, pairs) for criteria, pairs in scores.items()]


def _paired(criteria: str, pairs: list[tuple[float, float]]) -> PairedChange:
    old, new = [one for one, _ in pairs], [two for _, two in pairs]
    return PairedChange(criteria, sum(old) / len(old), sum(new) / len(new), compare(new, old))
