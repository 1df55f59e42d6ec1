"""Whether one run is better than another over the rows that both judged: better, worse, or cannot
tell.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from adjudge.domain.frozen import some_of
from adjudge.domain.html_repr import HtmlRepr
from adjudge.domain.json_types import JsonDict
from adjudge.domain.judge_configuration import JudgeConfiguration
from adjudge.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.domain.label import Label
from adjudge.domain.pairing import Pairing
from adjudge.domain.verdict import TIE
from adjudge.engine.identity import judge_identity
from adjudge.errors import RunError
from adjudge.labels.scales import label_scales
from adjudge.labels.store import LabelStore
from adjudge.messages import Message
from adjudge.pooling.majority import ONE_ORDER
from adjudge.runs.diff import JudgmentSummary, Pair, RunDiff
from adjudge.runs.folder import run_info
from adjudge.stats.difference import (
    ComparisonOutcome,
    Difference,
    PairedScores,
    VoteNoise,
    corrected_difference,
    holm,
    three_valued,
)
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import Interval
from adjudge.stats.student import t_cdf, t_quantile
from adjudge.trust.contestants import Contestants
from adjudge.trust.labels_used import labels_used
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import agreed_value, by_row
from adjudge.trust.vote_values import MOST_ROWS, noise_of_difference

LEAST_LABELS = 20
"""Rows that people labelled in both runs; fewer correct nothing."""


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings:
    """What may be asked of a comparison."""

    level: float = 0.95
    margin: float = 0.0
    """Better or worse is said only of differences beyond it."""
    noise: bool = True
    """Look at the votes, for how much of the width they are."""


@dataclass(frozen=True, kw_only=True)
class RunComparison(JudgeCriterion, HtmlRepr):
    """The second run less the first, by one judge and one criteria."""

    first: float | None
    second: float | None
    """The means over the rows that have a number in both."""
    difference: Difference
    corrected: Estimate | None = None
    """By the labels of rows that people labelled in both runs."""
    labels: int = 0
    missing: int = 0
    """Pairs of rows of which one has no number."""
    pairing: Pairing = Pairing((0, 0), {})
    """Which rows were compared with which."""
    outcome: ComparisonOutcome
    """Of the second run; of the corrected difference where there is one."""
    adjusted: float | None = None
    """The p-value, adjusted for all criteria that were compared (Holm)."""
    changed: int = 0
    """Rows whose number differs between the runs."""
    other_texts: int = 0
    """Rows whose text differs between the runs."""
    same_judge: bool = True
    noise: VoteNoise | None = None
    level: float = 0.95
    margin: float = 0.0
    reach: float = 1.0
    """How far two scores can lie apart."""
    system: str = ""
    """Of compared responses: whose win rate it is."""
    answered_by: str = ""
    """Whose answers they are, where several targets answered: each is compared with itself."""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return of_system(super().name, self.answered_by)

    @property
    def rows(self) -> int:
        """Rows that have a number in both runs."""
        return self.difference.estimate.count

    @property
    def without(self) -> int:
        """Rows that could say anything: they have no number in one of the runs, or no counterpart
        there.
        """
        return self.missing + sum(self.pairing.alone)

    @property
    def shown(self) -> Estimate:
        """The difference that the outcome is of."""
        return self.corrected or self.difference.estimate

    def on_the_scale(self, limit: float) -> float:
        """A limit as it is told: no two scores lie further apart than their scale is long."""
        return max(-self.reach, min(self.reach, limit))

    def to_dict(self) -> JsonDict:
        """This comparison as a JSON-ready dict."""
        return {
            "judge": self.judge,
            "criteria": self.criteria,
            **({"system": system} if (system := self.system or self.answered_by) else {}),
            "outcome": self.outcome.value,
            "means": [self.first, self.second],
            "difference": self._data(self.difference.estimate),
            "corrected": {**self._data(self.corrected), "method": self.corrected.method}
            if self.corrected
            else None,
            "labels": self.labels,
            "rows": self.rows,
            "independent": self.difference.units,
            "missing": self.missing,
            "pairing": self.pairing.to_dict(),
            "rows_with_another_text": self.other_texts,
            "same_judge": self.same_judge,
            "p_value": _p_value(self),
            "p_value_adjusted": self.adjusted,
            "smallest_detectable": self.difference.smallest,
            "vote_noise": some_of(self.noise, "share", "half_width", "with_votes")
            if self.noise
            else None,
            "margin": self.margin,
            "level": self.level,
            "notes": list(self.notes),
        }

    def _data(self, one: Estimate) -> JsonDict:
        lower, upper = (
            None if limit is None else self.on_the_scale(limit) for limit in (one.lower, one.upper)
        )
        return {"value": one.value, "lower": lower, "upper": upper, "reason": one.reason}


_SETTINGS = ComparisonSettings()


def compare_runs(
    one: str | Path, two: str | Path, found: RunDiff, settings: ComparisonSettings = _SETTINGS
) -> list[RunComparison]:
    """A comparison for each judge and criteria that both runs have; ``found`` holds their rows,
    joined.
    """
    sides = (_Side.of(one), _Side.of(two))
    return adjusted_for_all(
        [_compared(line, found, sides, settings) for line in found.lines()], settings
    )


@dataclass(frozen=True)
class _Side:
    """What a comparison needs of a run beside its rows."""

    folder: Path
    measures: dict[str, Measure]
    """Criteria → how its options are worth what."""
    judges: dict[str, JudgeConfiguration]

    @classmethod
    def of(cls, folder: str | Path) -> _Side:
        judges = run_info(folder).judge_configurations
        try:
            scales = label_scales(folder)
        except (
            RunError
        ):  # a judge of one's own need not say what it asks: its scores are compared as they are
            scales = []
        plain = {
            one.name: measure_of(one.scale)
            for one in scales
            if not (one.scale.compares or one.scale.by_parts)
        }
        return cls(Path(folder), plain, judges)

    def lock(self, judge: str, criteria: str) -> str:
        return judge_identity(self.judges.get(judge, JudgeConfiguration()), criteria)

    def one_order(self, judge: str) -> bool:
        """Whether responses were compared as they stand alone."""
        settings = self.judges.get(judge, JudgeConfiguration()).settings
        return bool(settings) and not (
            settings.get("check_positional_bias") or settings.get("rotations")
        )

    def labels(self, criteria: str) -> dict[str, float]:
        """Row → what people say of it, of rows that were drawn among all; from 0 to 1."""
        measure = self.measures.get(criteria)
        if measure is None:
            return {}
        used = labels_used(LabelStore(self.folder).current(criteria), None)
        drawn = {
            row: own
            for row, own in by_row(used.labels).items()
            if any(one.design == "random" for one in own)
        }
        answers = {
            row: [said for one in own if (said := _answer(one, measure)) is not None]
            for row, own in drawn.items()
        }
        return {row: agreed_value(own, measure) for row, own in answers.items() if own}


def _answer(label: Label, measure: Measure) -> str | float | None:
    """What a label says, where it can be said by this criteria."""
    if measure.is_number:
        return label.score
    return label.option if label.option in measure.values else None


@dataclass
class _Series:
    """What a comparison keeps of the rows of both runs: sums, and where there are labels what may
    correct it.
    """

    low: float
    high: float
    labels: Sequence[Mapping[str, float]]
    """Of either run: row → what people say of it, from 0 to 1; nothing where one of the runs has
    none.
    """
    scores: PairedScores = field(default_factory=PairedScores)
    """Of the second run and the first."""
    missing: int = 0
    changed: int = 0
    other_texts: int = 0
    judges: tuple[str, str] = ("", "")
    places: list[tuple[int, int]] = field(default_factory=list)
    """Of some rows, by which votes are found."""
    labelled: array[float] = field(default_factory=lambda: array("d"))
    """What people say of the difference, of each row that is labelled in both runs."""
    judged: array[float] = field(default_factory=lambda: array("d"))
    """What the judge says of it there, and (``rest``) of the other rows."""
    rest: array[float] = field(default_factory=lambda: array("d"))
    groups: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))
    """The unit of each labelled row, and of each of the others."""

    def add(self, unit: Iterable[Pair]) -> None:
        """Rows that belong together."""
        self.scores.add(self._numbers(unit))

    def _numbers(self, unit: Iterable[Pair]) -> Iterator[tuple[float, float]]:
        for pair in unit:
            self.judges = (pair.before.judge, pair.after.judge)
            one, two = number_of(pair.before.summary), number_of(pair.after.summary)
            if one is None or two is None:
                self.missing += 1
                continue
            self.changed += one != two
            self.other_texts += pair.identities[0] != pair.identities[1]
            if len(self.places) < MOST_ROWS:
                self.places.append((pair.before.row, pair.after.row))
            if self.labels:
                self._keep(pair.identities, (two - one) / (self.high - self.low))
            yield two, one

    def _keep(self, identities: tuple[str, str], said: float) -> None:
        before, after = (own.get(row) for own, row in zip(self.labels, identities, strict=True))
        labelled = before is not None and after is not None
        self.groups[not labelled].append(self.scores.units)
        if before is not None and after is not None:
            self.labelled.append(after - before)
            self.judged.append(said)
        else:
            self.rest.append(said)


def number_of(summary: JudgmentSummary) -> float | None:
    """The score; of two compared responses 1 where the first won and a half for a tie."""
    if summary.status != "scored":
        return None
    if summary.score is not None:
        return summary.score
    if summary.chosen == TIE:
        return 0.5
    return float(summary.chosen == 0) if isinstance(summary.chosen, int) else None


def _compared(
    line: str, found: RunDiff, sides: tuple[_Side, _Side], settings: ComparisonSettings
) -> RunComparison:
    judge, criteria, answered_by = json.loads(line)
    measure = sides[0].measures.get(criteria)
    known = [side.labels(criteria) for side in sides]
    series = _Series(*(measure.range if measure else (0.0, 1.0)), known if all(known) else ())
    for _, unit in groupby(found.pairs(line), lambda pair: pair.cluster):
        series.add(unit)
    scores, level, margin, pairing = (
        series.scores,
        settings.level,
        settings.margin,
        found.pairing(line),
    )
    clustered = found.by_column or scores.units < scores.rows
    system, why = _system(*found.systems(line))
    difference = (
        _refused(scores, level, why)
        if why
        else scores.compared(clustered=clustered, level=level, margin=margin, reach=_reach(measure))
    )
    corrected = _corrected(series, level, clustered=clustered)
    locks = [side.lock(name, criteria) for side, name in zip(sides, series.judges, strict=True)]
    one_order = bool(system) and any(
        side.one_order(name) for side, name in zip(sides, series.judges, strict=True)
    )
    notes = _notes(series, difference, corrected, pairing, same_judge=locks[0] == locks[1])
    made = RunComparison(
        judge=judge,
        criteria=criteria,
        first=scores.second / scores.rows if scores.rows else None,
        second=scores.first / scores.rows if scores.rows else None,
        difference=difference,
        corrected=corrected,
        labels=len(series.labelled),
        missing=series.missing,
        pairing=pairing,
        outcome=ComparisonOutcome.CANNOT_TELL,
        changed=series.changed,
        other_texts=series.other_texts,
        same_judge=locks[0] == locks[1],
        noise=noise_of_difference(
            [side.folder for side in sides], series.judges, series.places, measure, difference
        )
        if settings.noise and measure
        else None,
        level=level,
        margin=margin,
        reach=_reach(measure),
        system=system,
        answered_by=answered_by,
        notes=(*notes, ONE_ORDER) if one_order else tuple(notes),
    )
    return replace(made, outcome=_outcome(made))


def _system(one: Sequence[tuple[str, ...]], two: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """Whose win rate is compared, and why none can be; both empty where no responses are compared
    with each other.
    """
    sides = [Contestants.of(own for own in side if own) for side in (one, two)]
    before, now = (
        side.names[0] if any(own) else "" for side, own in zip(sides, (one, two), strict=True)
    )
    if not before or not now:
        return "", ""
    if refusal := sides[0].refusal or sides[1].refusal:
        return "", refusal.text
    if before != now:
        return "", Message("another system stands first in either run")
    return before, ""


def _refused(scores: PairedScores, level: float, why: str) -> Difference:
    return Difference(
        Estimate(None, None, None, scores.rows, "paired", level, why),
        ComparisonOutcome.CANNOT_TELL,
        None,
        None,
        scores.units,
    )


def _reach(measure: Measure | None) -> float:
    """How far two scores can lie apart."""
    return 1.0 if measure is None else measure.range[1] - measure.range[0]


def _outcome(found: RunComparison) -> ComparisonOutcome:
    """Decided only where the rows without a number, or without a counterpart,
    could not change it.
    """
    shown, margin = found.shown, found.margin
    if shown.lower is None or shown.upper is None:
        return ComparisonOutcome.CANNOT_TELL
    first = (
        three_valued(Interval(shown.lower, shown.upper), margin)
        if found.corrected
        else found.difference.outcome
    )
    rows = found.rows + found.without
    lower = (shown.lower * found.rows - found.without * found.reach) / rows
    upper = (shown.upper * found.rows + found.without * found.reach) / rows
    return (
        first
        if three_valued(Interval(lower, upper), margin) == first
        else ComparisonOutcome.CANNOT_TELL
    )


def _corrected(series: _Series, level: float, *, clustered: bool) -> Estimate | None:
    """PPI++ of the paired difference; of texts that differ, since people say the same of one text
    in both runs.
    """
    if not series.other_texts or len(series.labelled) < LEAST_LABELS:
        return None
    groups = series.groups if clustered else (None, None)
    found = corrected_difference(
        series.labelled, series.judged, series.rest, level=level, clusters=groups
    )
    if found.lower is None:
        return None
    ends = [
        None if one is None else one * (series.high - series.low)
        for one in (found.value, found.lower, found.upper)
    ]
    return replace(found, value=ends[0], lower=ends[1], upper=ends[2])


def _notes(
    series: _Series,
    found: Difference,
    corrected: Estimate | None,
    pairing: Pairing,
    *,
    same_judge: bool,
) -> Iterator[str]:
    if found.estimate.reason and pairing.paired:
        yield found.estimate.reason
    if series.missing:
        yield Message(
            "{missing} of {rows} rows have no number in one of the runs",
            missing=series.missing,
            rows=series.missing + series.scores.rows,
        )
    if pairing.shared:
        yield Message(
            "{shared} rows share their id with others: those of one id were paired in their "
            "order, and count as one",
            shared=pairing.shared,
        )
    if pairing.other_questions:
        yield Message(
            "{other_questions} of {paired} pairs have another question in either run: are "
            "these the same rows?",
            other_questions=pairing.other_questions,
            paired=pairing.paired,
        )
    same_texts = not series.other_texts
    if series.scores.rows and same_texts and not same_judge:
        yield Message(
            "the texts are the same and the judges differ: this is a difference between the "
            "judges, not between the texts"
        )
    elif not same_judge:
        yield Message(
            "the judges differ as well as the texts: part of the difference may be theirs"
        )
    labels = len(series.labelled)
    if corrected is not None or not labels or same_texts:
        return
    if labels < LEAST_LABELS:
        yield Message(
            "{labels} rows have labels in both runs; {fewest} are the fewest that correct "
            "the difference",
            labels=labels,
            fewest=LEAST_LABELS,
        )


def adjusted_for_all(
    found: list[RunComparison], settings: ComparisonSettings
) -> list[RunComparison]:
    """Over several criteria p-values are adjusted, so that all of them together are wrong no more
    often than one alone.
    """
    p_values = [_p_value(one) for one in found]
    known = [place for place, value in enumerate(p_values) if value is not None]
    adjusted = dict(zip(known, holm([p_values[place] or 0.0 for place in known]), strict=True))
    return [_adjusted(one, adjusted.get(place), settings.level) for place, one in enumerate(found)]


def _p_value(one: RunComparison) -> float | None:
    """Of the difference that is shown; where there is a margin, of one as far beyond it between
    runs that differ by no more.
    """
    if one.shown.lower is None or (one.corrected is None and not one.margin):
        return one.difference.p_value
    middle, error, freedom = _spread(one)
    beyond = abs(middle) - one.margin
    if beyond <= 0:
        return 1.0
    return min(1.0, 2 * t_cdf(-beyond / error, freedom)) if error > 0 else 0.0


def upper_limits(found: Sequence[RunComparison], margin: float, level: float) -> list[float | None]:
    """The upper limit of each difference, by Holm's steps: all those below ``-margin`` together are
    so by chance no oftener than one alone would be. None where a difference has no limits.
    """
    known = [place for place, one in enumerate(found) if one.shown.lower is not None]
    order = sorted(known, key=lambda place: _chance_below(found[place], -margin))
    limits: list[float | None] = [None] * len(found)
    step, stopped = 0, False
    for place in order:
        limit = _upper(found[place], 1 - (1 - level) / (len(order) - step))
        limits[place], stopped = limit, stopped or limit >= -margin
        step += not stopped
    return limits


def _spread(one: RunComparison) -> tuple[float, float, int]:
    """The middle of the interval that is shown, its standard error, and the degrees of freedom."""
    shown = one.shown
    lower, upper = shown.lower or 0.0, shown.upper or 0.0
    freedom = max(1, shown.count - 1 if one.corrected else one.difference.units + 1)
    return (
        (lower + upper) / 2,
        (upper - lower) / 2 / t_quantile((1 + shown.level) / 2, freedom),
        freedom,
    )


def _chance_below(one: RunComparison, bar: float) -> float:
    middle, error, freedom = _spread(one)
    return t_cdf((middle - bar) / error, freedom) if error > 0 else float(middle >= bar)


def _upper(one: RunComparison, level: float) -> float:
    middle, error, freedom = _spread(one)
    return middle + t_quantile((1 + level) / 2, freedom) * error


def _adjusted(one: RunComparison, p_value: float | None, level: float) -> RunComparison:
    if p_value is None or one.outcome is ComparisonOutcome.CANNOT_TELL or p_value <= 1 - level:
        return replace(one, adjusted=p_value)
    note = Message(
        "by itself it would be called different; over all criteria that were compared it cannot "
        "be (Holm)"
    )
    return replace(
        one, adjusted=p_value, outcome=ComparisonOutcome.CANNOT_TELL, notes=(*one.notes, note)
    )
