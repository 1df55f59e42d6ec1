"""The rows of an earlier or imported run, to be judged anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from adjudge.core.domain.instance import Instance, names_only
from adjudge.core.domain.record import JudgmentRecord
from adjudge.errors import RunError
from adjudge.runs.folder import records_of, run_info


def may_be_reused(folder: Path) -> bool:
    """Whether answers of a run can be to questions of ours: those that were imported were asked in
    other words.
    """
    return "imported" not in run_info(folder).facts


def rows_of_run(folder: Path) -> Iterator[Instance]:
    """Each row once, however many judges judged it, as it was: what is about it stays about it."""
    seen: set[int] = set()
    for one in records_of(folder):
        if names_only(one.input):
            raise RunError(
                "{folder} holds the names of its rows and not their texts, so that they "
                "cannot be judged anew",
                folder=folder,
            )
        systems = one.detail.named_systems
        about = {
            name: value
            for name, value in (("row", dict(one.input)), ("systems", list(systems)))
            if value
        }
        instance = Instance(one.fields, one.id, {"place": one.id or f"row {one.row}", **about})
        if (known := hash(instance.identity)) not in seen:
            seen.add(known)
            yield instance


def places_of_run(folder: Path) -> Iterator[tuple[JudgmentRecord, tuple[str, int]]]:
    """Every judgment with its row's id and place, which all judges of the row share: an id by
    itself may stand for several rows.
    """
    criteria: dict[str, dict[int, str]] = {}
    for one in records_of(folder):
        criteria.setdefault(one.judge, {})[one.index] = one.criterion
    widths = {judge: _width(named) for judge, named in criteria.items()}
    for one in records_of(folder):
        yield one, (one.id or "", one.index // widths[one.judge])


def _width(criteria: Mapping[int, str]) -> int:
    """How many judgments a judge makes of each row: one, unless its criteria come in turns."""
    width = len(set(criteria.values()))
    turns = {(index % width, criterion) for index, criterion in criteria.items()}
    return width if len(turns) == width else 1
