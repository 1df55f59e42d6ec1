"""The runs that other programs can read, all in one folder. They are identified by name, never by
path.
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
from adjudge.runs.folder import NoSuchRun, last_written, reading, run_info, runs_inside
from adjudge.trust.calibration import calibrate_run

MOST_ROWS = 100


@dataclass(frozen=True)
class RowsPage:
    """A page of a run's judgments."""

    run: str
    judge: str
    rows: tuple[JudgmentRecord, ...]
    next: str | None
    """The value of ``after`` for the next page; None on the last page."""

    def to_dict(self) -> JsonDict:
        return some_of(self, "run", "judge", "rows", "next")


class RunIndex:
    """Read-only access to the runs in a folder, which need not exist before the first run."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir() and (root.exists() or not root.parent.is_dir()):
            raise SetupError(
                "{root} is not a folder: give a run folder, or a folder that contains runs",
                root=root,
            )
        self._root = root.resolve()

    def runs(self) -> list[JsonDict]:
        """Return all runs, the newest first."""
        entries: list[JsonDict] = []
        for name, folder in reversed(runs_inside(self._root).items()):
            with suppress(FileNotFoundError):  # it was deleted just now
                entries.append({"name": name, "written": last_written(folder)})
        return entries

    def run(self, name: str) -> JsonDict:
        """Return a summary of a run: its judges, their means and its usage, but not its folder."""
        info = run_info(self._find(name))
        figures = info.to_dict()
        del figures["folder"]  # clients need not know where it is
        return {"name": name, **figures, "rows": info.rows, "identities": info.identities}

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
        """Return judgments of one judge with all details, worst first by default.

        ``after``: ``next`` of the previous page. ``judge``: by default the first.
        """
        if not 1 <= limit <= MOST_ROWS:
            raise SetupError(
                "limit must be from 1 to {most_rows}, not {limit}", most_rows=MOST_ROWS, limit=limit
            )
        with reading(self._find(name)) as connection:
            judge_name = find_judge(judges_in(connection), judge)
            filters = Filters(
                judge=judge_name,
                status=status,
                verdict=verdict,
                words=words,
                sort=cast("Sort", sort),
            )
            page = page_of(connection, filters, after, size=limit)
            judgments = tuple(
                record
                for line in page.lines
                for record in records(connection, judge=judge_name, index=line.row - 1)
            )
        return RowsPage(name, judge_name, judgments, page.next)

    def calibration(self, name: str) -> list[JsonDict]:
        """Return a run's numbers corrected by labels, or the reasons why there are none."""
        return [
            judge_calibration.to_dict() for judge_calibration in calibrate_run(self._find(name))
        ]

    def _find(self, name: str) -> Path:
        folder = runs_inside(self._root).get(name)
        if folder is None:
            raise NoSuchRun("there is no run named {name!r}: see the list of runs", name=name)
        return folder


def find_judge(judges: Sequence[str], wanted: str | None) -> str:
    """Return the requested judge, else the first. Raises a SetupError if the run does not have
    it.
    """
    name = wanted or next(iter(judges), "")
    if judges and name not in judges:
        raise SetupError(
            "the run has no judge {wanted!r}; it has {judges}",
            wanted=name,
            judges=", ".join(judges),
        )
    return name
