"""The runs that other programs may look at: those under one folder. A run is found by its name in a
list, never by a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.record_browser import Filters, Sort, judges_in, page_of
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.runs.folder import NoSuchRun, RunInfo, last_written, reading, run_info, runs_inside
from adjudge.trust.calibration import calibrate_run

MOST_ROWS = 100


@dataclass(frozen=True)
class RowsPage:
    """Some judgments of a run."""

    run: str
    judge: str
    rows: tuple[JudgmentRecord, ...]
    next: str | None
    """What the next page is asked for with; None behind the last."""

    def to_dict(self) -> JsonDict:
        return some_of(self, "run", "judge", "rows", "next")


class RunIndex:
    """Reads runs; writes nothing. Its folder may be made later, by the first run."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir() and (root.exists() or not root.parent.is_dir()):
            raise SetupError(
                "{root} is not a folder: give a run folder, or a folder that contains runs",
                root=root,
            )
        self._root = root.resolve()

    def runs(self) -> list[JsonDict]:
        """Every run there is, the newest first."""
        found: list[JsonDict] = []
        for name, folder in reversed(runs_inside(self._root).items()):
            with suppress(FileNotFoundError):  # it was deleted just now
                found.append({"name": name, "written": last_written(folder)})
        return found

    def run(self, name: str) -> JsonDict:
        """A run at a glance: its judges, their means, what it took."""
        info = run_info(self._find(name))
        return {"name": name, **_figures(info)}

    def rows(
        self,
        name: str,
        *,
        judge: str | None = None,
        status: str | None = None,
        verdict: str | None = None,
        words: str = "",
        sort: str = "worst",
        limit: int = 20,
        after: str = "",
    ) -> RowsPage:
        """Judgments of one judge, the worst first, whole; ``after`` is the ``next`` of the page
        before.
        """
        if not 1 <= limit <= MOST_ROWS:
            raise SetupError(
                "limit must be from 1 to {most_rows}, not {limit}", most_rows=MOST_ROWS, limit=limit
            )
        with reading(self._find(name)) as connection:
            chosen = find_judge(judges_in(connection), judge)
            filters = Filters(
                judge=chosen, status=status, verdict=verdict, words=words, sort=cast("Sort", sort)
            )
            page = page_of(connection, filters, after, size=limit)
            found = tuple(
                one
                for line in page.lines
                for one in records(connection, judge=chosen, index=line.row - 1)
            )
        return RowsPage(name, chosen, found, page.next)

    def calibration(self, name: str) -> list[JsonDict]:
        """What people's labels say of a run's numbers: a corrected one, or why there is none."""
        return [one.to_dict() for one in calibrate_run(self._find(name))]

    def _find(self, name: str) -> Path:
        found = runs_inside(self._root).get(name)
        if found is None:
            raise NoSuchRun("no run is called {name!r}: see the list of runs", name=name)
        return found


def find_judge(judges: Sequence[str], wanted: str | None) -> str:
    """The judge of a run that is asked for, else the first."""
    found = wanted or next(iter(judges), "")
    if judges and found not in judges:
        raise SetupError(
            "the run has no judge {wanted!r}; it has {judges}",
            wanted=found,
            judges=", ".join(judges),
        )
    return found


def _figures(info: RunInfo) -> JsonDict:
    found = info.to_dict()
    del found["folder"]  # where it lies is nobody's business
    return {**found, "rows": info.rows, "identities": info.identities}
