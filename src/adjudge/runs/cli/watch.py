"""Progress of judging: a bar for people, a line now and then for logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

import click

from adjudge.core.domain.results import Result, Status
from adjudge.core.gateway.layers.account import Account, Spent
from adjudge.core.gateway.prices import PriceTable, dollars
from adjudge.messages import Message, render
from adjudge.runs.counts import count_votes

if TYPE_CHECKING:
    from rich.progress import Progress

_SECONDS_A_LINE = 30.0


class ProgressWatch:
    """Rate, failures, money and time left on standard error. Prints nothing for a single judgment,
    or if ``quiet``.
    """

    def __init__(
        self,
        total: Callable[[], int | None],
        prices: PriceTable,
        *,
        quiet: bool,
        language: str = "en",
    ) -> None:
        self._count = total
        self.language = language
        self._votes = 0
        self._prices = prices
        self._done = self._failed = 0
        self._there = self._failed_there = self._votes_there = 0
        self._spent: Spent | None = None
        self._used = Account()
        self._started = self._said = time.monotonic()
        self._shown = not quiet
        self._bar = _bar() if self._shown and sys.stderr.isatty() and self.total != 1 else None
        self._lines = self._shown and self._bar is None
        self._task = (
            self._bar.add_task(render(Message("judging"), language), total=self.total, note="")
            if self._bar
            else None
        )

    @cached_property
    def total(self) -> int | None:
        """The number of judgments. Counted on first use, since that takes a pass over the rows."""
        return self._count()

    def on_result(self, result: Result, spent: Spent | None = None) -> None:
        """Count a judgment. ``spent``: cost of the whole run so far; if unknown, the votes' usage
        is added up.
        """
        self._done += 1
        self._failed += result.status not in (Status.SCORED, Status.SKIPPED)
        self._spent = spent
        if spent is None and self._shown:
            for vote in result.votes:
                self._used.add(vote.model, vote.usage)
        self._show()

    def on_repeated(self, spent: Spent) -> None:
        """Count a judgment with a score that an earlier pass made."""
        self._done += 1
        self._spent = spent
        self._show()

    def on_vote(self) -> None:
        """Count a vote and update the display: a row may take many votes and much time."""
        self._votes += 1
        self._show()

    def elsewhere(self, done: int, failed: int, votes: int, spent: Spent) -> None:
        """Set the progress that workers report. Their judgments also arrive here later, and are not
        counted twice.
        """
        self._there, self._failed_there, self._votes_there, self._spent = done, failed, votes, spent
        self._show()

    def _show(self) -> None:
        completed = max(self._done, self._there)
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=completed, note=self.note())
        elif self._lines and time.monotonic() - self._said > _SECONDS_A_LINE and self.total != 1:
            self._said = time.monotonic()
            values = {"done": completed, "total": self.total, "note": self.note()}
            line = (
                Message("judged {done:,} of {total:,}; {note}", **values)
                if self.total
                else Message("judged {done:,}; {note}", **values)
            )
            click.echo(render(line, self.language), err=True)

    def _money(self) -> tuple[float, bool]:
        """Return the cost so far in dollars, and True if some prices are unknown."""
        if self._spent is not None:
            return self._spent.usd, self._spent.unpriced > 0
        costs = [self._prices.cost(model, usage) for model, usage in self._used.used.items()]
        return sum(cost or 0.0 for cost in costs), None in costs

    def note(self) -> str:
        """Return the progress in a few words."""
        rate = max(self._done, self._there) / max(time.monotonic() - self._started, 1e-6)
        votes, failed = self._votes + self._votes_there, max(self._failed, self._failed_there)
        parts = [render(count_votes(votes), self.language)] if votes else []
        if rate:
            parts.append(render(_speed(rate), self.language))
        usd, unpriced = self._money()
        if usd:
            parts.append(render(dollars(usd), self.language))
        if unpriced:
            parts.append(render(Message("price unknown"), self.language))
        if failed:
            parts.append(render(Message("{count} without a score", count=failed), self.language))
        return ", ".join(parts)

    def __enter__(self) -> ProgressWatch:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()


def _speed(rate: float) -> Message:
    """Return the rate as rows per second, or per minute below 0.1 per second."""
    if rate < 0.1:
        return Message("{rate:.1f}/min", rate=rate * 60)
    if rate < 100:
        return Message("{rate:.1f}/s", rate=rate)
    return Message("{rate:.0f}/s", rate=rate)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
