"""A judge's number, corrected by what people said of some of its rows; or why there is no corrected
number.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from adjudge.core.domain.frozen_mapping import nonempty, some_of
from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.label import Label, LabelScale
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import PairwiseInstanceResult, Result
from adjudge.core.domain.verdict import TIE
from adjudge.core.ledger.records import records, votes_of
from adjudge.core.reading.types import Flag, Number, Record, Text, key
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.counts import rows_without_group
from adjudge.runs.folder import reading
from adjudge.runs.traffic_rows import is_of_sample
from adjudge.stats.correction import (
    NO_LABEL,
    LabelApart,
    Stratum,
    corrected_mean,
    from_unit,
    labels_only,
    mean_with_apart,
    naive,
    prevalences,
    stratify,
    with_rows_apart,
    within_possible,
)
from adjudge.stats.dawid_skene import MemberVote
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Interval, clusters_at
from adjudge.stats.refusal import Needed, Refusal, cannot_plan, doubts, labels_needed, too_few
from adjudge.stats.sequence import Stream, confidence_sequence, sequential_rate
from adjudge.trust.agreement import AgreementReport, AgreementSettings, agreement_of
from adjudge.trust.confusion import Confusion, confusion_of
from adjudge.trust.contestants import Contestants
from adjudge.trust.distance import Distance, distance_of
from adjudge.trust.estimators import corrected_score, needed_for_score, well_known
from adjudge.trust.labelled_judges import LabelledJudge, configurations, labelled_judges
from adjudge.trust.labels.queue import verdict_of
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.large_texts import RowsApart, rows_apart
from adjudge.trust.measure import Measure
from adjudge.trust.panel_check import PanelReport, members_say, panel_of
from adjudge.trust.rows import LabelledRow, Rows, Votes, by_row, repeats
from adjudge.trust.slices import SliceReport, slices_of
from adjudge.trust.usable_labels import LabelSettings, LabelsUsed, labels_used, nonzero

LEVEL = Number(above=0.5, below=1)
LEVEL_HELP = "Confidence level of all intervals."


@dataclass(frozen=True, kw_only=True)
class CalibrationSettings(LabelSettings):
    """What may be asked of a calibration."""

    level: float = key(LEVEL, LEVEL_HELP, 0.95, option="--confidence")
    target_width: float = key(Number(above=0, most=1), "How narrow the interval should be.", 0.1)
    """From its lower limit to its upper one, as a share of the scale."""
    all_estimators: bool = key(
        Flag(),
        "PPI++ and Rogan and Gladen's estimate as well; of a panel Dawid and Skene's model.",
        False,
    )
    agreement: AgreementSettings | None = key(
        Record(AgreementSettings),
        "How agreement is measured; None: not at all.",
        AgreementSettings(),
    )
    by: str | None = key(
        Text(),
        "The corrected number, and agreement, apart for each value of this column; the intervals "
        "of all of them hold together.",
        None,
        metavar="COLUMN",
    )
    sequential: bool = key(
        Flag(),
        "Limits that hold however often you look while labelling, so that you may stop at any "
        "time; they are wider.",
        False,
    )
    these_rows: bool = key(
        Flag(),
        "Intervals of exactly these rows, not of rows like them: narrower, since only rows without "
        "a label are uncertain.",
        False,
    )
    looks: int = 0
    """After how many parts of the labels, in their order, the corrected number is told."""


@dataclass(frozen=True, kw_only=True)
class Calibration(JudgeCriterion, HtmlRepr):
    """What labels say of one judge and one criteria."""

    lock: str | None
    """The identity of the judge that the confusion is of."""
    level: float
    measure: Measure
    rows: int
    failed: int
    count: int
    """Texts that people labelled and that stand behind the corrected number; copies of one text
    count once.
    """
    naive: Estimate
    """What the judge says, as if it were never wrong."""
    these_rows: bool
    """Whether the intervals of the corrected number and of the labels alone are of exactly these
    rows, and not of rows like them.
    """
    added: int
    """Rows that were added to the run after the last labelled row was drawn. They could not be
    drawn, so no number here is about them.
    """
    skipped: int
    """Drawn rows that annotators skipped or were unsure about and nobody labelled: the interval
    holds whatever they are.
    """
    labels_only: Estimate
    corrected: Estimate | None
    """None where there is a refusal."""
    refusal: Refusal | None
    labels: LabelsUsed
    labels_by_verdict: Mapping[str, int]
    rows_by_verdict: Mapping[str, int]
    needed: Needed
    confusion: Confusion
    others: tuple[Estimate, ...] = ()
    """Estimates that readers know by name."""
    shares: Mapping[str, Estimate] = field(default_factory=dict)
    """Option → its corrected share, where there are more than two options and no refusal."""
    distance: Distance | None = None
    """How far people's answer may lie from the judge's, where answers stand in an order."""
    agreement: AgreementReport | None = None
    panel: PanelReport | None = None
    notes: tuple[str, ...] = ()
    slices: SliceReport | None = None
    """The number apart for each slice of the rows, where a column was named."""
    one_of_several: bool = False
    """Whether other judges of the run judge by the same criteria."""
    looks: tuple[Estimate, ...] = ()
    """The corrected number as it would have been after the first labels, the last one as it is."""
    system: str = ""
    """Whose answers they are, where several targets answered: each is corrected by the labels of
    its own.
    """

    @property
    def name(self) -> str:
        return of_system(super().name, self.system)

    @property
    def is_comparison(self) -> bool:
        """Whether responses are compared."""
        return TIE in self.measure.options

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "judge", "criteria"),
            **nonempty(system=self.system),
            "rate_of": self.measure.name,
            "scale": list(self.measure.range),
            **some_of(self, "rows", "failed"),
            "rows_added_since_draw": self.added,
            "rows_skipped": self.skipped,
            "interval_of": "these rows" if self.these_rows else "rows like these",
            "naive": estimate_data(self.naive),
            "corrected": {**estimate_data(self.corrected), "method": self.corrected.method}
            if self.corrected
            else None,
            "labels_only": estimate_data(self.labels_only),
            **some_of(self, "refusal"),
            "labels": {
                "n": self.count,
                "by_verdict": dict(self.labels_by_verdict),
                "design": self.labels.designs,
                **some_of(self.labels, "annotators", "kind"),
            },
            **self.confusion.to_dict(),
            **some_of(self, "distance", "agreement", "needed"),
            "estimators": [{"method": one.method, **estimate_data(one)} for one in self.others],
            "shares": {option: estimate_data(one) for option, one in self.shares.items()},
            **some_of(self, "panel", "slices", "lock", "level", "notes"),
        }


def estimate_data(one: Estimate) -> JsonDict:
    """An estimate as a JSON-ready dict."""
    found: JsonDict = {"rate": one.value, "lower": one.lower, "upper": one.upper}
    return {**found, "n": one.count, **nonempty(reason=one.reason)}


_SETTINGS = CalibrationSettings()
WEIGHTED_NUMBERS = Refusal(
    "weighted_numbers",
    Message(
        "rows that were drawn with chances of their own correct shares and scores of options, not "
        "numbers; label rows in the random queue"
    ),
)


GROWN_NUMBERS = Refusal(
    "grown_run",
    Message(
        "rows were added between the labels, so that rows had different chances to be drawn, and "
        "numbers cannot be corrected by such labels: calibrate by those of one draw "
        "(--labels FILE)"
    ),
)


def calibrate(
    results: Iterable[Result],
    labels: Iterable[Label],
    *,
    lock: str | None = None,
    settings: CalibrationSettings = _SETTINGS,
) -> Calibration:
    """The corrected number of ``results`` by one criteria. ``lock`` is the judge's identity, which
    labels of rows that were drawn within its verdicts must name.
    """
    made = list(results)
    names = list(dict.fromkeys(one.criteria.name for one in made))
    if len(names) != 1:
        raise SetupError(
            "calibrate takes results by one criterion, not by {names}",
            names=", ".join(map(repr, names)) or Message("none"),
        )
    used = labels_used(
        (one for one in labels if one.criteria == names[0]),
        lock,
        model_made=settings.labels_are_model_made,
        since=max(settings.changes.values(), default=None),
        older=settings.labels_before_change,
    )
    found = [one.record("", place, votes=True) for place, one in enumerate(made)]
    scale = _scale(made[0])
    compared = Contestants.of_records(found) if scale.compares else Contestants()
    rows = Rows(
        scale,
        by_row(used.labels),
        settings.cluster,
        settings.by,
        lambda record: record.votes or (),
        _kept(settings),
        contestants=compared,
        weighting=used.weighting,
        drawn_of=used.drawn_of,
        skipped_rows=used.skipped,
    )
    for number, record in enumerate(found):
        rows.add(record, number)
    return calibration(rows, used, judge=names[0], lock=lock, settings=settings)


def _scale(result: Result) -> LabelScale:
    return LabelScale(
        result.criteria,
        range=result.rating_range,
        compares=isinstance(result, PairwiseInstanceResult),
    )


def _kept(settings: CalibrationSettings) -> list[Votes] | None:
    """Where to keep the votes of all rows: Dawid and Skene's model needs them,
    nothing else does.
    """
    return [] if settings.all_estimators and settings.agreement else None


def calibrate_run(
    folder: str | Path,
    labels: Iterable[Label] | None = None,
    *,
    criteria: str | None = None,
    judge: str | None = None,
    settings: CalibrationSettings = _SETTINGS,
) -> list[Calibration]:
    """A calibration for each judge and each criterion of a run that has labels; rows are read as
    they pass.

    ``labels``: instead of those that lie in the run folder. ``criteria``, ``judge``: only these.
    """
    given = list(LabelStore(folder).of_each_copy() if labels is None else labels)
    wanted = [one for one in labelled_judges(folder, given, criteria) if judge in (None, one.judge)]
    found = [
        replace(made, one_of_several=len(one.scale.judges) > 1)
        for one in wanted
        for made in _of_judge(one, settings)
    ]
    if judge is not None and judge not in (known := configurations(folder)):
        raise SetupError(
            "{folder} has no judge {judge!r}; it has {known}",
            folder=folder,
            judge=judge,
            known=", ".join(map(repr, known)),
        )
    return found


def _of_judge(one: LabelledJudge, settings: CalibrationSettings) -> list[Calibration]:
    """One, or one for each of several targets whose answers were judged."""
    used = one.used(settings)
    with reading(one.folder) as ledger:
        # the steps of a cascade are no panel
        wanted = settings.agreement is not None and not one.configuration.steps

        def votes(record: JudgmentRecord) -> Votes:
            return votes_of(ledger, one.judge, record.index) if wanted else ()

        contestants = Contestants.of_judge(ledger, one.judge)
        labels, first_kinds = by_row(used.labels), dict[str, str]()

        def new_rows() -> Rows:
            return Rows(
                one.scale.scale,
                labels,
                settings.cluster,
                settings.by,
                votes,
                _kept(settings),
                contestants=contestants,
                weighting=used.weighting,
                first_kinds=first_kinds,
                drawn_of=used.drawn_of,
                skipped_rows=used.skipped,
            )

        by_system: defaultdict[str, Rows] = defaultdict(new_rows)
        in_votes = used.weighting is not None and used.weighting.reads_votes
        beside = number = 0
        for record in records(ledger, judge=one.judge, votes=in_votes):
            if verdict_of(record, one.scale.name) is None:
                continue
            if is_of_sample(record):
                by_system[record.answered_by].add(record, number)
            else:
                beside += 1
            number += 1
    labelled = {
        system: {row.identity for row in rows.labelled} for system, rows in by_system.items()
    }
    made = {
        system: calibration(
            rows,
            used.without(set().union(*labelled.values()) - labelled.get(system, set())),
            judge=one.judge,
            lock=one.lock,
            settings=settings,
        )
        for system, rows in (by_system or {"": new_rows()}).items()
    }
    left_out = nonzero(
        plural(
            "{count} row of the traffic was taken for sure and is left out: the number is that of "
            "all events alike",
            "{count} rows of the traffic were taken for sure and are left out: the number is that "
            "of all events alike",
            beside,
        )
    )
    return [
        replace(found, system=name if len(made) > 1 else "", notes=(*found.notes, *left_out))
        for name, found in made.items()
    ]


def calibration(
    rows: Rows, used: LabelsUsed, *, judge: str, lock: str | None, settings: CalibrationSettings
) -> Calibration:
    """What ``rows`` and their labels come to."""
    measure, level = rows.measure, settings.level
    drawn = rows.drawn
    estimates, once = _estimates(rows, drawn, settings)
    several = rows.contestants.refusal
    weighted = rows.weighting is not None
    by_labels = (
        several
        or used.refusal
        or (WEIGHTED_NUMBERS if weighted and measure.is_number else None)
        or (GROWN_NUMBERS if rows.is_grown and measure.is_number else None)
    )
    refused = by_labels or too_few(estimates.strata, every=weighted)
    agreement = agreement_of(rows, settings.agreement, level) if settings.agreement else None
    return Calibration(
        judge=judge,
        criteria=rows.scale.name,
        lock=lock,
        level=level,
        measure=measure,
        rows=len(rows.verdicts),
        failed=sum(one is None for one in rows.verdicts),
        count=len({one.unit for one in drawn}),
        naive=from_unit(estimates.naive, measure.range),
        these_rows=settings.these_rows,
        added=rows.late,
        skipped=len(rows.skipped),
        labels_only=from_unit(estimates.alone, measure.range),
        corrected=None if refused else from_unit(estimates.corrected, measure.range),
        refusal=refused,
        labels=used,
        labels_by_verdict=dict(_by_verdict(one.verdict for one in drawn)),
        rows_by_verdict=dict(_by_verdict(rows.verdicts)),
        needed=_needed(estimates, rows, drawn, settings, refused=refused is not None),
        confusion=confusion_of(
            drawn,
            measure,
            _weights(estimates.strata, rows),
            level,
            rows.together,
            _why_no_limits(rows, drawn),
        ),
        others=tuple(from_unit(one, measure.range) for one in well_known(rows, drawn, level))
        if settings.all_estimators and not several
        else (),
        shares={} if refused or settings.sequential else _shares(rows, drawn, settings),
        distance=None if used.refusal else distance_of(drawn, measure, level, rows.clusters),
        agreement=agreement,
        looks=() if refused else tuple(_looks(rows, drawn, settings)),
        slices=None if by_labels else slices_of(rows, drawn, level, these_rows=settings.these_rows),
        panel=panel_of(rows.compared, measure, level, _said(rows), settings.agreement.missing)
        if settings.agreement
        else None,
        notes=(
            *_price(estimates.corrected, once, settings),
            *([] if refused else _doubts(estimates, rows, drawn)),
            *_notes(used, estimates, rows),
            *(agreement.notes if agreement else ()),
        ),
    )


def _estimates(
    rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings
) -> tuple[_Estimates, Estimate]:
    """What is estimated, and the corrected rate as it would be, were it looked at once."""
    level = settings.level
    found = (_numbers if rows.measure.is_number else _options)(rows, drawn, settings)
    once = found.corrected
    if settings.sequential:
        found = _looked_at_often(found, rows, drawn, settings)
    if several := rows.contestants.refusal:
        none = undefined("win rate", 0, several.text, level=level)
        found = replace(found, naive=none, alone=none)
    return found, once


def _looks(
    rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings
) -> Iterator[Estimate]:
    """By the rows that were labelled first, then by more of them; nothing where their order is not
    known or where they were too few.
    """
    first = {one.identity: min(label.at for label in rows.labels[one.identity]) for one in drawn}
    if len(set(first.values())) < 2:
        return
    in_order = sorted(drawn, key=lambda one: first[one.identity])
    for number in range(1, settings.looks + 1):
        some = in_order[: round(len(in_order) * number / settings.looks)]
        found, _ = _estimates(rows, some, settings)
        if not too_few(found.strata, every=rows.weighting is not None):
            yield from_unit(found.corrected, rows.measure.range)


def _weights(strata: Sequence[Stratum], rows: Rows) -> list[float]:
    """How many rows each labelled one stands for, by its place."""
    each = {one.verdict: one.rows / len(one.labels) for one in strata if one.labels}
    return [each.get(key, 0.0) for key in rows.strata[0]]


def _why_no_limits(rows: Rows, drawn: Sequence[LabelledRow]) -> Message | None:
    """Return why shares of the labelled rows have no limits; None if all of these were drawn among
    all rows.
    """
    if all(one.random for one in drawn):
        return None
    if rows.is_grown:
        return Message("rows were added between the draws of labels: no limits")
    if rows.weighting is not None:
        return Message("rows were drawn with different chances: no limits")
    return Message("rows were drawn within verdicts: no limits")


def _said(rows: Rows) -> list[MemberVote] | None:
    if rows.all_votes is None:
        return None
    return [
        MemberVote(place, model, option)
        for place, votes in enumerate(rows.all_votes)
        for model, option in members_say(votes, rows.measure.options).items()
    ]


@dataclass(frozen=True)
class _Estimates:
    strata: Sequence[Stratum]
    naive: Estimate
    alone: Estimate
    corrected: Estimate
    apart: RowsApart
    """The rows of large texts, which the labels of other texts say nothing of."""


def _needed(
    estimates: _Estimates,
    rows: Rows,
    drawn: Sequence[LabelledRow],
    settings: CalibrationSettings,
    *,
    refused: bool,
) -> Needed:
    """Plan the labels for the wanted width; without a number of labels if it cannot be told."""
    target, width = settings.target_width, estimates.corrected.width
    of_scale = rows.measure.range != (0, 1)
    if not refused and width is not None and width <= target:
        return Needed(target, estimates.corrected.count, 0)
    if estimates.corrected.count and (why := _unplannable(estimates, rows, settings)):
        return cannot_plan(target, why, of_scale=of_scale)
    if rows.measure.is_number:
        plan = needed_for_score(
            rows,
            drawn,
            target,
            level=settings.level,
            these_rows=settings.these_rows,
            of_scale=of_scale,
        )
    else:
        plan = labels_needed(
            estimates.strata,
            target,
            level=settings.level,
            these_rows=settings.these_rows,
            of_scale=of_scale,
            like_labels=rows.weighting is not None,
        )
    if plan.more == 0:
        why = Message("by the plan these labels should be enough already")
        return cannot_plan(target, why, of_scale=of_scale)
    return plan


def _unplannable(
    estimates: _Estimates, rows: Rows, settings: CalibrationSettings
) -> Message | None:
    """Return why labels cannot be planned: the plan takes every further label for an independent
    one of a row that people decide.
    """
    if settings.sequential:
        return Message("the interval has to hold at every look")
    if rows.together is not None or estimates.apart.places:
        return Message("rows belong together, and their labels are not independent")
    if any(part.verdict is None and not part.labels for part in estimates.strata):
        return Message("failed judgments have no label")
    if rows.skipped:
        return Message("drawn rows were skipped or marked unsure")
    if rows.measure.is_number and (rows.weighting is not None or rows.is_grown):
        return Message("numbers are not corrected by labels of rows with different chances")
    return None


def _options(rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings) -> _Estimates:
    clusters, values, level = rows.together, rows.label_values(drawn), settings.level
    keys, order = rows.strata
    apart = rows_apart(rows, drawn)
    return _Estimates(
        stratify(keys, values, order, clusters, rows.skipped, _copies(drawn)),
        naive(
            rows.judged_values(),
            level=level,
            clusters=clusters_at(rows.row_clusters, rows.decided),
        ),
        _alone(rows, drawn, settings),
        corrected_mean(
            keys,
            values,
            order,
            clusters=clusters,
            level=level,
            skipped=rows.skipped,
            these_rows=settings.these_rows,
            apart=apart.places,
        ),
        apart,
    )


def _copies(drawn: Iterable[LabelledRow]) -> list[int]:
    """Return the places of rows that repeat the label of an earlier row with the same text."""
    return repeats({one.place: one.unit for one in drawn})


def _numbers(rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings) -> _Estimates:
    keys, order = rows.strata
    level, apart = settings.level, rows_apart(rows, drawn)
    judged = [rows.measure.value(one) for one in rows.numbers]
    return _Estimates(
        stratify(keys, rows.label_values(drawn), order, copies=_copies(drawn)),
        naive(judged, level=level, clusters=clusters_at(rows.row_clusters, rows.numbered)),
        _alone(rows, drawn, settings),
        corrected_score(rows, drawn, level, these_rows=settings.these_rows, apart=apart.places),
        apart,
    )


def _looked_at_often(
    estimates: _Estimates,
    rows: Rows,
    drawn: Sequence[LabelledRow],
    settings: CalibrationSettings,
) -> _Estimates:
    """The corrected number by verdict, and the labels alone, with limits that hold at every look.

    Numbers count as one verdict. Texts were drawn, each once, so the limits are of the first row
    of each text. Its other copies have its label; without a label they may be anything.
    """
    if settings.cluster:
        raise SetupError("--sequential does not work with --cluster: leave one of them out")
    if settings.by:
        raise SetupError("--sequential does not work with --by: leave one of them out")
    if settings.these_rows:
        raise SetupError("--sequential does not work with --these-rows: leave one of them out")
    if rows.row_clusters is not None:
        # further labels of a task would change what was counted for it at an earlier look
        raise SetupError(
            "--sequential does not work with rows that count as one (trials of a task, answers to "
            "one row): leave it out"
        )
    labels, repeated = rows.label_values(drawn), rows.repeated
    keys, order = rows.strata
    first = [place for place in range(len(keys)) if place not in repeated]
    skips = [number for number, place in enumerate(first) if place in rows.skipped]
    strata = stratify(
        [keys[place] for place in first], [labels[place] for place in first], order, skipped=skips
    )
    level, count = settings.level, sum(len(one.labels) for one in strata)
    means = {one.verdict: one.mean for one in strata}
    of_copies = [(labels[place], means.get(keys[place])) for place in sorted(repeated)]
    low, high = (
        sequential_rate(
            [_stream(one, len(keys), end) for one in strata],
            len(keys),
            level=level,
            apart=[end if label is None else label for label, _ in of_copies],
        )
        for end in (0.0, 1.0)
    )
    is_known = all(one.labels for one in strata)
    value = estimates.corrected.value if is_known else None
    if is_known and repeated:
        of_first = math.fsum(one.rows * (one.mean or 0.0) for one in strata) / len(first)
        value = mean_with_apart(of_first, len(first), of_copies)
    lower, upper = low.lower, high.upper
    if value is not None:  # a score is corrected by the judge's numbers, its limits are not
        lower, upper = min(lower, value), max(upper, value)
    method = Message("post-stratified, sequential")
    reason = "" if is_known else NO_LABEL
    undrawn = {place for place in repeated if labels[place] is None} - rows.skipped.keys()
    texts = {rows.texts[place] for place in undrawn}
    return replace(
        estimates,
        corrected=Estimate(value, lower, upper, count, method, level, reason),
        alone=_alone_looked_at_often(estimates.alone, rows, drawn, of_copies),
        apart=RowsApart(frozenset(repeated), len(undrawn), len(texts)),
    )


def _alone_looked_at_often(
    alone: Estimate, rows: Rows, drawn: Sequence[LabelledRow], of_copies: Sequence[LabelApart]
) -> Estimate:
    """Return the labels alone with limits that hold at every look; ``of_copies``: the labels of
    copies, which are not in the sample.
    """
    values = [
        one.value(rows.measure) for one in drawn if one.random and one.place not in rows.repeated
    ]
    if not values:
        return alone
    skipped = sum(
        is_drawn and place not in rows.repeated for place, is_drawn in rows.skipped.items()
    )
    total, value = len(rows.verdicts), alone.value
    limits: list[Interval] = []
    for end in (0.0, 1.0):
        filled = [*values, *[end] * skipped]
        if not of_copies:
            limits.append(confidence_sequence(filled, level=alone.level))
            continue
        hits = math.fsum(filled)
        sample = Stream(1 - len(of_copies) / total, hits, len(filled) - hits)
        known = [end if label is None else label for label, _ in of_copies]
        limits.append(sequential_rate([sample], total, level=alone.level, apart=known))
    if of_copies:
        unlike = [(label, None) for label, _ in of_copies]
        value = mean_with_apart(fmean(values), total - len(of_copies), unlike)
    return replace(
        alone, value=value, lower=limits[0].lower, upper=limits[1].upper, count=len(values)
    )


def _stream(stratum: Stratum, rows: int, end: float) -> Stream:
    """Return the labels of a verdict, skipped rows as ``end``."""
    hits = math.fsum(stratum.labels) + end * len(stratum.skipped)
    return Stream(stratum.rows / rows, hits, stratum.count + len(stratum.skipped) - hits)


def _price(found: Estimate, once: Estimate, settings: CalibrationSettings) -> Iterator[Message]:
    """What it costs to look at any time."""
    if settings.sequential and found.width and once.width:
        yield Message(
            "the interval holds however often it is looked at; for that it is {ratio:.2f} times as "
            "wide as one that is looked at once",
            ratio=found.width / once.width,
        )


def _alone(rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings) -> Estimate:
    """Rows that were topped up within a verdict are no random sample of all rows, nor are those
    that were drawn with chances of their own.
    """
    own = [one for one in drawn if one.random]
    if drawn and not own:
        grown = Message("rows were added between the labels, so that their chances differ")
        why = grown if rows.is_grown else Message("no labelled row was drawn among all rows")
        count = len(drawn) if rows.is_grown else 0
        return undefined(Message("labels only"), count, why, level=settings.level)
    apart = rows_apart(rows, own).places
    own = [one for one in own if one.place not in apart]
    skipped = [place for place, is_drawn in rows.skipped.items() if is_drawn and place not in apart]
    count = len(rows.verdicts) - len(apart)
    alone = labels_only(
        [one.value(rows.measure) for one in own],
        level=settings.level,
        clusters=clusters_at(rows.together, [one.place for one in own]),
        skipped=clusters_at(rows.together, skipped) or skipped,
        of_rows=count if settings.these_rows else None,
    )
    # rows that were drawn within a verdict say nothing of the others, but they are known
    labels = rows.label_values(drawn)
    if apart:
        of_apart = [(labels[place], None) for place in sorted(apart)]
        alone = with_rows_apart(alone, count, of_apart, these_rows=settings.these_rows)
    if not settings.these_rows:
        return alone
    return within_possible(alone, [one for one in labels if one is not None], len(labels))


def _doubts(estimates: _Estimates, rows: Rows, drawn: Sequence[LabelledRow]) -> list[Message]:
    measure = rows.measure
    judged = [(said, one) for one in drawn if (said := one.said) is not None]
    corrected = from_unit(estimates.corrected, measure.range)
    bounded = corrected.value is None  # by failed judgments, which the labels alone say nothing of
    return doubts(
        [measure.value(said) for said, _ in judged],
        [one.value(measure) for _, one in judged],
        corrected,
        undefined("labels only", 0, "") if bounded else from_unit(estimates.alone, measure.range),
        clusters_at(rows.together, [one.place for _, one in judged]),
    )


def _shares(
    rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings
) -> dict[str, Estimate]:
    measure = rows.measure
    if measure.is_number or measure.is_binary:
        return {}
    weights: list[Mapping[str, float] | None] = [None] * len(rows.verdicts)
    for row in drawn:
        weights[row.place] = row.option_weights
    keys, order = rows.strata
    return prevalences(
        keys,
        weights,
        measure.options,
        order=order,
        clusters=rows.together,
        level=settings.level,
        skipped=rows.skipped,
        these_rows=settings.these_rows,
        apart=rows_apart(rows, drawn).places,
    )


def _by_verdict(verdicts: Iterable[str | None]) -> Iterator[tuple[str, int]]:
    counts = Counter(verdicts)
    for verdict in sorted(counts, key=lambda one: (one is None, str(one))):
        yield ("failed" if verdict is None else verdict), counts[verdict]


def _notes(used: LabelsUsed, estimates: _Estimates, rows: Rows) -> Iterator[str]:
    if used.model_made:
        yield Message("the labels were made by a model: this corrects one model by another")
    yield from used.notes
    yield from rows_without_group(rows.without_group, rows.cluster or "")
    known = {one.identity for one in rows.labelled} | rows.late_labelled
    yield from nonzero(
        plural(
            "{count} label is about a row that this judge has not judged",
            "{count} labels are about rows that this judge has not judged",
            sum(one.row not in known for one in used.labels) - rows.unfit,
        ),
        plural(
            "{count} label names no option of this criterion and is left out",
            "{count} labels name no option of this criterion and are left out",
            rows.unfit,
        ),
        plural(
            "{count} label was given to another wording of this criterion",
            "{count} labels were given to another wording of this criterion",
            rows.reworded,
        ),
        plural(
            "{count:,} row has no label, since copies of its text were labelled differently",
            "{count:,} rows have no label, since copies of their texts were labelled differently",
            rows.contradicted,
        ),
        plural(
            "{rows} rows are copies of one text that was not drawn, and may be anything: the "
            "intervals hold whatever they are",
            "{rows} rows are copies of {count} texts that were not drawn, and may be anything: the "
            "intervals hold whatever they are",
            estimates.apart.undrawn_texts,
            rows=estimates.apart.undrawn_rows,
        ),
        plural(
            "annotators are evenly split on {count} row: the mean of what they say counts",
            "annotators are evenly split on {count} rows: the mean of what they say counts",
            sum(one.truth is None for one in rows.labelled),
        ),
    )
    if estimates.corrected.reason and estimates.corrected.lower is not None:
        yield estimates.corrected.reason
