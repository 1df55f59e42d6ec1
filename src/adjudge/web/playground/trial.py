"""A test case that is being judged: votes and results as they come, and what they come to beside
what was expected.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from adjudge.aio import event_loop
from adjudge.data.dataset import BadRow
from adjudge.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result
from adjudge.domain.vote import Vote
from adjudge.errors import AdjudgeError, BudgetSpent, RunStopped, SetupError
from adjudge.gateway.layers.budget import Budget, OpenBudget, calling
from adjudge.messages import Message, plural, term
from adjudge.runs.case_file import TestCase, letter_of
from adjudge.runs.execute import EvalRun, Event, JudgmentDone, VoteCast
from adjudge.runs.project import ModelEntry
from adjudge.stats.agreement import agreement
from adjudge.stats.difference import ComparisonOutcome, compare
from adjudge.web.spending import Share, Spending

MOST_KEPT = 20
"""Trials whose results can still be looked at."""
_STOPPED = Message("stopped")
_OUTCOMES = {
    ComparisonOutcome.BETTER: term("page", "Better"),
    ComparisonOutcome.WORSE: term("page", "Worse"),
    ComparisonOutcome.CANNOT_TELL: term("page", "Cannot tell"),
}
_ROOM = 2.0
"""How many times the estimate is set aside."""


@dataclass(frozen=True)
class ExpectedAgreement:
    """Verdicts beside what was expected."""

    count: int
    agreed: int
    failed: int
    """Instances with an expected result that have no verdict."""
    accuracy: tuple[float | None, float | None, float | None]
    """The share that agrees, with its interval."""
    kappa: tuple[float | None, float | None, float | None]
    reason: str
    options: tuple[str, ...]
    table: Mapping[str, Mapping[str, int]]
    """Expected → verdict → instances."""


@lru_cache(maxsize=64)
def compared(
    said: tuple[str | None, ...], expected: tuple[str, ...], options: tuple[str, ...]
) -> ExpectedAgreement | None:
    """Over the instances of which something is expected; None where there are none."""
    pairs = [(one, truth) for one, truth in zip(said, expected, strict=True) if truth]
    if not pairs:
        return None
    found = agreement([one for one, _ in pairs], [truth for _, truth in pairs])
    accuracy, kappa = found.figures["accuracy"], found.figures["kappa"]
    cells = Counter((truth, one) for one, truth in pairs if one is not None)
    named = tuple(name for name in options if any(name in cell for cell in cells))
    return ExpectedAgreement(
        count=len(pairs),
        agreed=sum(one == truth for one, truth in pairs),
        failed=sum(one is None for one, _ in pairs),
        accuracy=(accuracy.value, accuracy.lower, accuracy.upper),
        kappa=(kappa.value, kappa.lower, kappa.upper),
        reason=kappa.reason or "",
        options=named,
        table={truth: {one: cells[truth, one] for one in named} for truth in named},
    )


@dataclass
class Trial:
    """One judging of a test case. Its own thread writes, pages read."""

    case: TestCase
    models: tuple[ModelEntry, ...]
    share: Share
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    results: dict[int, Result] = field(default_factory=dict)
    votes: dict[int, list[Vote]] = field(default_factory=dict)
    bad: dict[int, str] = field(default_factory=dict)
    """Row → why it cannot be judged."""
    cast: int = 0
    error: str = ""
    ended: bool = False
    changes: int = 0
    """Counts whatever happens, so that pages know when to look again."""
    written: Sequence[Mapping[str, tuple[str, ...]]] = ()
    """The texts of each row as the form had them, where they are from a form."""
    before: Mapping[int, str] = field(default_factory=dict)
    """Row → what an earlier judge said of it, where rows of a run are tried."""
    source: str = ""
    """The run that the rows are from."""

    def __post_init__(self) -> None:
        self._budget = OpenBudget(Budget(max_usd=self.share.usd), self.share.prices)
        self._thread = threading.Thread(target=self._judge, name=f"trial {self.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, wait: float = 0.0) -> None:
        """Send nothing more. What is under way is waited for so long; what comes later still
        counts, and is paid for.
        """
        if self.ended:
            return
        event_loop.home_loop().call_soon_threadsafe(self._budget.stop, _STOPPED)
        if not self.wait(wait):
            self.error, self.ended = _STOPPED, True
            self.changes += 1

    def wait(self, seconds: float) -> bool:
        """Whether it ended in that time."""
        self._thread.join(seconds)
        return self.ended

    @property
    def planned(self) -> int:
        """Votes that are asked for."""
        orders = 2 if self.case.both_orders else 1
        return len(self.case.rows) * len(self.models) * self.case.settings.strictness * orders

    @property
    def usd(self) -> float:
        return self._budget.spent.usd

    def verdict(self, row: int) -> str | None:
        """What was said of a row, as it is expected."""
        return verdict_of(self.results.get(row))

    def expect(self, answers: Mapping[int, str]) -> None:
        """Row → what is expected of it by now: that may be said after the verdict, too."""
        rows = [
            replace(row, expected=answers.get(place, row.expected))
            for place, row in enumerate(self.case.rows)
        ]
        self.case = replace(self.case, rows=tuple(rows))

    def compared(self, rows: Container[int]) -> ExpectedAgreement | None:
        """Beside what was expected, of those of the rows that were judged so far."""
        seen = [row for row in sorted(self.results) if row in rows]
        return self._against([self.verdict(row) for row in seen], seen)

    def compared_before(self) -> ExpectedAgreement | None:
        """The same of what the earlier judge said of the rows of a run."""
        seen = sorted(self.results)
        return self._against([self.before.get(row) for row in seen], seen) if self.before else None

    def differing(self) -> list[int]:
        """The rows whose verdict is not the expected one."""
        expected = {row: self.case.rows[row].expected for row in sorted(self.results)}
        return [
            row
            for row, wanted in expected.items()
            if wanted and self.verdict(row) not in (None, wanted)
        ]

    def change(self) -> str:
        """Better, worse, or cannot tell, where rows of a run are tried that people labelled."""
        pairs = [
            (float(said == wanted), float(earlier == wanted))
            for row in sorted(self.results)
            if (wanted := self.case.rows[row].expected)
            and (said := self.verdict(row)) is not None
            and (earlier := self.before.get(row)) is not None
        ]
        return changed_by(pairs) if pairs and self.ended else ""

    def _against(self, said: Sequence[str | None], seen: Sequence[int]) -> ExpectedAgreement | None:
        rows = [self.case.rows[row] for row in seen]
        options = dict.fromkeys(name for row in rows for name in self.case.choices(row))
        return compared(tuple(said), tuple(row.expected for row in rows), tuple(options))

    def _judge(self) -> None:
        try:
            prices = self.share.prices
            run = EvalRun.of(self.case.eval_file(self.models), cache=True, prices=prices)
            with calling(self._budget), run.execute() as events:
                for event in events:
                    self._hear(event)
        except (BudgetSpent, RunStopped) as halt:
            self.error = str(halt)
        except AdjudgeError as error:
            self.error = str(error)
        finally:
            self.share.settle(self.usd)
            self.ended = True
            self.changes += 1

    def _hear(self, event: Event) -> None:
        if isinstance(event, JudgmentDone):
            self.results[event.row] = event.result
        elif (
            isinstance(event, VoteCast) and event.vote.ballot.instance.id
        ):  # a persona is about no row
            self.cast += 1
            self.votes.setdefault(int(event.vote.ballot.instance.id) - 1, []).append(event.vote)
        elif isinstance(event, BadRow):
            self.bad[int(event.where.rpartition(" ")[2]) - 1] = event.reason
        self.changes += 1


def changed_by(pairs: Sequence[tuple[float, float]]) -> str:
    """(after, before) of each row as a sentence: whether agreement is better, with the numbers
    behind it.
    """
    after, before = [one for one, _ in pairs], [other for _, other in pairs]
    found = compare(after, before)
    outcome = ComparisonOutcome.CANNOT_TELL if found.estimate.lower is None else found.outcome
    return plural(
        "{outcome}: agreement {before:.3f} → {after:.3f} on {count} row.",
        "{outcome}: agreement {before:.3f} → {after:.3f} on {count} rows.",
        len(pairs),
        outcome=_OUTCOMES[outcome],
        before=sum(before) / len(pairs),
        after=sum(after) / len(pairs),
    )


def verdict_of(result: Result | None) -> str | None:
    """The option, or the letter of the better response; None where there is no verdict."""
    if isinstance(result, PairwiseInstanceResult):
        return letter_of(result.selected_option)
    return result.option if isinstance(result, DirectInstanceResult) else None


class Trials:
    """The trials of one server, the oldest forgotten first."""

    def __init__(self, spending: Spending) -> None:
        self._spending = spending
        self._kept: dict[str, Trial] = {}
        self._lock = threading.Lock()

    def start(
        self,
        case: TestCase,
        models: Sequence[ModelEntry],
        *,
        written: Sequence[Mapping[str, tuple[str, ...]]] = (),
        before: Mapping[int, str] | None = None,
        source: str = "",
    ) -> Trial:
        """Begin one. A SetupError says what is wrong before anybody is asked."""
        if not case.rows:
            raise SetupError("there is nothing to judge: write a text into an instance")
        self._spending.refuse_unpriced(one.model for one in models)
        room = self._room(case, models)
        trial = Trial(
            case, tuple(models), room, written=written, before=before or {}, source=source
        )
        with self._lock:
            while len(self._kept) >= MOST_KEPT:
                self._kept.pop(next(iter(self._kept))).stop()
            self._kept[trial.id] = trial
        trial.start()
        return trial

    def get(self, id: str) -> Trial | None:
        return self._kept.get(id)

    def find(self, id: str) -> Trial:
        if found := self.get(id):
            return found
        raise SetupError("that trial is gone: judge again")

    def stop_all(self) -> None:
        for trial in self._kept.values():
            trial.stop()

    def _room(self, case: TestCase, models: Sequence[ModelEntry]) -> Share:
        """What it may cost is set aside, so that two at once do not spend the same money."""
        if self._spending.is_free(one.model for one in models):
            return self._spending.set_aside(0.0)
        run = EvalRun.of(case.eval_file(models), cache=True, prices=self._spending.prices)
        likely = run.estimate().usd[1]
        return self._spending.set_aside(min(self._spending.left, _ROOM * likely + 0.001))
