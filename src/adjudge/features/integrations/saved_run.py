"""Run folders in Python: ``adjudge.load_run("runs/eval")``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.integrations.frames import to_arrow, to_pandas
from adjudge.runs.diff import run_diff
from adjudge.runs.folder import RunInfo, records_of, run_info
from adjudge.runs.results.report import Report
from adjudge.runs.results.run_report import report_of_run
from adjudge.trust.calibration import Calibration, calibrate_run
from adjudge.trust.comparison import RunComparison, compare_runs


@dataclass(frozen=True)
class Run:
    """A run folder: its judgments, its report, its labels.

    >>> run = load_run("runs/eval")  # doctest: +SKIP
    >>> run.report().sections[0].summary.mean  # doctest: +SKIP
    0.75
    """

    folder: Path

    @property
    def info(self) -> RunInfo:
        """The run's state, judges, votes and cost so far."""
        return run_info(self.folder)

    def records(self, *, votes: bool = False, judge: str | None = None) -> Iterator[JudgmentRecord]:
        """Yield the judgments in order of judge and row.

        ``votes`` includes their votes; ``judge`` selects one judge.
        """
        return records_of(self.folder, votes=votes, judge=judge)

    def report(self, *, by: str | None = None, language: str | None = None) -> Report:
        """Return the report that ``adjudge runs show`` prints.

        ``by`` also reports each value of this column.
        """
        return report_of_run(self.folder, by=by, language=language)

    async def areport(self, *, by: str | None = None, language: str | None = None) -> Report:
        """Like ``report``, for async code."""
        return await asyncio.to_thread(self.report, by=by, language=language)

    def calibrate(
        self,
        labels: Iterable[Label] | None = None,
        *,
        criteria: str | None = None,
        judge: str | None = None,
    ) -> list[Calibration]:
        """Correct the run's rates using human labels, by default those in its folder."""
        return calibrate_run(self.folder, labels, criteria=criteria, judge=judge)

    async def acalibrate(
        self,
        labels: Iterable[Label] | None = None,
        *,
        criteria: str | None = None,
        judge: str | None = None,
    ) -> list[Calibration]:
        """Like ``calibrate``, for async code."""
        return await asyncio.to_thread(self.calibrate, labels, criteria=criteria, judge=judge)

    def compare(self, other: Run | str | Path, *, by: str | None = None) -> list[RunComparison]:
        """Compare this run with a later one, per judge and criterion, with paired intervals."""
        later = other.folder if isinstance(other, Run) else Path(other)
        with run_diff(self.folder, later, by=by) as diff:
            return compare_runs(self.folder, later, diff)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame`` with one row per judgment; needs pandas."""
        return to_pandas(self.folder)

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table`` with one row per judgment; needs pyarrow."""
        return to_arrow(self.folder)


def load_run(folder: str | Path) -> Run:
    """Open a run folder; raise a RunError if it is not one."""
    run_info(folder)
    return Run(Path(folder))


async def aload_run(folder: str | Path) -> Run:
    """Like ``load_run``, for async code."""
    return await asyncio.to_thread(load_run, folder)
