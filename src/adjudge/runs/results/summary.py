"""The summary of many judgments by one criterion: counts, reasons for missing scores, and the mean
with its bounds.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Annotated, NamedTuple, NotRequired, TypedDict, cast

from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage, UsageSum
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import PART_OF, TOPIC_MESSAGES, Unit, clusters_of, unit_of
from adjudge.messages import abridge
from adjudge.runs.numbers import mean_text
from adjudge.stats import FEWEST

if TYPE_CHECKING:
    from adjudge.stats.intervals import Interval

_MOST_REASONS = 1000
"""Reasons that are told apart; further ones are counted together."""
_OTHER = "other reasons"


class IntervalShape(TypedDict):
    """The JSON of an interval of the mean on other rows of the same kind."""

    lower: float
    upper: float
    level: float


class ModelMeanShape(TypedDict):
    """The mean of one model of a panel."""

    mean: float
    rows: int


class CountsShape(TypedDict):
    """The counts of many judgments."""

    attempted: int
    scored: int
    abstained: int
    failed: int
    without_number: Annotated[int, "scored, but with an outcome that is not a number"]


class FiguresShape(CountsShape):
    """The counts and the mean of many judgments."""

    mean: float | None
    of_conversations: NotRequired[
        Annotated[int, "of turns or topics: their conversations, each a unit of the interval"]
    ]
    skipped: NotRequired[Annotated[int, "rows that were not to be judged"]]
    tied: NotRequired[
        Annotated[int, "rows with a verdict although as many votes are for another option"]
    ]
    between: NotRequired[
        Annotated[
            Sequence[float],
            "the least and the most that the mean over all rows can be, if rows have bounds "
            "instead of a score: the mean is that of the scored rows alone, and the interval holds "
            "for all rows",
        ]
    ]
    interval: IntervalShape | None
    options: Annotated[Count, "option: how often it was chosen"]
    reasons: Annotated[Count, "reason: how many judgments have no score by it"]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    calls_with_estimated_tokens: int
    excluded_models: Annotated[Count, "model of a panel: on how many rows it did not count"]
    models: NotRequired[Annotated[Mapping[str, ModelMeanShape], "of a panel: each model by itself"]]


class ModelMean(NamedTuple):
    mean: float
    rows: int
    """Rows on which it has a score."""


class OpenScores(NamedTuple):
    """Scores that lost votes could change."""

    rows: int = 0
    falls: float = 0.0
    """The sum of the possible losses."""
    rises: float = 0.0

    def plus(self, score: float, low: float, high: float) -> OpenScores:
        """Return the sum including another score, which could lie anywhere between ``low`` and
        ``high``.
        """
        return OpenScores(self.rows + 1, self.falls + score - low, self.rises + high - score)

    def widen(self, bounds: tuple[float, float], rows: int) -> tuple[float, float]:
        """Widen the bounds of a mean over ``rows`` rows by all possible changes."""
        lower, upper = bounds
        return lower - self.falls / (rows or 1), upper + self.rises / (rows or 1)


NONE_OPEN = OpenScores()


class PassRate(NamedTuple):
    """The number of rows that passed. A panel's score is the share of its models instead."""

    passed: int
    decided: int
    interval: Interval | None
    """The interval of the rate; None with too few rows."""

    @property
    def share(self) -> float:
        return self.passed / self.decided


@light_dataclass(frozen=True)
class Summary:
    """Counts, and the mean of the scores."""

    attempted: int
    scored: int
    abstained: int
    failed: int
    mean: float | None
    """Over the scored results that have a number; None when there are none."""
    lower: float
    """The mean if every result that was not scored were the least it can be: the low end of its
    scale, unless the result knows better. Likewise lost votes.
    """
    upper: float
    """The mean if every one of them were the most it can be."""
    usage: Usage
    without_number: int = 0
    """Scored, but no number: a comparison, or an option without points. They are in no mean, and in
    neither bound.
    """
    excluded: Mapping[str, int] = field(default_factory=dict)
    """For a panel: each model that did not count somewhere → the number of these rows."""
    open_rows: int = 0
    """For a panel: rows with a score that votes of excluded models could change."""
    interval: Interval | None = None
    """The interval of the mean. None with too few rows, or with scores outside the scale of the
    options, or 0 to 1 without options. If rows have bounds, it holds whatever their scores are.
    """
    bounded: int = 0
    """Rows that have bounds instead of a score."""
    confident: Interval | None = None
    """Limits of the mean for gates, at the confidence that they ask for. They hold whatever the
    results without a score are. None also if no confidence is asked for.
    """
    options: Mapping[str, int] = field(default_factory=dict)
    """Option → how often it was chosen, the most frequent first."""
    option_scores: Mapping[str, float | None] = field(default_factory=dict)
    """Option → its score."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Reason for a missing score → count, the most frequent first."""

    skipped: int = 0
    """Judgments that were not to be made, since the checks of the row did not pass; attempted does
    not count them.
    """
    unmeasured: Mapping[str, int] = field(default_factory=dict)
    """For agents and checks: reason why there was nothing to measure → count, the most frequent
    first. These judgments are among the skipped.
    """
    models: Mapping[str, ModelMean] = field(default_factory=dict)
    """For a panel: model → its own mean."""
    passes: PassRate | None = None
    """The pass rate, for pass or fail."""
    largest: float = 0.0
    """The largest score; ranks counts, whose scale has no end."""
    tied: int = 0
    """Rows with a verdict although as many votes are for another option; contests are not among
    them, whose ties are verdicts.
    """
    conversations: int = 0
    """Conversations that the scored rows are turns or topics of; 0 if they are whole rows."""
    are_topics: bool = False

    @classmethod
    def of_scores(
        cls,
        mean: float | None,
        scored: int,
        missing: int,
        confident: Interval | None,
        opened: OpenScores = NONE_OPEN,
    ) -> Summary:
        """Summarize scores from 0 to 1, some of which are missing."""
        usage, rows = Usage(), scored + missing
        lower, upper = opened.widen(mean_bounds(mean, scored, missing), rows)
        summary = cls(rows, scored, 0, missing, mean, lower, upper, usage, confident=confident)
        return replace(summary, open_rows=opened.rows)

    @property
    def lost(self) -> list[str]:
        """The models of a panel that did not count on any row, so that the panel is not the
        requested one.
        """
        return [model for model, rows in self.excluded.items() if rows == self.attempted]

    @property
    def unscored(self) -> int:
        """Judgments without a score."""
        return self.attempted - self.scored

    @property
    def between(self) -> tuple[float, float] | None:
        """The least and the most that the mean over all rows can be, if rows have bounds instead of
        a score; else None.
        """
        return (self.lower, self.upper) if self.bounded and self.lower < self.upper else None

    def mean_text(self, digits: int = 2, separator: str = " ") -> str:
        """Return the mean for readers; if rows have bounds instead of a score, the range of the
        mean over all rows.
        """
        scored = self.scored - self.without_number
        return mean_text(
            self.mean, digits, between=self.between, scored=scored, separator=separator
        )

    @property
    def best_score(self) -> float:
        """The highest score among the options seen; at least 1."""
        return _best(self.option_scores)

    def less(self, repeated: Usage) -> Summary:
        """Return the summary without usage that was counted twice."""
        return replace(self, usage=self.usage - repeated)

    def to_dict(self) -> JsonDict:
        return fill(
            FiguresShape,
            self,
            interval=interval_dict(self.interval),
            calls=self.usage.calls,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            calls_with_estimated_tokens=self.usage.estimated,
            of_conversations=self.conversations,
            excluded_models=self.excluded,
            models={model: model_mean._asdict() for model, model_mean in self.models.items()},
        )


@dataclass(slots=True)
class LostRows:
    """Rows without a score."""

    lows: array[float] = field(default_factory=lambda: array("d"))
    """The least that the score of each could be."""
    highs: array[float] = field(default_factory=lambda: array("d"))
    units: list[Unit] = field(default_factory=list)
    """The groups that each row shares with other rows."""

    def add(self, unit: Unit, bounds: tuple[float, float] = (0.0, 1.0)) -> None:
        self.lows.append(bounds[0])
        self.highs.append(bounds[1])
        self.units.append(unit)


@dataclass(slots=True)
class UnreadRows:
    """Counts the rows of the data that could not be read, so that nothing is known of them."""

    count: int = 0


@light_dataclass(frozen=True)
class GateConfidence:
    """The confidence of gates, and how rows are grouped."""

    confidence: float | None = None
    cluster: str = ""
    """The column whose equal values belong together, if one was named."""
    sequential: bool = False
    """True if the limits hold at every look while rows are added."""
    unread: UnreadRows = field(default_factory=UnreadRows)
    """The rows that could not be read. They may be in any group, and count as lost rows."""

    def unit(self, record: JudgmentRecord) -> Unit:
        """Return the groups that a row shares with other rows."""
        return unit_of(record, self.cluster)

    def clusters(self, units: Sequence[Unit]) -> Sequence[Hashable] | None:
        """Return the cluster of each row; None if all rows are independent."""
        clusters = clusters_of(units)
        # every row is alone in its group
        if clusters and not self.cluster and len(set(clusters)) == len(clusters):
            return None
        return clusters

    def interval(
        self,
        values: Sequence[float],
        units: Sequence[Unit],
        lost: LostRows,
        scale: tuple[float, float] = (0.0, 1.0),
        possible: Mapping[int, tuple[float, float]] | None = None,
    ) -> Interval | None:
        """Return the limits of a mean for a gate. They hold whatever the lost and unread rows would
        have scored.

        None without a confidence, with too few ``values``, or if rows are outside of their scale.
        ``possible``: position in ``values`` → the lowest and highest value that it could have.
        """
        low, high = scale
        certain = (*values, *lost.lows, *lost.highs)
        if self.confidence is None or not all(low <= value <= high for value in certain):
            return None
        from adjudge.stats.intervals import count_units, interval_of_bounds, rows_interval
        from adjudge.stats.sequence import sequential_mean

        fewest = 1 if self.sequential else FEWEST
        if count_units(values, self.clusters(units)) < fewest:
            return None
        least, most = [*values, *lost.lows], [*values, *lost.highs]
        for place, bounds in (possible or {}).items():
            least[place], most[place] = bounds
        least += [low] * self.unread.count
        most += [high] * self.unread.count
        lows, highs = (
            [(value - low) / (high - low) for value in bounds_of_rows]
            for bounds_of_rows in (least, most)
        )
        clusters = self.clusters([*units, *lost.units, *([()] * self.unread.count)])
        limits = sequential_mean if self.sequential else rows_interval
        level = self.confidence
        shares = interval_of_bounds(
            lambda filled: limits(filled, level=level, clusters=clusters), lows, highs
        )
        return shares and replace(
            shares,
            lower=low + shares.lower * (high - low),
            upper=low + shares.upper * (high - low),
        )


UNSURE = GateConfidence()


class Tally:
    """Adds up the judgments by one criterion."""

    def __init__(
        self, sureness: GateConfidence = UNSURE, scale: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        self._sureness, self._scale = sureness, scale
        self._units: list[Unit] = []
        self._counts: Counter[str] = Counter()
        self._scores, self._without_number, self._usage = array("d"), 0, UsageSum()
        self._lost = LostRows()
        self._excluded: Counter[str] = Counter()
        self._open: dict[int, tuple[float, float]] = {}
        """Place among the scores → what lost votes of the panel could make of it."""
        self._options: Counter[str] = Counter()
        self._points: dict[str, float | None] = {}
        self._reasons: Counter[str] = Counter()
        self._models: dict[str, list[float]] = {}
        self._passes = array("d")
        self._pass_units: list[Unit] = []
        self._skipped = 0
        self._unmeasured: Counter[str] = Counter()
        self._is_count = False
        self._bounded, self._ends = 0, scale
        """Rows with bounds instead of a score, and the limits of all rows' scores."""
        self._tied = 0
        self._conversations: set[str] = set()
        self._are_topics = False
        self.largest = 0.0
        """Like ``Summary.largest``, so far."""

    def add(self, record: JudgmentRecord) -> None:
        self._usage.add(record.usage)
        # this is called for every row of large runs, so each attribute is read once
        detail, score = record.detail, record.score
        if record.status == "skipped":
            self._skipped += 1
            if detail.counts_skip_reasons:
                _count_reason(self._unmeasured, record)
            return
        self._counts[record.status] += 1
        self._ends = _widen(self._ends, detail.limits)
        if record.excluded_models:
            self._excluded.update(record.left_out)
        if not record.steps:  # those of a cascade are no panel
            self._add_models(record.model_scores)
        if record.status != "scored":
            self._add_unscored(record)
            return
        unit = self._sureness.unit(record)
        if (whole := record.input.get(PART_OF)) is not None:
            self._conversations.add(str(whole))
            self._are_topics |= TOPIC_MESSAGES in record.input
        if record.tie:
            self._tied += detail.kind != "pairwise"
        if (verdict := detail.chosen) is not None:
            self._options[verdict] += 1
            self._points[verdict] = score
            if detail.kind in ("aspect", "check"):
                self._passes.append(verdict == "PASS")
                self._pass_units.append(unit)
        if score is None:
            self._without_number += 1
        else:
            if (bounds := detail.possible_scores(record, self._scale)) is not None:
                self._open[len(self._scores)] = bounds
            self._scores.append(score)
            self.largest = max(self.largest, score)
            self._is_count |= detail.is_count
            self._units.append(unit)

    def add_alike(self, records: Sequence[JudgmentRecord], usage: Iterable[Usage]) -> None:
        """Add the records of ``AlikeRow``, many of which are the same object, in their order.

        ``usage``: the sum over their votes. Equivalent to calling ``add`` for each, but ten times
        as fast. The rows must not be in a group.
        """
        for amounts in usage:
            self._usage.add(amounts)
        keys = list(map(id, records))
        distinct = dict(zip(keys, records, strict=True))  # in the order of their first rows
        passes: dict[int, bool] = {}
        for key, record in distinct.items():
            count, verdict = keys.count(key), record.detail.chosen
            self._counts[record.status] += count
            self._tied += count * record.tie
            self._is_count |= record.detail.is_count
            if verdict is not None:
                self._options[verdict] += count
                self._points.setdefault(verdict)  # keeps the order of the first rows
                if record.detail.kind == "aspect":
                    passes[key] = verdict == "PASS"
        for key in reversed(dict.fromkeys(reversed(keys))):  # in the order of their last rows
            record = distinct[key]
            if (verdict := record.detail.chosen) is not None:
                self._points[verdict] = record.score
        scores = [cast(float, record.score) for record in records]
        self._scores.extend(array("d", scores))
        self.largest = max(self.largest, *(cast(float, one.score) for one in distinct.values()))
        self._units.extend([()] * len(keys))
        passed = [passes[key] for key in keys if key in passes] if passes else []
        self._passes.extend(array("d", passed))
        self._pass_units.extend([()] * len(passed))
        scores_of = {key: record.model_scores for key, record in distinct.items()}
        for model in dict.fromkeys(chain.from_iterable(scores_of.values())):
            score_of = {key: of[model] for key, of in scores_of.items() if model in of}
            own = [score_of[key] for key in keys if key in score_of]
            sum_and_rows = self._models.setdefault(model, [0.0, 0.0])
            # one by one, as rows are added: sums of real numbers depend on their order
            sum_and_rows[0] = reduce(add, own, sum_and_rows[0])
            sum_and_rows[1] += len(own)

    def _add_models(self, scores: Mapping[str, float]) -> None:
        for model, score in scores.items():
            sum_and_rows = self._models.setdefault(model, [0.0, 0.0])
            sum_and_rows[0] += score
            sum_and_rows[1] += 1

    def _add_unscored(self, record: JudgmentRecord) -> None:
        self._bounded += record.detail.has_bounds
        self._lost.add(self._sureness.unit(record), record.missing_score(self._scale))
        _count_reason(self._reasons, record)

    @property
    def is_count(self) -> bool:
        """Return True if a score so far was a count."""
        return self._is_count

    @property
    def best_score(self) -> float:
        """Like ``Summary.best_score``, so far."""
        return _best(self._points)

    def summary(self) -> Summary:
        """Return the summary of all judgments so far."""
        attempted, scored, total = (
            sum(self._counts.values()),
            self._counts["scored"],
            sum(self._scores),
        )
        numbers, possible = len(self._scores), attempted - self._without_number
        fixed = (
            sum(score for place, score in enumerate(self._scores) if place not in self._open)
            if self._open
            else total
        )
        lowest = fixed + sum(low for low, _ in self._open.values()) + sum(self._lost.lows)
        highest = fixed + sum(high for _, high in self._open.values()) + sum(self._lost.highs)
        return Summary(
            attempted=attempted,
            scored=scored,
            abstained=self._counts["abstained"],
            failed=attempted - scored - self._counts["abstained"],
            mean=total / numbers if numbers else None,
            lower=lowest / possible if possible else self._scale[0],
            upper=highest / possible if possible else self._scale[1],
            usage=self._usage.usage,
            without_number=self._without_number,
            excluded=dict(self._excluded),
            open_rows=len(self._open),
            interval=self._interval(),
            confident=self._confident(),
            bounded=self._bounded,
            options=dict(self._options.most_common()),
            option_scores=dict(self._points),
            reasons=dict(self._reasons.most_common()),
            skipped=self._skipped,
            unmeasured=dict(self._unmeasured.most_common()),
            models=self._panel(),
            passes=self._pass_rate(),
            largest=self.largest,
            tied=self._tied,
            conversations=len(self._conversations),
            are_topics=self._are_topics,
        )

    def _confident(self) -> Interval | None:
        # Limits that hold at every look need a scale that is known before the first row.
        if self._is_count or (self._sureness.sequential and self._ends != self._scale):
            return None
        return self._sureness.interval(
            self._scores, self._units, self._lost, self._ends, self._open
        )

    def _pass_rate(self) -> PassRate | None:
        if not self._passes:
            return None
        clusters = self._sureness.clusters(self._pass_units)
        return PassRate(
            int(sum(self._passes)), len(self._passes), interval_of(self._passes, clusters)
        )

    def _panel(self) -> dict[str, ModelMean]:
        """Return the means of a panel's models; empty for a single model."""
        means = {
            model: ModelMean(total / rows, int(rows))
            for model, (total, rows) in self._models.items()
        }
        return means if len(means) + len(self._excluded) > 1 else {}

    def _interval(self) -> Interval | None:
        if self._is_count:
            return None
        if self._bounded:
            from adjudge.stats.intervals import interval_of_bounds

            clusters = self._sureness.clusters([*self._units, *self._lost.units])
            return interval_of_bounds(
                lambda values: interval_of(values, clusters, self._ends),
                [*self._scores, *self._lost.lows],
                [*self._scores, *self._lost.highs],
            )
        clusters = self._sureness.clusters(self._units)
        return interval_of(self._scores, clusters, self._ends)


def _widen(ends: tuple[float, float], limits: tuple[float, float] | None) -> tuple[float, float]:
    return ends if limits is None else (min(ends[0], limits[0]), max(ends[1], limits[1]))


def _best(points: Mapping[str, float | None]) -> float:
    return max((1.0, *(score for score in points.values() if score is not None)))


def _count_reason(reasons: Counter[str], record: JudgmentRecord) -> None:
    reason = abridge(record.reason or record.status)
    reasons[reason if reason in reasons or len(reasons) < _MOST_REASONS else _OTHER] += 1


def mean_bounds(mean: float | None, scored: int, missing: int) -> tuple[float, float]:
    """Return the mean of scores from 0 to 1 if all missing ones were 0, and if all were 1."""
    total, rows = (mean or 0.0) * scored, scored + missing
    return (total / rows, (total + missing) / rows) if rows else (0.0, 1.0)


def interval_dict(interval: Interval | None) -> JsonDict | None:
    """Return an interval as a JSON-ready dict."""
    return None if interval is None else fill(IntervalShape, interval)


def interval_of(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
) -> Interval | None:
    """Return the interval of a mean on ``scale``; None with too few values.

    ``clusters``: the group of each value; None if all values are independent.
    """
    if len(values) < FEWEST:
        return None
    from adjudge.stats.intervals import scaled_interval

    return scaled_interval(values, scale, clusters=clusters)
