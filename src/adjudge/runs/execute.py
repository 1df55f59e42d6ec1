"""An eval file, carried out: every judge over every row, in one run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from adjudge.aio import event_loop
from adjudge.data.dataset import STDIN, BadRow, BlankRows
from adjudge.data.sources.open import hold_stdin
from adjudge.domain.results import Result
from adjudge.engine.estimate import Estimate
from adjudge.engine.run import OpenRun, Run, opened
from adjudge.errors import RunError, SetupError
from adjudge.gateway.layers.account import Spent
from adjudge.gateway.layers.budget import Budget
from adjudge.ledger.file import FILE
from adjudge.runs.build import ReadyJudge, instances, judges, open_entry
from adjudge.runs.eval_file import BudgetEntry, EvalFile
from adjudge.runs.known import KnownVotes

_QUICKLY_COUNTED = 100_000_000
"""Bytes of a file whose rows are counted before they are judged."""


@dataclass(frozen=True)
class JudgeStarted:
    """A judge begins with the first row."""

    judge: str


@dataclass(frozen=True)
class Judged:
    """A judgment is there, and in the ledger."""

    judge: str
    number: int
    """The place of the judgment among the judge's, from 0."""
    result: Result
    spent: Spent
    """By the whole run so far."""


@dataclass(frozen=True)
class RowSkipped:
    """A row that no judge can judge."""

    row: BadRow


@dataclass(frozen=True)
class BlankRowsSkipped:
    """Rows that hold nothing were passed over."""

    rows: BlankRows


Event = JudgeStarted | Judged | RowSkipped | BlankRowsSkipped
"""What happens in a run, in the order it happens."""


def _limits(given: Budget | None, own: BudgetEntry) -> Budget:
    """The limits that were given, and the file's where none was."""
    names = ("max_usd", "max_calls", "max_tokens")
    chosen = {name: getattr(given, name, None) for name in names}
    return Budget(**{name: getattr(own, name) if chosen[name] is None else chosen[name] for name in names})


def _nobody(event: Event) -> None:
    """Listens to nothing."""


def _ignore(row: BadRow | BlankRows) -> None:
    """It is told of when it is judged."""


@dataclass(frozen=True)
class EvalRun:
    """An eval file with its judges made, ready to be carried out."""

    file: EvalFile
    judges: tuple[ReadyJudge, ...]
    folder: Path
    limit: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, file: EvalFile, *, cache: bool = True, folder: Path | None = None, **more: Any) -> EvalRun:
        """``cache``: whether replies are taken from the user's cache, and kept there."""
        made = judges(file, partial(open_entry, cache=cache))
        if file.data.path == STDIN:
            hold_stdin()
        return cls(file, tuple(made), folder or file.run_folder, **more)

    def execute(
        self,
        listen: Callable[[Event], None],
        *,
        budget: Budget | None = None,
        fork_of: Path | None = None,
        retry_failed: bool = False,
    ) -> None:
        """Judge, and tell ``listen`` of everything. Raises BudgetSpent or RunStopped where it ends before the end."""
        run = Run(self.folder, fork_of, retry_failed, self.facts)
        event_loop.run(self._execute(run, _limits(budget, self.file.budget), listen))

    def estimate(self, *, fork_of: Path | None = None, retry_failed: bool = False) -> Estimate:
        """What is left of it would take; nothing is asked."""
        begun = (self.folder / FILE).is_file()
        known = KnownVotes(self.folder if begun or fork_of is None else fork_of, retry_failed=retry_failed)
        found = [ready.judge.estimate(self._items(ready, _nobody), known) for ready in self.judges]
        return sum(found[1:], start=found[0])

    def total(self) -> int | None:
        """How many judgments there will be; None where counting would take long, or cannot be done twice."""
        source = self.file.source
        try:
            if self.file.data.path == STDIN or not source.is_file() or source.stat().st_size > _QUICKLY_COUNTED:
                return None
            rows = sum(1 for _ in instances(self.file, _ignore, self.limit, _ignore))
        except (OSError, RunError):
            return None  # what is wrong with the rows is said when judging gets there
        return rows * sum(len(ready.criteria) or 1 for ready in self.judges)

    async def _execute(self, run: Run, budget: Budget, listen: Callable[[Event], None]) -> None:
        configuration = {"judges": {ready.name: ready.judge.configuration(ready.criteria) for ready in self.judges}}
        async with opened(run, configuration, budget) as under_way:
            for place, ready in enumerate(self.judges):
                listen(JudgeStarted(ready.name))
                await self._judge(ready, under_way, listen, first=place == 0)

    async def _judge(self, ready: ReadyJudge, run: OpenRun, listen: Callable[[Event], None], *, first: bool) -> None:
        def saw(number: int, result: Result) -> None:
            listen(Judged(ready.name, number, result, run.allowance.spent))

        items = self._items(ready, listen if first else _nobody)
        await ready.judge.judge_stream(items, saw, run=run, criteria=ready.criteria, label=ready.name)

    def _items(self, ready: ReadyJudge, listen: Callable[[Event], None]) -> Iterator[Any]:
        bad, blank = lambda row: listen(RowSkipped(row)), lambda rows: listen(BlankRowsSkipped(rows))
        for instance in instances(self.file, bad, self.limit, blank):
            for item in ready.items(instance):
                try:
                    ready.judge.check(item)
                except SetupError as error:
                    listen(RowSkipped(BadRow(str(instance.metadata.get("place", instance.id)), str(error))))
                else:
                    yield item
