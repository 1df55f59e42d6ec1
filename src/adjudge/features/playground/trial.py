"""A test case that is being judged: votes and results as they come, and what they come to beside
what was expected.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache

from adjudge.core.aio import event_loop
from adjudge.core.data.dataset import BadRow
from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result
from adjudge.core.domain.vote import Vote
from adjudge.core.engine.estimate import CostEstimate
from adjudge.core.gateway.layers.budget import Budget, OpenBudget, calling
from adjudge.core.gateway.prices import PriceTable
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import Message, join, plural, term
from adjudge.runs.case_file import TestCase, letter_of
from adjudge.runs.execute import Event, JudgmentDone, VoteCast, estimate, execute
from adjudge.runs.plan import Plan, resolve
from adjudge.runs.project import ModelEntry
from adjudge.stats.agreement import agreement
from adjudge.stats.difference import ComparisonOutcome, compare
from adjudge.web.site import Site
from adjudge.web.spending import Share, Spending

MOST_KEPT = 20
"""Trials whose results can still be looked at."""
_STOPPED = Message("stopped")
_OUTCOMES = {
    ComparisonOutcome.BETTER: term("page", "Better"),
    ComparisonOutcome.WORSE: term("page", "Worse"),
    ComparisonOutcome.CANNOT_TELL: term("page", "Cannot tell"),
}
_RISK = 0.05
"""How often intervals that are to hold together may not."""
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
class CriterionTrial:
    """What one criterion comes to in a trial. A thread of its own writes, pages read."""

    case: TestCase
    results: dict[int, Result] = field(default_factory=dict)
    votes: dict[int, list[Vote]] = field(default_factory=dict)
    bad: dict[int, str] = field(default_factory=dict)
    """Row → why it cannot be judged."""
    cast: int = 0
    error: str = ""

    @property
    def done(self) -> int:
        return len(self.results) + len(self.bad)

    def verdict(self, row: int) -> str | None:
        """What was said of a row, as it is expected."""
        return verdict_of(self.results.get(row))

    def compared(self, rows: Container[int]) -> ExpectedAgreement | None:
        """Beside what was expected, of those of the rows that were judged so far."""
        seen = [row for row in sorted(self.results) if row in rows]
        return self.against([self.verdict(row) for row in seen], seen)

    def against(self, said: Sequence[str | None], seen: Sequence[int]) -> ExpectedAgreement | None:
        """What was said of the seen rows beside what was expected of them."""
        rows = [self.case.rows[row] for row in seen]
        options = dict.fromkeys(name for row in rows for name in self.case.choices(row))
        return compared(tuple(said), tuple(row.expected for row in rows), tuple(options))

    def hits(self, said: Mapping[int, str]) -> dict[int, float]:
        """Row → 1 where what was said of it is what is expected, 0 where it is not."""
        return {
            row: float(one == wanted)
            for row, one in said.items()
            if (wanted := self.case.rows[row].expected)
        }

    @property
    def verdicts(self) -> dict[int, str]:
        """Row → what was said of it, where something was."""
        found = ((row, self.verdict(row)) for row in sorted(self.results))
        return {row: said for row, said in found if said is not None}

    def judge(
        self, models: Sequence[ModelEntry], prices: PriceTable, changed: Callable[[], None]
    ) -> None:
        try:
            with execute(_plan_of(self.case, models, prices)) as events:
                for event in events:
                    self._hear(event)
                    changed()
        except AdjudgeError as error:
            self.error = str(error)

    def _hear(self, event: Event) -> None:
        if isinstance(event, JudgmentDone):
            self.results[event.row] = event.result
        elif isinstance(event, VoteCast):
            if id := event.vote.ballot.instance.id:  # a persona is about no row
                self.cast += 1
                self.votes.setdefault(int(id) - 1, []).append(event.vote)
        elif isinstance(event, BadRow):
            self.bad[int(event.where.rpartition(" ")[2]) - 1] = event.reason


@dataclass
class Trial:
    """One judging of a test case, by all its criteria at once."""

    case: TestCase
    models: tuple[ModelEntry, ...]
    share: Share
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    stopped: str = ""
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
        self.criteria = {
            label: CriterionTrial(case) for label, case in self.case.by_criterion().items()
        }
        self._budget = OpenBudget(Budget(max_usd=self.share.usd), self.share.prices)
        self._thread = threading.Thread(target=self._judge, name=f"trial {self.id}", daemon=True)

    @property
    def edited(self) -> CriterionTrial:
        """That of the criterion that is edited, which stands first."""
        return next(iter(self.criteria.values()))

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
            self.stopped, self.ended = _STOPPED, True
            self._count()

    def wait(self, seconds: float) -> bool:
        """Whether it ended in that time."""
        self._thread.join(seconds)
        return self.ended

    @property
    def planned(self) -> int:
        """Votes that are asked for."""
        orders = 2 if self.case.both_orders else 1
        each = len(self.models) * self.case.settings.votes * orders
        return len(self.case.rows) * each * len(self.criteria)

    @property
    def cast(self) -> int:
        return sum(one.cast for one in self.criteria.values())

    @property
    def error(self) -> str:
        """Why it ended before its end."""
        return self.stopped or next((one.error for one in self.criteria.values() if one.error), "")

    @property
    def usd(self) -> float:
        return self._budget.spent.usd

    def expect(self, answers: Mapping[int, str]) -> None:
        """Row → what is expected of it by now: that may be said after the verdict, too."""
        rows = [
            replace(row, expected=answers.get(place, row.expected))
            for place, row in enumerate(self.case.rows)
        ]
        self.case = replace(self.case, rows=tuple(rows))
        for label, case in self.case.by_criterion().items():
            self.criteria[label].case = case

    def compared_before(self) -> ExpectedAgreement | None:
        """What the earlier judge said of the rows of a run beside what was expected."""
        seen = sorted(self.edited.results)
        said = [self.before.get(row) for row in seen]
        return self.edited.against(said, seen) if self.before else None

    def differing(self) -> list[int]:
        """The rows whose verdict is not the expected one."""
        return [row for row, hit in self.edited.hits(self.edited.verdicts).items() if not hit]

    def asks(self, other: Trial) -> bool:
        """Whether both ask the same models the same, for the same instances of a form or a run."""
        return (self.case.asked, self.models, self.written, self.source) == (
            other.case.asked,
            other.models,
            other.written,
            other.source,
        )

    def change(self) -> str:
        """Better, worse, or cannot tell, where rows of a run are tried that people labelled."""
        return self._changed(self.edited.hits(self.before), range(len(self.case.rows)))

    def change_from(self, other: CriterionTrial, rows: Container[int]) -> str:
        """The same of the edited wording beside another one, on these rows; of several others,
        intervals hold together.
        """
        name = self.edited.case.criteria.name
        wordings = sum(one.case.criteria.name == name for one in self.criteria.values()) - 1
        before = {row: hit for row, hit in other.hits(other.verdicts).items() if row in rows}
        return self._changed(before, rows, max(1, wordings))

    def _changed(self, before: Mapping[int, float], rows: Container[int], times: int = 1) -> str:
        """Copies of one text are one observation; rows that lack a verdict are told."""
        after, copies = self.edited.hits(self.edited.verdicts), defaultdict[str, list[int]](list)
        for place, row in enumerate(self.case.rows):
            if place in rows and row.expected:
                copies[identity_of(row.fields)].append(place)
        said = changed_by(after, before, list(copies.values()), times)
        left_out = sum(map(len, copies.values())) - len(after.keys() & before.keys())
        if not said or not left_out:
            return said
        also = plural(
            "{count} row is left out that one of them says nothing of",
            "{count} rows are left out that one of them says nothing of",
            left_out,
        )
        return join("; ", (said, also))

    def _judge(self) -> None:
        try:
            with ThreadPoolExecutor(len(self.criteria)) as pool:
                list(pool.map(self._judge_by, self.criteria.values()))
        finally:
            self.share.settle(self.usd)
            self.ended = True
            self._count()

    def _judge_by(self, one: CriterionTrial) -> None:
        with calling(self._budget):
            one.judge(self.models, self.share.prices, self._count)

    def _count(self) -> None:
        self.changes += 1


def changed_by(
    after: Mapping[int, float],
    before: Mapping[int, float],
    copies: Sequence[Sequence[int]],
    times: int,
) -> str:
    """Whether agreement is better on the rows that both hold, as a sentence with the numbers
    behind it; empty where there are none. ``copies``: the rows of each text. ``times``: how many
    such sentences are to hold together.
    """
    text_of = {row: text for text, own in enumerate(copies) for row in own}
    rows = [row for row in sorted(text_of) if row in after and row in before]
    if not rows:
        return ""
    level, texts = 1 - _RISK / times, [text_of[row] for row in rows]
    found = compare(
        [after[row] for row in rows],
        [before[row] for row in rows],
        clusters=texts if len(set(texts)) < len(texts) else None,
        level=level,
    )
    estimate = found.estimate
    said = plural(
        "{outcome}: agreement {before:.3f} → {after:.3f} on {count} row",
        "{outcome}: agreement {before:.3f} → {after:.3f} on {count} rows",
        len(rows),
        outcome=_OUTCOMES[found.outcome],
        before=sum(before[row] for row in rows) / len(rows),
        after=sum(after[row] for row in rows) / len(rows),
    )
    if estimate.lower is None or estimate.upper is None:
        return join("; ", (said, estimate.reason or ""))
    return Message(
        "{said}; difference {value:+.3f}, from {lower:+.3f} to {upper:+.3f} at {level:.3g}%",
        said=said,
        value=estimate.value,
        level=100 * level,
        lower=estimate.lower,
        upper=estimate.upper,
    )


def _plan_of(case: TestCase, models: Sequence[ModelEntry], prices: PriceTable) -> Plan:
    return resolve(case.eval_file(models), cache=True, prices=prices)


def estimate_of(case: TestCase, models: Sequence[ModelEntry], prices: PriceTable) -> CostEstimate:
    """What judging by all criteria would take; nothing is asked."""
    first, *others = (
        estimate(_plan_of(one, models, prices)) for one in case.by_criterion().values()
    )
    return sum(others, start=first)


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
            if same := self._running(trial):
                room.settle(0.0)
                return same
            while len(self._kept) >= MOST_KEPT:
                self._kept.pop(next(iter(self._kept))).stop()
            self._kept[trial.id] = trial
            trial.start()
        return trial

    def _running(self, trial: Trial) -> Trial | None:
        """The one that asks the same at this moment: nothing is asked twice."""
        return next((one for one in self._kept.values() if not one.ended and one.asks(trial)), None)

    def get(self, id: str) -> Trial | None:
        return self._kept.get(id)

    def find(self, id: str) -> Trial:
        if found := self.get(id):
            return found
        raise SetupError("that trial is gone: judge again")

    def stop_all(self) -> None:
        for trial in [*self._kept.values()]:
            trial.stop()

    def _room(self, case: TestCase, models: Sequence[ModelEntry]) -> Share:
        """What it may cost is set aside, so that two at once do not spend the same money."""
        if self._spending.is_free(one.model for one in models):
            return self._spending.set_aside(0.0)
        likely = estimate_of(case, models, self._spending.prices).usd[1]
        return self._spending.set_aside(min(self._spending.left, _ROOM * likely + 0.001))


def trials_of(site: Site) -> Trials:
    """Return the trials of a server; they are stopped when it ends."""

    def begin() -> Trials:
        trials = Trials(site.spending)
        site.at_end(trials.stop_all)
        return trials

    return site.held(Trials, begin)
