"""Follow traffic: take events in from a source, and judge them in an ordinary run per day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.results import Status
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import holds_run
from adjudge.errors import BudgetSpent, OtherConfiguration
from adjudge.features.traffic.intake import Intake, Taken, today
from adjudge.features.traffic.rates import (
    ROWS,
    Alarm,
    AlarmState,
    TrafficRate,
    rates_of,
    uniform_scores,
)
from adjudge.features.traffic.sampling import Sampling
from adjudge.features.traffic.source import SourceAway, TrafficSource
from adjudge.features.traffic.store import TrafficStore
from adjudge.features.traffic.verdict_writer import WriteBack
from adjudge.messages import Message, plural
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.execute import Event, JudgmentDone, execute
from adjudge.runs.folder import run_info, spent_in
from adjudge.runs.plan import resolve
from adjudge.runs.results.gate import Bar
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.row_reader import RowReader

_ALARMS, _CLOSED = "alarms", "closed"
_MOST_TOLD = 3
_MOST_AT_ONCE = 80
"""Looks at the source before what came is judged."""


Listen = Callable[[Event], None]


@dataclass(frozen=True)
class DayDone:
    """Result of judging a day."""

    judged: int
    waiting: int
    alarms: tuple[Alarm, ...]
    failed: bool = False
    """True if calls failed, which are tried again."""


class RoundShape(TypedDict):
    """The result of one round of follow."""

    day: str
    events: Annotated[int, "new ones"]
    duplicates: Annotated[int, "events that were known"]
    chosen: int
    late: Annotated[int, "spans of traces that had been taken for whole"]
    bad: Annotated[Sequence[str], "what could not be read: where, and why"]
    judged: int
    waiting: Annotated[int, "chosen rows that are not judged, since the budget is spent"]
    away: Annotated[str | None, "why the source gave or took nothing, where it should have"]
    sent: Annotated[int, "verdicts that were written back"]


@dataclass(frozen=True)
class RoundDone:
    day: str
    taken: Taken
    judged: int
    """Judgments that were made, or found, in the run of the day."""
    waiting: int
    """Chosen rows of the day that are not judged, since its budget is spent."""
    rates: tuple[TrafficRate, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    away: Message | None = None
    """The reason why the source failed, if it did."""
    sent: int = 0
    """Verdicts that were written back."""

    @property
    def is_new(self) -> bool:
        """True if the round has any news to report."""
        return bool(self.taken.new or self.taken.bad or self.taken.late or self.raised or self.away)

    @property
    def raised(self) -> tuple[Alarm, ...]:
        """The alarms that are on, whether raised in this round or earlier."""
        return tuple(alarm for alarm in self.alarms if alarm.raised)

    def sentences(self) -> Iterator[Message]:
        """Yield a summary of the round."""
        if self.away:
            yield self.away
        yield plural(
            "{day}: {count} event, {again} of them known, {chosen} chosen",
            "{day}: {count} events, {again} of them known, {chosen} chosen",
            self.taken.new + self.taken.again,
            day=self.day,
            again=self.taken.again,
            chosen=self.taken.chosen,
        )
        if self.taken.late:
            yield plural(
                "{count} span is left out, because it arrived after its trace was considered "
                "complete (--quiet sets how long to wait)",
                "{count} spans are left out, because they arrived after their traces were "
                "considered complete (--quiet sets how long to wait)",
                self.taken.late,
            )
        for why in self.taken.bad[:_MOST_TOLD]:
            yield Message("left out: {why}", why=why)
        if len(self.taken.bad) > _MOST_TOLD:
            yield Message("left out: {count} more", count=len(self.taken.bad) - _MOST_TOLD)
        if self.waiting:
            yield plural(
                "{count} row is not judged, because the budget of its day is used up",
                "{count} rows are not judged, because the budget of their day is used up",
                self.waiting,
            )
        if self.sent:
            yield plural(
                "{count} verdict was written back", "{count} verdicts were written back", self.sent
            )
        yield from (rate.sentence() for rate in self.rates)
        yield from (alarm.sentence() for alarm in self.alarms)

    def to_dict(self) -> JsonDict:
        taken = self.taken
        return fill(
            RoundShape,
            self,
            events=taken.new,
            duplicates=taken.again,
            chosen=taken.chosen,
            late=taken.late,
            bad=taken.bad,
        )


@dataclass(frozen=True)
class Follower:
    """Judges the events of a source as the rows of an eval file."""

    file: EvalFile
    source: TrafficSource
    sampling: Sampling
    folder: Path
    """The folder of the days, with a run folder each."""
    per_day: Budget = field(default_factory=Budget)
    quiet: float = 180.0
    """Seconds after which nothing more is expected of a trace whose root has ended."""
    window: int = 7
    """Window in days over which rates are reported."""
    cache: bool = True
    write_back: WriteBack | None = None
    facts: Callable[[EvalFile], JsonObject] = lambda _: {}
    prices: PriceTable = field(default_factory=PriceTable.load)

    def run_of(self, day: str) -> Path:
        """Return a day's run folder; if the eval file was changed that day, the last one."""
        return self._runs_of(day)[-1]

    def rounds(self, intake: Intake, listen: Listen) -> Iterator[RoundDone]:
        """Take in new events and judge the chosen ones, again and again.

        The caller decides when the next round begins, and `listen` receives the events of each.
        """
        last, settled = None, False
        while True:
            day = today()
            taken, away = self._take(intake, day)
            # Nothing new to judge and nothing to retry: repeat the last round without running it.
            if last and settled and day == last.day and not taken.chosen:
                yield replace(last, taken=taken, away=away, sent=0)
                continue
            last, settled = self._round(intake, day, listen)
            yield replace(last, taken=taken, away=away or last.away)

    def _take(self, intake: Intake, day: str) -> tuple[Taken, Message | None]:
        """Return the events since the last round, and why the source failed if it did."""
        taken, away = Taken(), None
        try:
            for _ in range(_MOST_AT_ONCE):
                step, more = intake.take(self.source, self.sampling, day)
                taken += step
                if not more:
                    break
        except SourceAway as error:
            away = error.message
        return taken + intake.settle(self.sampling, day, self.quiet), away

    def _round(self, intake: Intake, day: str, listen: Listen) -> tuple[RoundDone, bool]:
        """Judge and send everything that is open.

        The second value is False if something must be retried.
        """
        done, sent, away = [], 0, None
        for open_day in self._open_days(intake, day):
            done.append(self._judge(intake, open_day, listen, is_over=open_day < day))
            try:
                sent += self._send(intake, open_day)
            except SourceAway as error:  # what is not sent now is sent with the next day
                away = error.message
            if open_day < day:
                intake.keep_fact(_CLOSED, {"day": open_day})
        came_to = RoundDone(
            day,
            Taken(),
            sum(day_done.judged for day_done in done),
            sum(day_done.waiting for day_done in done),
            self.rates(intake),
            tuple(_latest(done)) if done else tuple(alarms_kept(intake)),
            away,
            sent,
        )
        return came_to, away is None and not any(day_done.failed for day_done in done)

    def _send(self, intake: Intake, day: str) -> int:
        if self.write_back is None:
            return 0
        # Also the day before: its last verdicts may not have been sent yet.
        last_days = [other_day for other_day in intake.days() if other_day <= day][-2:]
        runs = [run for run in map(self.run_of, last_days) if holds_run(run)]
        return sum(self.write_back.send(intake, run) for run in runs)

    def _open_days(self, intake: Intake, today: str) -> list[str]:
        """Return today, and the earlier days that are not closed yet."""
        closed = str(intake.fact(_CLOSED).get("day", ""))
        return [day for day in intake.days() if day > closed or day == today]

    def rates(self, intake: Intake) -> tuple[TrafficRate, ...]:
        """Return the rates over the last ``window`` days."""
        days = intake.days()[-self.window :]
        events = sum(count.seen for count in intake.counts() if count.day in days)
        return rates_of([run for run in map(self.run_of, days) if holds_run(run)], events)

    def _runs_of(self, day: str) -> list[Path]:
        return runs_of_day(self.folder, day)

    def _left_for(self, folder: Path, day: str) -> Budget:
        """Return the day's budget minus what its other runs have spent."""
        other_runs = [run for run in self._runs_of(day) if run != folder and holds_run(run)]
        # By their accounts: votes alone know nothing of requests that failed or got lost.
        spent = sum((spent_in(run) for run in other_runs), Spent())
        usd, calls = self.per_day.max_usd, self.per_day.max_calls
        return Budget(
            None if usd is None else max(0.0, usd - spent.usd),
            None if calls is None else max(0, calls - spent.calls),
        )

    def _judge(self, intake: Intake, day: str, listen: Listen, *, is_over: bool) -> DayDone:
        try:
            return self._judge_in(self.run_of(day), intake, day, listen)
        # The eval file was changed: judge the day in another run.
        except OtherConfiguration:
            if is_over and self._is_judged(intake, day):
                return DayDone(0, 0, ())  # it stays as it was judged
            number = len(self._runs_of(day)) + 1
            return self._judge_in(self.folder / f"{day}-{number}", intake, day, listen)

    def _is_judged(self, intake: Intake, day: str) -> bool:
        """Return True if every chosen row of a day has a judgment by every criterion."""
        return min(_count_judgments(self.run_of(day)), default=0) >= intake.chosen_on(day)

    def _judge_in(self, folder: Path, intake: Intake, day: str, listen: Listen) -> DayDone:
        outcome = self._outcome(folder, intake, day)
        counts, waiting, failed = None, 0, False
        try:
            with execute(outcome.plan, kept=outcome.facts) as events:
                for event in events:
                    outcome.see(event)
                    listen(event)
                    if isinstance(event, JudgmentDone):
                        failed |= event.result.status is Status.FAILED
        except BudgetSpent:  # not all that was judged before has passed
            counts = _count_judgments(folder)
            unjudged = intake.chosen_on(day) - outcome.skipped - min(counts, default=0)
            waiting = max(0, unjudged)
        alarms = tuple(self._alarms(intake, day, outcome.bars))
        judgments = outcome.judgments if counts is None else sum(counts)
        return DayDone(judgments, waiting, alarms, failed)

    def _outcome(self, folder: Path, intake: Intake, day: str) -> RunOutcome:
        """Plan the run of a day over the rows chosen so far, within the remaining budget."""
        of_agents = RowReader(self.file).reads_traces
        intake.write_rows(day, folder / ROWS, as_trajectories=of_agents)
        data = replace(self.file.data, path=str((folder / ROWS).absolute()), limit=None)
        if of_agents and intake.has_traces(day):
            data = replace(data, as_=None)  # whoever wrote them, they are ATIF now
        file = replace(self.file, data=data, run=str(folder.absolute()))
        # a plan for each round: what a target could not answer in one run is asked in the next
        plan = resolve(
            file,
            cache=self.cache,
            folder=folder,
            facts=self.facts(file),
            prices=self.prices,
            budget=self._left_for(folder, day),
        )
        outcome = RunOutcome(plan)
        outcome.gates.check()
        return outcome

    def _alarms(self, intake: Intake, day: str, bars: Sequence[Bar]) -> Iterator[Alarm]:
        """Update and yield the alarm of each rate that has a bar."""
        stored = intake.fact(_ALARMS)
        # Forget the states of rates that have no bar any more.
        states = {name: value for name, value in stored.items() if _bar_of(bars, *name.split("\0"))}
        if states != stored:
            intake.keep_fact(_ALARMS, states)
        if not bars or not holds_run(self.run_of(day)):
            return
        scores: dict[tuple[str, str], dict[int, float | None]] = {}
        for name, place, score in uniform_scores(self.run_of(day)):
            scores.setdefault(name, {})[place] = score
        for (judge, criterion), scores_by_place in scores.items():
            bar = _bar_of(bars, judge, criterion)
            if bar is None:
                continue
            rate = f"{judge}\0{criterion}"
            earlier_state = AlarmState.of(object_in(states.get(rate)), bar.least, rises=bar.most)
            state = earlier_state.look(day, scores_by_place)
            states[rate] = state.to_dict()
            yield state.alarm(judge, criterion)
        intake.keep_fact(_ALARMS, states)


def _latest(days: Sequence[DayDone]) -> Iterator[Alarm]:
    """Yield the alarms of the last day, and the raised ones of days that were judged only now."""
    yield from (alarm for day in days[:-1] for alarm in day.alarms if alarm.raised)
    yield from days[-1].alarms


def _count_judgments(run: Path) -> list[int]:
    """Return the number of judgments per criterion."""
    return [sum(criterion.statuses.values()) for criterion in run_info(run).criteria]


def runs_of_day(folder: Path, day: str) -> list[Path]:
    """Return the runs of a day; there are several if the eval file was changed."""
    numbered = (folder / f"{day}-{number}" for number in count(2))
    return [folder / day, *takewhile(holds_run, numbered)]


def alarms_kept(intake: TrafficStore) -> Iterator[Alarm]:
    """Yield the alarms as they were when the last rows were judged."""
    for name, state_data in intake.fact(_ALARMS).items():
        judge, _, criterion = name.partition("\0")
        bar, rises = object_in(state_data).get("bar"), object_in(state_data).get("rises") is True
        if isinstance(bar, float):
            state = AlarmState.of(object_in(state_data), bar, rises=rises)
            yield state.alarm(judge, criterion)


def _bar_of(bars: Sequence[Bar], judge: str, criterion: str) -> Bar | None:
    """Return the bar of the criterion, else of its judge, else of all."""
    by_name = {bar.name: replace(bar, least=float(bar.least)) for bar in bars if bar.judge == judge}
    return next((by_name[name] for name in (criterion, judge, "") if name in by_name), None)
