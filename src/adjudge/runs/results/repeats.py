"""Repeated rows and tasks with several trials: how often all of k pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import (
    REPEAT,
    TURN,
    Unit,
    asked_row,
    clusters_of,
    task_of,
)
from adjudge.messages import Message, join, plural
from adjudge.runs.counts import count_rows, count_tasks
from adjudge.runs.numbers import percent, percent_range
from adjudge.runs.results.summary import (
    UNSURE,
    GateConfidence,
    IntervalShape,
    interval_dict,
    interval_of,
)
from adjudge.stats import FEWEST

if TYPE_CHECKING:
    from adjudge.stats.intervals import Interval

SYSTEM = "system"
"""The column by which an answer says whose it is."""


class PassAllShape(TypedDict):
    """The share of rows of which k answers all pass."""

    k: int
    rows: int
    fewer: Annotated[int, "rows with fewer than k answers: they are not in it"]
    lost: Annotated[int, "answers without a verdict"]
    lower: Annotated[float, "if every answer without a verdict failed"]
    upper: Annotated[float, "if every one of them passed"]
    interval: IntervalShape | None


class RepeatsShape(TypedDict):
    """The rows that one system answered several times."""

    system: str
    rows: int
    incomplete: Annotated[int, "rows of which at least one answer has no verdict"]
    lost: Annotated[int, "answers without a verdict"]
    times: Annotated[int, "the k of the report's sentence"]
    pass_all: Annotated[Mapping[str, float | None], "k: the share that passes k times"]
    shares: Sequence[PassAllShape]


@light_dataclass(frozen=True)
class PassAll:
    """pass^k: the probability that k random trials of a task all pass, averaged over tasks."""

    k: int
    rows: int
    """Tasks with at least k trials; the others are in no share."""
    fewer: int
    """Tasks with fewer trials."""
    fewer_judged: int
    """Tasks among them that have k trials if skipped trials are counted."""
    lost: int
    """Trials without a verdict in the tasks that count."""
    lower: float
    """The share if every lost trial failed; equal to ``upper`` if none was lost."""
    upper: float
    """The share if every lost trial passed."""
    interval: Interval | None
    """95 % interval over tasks that holds whatever the lost trials were; None below 8 tasks."""

    @property
    def share(self) -> float | None:
        """The estimate; None if lost trials leave it open."""
        return self.lower if self.lower == self.upper else None

    def shown(self) -> Message:
        """Return the share or its range, with the interval if there is one."""
        share = (
            percent(self.lower)
            if self.lower == self.upper
            else Message(
                "between {lower} and {upper}", lower=percent(self.lower), upper=percent(self.upper)
            )
        )
        if self.interval is None:
            return share
        return Message(
            "{share} (95% interval {limits})", share=share, limits=percent_range(self.interval)
        )

    def to_dict(self) -> JsonDict:
        return fill(PassAllShape, self, interval=interval_dict(self.interval))


@light_dataclass(frozen=True)
class Repeats:
    """The rows that one system answered several times."""

    system: str
    rows: int
    incomplete: int
    """Rows of which at least one answer has no verdict."""
    lost: int
    """Answers without a verdict."""
    times: int
    """The k of which the sentence speaks: the most answers that more than half of the rows have."""
    shares: tuple[PassAll, ...]
    """pass^1, pass^2, … up to the most answers that any row has."""
    of_tasks: bool = False
    """True if these are tasks of agents, and each answer is a trial."""
    of_talks: bool = False
    """True if these are conversations with simulated users, who make mistakes."""

    def sentence(self, name: str) -> Message:
        """Return a line on how often all answers of a row pass."""
        name = name if not self.system else join(", ", (name, self.system))
        once, every = self.shares[0], self.shares[self.times - 1]
        count = count_tasks if self.of_tasks else count_rows
        rows, all_rows = count(every.rows), count(once.rows)
        if self.times == 1 < len(self.shares):
            parts = [
                Message(
                    "{name}: of {rows} {once} pass one time; most have one trial, so there is no "
                    "pass^2",
                    name=name,
                    rows=rows,
                    once=once.shown(),
                )
            ]
        else:
            parts = [
                Message(
                    "{name}: of {rows} {all_times} pass all {times} times (pass^{times}), one time "
                    "{once}",
                    name=name,
                    rows=rows,
                    times=self.times,
                    all_times=every.shown(),
                    once=once.shown(),
                )
                if every.rows == once.rows
                else Message(
                    "{name}: of {rows} {all_times} pass all {times} times (pass^{times}); of "
                    "{all_rows} {once} pass one time",
                    name=name,
                    rows=rows,
                    times=self.times,
                    all_times=every.shown(),
                    all_rows=all_rows,
                    once=once.shown(),
                )
            ]
        if self.of_talks:
            parts.append(Message("as it stands, with the user's mistakes"))
        parts += self._left_out(every)
        return join("; ", parts)

    def _left_out(self, every: PassAll) -> Iterator[Message]:
        if fewer := every.fewer - every.fewer_judged:
            yield (
                plural(
                    "{count} task has fewer than {times} trials and is not in pass^{times}",
                    "{count} tasks have fewer than {times} trials and are not in pass^{times}",
                    fewer,
                    times=self.times,
                )
                if self.of_tasks
                else plural(
                    "{count} row has fewer than {times} answers and is not in pass^{times}",
                    "{count} rows have fewer than {times} answers and are not in pass^{times}",
                    fewer,
                    times=self.times,
                )
            )
        if every.fewer_judged:
            yield (
                plural(
                    "{count} task has trials that were skipped, so fewer than {times} were "
                    "judged, and is not in pass^{times}",
                    "{count} tasks have trials that were skipped, so fewer than {times} were "
                    "judged, and are not in pass^{times}",
                    every.fewer_judged,
                    times=self.times,
                )
                if self.of_tasks
                else plural(
                    "{count} row has answers that were skipped, so fewer than {times} were "
                    "judged, and is not in pass^{times}",
                    "{count} rows have answers that were skipped, so fewer than {times} were "
                    "judged, and are not in pass^{times}",
                    every.fewer_judged,
                    times=self.times,
                )
            )
        if self.lost:
            yield (
                plural(
                    "{count} trial has no verdict and may have passed or failed",
                    "{count} trials have no verdict and may have passed or failed",
                    self.lost,
                )
                if self.of_tasks
                else plural(
                    "{count} answer has no verdict and may have passed or failed",
                    "{count} answers have no verdict and may have passed or failed",
                    self.lost,
                )
            )

    def to_dict(self) -> JsonDict:
        return fill(RepeatsShape, self, pass_all={share.k: share.share for share in self.shares})


@dataclass(slots=True)
class TrialCounts:
    """The trials of one task, or the answers to one row."""

    unit: Unit = ()
    """The groups that the task shares with other tasks."""
    trials: int = 0
    judged: int = 0
    passed: int = 0
    skipped: int = 0
    """Trials that were not to be judged; they are not among ``trials``."""

    def add(self, *, passed: bool | None) -> None:
        """Count one trial. ``passed``: None without a verdict."""
        self.trials += 1
        self.judged += passed is not None
        self.passed += passed is True

    @property
    def lost(self) -> int:
        return self.trials - self.judged

    def bounds(self, k: int) -> tuple[float, float]:
        """Return the estimate of pass^k if all lost trials failed, and if all passed."""
        draws = comb(self.trials, k)
        return comb(self.passed, k) / draws, comb(self.passed + self.lost, k) / draws

    def each_trial(self) -> Iterator[tuple[float, float]]:
        """Yield the lowest and highest result of each trial."""
        yield from [(1.0, 1.0)] * self.passed
        yield from [(0.0, 1.0)] * self.lost
        yield from [(0.0, 0.0)] * (self.judged - self.passed)


class RepeatTally:
    """Adds up the results of repeated rows, using a few bytes per row."""

    def __init__(self, sureness: GateConfidence = UNSURE) -> None:
        self._sureness = sureness
        self._rows: dict[tuple[str, str], TrialCounts] = {}
        """(system, row) → its trials."""
        self._is_binary = True
        self._of_tasks = False
        self._of_talks = False

    def add(self, record: JudgmentRecord) -> None:
        if TURN in record.input:
            return  # the turns of one conversation are no trials of its task
        task, row = task_of(record), asked_row(record)
        if task is not None:
            self._of_tasks = True
            self._add(record, str(record.input.get(SYSTEM, "")), task)
        elif row is not None and REPEAT in record.input:
            self._add(record, record.answered_by, row)

    def _add(self, record: JudgmentRecord, system: str, row: str) -> None:
        counts = self._rows.setdefault((system, row), TrialCounts(self._sureness.unit(record)))
        if record.status == "skipped":
            counts.skipped += 1
            return
        detail = record.detail
        self._of_talks |= detail.unit == "conversation"
        if record.scored and detail.kind in ("aspect", "check"):
            counts.add(passed=record.verdict == "PASS")
            return
        if record.scored:  # a count or a share neither passes nor fails
            self._is_binary &= detail.passes_or_fails(record.score)
        is_known = record.scored and record.score is not None
        counts.add(passed=record.score == 1.0 if is_known else None)

    def summary(self) -> tuple[Repeats, ...]:
        """Return one entry per system with repeats; empty if results are not all pass or fail."""
        return tuple(self._each()) if self._is_binary else ()

    def _each(self) -> Iterator[Repeats]:
        by_system: dict[str, list[TrialCounts]] = {}
        for (system, _), counts in self._rows.items():
            by_system.setdefault(system, []).append(counts)
        for system, rows in by_system.items():
            most = max(counts_of_row.trials for counts_of_row in rows)
            if not most or (most == 1 and not system):
                continue
            yield Repeats(
                system,
                len(rows),
                sum(counts_of_row.lost > 0 for counts_of_row in rows),
                sum(counts_of_row.lost for counts_of_row in rows),
                _usual_times(rows),
                tuple(pass_all(rows, k) for k in range(1, most + 1)),
                self._of_tasks,
                self._of_talks,
            )


def _usual_times(rows: Sequence[TrialCounts]) -> int:
    """Return the highest number of trials that more than half of the tasks have, at least 1.

    Thus a single task with an extra trial does not change the reported k.
    """
    trials = sorted(counts.trials for counts in rows)
    return max(1, trials[(len(trials) - 1) // 2])


def pass_all(rows: Sequence[TrialCounts], k: int) -> PassAll:
    """Estimate pass^k as the mean over tasks of C(c, k) / C(n, k), for n trials of which c passed.

    This is unbiased. At least one task must have k trials.
    """
    counted = [task for task in rows if task.trials >= k]
    low, high = zip(*(task.bounds(k) for task in counted), strict=True)
    clusters = clusters_of([task.unit for task in counted])
    if clusters and len(set(clusters)) == len(clusters):
        clusters = None
    if k == 1 and len({task.trials for task in counted}) == 1:
        # then it is the pass rate of all trials, which has one interval wherever it is shown
        clusters = [
            cluster
            for cluster, task in zip(clusters or range(len(counted)), counted, strict=True)
            for _ in range(task.trials)
        ]
        low, high = zip(*(ends for task in counted for ends in task.each_trial()), strict=True)
    interval = None
    if len(counted) >= FEWEST:
        from adjudge.stats.intervals import interval_of_bounds  # not loaded with too few tasks

        interval = interval_of_bounds(lambda values: interval_of(values, clusters), low, high)
    return PassAll(
        k,
        len(counted),
        len(rows) - len(counted),
        sum(task.trials < k <= task.trials + task.skipped for task in rows),
        sum(task.lost for task in counted),
        fmean(low),
        fmean(high),
        interval,
    )
