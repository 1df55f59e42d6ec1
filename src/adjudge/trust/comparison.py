"""Whether one run is better than another over the rows that both judged: better, worse, or cannot tell."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from adjudge.domain.judged import Judged
from adjudge.domain.label import Label
from adjudge.domain.shown import Shown
from adjudge.domain.verdict import TIE
from adjudge.engine.identity import judge_identity
from adjudge.errors import RunError
from adjudge.ledger.labels import LabelStore
from adjudge.runs.diff import Came, Pair, RunDiff
from adjudge.runs.folder import run_info
from adjudge.runs.label_scales import label_scales
from adjudge.stats.difference import (
    Difference,
    Outcome,
    VoteNoise,
    compare,
    corrected_difference,
    holm,
    labelled_difference,
    three_valued,
)
from adjudge.stats.difference import Pair as Values
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import Interval
from adjudge.stats.student import t_cdf, t_quantile
from adjudge.trust.labels_used import labels_used
from adjudge.trust.measure import Measure, measure_of
from adjudge.trust.rows import agreed_value, by_row
from adjudge.trust.vote_values import noise_of_difference

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
class RunComparison(Judged, Shown):
    """The second run less the first, by one judge and one criteria."""

    first: float | None
    second: float | None
    """The means over the rows that have a number in both."""
    difference: Difference
    corrected: Estimate | None = None
    """By the labels of rows that people labelled in both runs."""
    labels: int = 0
    missing: int = 0
    """Rows that have no number in one of the runs."""
    outcome: Outcome
    """Of the second run; of the corrected difference where there is one."""
    adjusted: float | None = None
    """The p-value, adjusted for all criteria that were compared (Holm)."""
    other_texts: int = 0
    """Rows whose text differs between the runs."""
    same_judge: bool = True
    noise: VoteNoise | None = None
    level: float = 0.95
    margin: float = 0.0
    reach: float = 1.0
    """How far two scores can lie apart."""
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that have a number in both runs."""
        return self.difference.estimate.count

    @property
    def shown(self) -> Estimate:
        """The difference that the outcome is of."""
        return self.corrected or self.difference.estimate

    def to_dict(self) -> dict[str, object]:
        """This comparison as a JSON-ready dict."""
        return {
            "judge": self.judge,
            "criteria": self.criteria,
            "outcome": self.outcome.value,
            "means": [self.first, self.second],
            "difference": _data(self.difference.estimate),
            "corrected": self.corrected and {**_data(self.corrected), "method": self.corrected.method},
            "labels": self.labels,
            "rows": self.rows,
            "independent": self.difference.units,
            "missing": self.missing,
            "rows_with_another_text": self.other_texts,
            "same_judge": self.same_judge,
            "p_value": _p_value(self),
            "p_value_adjusted": self.adjusted,
            "smallest_detectable": self.difference.smallest,
            "vote_noise": self.noise
            and {"share": self.noise.share, "half_width": self.noise.half_width, "with_votes": self.noise.with_votes},
            "margin": self.margin,
            "level": self.level,
            "notes": list(self.notes),
        }


def _data(one: Estimate) -> dict[str, object]:
    return {"value": one.value, "lower": one.lower, "upper": one.upper, "reason": one.reason}


_SETTINGS = ComparisonSettings()


def compare_runs(
    one: str | Path, two: str | Path, found: RunDiff, settings: ComparisonSettings = _SETTINGS
) -> list[RunComparison]:
    """A comparison for each judge and criteria that both runs have; ``found`` holds their rows, joined."""
    sides = (_Side.of(one), _Side.of(two))
    return adjusted_for_all([_compared(line, found.pairs(line), sides, settings) for line in found.lines()], settings)


@dataclass(frozen=True)
class _Side:
    """What a comparison needs of a run beside its rows."""

    folder: Path
    measures: dict[str, Measure]
    """Criteria → how its options are worth what."""
    locks: dict[str, dict[str, object]]

    @classmethod
    def of(cls, folder: str | Path) -> _Side:
        judges = run_info(folder).configuration.get("judges", {})
        try:
            scales = label_scales(folder)
        except RunError:  # a judge of one's own need not say what it asks: its scores are compared as they are
            scales = []
        plain = {one.name: measure_of(one.scale) for one in scales if not (one.scale.compares or one.scale.by_parts)}
        return cls(Path(folder), plain, judges)

    def lock(self, judge: str, criteria: str) -> str:
        return judge_identity(self.locks.get(judge, {}), criteria)

    def labels(self, criteria: str) -> dict[str, float]:
        """Row → what people say of it, of rows that were drawn among all; from 0 to 1."""
        measure = self.measures.get(criteria)
        if measure is None:
            return {}
        used = labels_used(LabelStore(self.folder).current(criteria), None)
        drawn = {row: own for row, own in by_row(used.labels).items() if any(one.design == "random" for one in own)}
        answers = {row: [said for one in own if (said := _answer(one, measure)) is not None] for row, own in drawn.items()}
        return {row: agreed_value(own, measure) for row, own in answers.items() if own}


def _answer(label: Label, measure: Measure) -> str | float | None:
    """What a label says, where it can be said by this criteria."""
    if measure.is_number:
        return label.score
    return label.option if label.option in measure.values else None


@dataclass
class _Series:
    """The rows of both runs side by side."""

    first: array[float] = field(default_factory=lambda: array("d"))
    second: array[float] = field(default_factory=lambda: array("d"))
    clusters: list[Hashable] = field(default_factory=list)
    identities: list[tuple[str, str]] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    missing: int = 0
    judges: tuple[str, str] = ("", "")

    def add(self, pair: Pair) -> None:
        self.judges = (pair.before.judge, pair.after.judge)
        one, two = number_of(pair.before.came), number_of(pair.after.came)
        if one is None or two is None:
            self.missing += 1
            return
        self.first.append(one)
        self.second.append(two)
        self.clusters.append(pair.cluster)
        self.identities.append(pair.identities)
        self.places.append((pair.before.row, pair.after.row))

    @property
    def together(self) -> list[Hashable] | None:
        """The cluster of each row: by a column, else copies of one text; None where all are independent."""
        if any(one is not None for one in self.clusters):
            return self.clusters
        copies = {identity for identity, count in Counter(one for one, _ in self.identities).items() if count > 1}
        return [one if one in copies else place for place, (one, _) in enumerate(self.identities)] if copies else None


def number_of(came: Came) -> float | None:
    """The score; of two compared responses 1 where the first won and a half for a tie."""
    if came.status != "scored":
        return None
    if came.score is not None:
        return came.score
    if came.chosen == TIE:
        return 0.5
    return float(came.chosen == 0) if isinstance(came.chosen, int) else None


def _compared(line: str, pairs: Iterable[Pair], sides: tuple[_Side, _Side], settings: ComparisonSettings) -> RunComparison:
    judge, criteria = json.loads(line)
    series = _Series()
    for pair in pairs:
        series.add(pair)
    level, margin, clusters = settings.level, settings.margin, series.together
    found = compare(series.second, series.first, clusters=clusters, level=level, margin=margin)
    corrected, labels = _corrected(series, sides, criteria, clusters, level)
    measure = sides[0].measures.get(criteria)
    locks = [side.lock(name, criteria) for side, name in zip(sides, series.judges, strict=True)]
    return RunComparison(
        judge=judge,
        criteria=criteria,
        first=fmean(series.first) if series.first else None,
        second=fmean(series.second) if series.second else None,
        difference=found,
        corrected=corrected,
        labels=labels,
        missing=series.missing,
        outcome=_outcome(found, corrected, series, margin, _reach(measure)),
        other_texts=sum(one != two for one, two in series.identities),
        same_judge=locks[0] == locks[1],
        noise=noise_of_difference([side.folder for side in sides], series.judges, series.places, measure, found)
        if settings.noise and measure
        else None,
        level=level,
        margin=margin,
        reach=_reach(measure),
        notes=tuple(_notes(series, found, locks, labels, corrected)),
    )


def _reach(measure: Measure | None) -> float:
    """How far two scores can lie apart."""
    return 1.0 if measure is None else measure.range[1] - measure.range[0]


def _outcome(found: Difference, corrected: Estimate | None, series: _Series, margin: float, reach: float) -> Outcome:
    """Decided only where the rows without a number could not change it."""
    shown = corrected or found.estimate
    if shown.lower is None or shown.upper is None:
        return Outcome.CANNOT_TELL
    first = three_valued(Interval(shown.lower, shown.upper), margin) if corrected else found.outcome
    rows = len(series.first) + series.missing
    lower = (shown.lower * len(series.first) - series.missing * reach) / rows
    upper = (shown.upper * len(series.first) + series.missing * reach) / rows
    return first if three_valued(Interval(lower, upper), margin) == first else Outcome.CANNOT_TELL


def _corrected(
    series: _Series, sides: tuple[_Side, _Side], criteria: str, clusters: Sequence[Hashable] | None, level: float
) -> tuple[Estimate | None, int]:
    """PPI++ of the paired difference; of texts that differ, since people say the same of one text in both runs."""
    known = [side.labels(criteria) for side in sides]
    if not all(known) or all(one == two for one, two in series.identities):
        return None, 0
    low, high = sides[0].measures[criteria].range
    labels, judged, rest = [], [], []
    groups: tuple[list[Hashable], list[Hashable]] = ([], [])
    for place, (one, two) in enumerate(series.identities):
        said = Values(*((value - low) / (high - low) for value in (series.second[place], series.first[place])))
        labelled = one in known[0] and two in known[1]
        groups[not labelled].append(clusters[place] if clusters else place)
        if labelled:
            labels.append(Values(known[1][two], known[0][one]))
            judged.append(said)
        else:
            rest.append(said)
    if len(labels) < LEAST_LABELS:
        return None, len(labels)
    found = corrected_difference(labels, judged, rest, level=level, clusters=groups if clusters else (None, None))
    if found.value is None:  # hardly a row is without a label: there is nothing that the judge could add
        found = labelled_difference([one.difference for one in labels], level=level, clusters=groups[0] if clusters else None)
    ends = [None if value is None else value * (high - low) for value in (found.value, found.lower, found.upper)]
    return (replace(found, value=ends[0], lower=ends[1], upper=ends[2]) if found.value is not None else None), len(labels)


def _notes(series: _Series, found: Difference, locks: Sequence[str], labels: int, corrected: Estimate | None) -> Iterator[str]:
    if found.estimate.reason:
        yield found.estimate.reason
    if series.missing:
        yield f"{series.missing} of {series.missing + len(series.first)} rows have no number in one of the runs"
    same_texts = all(one == two for one, two in series.identities)
    if series.identities and same_texts and locks[0] != locks[1]:
        yield "the texts are the same and the judges differ: this is a difference between the judges, not between the texts"
    elif locks[0] != locks[1]:
        yield "the judges differ as well as the texts: part of the difference may be theirs"
    if labels < LEAST_LABELS and labels and corrected is None:
        yield f"{labels} rows have labels in both runs; {LEAST_LABELS} are the fewest that correct the difference"


def adjusted_for_all(found: list[RunComparison], settings: ComparisonSettings) -> list[RunComparison]:
    """Over several criteria p-values are adjusted, so that all of them together are wrong no more often than one alone."""
    p_values = [_p_value(one) for one in found]
    known = [place for place, value in enumerate(p_values) if value is not None]
    adjusted = dict(zip(known, holm([p_values[place] or 0.0 for place in known]), strict=True))
    return [_adjusted(one, adjusted.get(place), settings.level) for place, one in enumerate(found)]


def _p_value(one: RunComparison) -> float | None:
    """Of the difference that is shown; where there is a margin, of one as far beyond it between runs that differ by no more."""
    if one.shown.lower is None or (one.corrected is None and not one.margin):
        return one.difference.p_value
    middle, error, freedom = _spread(one)
    beyond = abs(middle) - one.margin
    if beyond <= 0:
        return 1.0
    return min(1.0, 2 * t_cdf(-beyond / error, freedom)) if error > 0 else 0.0


def upper_limits(found: Sequence[RunComparison], margin: float, level: float) -> list[float | None]:
    """The upper limit of each difference, by Holm's steps: all those below ``-margin`` together are so by chance no oftener than
    one alone would be. None where a difference has no limits.
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
    return (lower + upper) / 2, (upper - lower) / 2 / t_quantile((1 + shown.level) / 2, freedom), freedom


def _chance_below(one: RunComparison, bar: float) -> float:
    middle, error, freedom = _spread(one)
    return t_cdf((middle - bar) / error, freedom) if error > 0 else float(middle >= bar)


def _upper(one: RunComparison, level: float) -> float:
    middle, error, freedom = _spread(one)
    return middle + t_quantile((1 + level) / 2, freedom) * error


def _adjusted(one: RunComparison, p_value: float | None, level: float) -> RunComparison:
    if p_value is None or one.outcome is Outcome.CANNOT_TELL or p_value <= 1 - level:
        return replace(one, adjusted=p_value)
    note = "by itself it would be called different; over all criteria that were compared it cannot be (Holm)"
    return replace(one, adjusted=p_value, outcome=Outcome.CANNOT_TELL, notes=(*one.notes, note))
