"""Estimate rates of all traffic from the judged sample, with intervals and alarms."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.record import JudgmentRecord
from adjudge.messages import Message, join, plural
from adjudge.runs.folder import records_of, run_info
from adjudge.runs.numbers import figure, percent, percent_limits
from adjudge.runs.report_facts import KEPT
from adjudge.runs.results.report import Skipped
from adjudge.runs.traffic_rows import COLUMN, ROWS_FILE, about_traffic
from adjudge.stats import FEWEST
from adjudge.stats.betting import FallBets
from adjudge.stats.intervals import Interval, interval_of_bounds
from adjudge.stats.weighted_rates import weighted_interval, weighted_mean

ROWS = ROWS_FILE
"""The chosen rows of a day, in its run."""
RISK = 0.05
"""Share of followers that ever raise a false alarm about a rate, at most."""


class TrafficRateShape(TypedDict):
    """The mean score of the traffic by one criterion."""

    judge: str
    criteria: str
    rows: Annotated[int, "judged, with a score"]
    unscored: Annotated[int, "judged, without a score"]
    skipped: Annotated[int, "rows that were not to be judged, as after a failed check"]
    without_number: Annotated[int, "rows whose verdict has no number"]
    events: Annotated[int, "of the same days, judged or not"]
    covered: Annotated[int | None, "events that the rate stands for; skipped rows are not of it"]
    mean: Annotated[float | None, "of the rows with a score"]
    lowest: Annotated[float | None, "the mean if every row without a score were the worst"]
    highest: Annotated[float | None, "the mean if every row without a score were the best"]
    lower: Annotated[float | None, "holds whatever the rows without a score are"]
    upper: float | None


@dataclass(frozen=True)
class TrafficRate:
    """The mean score of the traffic by one criterion."""

    judge: str
    criterion: str
    rows: int
    unscored: int
    events: int
    """Events of the same days, judged or not. While chosen rows wait for a budget, only those that
    the judged rows stand for.
    """
    mean: float | None
    """The mean of the rows with a score."""
    interval: Interval | None
    """Holds whatever the rows without a score are."""
    is_count: bool = False
    """True for a mean count, which has no most and no interval."""
    lowest: float | None = None
    """The mean if every row without a score were the worst it can be; of a count, the best."""
    highest: float | None = None
    """The mean if every one of them were the best; None of a count, which has no most."""
    covered: int | None = None
    """Number of events that the rate stands for; None without a rate."""
    skipped: int = 0
    """Rows that the judge was not to judge, as after a failed check."""
    without_number: int = 0
    """Rows whose verdict has no number."""

    def format_mean(self) -> str:
        """Format the mean; if rows have no score, the range that it may have."""
        if self.mean is None:
            return Message("cannot tell")
        if self.is_count:
            return figure(self.mean)
        if self.lowest is None or self.highest is None or self.lowest == self.highest:
            return percent(self.mean)
        return Message(
            "between {lower} and {upper}", lower=percent(self.lowest), upper=percent(self.highest)
        )

    def sentence(self) -> Message:
        """Return the rate with its interval, and which rows it leaves out."""
        lost = plural(
            "{count} row has no score and could have any value",
            "{count} rows have no score and could have any value",
            self.unscored,
        )
        skipped = plural(
            "{count} row was skipped",
            "{count} rows were skipped",
            self.skipped,
        )
        wordless = plural(
            "{count} row has a verdict without a number",
            "{count} rows have a verdict without a number",
            self.without_number,
        )
        counts = (self.unscored, lost), (self.skipped, skipped), (self.without_number, wordless)
        return join("; ", (self._rate_sentence(), *(text for count, text in counts if count)))

    def _events(self) -> Message:
        """Return a message about the events that the rate covers."""
        if self.covered is None or self.covered == self.events:
            return plural("of {count:,} event", "of {count:,} events", self.events)
        taken = self.rows + self.unscored + self.skipped + self.without_number
        return plural(
            "of {covered} of {count:,} event",
            "of {covered} of {count:,} events",
            self.events,
            covered=Message("{count:,}", count=self.covered)
            if taken >= self.events
            else Message("about {count:,}", count=self.covered),
        )

    def _rate_sentence(self) -> Message:
        name = Message("{judge}, {criterion}", judge=self.judge, criterion=self.criterion)
        events = self._events()
        if self.mean is None and self.rows:
            return Message(
                "{name}: cannot tell, because too few {events} were drawn at random",
                name=name,
                events=events,
            )
        if self.mean is None:
            return Message("{name}: no row has a score", name=name)
        values = {"name": name, "mean": self.format_mean(), "events": events}
        if self.is_count:
            return plural(
                "{name}: {value} on average, {events}, by {count} row",
                "{name}: {value} on average, {events}, by {count} rows",
                self.rows,
                **values,
                value=self.format_mean(),
            )
        if self.interval is None:
            return plural(
                "{name}: {mean} {events}, by {count} row: too few for an interval",
                "{name}: {mean} {events}, by {count} rows: too few for an interval",
                self.rows,
                **values,
            )
        lower, upper = percent_limits(self.interval)
        return plural(
            "{name}: {mean} {events} ({lower} to {upper}, by {count} row)",
            "{name}: {mean} {events} ({lower} to {upper}, by {count} rows)",
            self.rows,
            lower=lower,
            upper=upper,
            **values,
        )

    def to_dict(self) -> JsonDict:
        limits = self.interval
        return fill(
            TrafficRateShape,
            self,
            criteria=self.criterion,
            lower=limits.lower if limits else None,
            upper=limits.upper if limits else None,
        )


@dataclass
class _Scores:
    values: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    lost: list[tuple[float, float, float]] = field(default_factory=list)
    """Judgments without a score: the weight of each, and what the score is at least and most."""
    skipped: int = 0
    """Rows that were not to be judged, as after a failed check: the rate is not about them."""
    without_number: int = 0
    """Rows with a verdict that has no number: the rate is not about them either."""
    counts: bool = False
    """True if they are counts: the fewer the better, and there is no most."""
    certain: int = 0
    """Rows that were certain to be taken, with a score or not: they represent only themselves."""
    drawn: float = 0.0
    """The weights of all other rows, with a score or not."""
    waiting: float = 0.0
    """Number of events that the chosen but unjudged rows stand for."""
    scale: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest score that the rows allow."""

    @property
    def rows(self) -> int:
        """Rows with a result of any kind."""
        return len(self.values) + len(self.lost) + self.skipped + self.without_number

    @property
    def judged_weight(self) -> float:
        """The number of events that the judged rows stand for."""
        return self.certain + self.drawn

    def add(self, record: JudgmentRecord) -> None:
        weight = about_traffic(record).get("weight")
        weight = float(weight) if isinstance(weight, int | float) else 1.0
        if weight == 1:
            self.certain += 1
        else:
            self.drawn += weight
        self.counts |= record.detail.is_count
        if (limits := record.detail.limits) is not None:
            self.scale = min(self.scale[0], limits[0]), max(self.scale[1], limits[1])
        if record.scored and record.score is not None:
            self.values.append(record.score)
            self.weights.append(weight)
        elif is_outside(record):
            self.skipped += not record.scored
            self.without_number += record.scored
        else:
            self.lost.append((weight, *record.missing_score()))

    def plus(self, other: _Scores) -> _Scores:
        return _Scores(
            self.values + other.values,
            self.weights + other.weights,
            self.lost + other.lost,
            self.skipped + other.skipped,
            self.without_number + other.without_number,
            self.counts or other.counts,
            self.certain + other.certain,
            self.drawn + other.drawn,
            self.waiting + other.waiting,
            (min(self.scale[0], other.scale[0]), max(self.scale[1], other.scale[1])),
        )

    def rate(self, judge: str, criterion: str, events: int) -> TrafficRate:
        # Some chosen rows are not judged yet: count only the events that the judged ones stand for.
        if self.waiting:
            events = round(events * self.judged_weight / (self.judged_weight + self.waiting))
        rate = TrafficRate(
            judge,
            criterion,
            len(self.values),
            len(self.lost),
            events,
            None,
            None,
            self.counts,
            skipped=self.skipped,
            without_number=self.without_number,
        )
        factor = self._factor_for(events - self.certain)
        if factor is None or not self.values:
            return rate
        weights = [_scale(weight, factor) for weight in self.weights]
        mean, scored = weighted_mean(self.values, weights), math.fsum(weights)
        lost = [(_scale(weight, factor), *bounds) for weight, *bounds in self.lost]
        total = scored + math.fsum(weight for weight, _, _ in lost)
        lowest, highest = (
            (mean * scored + math.fsum(lost_row[0] * lost_row[place] for lost_row in lost)) / total
            for place in (1, 2)
        )
        rate = replace(rate, mean=mean, lowest=lowest, highest=highest, covered=round(total))
        if self.counts:
            return replace(rate, highest=None if lost else mean)
        if len(self.values) < FEWEST:
            return rate
        lows, highs = ([*self.values, *(lost_row[place] for lost_row in lost)] for place in (1, 2))
        weights += [weight for weight, _, _ in lost]
        limits = interval_of_bounds(lambda values: self._interval(values, weights), lows, highs)
        return replace(rate, interval=limits)

    def _interval(self, values: Iterable[float], weights: Sequence[float]) -> Interval | None:
        """Return the interval of a weighted mean; None if a value is off the scale."""
        low, high = self.scale
        shares = [(value - low) / (high - low) for value in values]
        if not all(0 <= share <= 1 for share in shares):
            return None
        if (limits := weighted_interval(shares, weights)) is None:
            return None
        lower, upper = (low + end * (high - low) for end in (limits.lower, limits.upper))
        return Interval(lower, upper, limits.level)

    def _factor_for(self, others: int) -> float | None:
        """Return the factor for the weights of drawn rows, so that they stand for all events that
        were not certain to be taken.

        Return None if too few rows with a score were drawn.
        """
        if others <= 0:
            return 1.0
        if sum(weight > 1 for weight in self.weights) < FEWEST:
            return None
        return others / self.drawn


def _scale(weight: float, factor: float) -> float:
    """Scale the weight of a drawn row; a row that was certain to be taken keeps its weight."""
    return weight * factor if weight > 1 else weight


_Name = tuple[str, str]


def rates_of(folders: Iterable[Path], events: int) -> tuple[TrafficRate, ...]:
    """Return the rates over the runs of some days, by judge and criterion.

    `events` is the number of events on these days.
    """
    scores_by_name = _together(map(_scores_in, folders))
    return tuple(scores.rate(*name, events) for name, scores in scores_by_name.items())


def rolling_rates(
    runs: Mapping[str, Path], events: Mapping[str, int], window: int
) -> dict[_Name, list[tuple[str, TrafficRate]]]:
    """Return the rates of each day by judge and criterion, each over the ``window`` days
    up to it.
    """
    by_day = {day: _scores_in(run) for day, run in runs.items()}
    days, rates = list(events), dict[_Name, list[tuple[str, TrafficRate]]]()
    for place, day in enumerate(days):
        last = days[max(0, place + 1 - window) : place + 1]
        came = sum(events[past_day] for past_day in last)
        scores = _together(by_day[past_day] for past_day in last if past_day in by_day)
        for name, day_scores in scores.items():
            rates.setdefault(name, []).append((day, day_scores.rate(*name, came)))
    return rates


def _scores_in(folder: Path) -> dict[_Name, _Scores]:
    scores_by_name: dict[_Name, _Scores] = {}
    for record in records_of(folder):
        scores_by_name.setdefault((record.judge, record.criterion), _Scores()).add(record)
    skipped = Skipped.of(object_in(run_info(folder).facts.get(KEPT)).get("skipped"))
    chosen_rows, weight = _chosen_in(folder)
    for scores in scores_by_name.values():
        judged_rows = scores.rows + skipped.rows + skipped.blank
        scores.waiting = (
            max(0.0, weight - scores.judged_weight) if chosen_rows > judged_rows else 0.0
        )
        if all(weight == 1 for weight in scores.weights):  # so were those without an answer
            scores.certain += skipped.rows + skipped.blank
    return scores_by_name


def _chosen_in(folder: Path) -> tuple[int, float]:
    """Return how many rows of a day were chosen, judged or not, and how many events they
    stand for.
    """
    rows, chosen_rows, weight = folder / ROWS, 0, 0.0
    if not rows.is_file():
        return chosen_rows, weight
    with rows.open("rb") as lines:
        for line in lines:
            # A line that is still being written does not count yet.
            if line.endswith(b"\n"):
                row_weight = object_in(object_in(json.loads(line)).get(COLUMN)).get("weight")
                chosen_rows += 1
                weight += row_weight if isinstance(row_weight, int | float) else 0.0
    return chosen_rows, weight


def _together(several: Iterable[Mapping[_Name, _Scores]]) -> dict[_Name, _Scores]:
    merged: dict[_Name, _Scores] = {}
    for scores_by_name in several:
        for name, scores in scores_by_name.items():
            merged[name] = merged[name].plus(scores) if name in merged else scores
    return merged


_ALARMS = {
    (False, True): Message(
        "ALARM: {judge}, {criterion} has fallen below {bar} (evidence {evidence}; from 20 on it is "
        "an alarm)"
    ),
    (False, False): Message(
        "{judge}, {criterion}: no sign that it has fallen below {bar} (evidence {evidence}; from "
        "20 on it is an alarm)"
    ),
    (True, True): Message(
        "ALARM: {judge}, {criterion} has risen above {bar} on average (evidence {evidence}; from "
        "20 on it is an alarm)"
    ),
    (True, False): Message(
        "{judge}, {criterion}: no sign that it has risen above {bar} on average (evidence "
        "{evidence}; from 20 on it is an alarm)"
    ),
}
"""(is the bar a most, is the alarm raised) → message."""


class AlarmShape(TypedDict):
    """An alarm: a rate fell below its bar, or a mean count rose above it."""

    judge: str
    criteria: str
    bar: float
    above: Annotated[bool, "true: a mean count that must not be above its bar"]
    evidence: Annotated[float, "from 20 on it is an alarm"]
    unscored: Annotated[int, "rows of the day without a score, each taken as good"]
    raised: bool


@dataclass(frozen=True)
class Alarm:
    """The evidence that a rate has fallen below its bar, or that a mean count has risen
    above it.
    """

    judge: str
    criterion: str
    bar: float
    evidence: float
    rises: bool = False
    unscored: int = 0
    """Rows of the day whose judgments failed: they count as the best score."""

    @property
    def raised(self) -> bool:
        """True if the evidence is strong enough for an alarm.

        If the traffic is as good as the bar or better, at most one follower in twenty ever gets an
        alarm, however long it looks.
        """
        return self.evidence >= 1 / RISK

    def sentence(self) -> Message:
        values = {
            "judge": self.judge,
            "criterion": self.criterion,
            "bar": figure(self.bar) if self.rises else percent(self.bar),
            "evidence": Message("{evidence:.3g}", evidence=self.evidence),
        }
        sentence = Message(_ALARMS[self.rises, self.raised], **values)
        if not self.unscored:
            return sentence
        lost = plural(
            "{count} row of the day has no score and counts as good",
            "{count} rows of the day have no score and count as good",
            self.unscored,
        )
        return join("; ", (sentence, lost))

    def to_dict(self) -> JsonDict:
        return fill(AlarmShape, self, criteria=self.criterion, above=self.rises)


@dataclass(frozen=True)
class AlarmState:
    """The bets on one rate, and how far they have read its rows."""

    bets: FallBets
    day: str = ""
    seen: int = 0
    """Rows of that day, in order."""
    lost: tuple[int, ...] = ()
    """Rows of that day without a score; the bets took each as the best possible score."""

    @classmethod
    def of(cls, value: JsonObject, bar: float, *, rises: bool = False) -> AlarmState:
        """Rebuild a stored state; start again if the bar has changed."""
        match value:
            case {
                "bar": float() as kept,
                "logs": list() as logs,
                "largest": float() as largest,
                "day": str() as day,
                "seen": int() as seen,
            } if kept == bar and value.get("rises", False) is rises:
                bets = FallBets(bar, tuple(map(tuple, logs)), largest, rises)
                lost = value.get("lost")  # earlier versions left such rows out of the bets
                return cls(bets, day, seen, tuple(lost) if isinstance(lost, list) else ())
        return cls(FallBets(bar, rises=rises))

    def to_dict(self) -> JsonDict:
        return {
            "bar": self.bets.bound,
            "rises": self.bets.rises,
            "logs": [list(log) for log in self.bets.logs],
            "largest": self.bets.largest,
            **some_of(self, "day", "seen", "lost"),
        }

    def look(self, day: str, scores: Mapping[int, float | None]) -> AlarmState:
        """Return the state after a day's rows.

        `scores` are those of the uniform sample, by place. A failed judgment is None: it counts as
        the best score until it has one. After an alarm the next day starts again, so that the alarm
        can end and come again.
        """
        state = self if day == self.day else AlarmState(self._bets_of_next_day(), day)
        new = [place for place in sorted(scores) if place >= state.seen]
        bets = state.bets.add([self._value(scores[place]) for place in new])
        for place in state.lost:
            if (score := scores.get(place)) is not None:
                bets = bets.correct(self._value(score))
        return AlarmState(
            bets,
            day,
            new[-1] + 1 if new else state.seen,
            tuple(place for place in (*state.lost, *new) if scores.get(place) is None),
        )

    def alarm(self, judge: str, criterion: str) -> Alarm:
        bets = self.bets
        return Alarm(judge, criterion, bets.bound, bets.evidence, bets.rises, len(self.lost))

    def _value(self, score: float | None) -> float:
        if score is None:
            return self.bets.best
        return max(0.0, score) if self.bets.rises else min(1.0, max(0.0, score))

    def _bets_of_next_day(self) -> FallBets:
        if self.bets.evidence >= 1 / RISK:
            return FallBets(self.bets.bound, rises=self.bets.rises).begin()
        return self.bets.begin()


def uniform_scores(folder: Path) -> Iterator[tuple[tuple[str, str], int, float | None]]:
    """Yield (judge and criterion, place, score) of the rows in the uniform sample.

    The score is None if the judgment failed. Rows that the rate is not about are left out.
    """
    for record in records_of(folder):
        if about_traffic(record).get("uniform") is True and not is_outside(record):
            score = record.score if record.scored else None
            yield (record.judge, record.criterion), record.index, score


def is_outside(record: JudgmentRecord) -> bool:
    """Return True if the rate is not about this row: it was skipped, or its verdict has no
    number.
    """
    return record.status == "skipped" or (record.scored and record.score is None)
