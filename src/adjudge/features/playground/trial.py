"""Judge a test case: collect votes and results as they come, and compare them with what was
expected.
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
"""Probability that simultaneous intervals fail."""
_PURPOSE = "the playground"
_ROOM = 2.0
"""Factor between the estimate and the amount set aside."""


@dataclass(frozen=True)
class ExpectedAgreement:
    """Agreement of verdicts with the expected answers."""

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
def measure_agreement(
    said: tuple[str | None, ...], expected: tuple[str, ...], options: tuple[str, ...]
) -> ExpectedAgreement | None:
    """Compare verdicts with expected answers; return None if no instance has an expected answer."""
    pairs = [(verdict, answer) for verdict, answer in zip(said, expected, strict=True) if answer]
    if not pairs:
        return None
    measures = agreement([verdict for verdict, _ in pairs], [answer for _, answer in pairs])
    accuracy, kappa = measures.figures["accuracy"], measures.figures["kappa"]
    cells = Counter((answer, verdict) for verdict, answer in pairs if verdict is not None)
    shown_options = tuple(name for name in options if any(name in cell for cell in cells))
    return ExpectedAgreement(
        count=len(pairs),
        agreed=sum(verdict == answer for verdict, answer in pairs),
        failed=sum(verdict is None for verdict, _ in pairs),
        accuracy=(accuracy.value, accuracy.lower, accuracy.upper),
        kappa=(kappa.value, kappa.lower, kappa.upper),
        reason=kappa.reason or "",
        options=shown_options,
        table={
            answer: {verdict: cells[answer, verdict] for verdict in shown_options}
            for answer in shown_options
        },
    )


@dataclass
class CriterionTrial:
    """A criterion's verdicts in a trial.

    One thread writes to it while pages read it.
    """

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
        """Return the verdict on a row in the notation of expected answers."""
        return verdict_of(self.results.get(row))

    def measure_agreement(self, rows: Container[int]) -> ExpectedAgreement | None:
        """Compare the verdicts so far on these rows with the expected answers."""
        judged_rows = [row for row in sorted(self.results) if row in rows]
        return self.against([self.verdict(row) for row in judged_rows], judged_rows)

    def against(self, said: Sequence[str | None], seen: Sequence[int]) -> ExpectedAgreement | None:
        """Compare these verdicts on the rows with the expected answers."""
        rows = [self.case.rows[row] for row in seen]
        options = dict.fromkeys(name for row in rows for name in self.case.choices(row))
        return measure_agreement(tuple(said), tuple(row.expected for row in rows), tuple(options))

    def hits(self, said: Mapping[int, str]) -> dict[int, float]:
        """Map each row with an expected answer to 1 if the verdict is that answer, else 0."""
        return {
            row: float(verdict == expected)
            for row, verdict in said.items()
            if (expected := self.case.rows[row].expected)
        }

    @property
    def verdicts(self) -> dict[int, str]:
        """Row → verdict, without rows that have none."""
        pairs = ((row, self.verdict(row)) for row in sorted(self.results))
        return {row: verdict for row, verdict in pairs if verdict is not None}

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
            # Rows are numbered from 1 in ids and messages, from 0 here.
            self.results[event.row] = event.result
        elif isinstance(event, VoteCast):
            if id := event.vote.ballot.instance.id:  # a persona is about no row
                self.cast += 1
                self.votes.setdefault(int(id) - 1, []).append(event.vote)
        elif isinstance(event, BadRow):
            # A bad row is only named in words, such as "row 3".
            self.bad[int(event.where.rpartition(" ")[2]) - 1] = event.reason


@dataclass
class Trial:
    """A test case being judged by all its criteria at once.

    Every criterion has its own thread; the trial ends when the last of them has.
    """

    case: TestCase
    models: tuple[ModelEntry, ...]
    share: Share
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    stopped: str = ""
    ended: bool = False
    changes: int = 0
    """Counts whatever happens, so that pages know when to look again."""
    written: Sequence[Mapping[str, tuple[str, ...]]] = ()
    """The texts of each row as they are in the form, if the rows are from a form."""
    before: Mapping[int, str] = field(default_factory=dict)
    """Row → verdict of an earlier judge, if the rows are from a run."""
    source: str = ""
    """The run that the rows are from."""

    def __post_init__(self) -> None:
        self.criteria = {
            label: CriterionTrial(case) for label, case in self.case.by_criterion().items()
        }
        self._budget = OpenBudget(Budget(max_usd=self.share.usd), self.share.prices)
        self._thread = threading.Thread(target=self._judge, name=f"trial {self.id}", daemon=True)

    @property
    def edited_trial(self) -> CriterionTrial:
        """The trial of the edited criterion, which comes first."""
        return next(iter(self.criteria.values()))

    def start(self) -> None:
        self._thread.start()

    def stop(self, wait: float = 0.0) -> None:
        """Send no further requests and wait up to `wait` seconds for those under way.

        Replies that arrive later still count and are paid for.
        """
        if self.ended:
            return
        # The budget belongs to the event loop: another thread must not stop it directly.
        event_loop.home_loop().call_soon_threadsafe(self._budget.stop, _STOPPED)
        if not self.wait(wait):
            self.stopped, self.ended = _STOPPED, True
            self._count()

    def wait(self, seconds: float) -> bool:
        """Wait and return True if the trial ended within that time."""
        self._thread.join(seconds)
        return self.ended

    @property
    def planned_votes(self) -> int:
        """Number of votes that the trial asks for."""
        orders = 2 if self.case.both_orders else 1
        votes_per_row = len(self.models) * self.case.settings.votes * orders
        return len(self.case.rows) * votes_per_row * len(self.criteria)

    @property
    def cast(self) -> int:
        return sum(trial.cast for trial in self.criteria.values())

    @property
    def error(self) -> str:
        """Why the trial was stopped or failed; empty if it was not."""
        return self.stopped or next(
            (trial.error for trial in self.criteria.values() if trial.error), ""
        )

    @property
    def usd(self) -> float:
        return self._budget.spent.usd

    def expect(self, answers: Mapping[int, str]) -> None:
        """Replace expected answers (row → answer), also after the verdicts."""
        rows = [
            replace(row, expected=answers.get(place, row.expected))
            for place, row in enumerate(self.case.rows)
        ]
        self.case = replace(self.case, rows=tuple(rows))
        for label, case in self.case.by_criterion().items():
            self.criteria[label].case = case

    def measure_earlier_agreement(self) -> ExpectedAgreement | None:
        """Compare the run's earlier verdicts with the expected answers.

        Return None if there are no earlier verdicts.
        """
        judged_rows = sorted(self.edited_trial.results)
        verdicts = [self.before.get(row) for row in judged_rows]
        return self.edited_trial.against(verdicts, judged_rows) if self.before else None

    def differing(self) -> list[int]:
        """Return the rows whose verdict is not the expected one."""
        return [
            row
            for row, hit in self.edited_trial.hits(self.edited_trial.verdicts).items()
            if not hit
        ]

    def asks(self, other: Trial) -> bool:
        """Return True if both trials ask the same models the same questions."""
        return (self.case.asked, self.models, self.written, self.source) == (
            other.case.asked,
            other.models,
            other.written,
            other.source,
        )

    def change(self) -> str:
        """Return how agreement with people's labels changed from the run's judge to the trial.

        The text is empty without labels.
        """
        return self._describe_change(
            self.edited_trial.hits(self.before), range(len(self.case.rows))
        )

    def change_from(self, other: CriterionTrial, rows: Container[int]) -> str:
        """Like change, but compare the edited wording with another one on these rows.

        With several other wordings, the intervals hold simultaneously.
        """
        name = self.edited_trial.case.criteria.name
        wordings = sum(trial.case.criteria.name == name for trial in self.criteria.values()) - 1
        hits_before = {row: hit for row, hit in other.hits(other.verdicts).items() if row in rows}
        return self._describe_change(hits_before, rows, max(1, wordings))

    def _describe_change(
        self, hits_before: Mapping[int, float], rows: Container[int], times: int = 1
    ) -> str:
        """Describe the change and count the rows that lack one of the two verdicts."""
        # Copies of one text are one observation, so they form a cluster.
        hits_after, copies = (
            self.edited_trial.hits(self.edited_trial.verdicts),
            defaultdict[str, list[int]](list),
        )
        for place, row in enumerate(self.case.rows):
            if place in rows and row.expected:
                copies[identity_of(row.fields)].append(place)
        sentence = describe_change(hits_after, hits_before, list(copies.values()), times)
        left_out = sum(map(len, copies.values())) - len(hits_after.keys() & hits_before.keys())
        if not sentence or not left_out:
            return sentence
        also = plural(
            "{count} row is left out, because one of the two criteria has no verdict on it",
            "{count} rows are left out, because one of the two criteria has no verdict on them",
            left_out,
        )
        return join("; ", (sentence, also))

    def _judge(self) -> None:
        try:
            with ThreadPoolExecutor(len(self.criteria)) as pool:
                list(pool.map(self._judge_by, self.criteria.values()))
        # Also after an error: the share would otherwise stay set aside.
        finally:
            self.share.settle(self.usd)
            self.ended = True
            self._count()

    def _judge_by(self, trial: CriterionTrial) -> None:
        with calling(self._budget):
            trial.judge(self.models, self.share.prices, self._count)

    def _count(self) -> None:
        self.changes += 1


def describe_change(
    after: Mapping[int, float],
    before: Mapping[int, float],
    copies: Sequence[Sequence[int]],
    times: int,
) -> str:
    """Return a sentence on whether agreement improved on the rows that both have.

    Return an empty text if there are no such rows. `copies` holds the rows of each text; `times` is
    the number of such sentences whose intervals are to hold simultaneously.
    """
    text_of = {row: text for text, copy_rows in enumerate(copies) for row in copy_rows}
    rows = [row for row in sorted(text_of) if row in after and row in before]
    if not rows:
        return ""
    # Bonferroni: the error rate is shared by all sentences shown together.
    level, texts = 1 - _RISK / times, [text_of[row] for row in rows]
    comparison = compare(
        [after[row] for row in rows],
        [before[row] for row in rows],
        clusters=texts if len(set(texts)) < len(texts) else None,
        level=level,
    )
    estimate = comparison.estimate
    sentence = plural(
        "{outcome}: agreement {before:.3f} → {after:.3f} on {count} row",
        "{outcome}: agreement {before:.3f} → {after:.3f} on {count} rows",
        len(rows),
        outcome=_OUTCOMES[comparison.outcome],
        before=sum(before[row] for row in rows) / len(rows),
        after=sum(after[row] for row in rows) / len(rows),
    )
    if estimate.lower is None or estimate.upper is None:
        return join("; ", (sentence, estimate.reason or ""))
    return Message(
        "{said}; difference {value:+.3f}, from {lower:+.3f} to {upper:+.3f} at {level:.3g}%",
        said=sentence,
        value=estimate.value,
        level=100 * level,
        lower=estimate.lower,
        upper=estimate.upper,
    )


def _plan_of(case: TestCase, models: Sequence[ModelEntry], prices: PriceTable) -> Plan:
    return resolve(case.eval_file(models), cache=True, prices=prices)


def estimate_of(case: TestCase, models: Sequence[ModelEntry], prices: PriceTable) -> CostEstimate:
    """Estimate judging by all criteria, without any request."""
    first_estimate, *other_estimates = (
        estimate(_plan_of(criterion_case, models, prices))
        for criterion_case in case.by_criterion().values()
    )
    return sum(other_estimates, start=first_estimate)


def verdict_of(result: Result | None) -> str | None:
    """Return the option, or the letter of the better response; None without a verdict."""
    if isinstance(result, PairwiseInstanceResult):
        return letter_of(result.selected_option)
    return result.option if isinstance(result, DirectInstanceResult) else None


class Trials:
    """The trials of one server. The oldest are dropped first."""

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
        """Start a trial, or return a running one that asks the same.

        Raise a SetupError before the first request if the case cannot be judged.
        """
        if not case.rows:
            raise SetupError("there is nothing to judge: write a text into an instance")
        self._spending.refuse_unpriced(entry.model for entry in models)
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
        """Return a running trial with the same questions, so that nothing is asked twice."""
        return next(
            (
                candidate
                for candidate in self._kept.values()
                if not candidate.ended and candidate.asks(trial)
            ),
            None,
        )

    def get(self, id: str) -> Trial | None:
        return self._kept.get(id)

    def find(self, id: str) -> Trial:
        if trial := self.get(id):
            return trial
        raise SetupError("that trial no longer exists: judge again")

    def stop_all(self) -> None:
        for trial in [*self._kept.values()]:
            trial.stop()

    def _room(self, case: TestCase, models: Sequence[ModelEntry]) -> Share:
        """Reserve the trial's likely cost, so that two trials do not spend the same money."""
        if self._spending.is_free(entry.model for entry in models):
            return self._spending.set_aside(0.0, _PURPOSE)
        likely = estimate_of(case, models, self._spending.prices).usd[1]
        # A tenth of a cent on top, so that an estimate of 0 still allows a call.
        return self._spending.set_aside(
            min(self._spending.remaining, _ROOM * likely + 0.001), _PURPOSE
        )


def trials_of(site: Site) -> Trials:
    """Return the trials of a server; they are stopped when it ends."""

    def begin() -> Trials:
        trials = Trials(site.spending)
        site.at_end(trials.stop_all)
        return trials

    return site.get_or_create(Trials, begin)
