"""Traffic, followed: taken in from a source, judged in an ordinary run for each day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from adjudge.domain.json_types import JsonDict, JsonObject
from adjudge.errors import BudgetSpent
from adjudge.gateway.layers.budget import Budget
from adjudge.ledger.file import holds_run
from adjudge.messages import Message, plural
from adjudge.results.gate import bars_of
from adjudge.runs.eval_file import EvalFile
from adjudge.runs.execute import EvalRun, Event, JudgmentDone
from adjudge.traffic.intake import Intake, Taken, today
from adjudge.traffic.rates import Alarm, AlarmState, TrafficRate, rates_of, uniform_scores
from adjudge.traffic.sampling import Sampling
from adjudge.traffic.source import TrafficSource

ROWS = "traffic.jsonl"
"""The chosen rows of a day, in the folder of its run."""
_ALARMS, _CLOSED = "alarms", "closed"
_MOST_TOLD = 3
_MOST_AT_ONCE = 20
"""Looks at the source before what came is judged."""


@dataclass(frozen=True)
class RoundDone:
    """What one round came to."""

    day: str
    taken: Taken
    judged: int
    """Judgments that were made, or found, in the run of the day."""
    waiting: int
    """Chosen rows of the day that are not judged, since its budget is spent."""
    rates: tuple[TrafficRate, ...] = ()
    alarms: tuple[Alarm, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.taken.new or self.taken.bad or self.raised)

    @property
    def raised(self) -> tuple[Alarm, ...]:
        """The alarms that were raised, now or before."""
        return tuple(one for one in self.alarms if one.raised)

    def sentences(self) -> Iterator[Message]:
        """The round in a few lines."""
        yield Message(
            "{day}: {events} events, {again} of them known, {chosen} chosen",
            day=self.day,
            events=self.taken.new + self.taken.again,
            again=self.taken.again,
            chosen=self.taken.chosen,
        )
        for why in self.taken.bad[:_MOST_TOLD]:
            yield Message("left out: {why}", why=why)
        if len(self.taken.bad) > _MOST_TOLD:
            yield Message("left out: {count} more", count=len(self.taken.bad) - _MOST_TOLD)
        if self.waiting:
            yield plural(
                "{count} row is not judged: the budget of its day is spent",
                "{count} rows are not judged: the budget of their day is spent",
                self.waiting,
            )
        yield from (one.sentence() for one in self.rates)
        yield from (one.sentence() for one in self.alarms)

    def to_dict(self) -> JsonDict:
        """This as a JSON-ready dict."""
        return {
            "day": self.day,
            "events": self.taken.new,
            "duplicates": self.taken.again,
            "chosen": self.taken.chosen,
            "bad": list(map(str, self.taken.bad)),
            "judged": self.judged,
            "waiting": self.waiting,
            "rates": [one.to_dict() for one in self.rates],
            "alarms": [one.to_dict() for one in self.alarms],
        }


@dataclass(frozen=True)
class Follower:
    """An eval file whose rows are the events of a source."""

    file: EvalFile
    source: TrafficSource
    sampling: Sampling
    folder: Path
    """Where the days are kept, a run folder each."""
    per_day: Budget = field(default_factory=Budget)
    window: int = 7
    """Days over which rates are given."""
    cache: bool = True
    facts: Callable[[EvalFile], JsonObject] = lambda _: {}

    def run_of(self, day: str) -> Path:
        """The run folder of a day."""
        return self.folder / day

    def rounds(self, intake: Intake, listen: Callable[[Event], None]) -> Iterator[RoundDone]:
        """Take in what came and judge what was chosen of it, time and again; the caller decides
        when the next round begins, and is told of what happens in each.
        """
        while True:
            day, taken = today(), Taken()
            for _ in range(_MOST_AT_ONCE):
                found, more = intake.take(self.source, self.sampling, day)
                taken += found
                if not more:
                    break
            judged = waiting = 0
            alarms: tuple[Alarm, ...] = ()
            for open_day in self._open_days(intake):
                done, left = self._judge(intake, open_day, listen)
                judged, waiting = judged + done, waiting + left
                alarms = tuple(self._alarms(intake, open_day))
                if open_day < day:
                    intake.keep_fact(_CLOSED, {"day": open_day})
            yield RoundDone(day, taken, judged, waiting, self.rates(intake), alarms)

    def _open_days(self, intake: Intake) -> list[str]:
        """The days whose rows may not all be judged: today, and one that ended before they were."""
        closed = str(intake.fact(_CLOSED).get("day", ""))
        return [day for day in intake.days() if day > closed]

    def rates(self, intake: Intake) -> tuple[TrafficRate, ...]:
        """The rates of the last days."""
        runs = map(self.run_of, intake.days()[-self.window :])
        return rates_of(run for run in runs if holds_run(run))

    def _judge(self, intake: Intake, day: str, listen: Callable[[Event], None]) -> tuple[int, int]:
        """How many judgments of the day there are, and how many of its rows have to wait."""
        chosen, folder = intake.chosen_on(day), self.run_of(day)
        intake.write_rows(day, folder / ROWS)
        data = replace(self.file.data, path=str((folder / ROWS).absolute()))
        file = replace(self.file, data=data, run=str(folder.absolute()))
        made = EvalRun.of(file, cache=self.cache, folder=folder, facts=self.facts(file))
        rows: set[int] = set()
        judged = 0
        try:
            with made.execute(budget=self.per_day) as events:
                for event in events:
                    listen(event)
                    if isinstance(event, JudgmentDone):
                        judged += 1
                        rows.add(event.row)
        except BudgetSpent:
            return judged, chosen - len(rows)
        return judged, 0

    def _alarms(self, intake: Intake, day: str) -> Iterator[Alarm]:
        """Each rate that has a bar, looked at once more."""
        bars = self._bars()
        if not bars or not holds_run(self.run_of(day)):
            return
        scores: dict[tuple[str, str], dict[int, float | None]] = {}
        for name, place, score in uniform_scores(self.run_of(day)):
            scores.setdefault(name, {})[place] = score
        kept = dict(intake.fact(_ALARMS))
        for (judge, criterion), found in scores.items():
            bar = _bar_of(bars.get(judge, bars.get("", {})), criterion)
            if bar is None:
                continue
            known = kept.get(f"{judge}\0{criterion}")
            state = AlarmState.of(known if isinstance(known, dict) else {}, bar).look(day, found)
            kept[f"{judge}\0{criterion}"] = state.to_dict()
            yield Alarm(judge, criterion, bar, state.bets.evidence)
        intake.keep_fact(_ALARMS, kept)

    def _bars(self) -> Mapping[str, Mapping[str, float]]:
        """Judge → criterion → bar; under no name what holds for every other one."""
        own = {
            entry.name: bars_of(entry.fail_under)
            for entry in self.file.judges
            if entry.name and entry.fail_under is not None
        }
        shared = bars_of(self.file.gates.fail_under)
        return {**({"": shared} if shared else {}), **own}


def _bar_of(bars: Mapping[str, float], criterion: str) -> float | None:
    return bars.get(criterion, bars.get(""))
