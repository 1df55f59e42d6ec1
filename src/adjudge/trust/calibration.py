"""Correct a judge's number by labels of some of its rows, or say why that is not possible."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Annotated, NotRequired, TypedDict

from adjudge.core.domain.html_repr import HtmlRepr
from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.label import Label, LabelScale
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import PairwiseInstanceResult, Result
from adjudge.core.domain.verdict import TIE
from adjudge.core.ledger.codec import StoredVerdict
from adjudge.core.ledger.records import records, verdicts, votes_of
from adjudge.core.reading.types import Flag, Number, Record, Text, key
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.runs.counts import rows_without_group
from adjudge.runs.folder import reading, run_facts
from adjudge.runs.report_facts import grouping_column
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
from adjudge.stats.estimate import Estimate, FigureShape, undefined
from adjudge.stats.intervals import Interval, clusters_at
from adjudge.stats.refusal import (
    Needed,
    Refusal,
    RefusalShape,
    cannot_plan,
    doubts,
    labels_needed,
    too_few,
)
from adjudge.stats.sequence import Stream, confidence_sequence, sequential_rate
from adjudge.trust.agreement import AgreementReport, AgreementSettings, agreement_of
from adjudge.trust.confusion import Confusion, confusion_of
from adjudge.trust.contestants import Contestants
from adjudge.trust.distance import Distance, DistanceShape, distance_of
from adjudge.trust.estimators import corrected_score, needed_for_score, well_known
from adjudge.trust.labelled_judges import (
    LabelledJudge,
    configurations,
    labelled_judges,
    learned_labels_note,
    replaced_labels_note,
)
from adjudge.trust.labels.queue import verdict_of
from adjudge.trust.labels.rows_of_draws import RowPlaces
from adjudge.trust.labels.store import LabelStore, counting_labels
from adjudge.trust.large_texts import RowsApart, rows_apart
from adjudge.trust.measure import Measure
from adjudge.trust.panel_check import PanelReport, members_say, panel_of
from adjudge.trust.rows import SPECIAL_COLUMNS, LabelledRow, Rows, Votes, by_row, repeats
from adjudge.trust.slices import SliceReport, SlicesShape, slices_of
from adjudge.trust.usable_labels import LabelSettings, LabelsUsed, nonzero, sort_labels

LEVEL = Number(above=0.5, below=1)
LEVEL_HELP = "Confidence level of all intervals."


@dataclass(frozen=True, kw_only=True)
class CalibrationSettings(LabelSettings):
    """Settings of a calibration."""

    level: float = key(LEVEL, LEVEL_HELP, 0.95, option="--confidence")
    target_width: float = key(Number(above=0, most=1), "Target width of the interval.", 0.1)
    """From its lower limit to its upper one, as a share of the scale."""
    all_estimators: bool = key(
        Flag(),
        "Also show the PPI++ and Rogan-Gladen estimates and, for a panel, the Dawid-Skene model.",
        False,
    )
    agreement: AgreementSettings | None = key(
        Record(AgreementSettings),
        "Settings for measuring agreement; None: do not measure it.",
        AgreementSettings(),
    )
    by: str | None = key(
        Text(),
        "Also give the corrected number and agreement for each value of this column "
        "(simultaneous intervals).",
        None,
        metavar="COLUMN",
    )
    sequential: bool = key(
        Flag(),
        "Use limits that stay valid however often you look while labelling, so you can stop at "
        "any time. They are wider.",
        False,
    )
    these_rows: bool = key(
        Flag(),
        "Give intervals for exactly these rows, not for rows like them. They are narrower, "
        "because only unlabelled rows are uncertain.",
        False,
    )
    looks: int = 0
    """After how many parts of the labels, in their order, the corrected number is told."""


class RateShape(TypedDict):
    """A rate with its confidence limits."""

    rate: float | None
    lower: float | None
    upper: float | None
    n: Annotated[int, "rows or labels that it stands on"]
    reason: NotRequired[str]
    method: NotRequired[str]


class LabelsUsedShape(TypedDict):
    """The labels behind a number."""

    n: int
    by_verdict: Count
    design: Count
    annotators: Sequence[str]
    kind: str | None


class EstimatorShape(TypedDict):
    """An estimate that readers know by name."""

    method: str
    rate: float | None
    lower: float | None
    upper: float | None
    n: int
    reason: NotRequired[str]


class CalibrationShape(TypedDict):
    """The trust in a judge, by labels."""

    judge: str
    criteria: str
    system: NotRequired[Annotated[str, "the system whose answers they are, if several answered"]]
    rate_of: Annotated[str, "the option whose share it is, or the name of the number"]
    scale: Annotated[Sequence[float], "the least and the most that it can be"]
    rows: int
    failed: Annotated[int, "of these, without a verdict"]
    rows_added_since_draw: Annotated[int, "rows that could not be drawn; no number is about them"]
    rows_skipped: Annotated[int, "drawn rows without a label; the intervals hold whatever they are"]
    interval_of: Annotated[str, "'rows like these', or 'these rows' alone"]
    naive: RateShape
    corrected: Annotated[RateShape | None, "null where it is refused"]
    labels_only: Annotated[RateShape, "by the labels, without the judge"]
    refusal: RefusalShape | None
    labels: LabelsUsedShape
    confusion: Annotated[Mapping[str, Count], "what people say: what the judge says: rows"]
    sensitivity: Annotated[FigureShape | None, "null where there is no pass and fail"]
    specificity: FigureShape | None
    distance: Annotated[DistanceShape | None, "from the judge's answer to people's, if ordered"]
    agreement: Annotated[Mapping[str, object] | None, "every agreement figure"]
    needed: Annotated[Mapping[str, object], "labels for a narrower interval"]
    estimators: Annotated[Sequence[EstimatorShape], "estimates that readers know by name"]
    shares: Annotated[Mapping[str, RateShape], "option: its corrected share, of more than two"]
    panel: Annotated[Mapping[str, object] | None, "of a panel: its members by the labels"]
    slices: SlicesShape | None
    lock: Annotated[str | None, "the identity of the judge that the figures are of"]
    level: float
    notes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Calibration(JudgeCriterion, HtmlRepr):
    """A judge's number on one criterion, corrected by labels.

    Example::

        calibration = calibrate(results, labels)
        if calibration.corrected:
            print(calibration.corrected.value, calibration.corrected.lower)
        else:
            print(calibration.refusal.text)
    """

    lock: str | None
    """The identity of the judge that the confusion is of."""
    level: float
    measure: Measure
    rows: int
    failed: int
    count: int
    """Number of labelled texts behind the corrected number; copies of one text count once."""
    naive: Estimate
    """The judge's own number, as if it were never wrong."""
    these_rows: bool
    """True if the intervals of the corrected number and of the labels alone are for exactly these
    rows, not for rows like them.
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
    """The corrected rate or mean; None after a refusal."""
    refusal: Refusal | None
    labels: LabelsUsed
    labels_by_verdict: Mapping[str, int]
    rows_by_verdict: Mapping[str, int]
    needed: Needed
    confusion: Confusion
    others: tuple[Estimate, ...] = ()
    """Estimates that readers know by name."""
    shares: Mapping[str, Estimate] = field(default_factory=dict)
    """Option → its corrected share, if there are more than two options and no refusal."""
    distance: Distance | None = None
    """The distance between people's answer and the judge's, if answers are ordered."""
    agreement: AgreementReport | None = None
    panel: PanelReport | None = None
    notes: tuple[str, ...] = ()
    slices: SliceReport | None = None
    """The number for each slice of the rows, if a column was named."""
    one_of_several: bool = False
    """True if other judges of the run judge by the same criteria."""
    looks: tuple[Estimate, ...] = ()
    """The corrected number as it would have been after the first labels, the last one as it is."""
    system: str = ""
    """The system that gave the answers, if several targets answered: each is corrected by its own
    labels.
    """

    @property
    def name(self) -> str:
        return of_system(super().name, self.system)

    @property
    def is_comparison(self) -> bool:
        """Return True if responses are compared."""
        return TIE in self.measure.options

    def to_dict(self) -> JsonDict:
        labels = fill(
            LabelsUsedShape,
            self.labels,
            n=self.count,
            by_verdict=self.labels_by_verdict,
            design=self.labels.designs,
        )
        estimators = [
            {"method": estimate.method, **estimate_data(estimate)} for estimate in self.others
        ]
        return fill(
            CalibrationShape,
            self,
            rate_of=self.measure.name,
            scale=self.measure.range,
            rows_added_since_draw=self.added,
            rows_skipped=self.skipped,
            interval_of="these rows" if self.these_rows else "rows like these",
            naive=estimate_data(self.naive),
            corrected=estimate_data(self.corrected, self.corrected.method)
            if self.corrected
            else None,
            labels_only=estimate_data(self.labels_only),
            labels=labels,
            confusion=self.confusion.table,
            sensitivity=self.confusion.sensitivity,
            specificity=self.confusion.specificity,
            estimators=estimators,
            shares={option: estimate_data(estimate) for option, estimate in self.shares.items()},
        )


def estimate_data(estimate: Estimate, method: str = "") -> JsonDict:
    """Return an estimate as a JSON-ready dict."""
    return fill(RateShape, estimate, rate=estimate.value, n=estimate.count, method=method)


_SETTINGS = CalibrationSettings()
WEIGHTED_NUMBERS = Refusal(
    "weighted_numbers",
    Message(
        "labels of rows drawn with unequal chances correct shares and scores of options, not "
        "numbers; label rows in the random queue"
    ),
)


GROWN_NUMBERS = Refusal(
    "grown_run",
    Message(
        "rows were added between the labels, so rows had different chances to be drawn, and such "
        "labels cannot correct numbers: calibrate with those of one draw (--labels FILE)"
    ),
)


def calibrate(
    results: Iterable[Result],
    labels: Iterable[Label],
    *,
    lock: str | None = None,
    learned_rows: Collection[str] = (),
    settings: CalibrationSettings = _SETTINGS,
) -> Calibration:
    """Correct the judge's number on one criterion, using labels of some of its results.

    ``lock``: the judge's identity. Labels drawn within a judge's verdicts must name it.
    ``learned_rows``: the rows that a learned judge was trained on, as its model's ``learned_rows``
    names them. They are left out, since a judge is more often right about them.
    """
    results_list = list(results)
    names = list(dict.fromkeys(result.criteria.name for result in results_list))
    if len(names) != 1:
        raise SetupError(
            "calibrate takes results of one criterion, not of {names}",
            names=", ".join(map(repr, names)) or Message("none"),
        )
    given = [label for label in labels if label.criteria == names[0]]
    counting = list(counting_labels(given))
    used = sort_labels(
        counting,
        lock,
        model_made=settings.labels_are_model_made,
        since=max(settings.changes.values(), default=None),
        older=settings.labels_before_change,
    )
    learned = {label.row for label in used.labels if label.row in learned_rows}
    learned_labels = learned_labels_note(sum(label.row in learned for label in used.labels))
    used = used.without(learned)
    judgments = [result.record("", place, votes=True) for place, result in enumerate(results_list)]
    measured = [record for record in judgments if record.identity not in learned_rows]
    scale = LabelScale(
        results_list[0].criteria,
        range=results_list[0].rating_range,
        compares=isinstance(results_list[0], PairwiseInstanceResult),
    )
    compared = Contestants.of_records(judgments) if scale.compares else Contestants()
    rows = Rows(
        scale,
        by_row(used.labels),
        settings.cluster,
        settings.by,
        lambda record: record.votes or (),
        _vote_storage(settings),
        contestants=compared,
        weighting=used.weighting,
        drawn_of=used.drawn_of,
        skipped_rows=used.skipped,
    )
    for number, record in enumerate(measured):
        rows.add(record, number)
    result = calibration(rows, used, judge=names[0], lock=lock, settings=settings)
    left_out = [
        *replaced_labels_note(given, counting),
        *learned_labels,
        *_learned_note(len(judgments) - len(measured)),
    ]
    return replace(result, notes=(*result.notes, *left_out))


def _learned_note(count: int) -> list[Message]:
    return nonzero(
        plural(
            "{count} row that the judge learned from is left out: the number is about the others",
            "{count} rows that the judge learned from are left out: the number is about the others",
            count,
        )
    )


def _vote_storage(settings: CalibrationSettings) -> list[Votes] | None:
    # Only Dawid and Skene's model needs the votes of all rows.
    return [] if settings.all_estimators and settings.agreement else None


def calibrate_run(
    folder: str | Path,
    labels: Iterable[Label] | None = None,
    *,
    criteria: str | None = None,
    judge: str | None = None,
    settings: CalibrationSettings = _SETTINGS,
) -> list[Calibration]:
    """Calibrate each judge and criterion of a run that has labels, streaming the rows.

    ``labels``: used instead of those in the run folder. ``criteria``, ``judge``: restrict the
    result to these. Without a column in the settings, that of the run's gates says which rows
    belong together.
    """
    if settings.cluster is None:
        settings = replace(settings, cluster=grouping_column(run_facts(folder).facts) or None)
    labelled_once = list(labelled_judges(folder, labels, criteria))
    judges_by_name = Counter(labelled.scale.name for labelled in labelled_once)
    calibrations = [
        replace(result, one_of_several=judges_by_name[labelled.scale.name] > 1)
        for labelled in labelled_once
        if judge in (None, labelled.judge)
        for result in _calibrate_judge(labelled, settings)
    ]
    if judge is not None and judge not in (judges := configurations(folder)):
        raise SetupError(
            "{folder} has no judge {judge!r}; it has {known}",
            folder=folder,
            judge=judge,
            known=", ".join(map(repr, judges)),
        )
    return calibrations


def _calibrate_judge(
    labelled_judge: LabelledJudge, settings: CalibrationSettings
) -> list[Calibration]:
    """Calibrate one judge. If several targets were judged, return one result per target."""
    used = labelled_judge.used(settings)
    with reading(labelled_judge.folder) as ledger:
        # the steps of a cascade are not a panel
        needs_votes = settings.agreement is not None and not labelled_judge.configuration.steps

        def votes(record: JudgmentRecord) -> Votes:
            return votes_of(ledger, labelled_judge.judge, record.index) if needs_votes else ()

        compares = labelled_judge.scale.scale.compares
        contestants = (
            Contestants.of_judge(ledger, labelled_judge.judge) if compares else Contestants()
        )
        labels, first_kinds = by_row(used.labels), dict[str, str]()

        def new_rows() -> Rows:
            return Rows(
                labelled_judge.scale.scale,
                labels,
                settings.cluster,
                settings.by,
                votes,
                _vote_storage(settings),
                contestants=contestants,
                weighting=used.weighting,
                first_kinds=first_kinds,
                drawn_of=used.drawn_of,
                skipped_rows=used.skipped,
            )

        by_system: defaultdict[str, Rows] = defaultdict(new_rows)
        in_votes = used.weighting is not None and used.weighting.reads_votes
        left_out_count = learned_count = place = 0
        number: int | None = None
        learned_rows, scale_name = (
            labelled_judge.configuration.learned_rows,
            labelled_judge.scale.name,
        )
        plain_rows, identity = new_rows(), ""
        places = RowPlaces(LabelStore(labelled_judge.folder).drawn_rows(scale_name))

        def is_enough(stored: StoredVerdict) -> bool:
            nonlocal identity, number
            if stored.criterion != scale_name:
                return True
            identity = identity_of(stored.fields)
            number = places.number(identity, place)
            return identity not in learned_rows and plain_rows.is_enough(stored, identity, number)

        found: Iterable[StoredVerdict | JudgmentRecord] = (
            verdicts(ledger, labelled_judge.judge, is_enough, SPECIAL_COLUMNS)
            if plain_rows.reads_verdicts
            else records(ledger, judge=labelled_judge.judge, votes=in_votes)
        )
        for record in found:
            if isinstance(record, StoredVerdict):
                if record.criterion == scale_name:
                    by_system[""].add_unlabelled(record, identity)
                    place, number = place + 1, None
                continue
            if verdict_of(record, scale_name) is None:
                continue
            if number is None:
                number = places.number(record.identity, place)
            # It is more often right about these rows than about others.
            if record.identity in learned_rows:
                learned_count += 1
            elif is_of_sample(record):
                by_system[record.answered_by].add(record, number)
            else:
                left_out_count += 1
            place, number = place + 1, None
    labelled = {
        system: {row.identity for row in rows.labelled} for system, rows in by_system.items()
    }
    calibrations = {
        system: calibration(
            rows,
            # Each system is corrected by the labels of its own rows only.
            used.without(set().union(*labelled.values()) - labelled.get(system, set())),
            judge=labelled_judge.judge,
            lock=labelled_judge.lock,
            settings=settings,
        )
        for system, rows in (by_system or {"": new_rows()}).items()
    }
    left_out = nonzero(
        plural(
            "{count} row of the traffic was certain to be taken and is left out: the number "
            "covers only events that were equally likely to be taken",
            "{count} rows of the traffic were certain to be taken and are left out: the number "
            "covers only events that were equally likely to be taken",
            left_out_count,
        ),
    )
    left_out += _learned_note(learned_count)
    return [
        replace(
            result, system=name if len(calibrations) > 1 else "", notes=(*result.notes, *left_out)
        )
        for name, result in calibrations.items()
    ]


def calibration(
    rows: Rows, used: LabelsUsed, *, judge: str, lock: str | None, settings: CalibrationSettings
) -> Calibration:
    """Calibrate the judge of ``rows`` using their labels."""
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
    # how many rows each labelled one stands for
    weights = {
        part.verdict: part.rows / len(part.labels) for part in estimates.strata if part.labels
    }
    return Calibration(
        judge=judge,
        criteria=rows.scale.name,
        lock=lock,
        level=level,
        measure=measure,
        rows=len(rows.verdicts),
        failed=sum(verdict is None for verdict in rows.verdicts),
        count=len({row.unit for row in drawn}),
        naive=from_unit(estimates.naive, measure.range),
        these_rows=settings.these_rows,
        added=rows.late,
        skipped=len(rows.skipped),
        labels_only=from_unit(estimates.alone, measure.range),
        corrected=None if refused else from_unit(estimates.corrected, measure.range),
        refusal=refused,
        labels=used,
        labels_by_verdict=dict(_by_verdict(row.verdict for row in drawn)),
        rows_by_verdict=dict(_by_verdict(rows.verdicts)),
        needed=_plan_labels(estimates, rows, drawn, settings, refused=refused is not None),
        confusion=confusion_of(
            drawn,
            measure,
            [weights.get(verdict, 0.0) for verdict in rows.strata[0]],
            level,
            rows.together,
            _why_no_limits(rows, drawn),
        ),
        others=tuple(
            from_unit(estimate, measure.range) for estimate in well_known(rows, drawn, level)
        )
        if settings.all_estimators and not several
        else (),
        shares={} if refused or settings.sequential else _shares(rows, drawn, settings),
        distance=None if used.refusal else distance_of(drawn, measure, level, rows.clusters),
        agreement=agreement,
        looks=() if refused else tuple(_looks(rows, drawn, settings)),
        slices=None if by_labels else slices_of(rows, drawn, level, these_rows=settings.these_rows),
        panel=panel_of(
            rows.compared, measure, level, _member_votes(rows), settings.agreement.missing
        )
        if settings.agreement
        else None,
        notes=(
            *_width_notes(estimates.corrected, once, settings),
            *([] if refused else _doubts(estimates, rows, drawn)),
            *_notes(used, estimates, rows),
            *(agreement.notes if agreement else ()),
        ),
    )


def _estimates(
    rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings
) -> tuple[_Estimates, Estimate]:
    """Return the estimates, plus the corrected rate with limits that are valid for a single
    look.
    """
    level = settings.level
    estimates = (_numbers if rows.measure.is_number else _options)(rows, drawn, settings)
    once = estimates.corrected
    if settings.sequential:
        estimates = _sequential_estimates(estimates, rows, drawn, settings)
    if several := rows.contestants.refusal:
        none = undefined("win rate", 0, several.text, level=level)
        estimates = replace(estimates, naive=none, alone=none)
    return estimates, once


def _looks(
    rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings
) -> Iterator[Estimate]:
    """Yield the corrected number after the first labels, then after more and more of them.

    Yields nothing if the labels' order is unknown, and skips looks with too few labels.
    """
    first_labelled = {
        row.identity: min(label.at for label in rows.labels[row.identity]) for row in drawn
    }
    if len(set(first_labelled.values())) < 2:
        return
    in_order = sorted(drawn, key=lambda row: first_labelled[row.identity])
    for number in range(1, settings.looks + 1):
        some = in_order[: round(len(in_order) * number / settings.looks)]
        estimates, _ = _estimates(rows, some, settings)
        if not too_few(estimates.strata, every=rows.weighting is not None):
            yield from_unit(estimates.corrected, rows.measure.range)


def _why_no_limits(rows: Rows, drawn: Sequence[LabelledRow]) -> Message | None:
    """Return why shares of the labelled rows have no limits; None if all rows were drawn from the
    whole run.
    """
    if all(row.random for row in drawn):
        return None
    if rows.is_grown:
        return Message("rows were added between the draws of labels: no limits")
    if rows.weighting is not None:
        return Message("rows were drawn with different chances: no limits")
    return Message("rows were drawn within verdicts: no limits")


def _member_votes(rows: Rows) -> list[MemberVote] | None:
    if rows.all_votes is None:
        return None
    return [
        MemberVote(place, model, option)
        for place, votes in enumerate(rows.all_votes)
        for model, option in members_say(votes, rows.measure.options).items()
    ]


@dataclass(frozen=True)
class _Estimates:
    """Estimates before they are mapped to the scale."""

    strata: Sequence[Stratum]
    naive: Estimate
    alone: Estimate
    corrected: Estimate
    apart: RowsApart
    """The rows of large texts, which the labels of other texts say nothing of."""


def _plan_labels(
    estimates: _Estimates,
    rows: Rows,
    drawn: Sequence[LabelledRow],
    settings: CalibrationSettings,
    *,
    refused: bool,
) -> Needed:
    """Plan how many labels the target width needs. The plan has no number if that cannot be
    computed.
    """
    target, width = settings.target_width, estimates.corrected.width
    of_scale = rows.measure.range != (0, 1)
    if not refused and width is not None and width <= target:
        return Needed(target, estimates.corrected.count, 0)
    if several := rows.contestants.refusal:
        return cannot_plan(target, several.text, of_scale=of_scale)
    if estimates.corrected.count and (why := _why_no_plan(estimates, rows, settings)):
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
        why = Message("according to the plan, these labels should already be enough")
        return cannot_plan(target, why, of_scale=of_scale)
    return plan


def _why_no_plan(
    estimates: _Estimates, rows: Rows, settings: CalibrationSettings
) -> Message | None:
    """Return why labels cannot be planned; None if they can.

    The plan assumes that further labels are independent, and that people decide each row.
    """
    if settings.sequential:
        return Message("the interval has to hold at every look")
    if rows.together is not None or estimates.apart.places:
        return Message("rows belong together, so their labels are not independent")
    if any(part.verdict is None and not part.labels for part in estimates.strata):
        return Message("failed judgments have no label")
    if rows.skipped:
        return Message("some drawn rows were skipped or marked unsure")
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
        _labels_only(rows, drawn, settings),
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
    """Return the positions of rows that share an earlier row's text and label."""
    return repeats({row.place: row.unit for row in drawn})


def _numbers(rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings) -> _Estimates:
    keys, order = rows.strata
    level, apart = settings.level, rows_apart(rows, drawn)
    values = [rows.measure.value(number) for number in rows.numbers]
    return _Estimates(
        stratify(keys, rows.label_values(drawn), order, copies=_copies(drawn)),
        naive(values, level=level, clusters=clusters_at(rows.row_clusters, rows.numbered)),
        _labels_only(rows, drawn, settings),
        corrected_score(rows, drawn, level, these_rows=settings.these_rows, apart=apart.places),
        apart,
    )


def _check_sequential(rows: Rows, settings: CalibrationSettings) -> None:
    """Raise a SetupError if settings or rows do not allow limits that hold at every look."""
    if settings.cluster:
        raise SetupError("--sequential does not work with a cluster column: leave one of them out")
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


def _sequential_estimates(
    estimates: _Estimates,
    rows: Rows,
    drawn: Sequence[LabelledRow],
    settings: CalibrationSettings,
) -> _Estimates:
    """Return estimates with limits that hold at every look.

    Numbers are treated as one verdict. Since each text was drawn once, the limits are for the first
    row of each text. Copies share its label; without a label they may have any value.
    """
    _check_sequential(rows, settings)
    labels, repeated_places = rows.label_values(drawn), rows.repeated_places
    keys, order = rows.strata
    first_rows = [place for place in range(len(keys)) if place not in repeated_places]
    skips = [number for number, place in enumerate(first_rows) if place in rows.skipped]
    strata = stratify(
        [keys[place] for place in first_rows],
        [labels[place] for place in first_rows],
        order,
        skipped=skips,
    )
    level, count = settings.level, sum(len(stratum.labels) for stratum in strata)
    means = {stratum.verdict: stratum.mean for stratum in strata}
    of_copies = [(labels[place], means.get(keys[place])) for place in sorted(repeated_places)]
    low, high = (
        sequential_rate(
            [
                # skipped rows may be either end
                Stream(
                    stratum.rows / len(keys),
                    hits := math.fsum(stratum.labels) + end * len(stratum.skipped),
                    stratum.count + len(stratum.skipped) - hits,
                )
                for stratum in strata
            ],
            len(keys),
            level=level,
            apart=[end if label is None else label for label, _ in of_copies],
        )
        for end in (0.0, 1.0)
    )
    is_known = all(stratum.labels for stratum in strata)
    value = estimates.corrected.value if is_known else None
    if is_known and repeated_places:
        of_first = math.fsum(stratum.rows * (stratum.mean or 0.0) for stratum in strata) / len(
            first_rows
        )
        value = mean_with_apart(of_first, len(first_rows), of_copies)
    lower, upper = low.lower, high.upper
    if value is not None:  # a score is corrected by the judge's numbers, its limits are not
        lower, upper = min(lower, value), max(upper, value)

    method = Message("post-stratified, sequential")
    reason = "" if is_known else NO_LABEL
    undrawn = {place for place in repeated_places if labels[place] is None} - rows.skipped.keys()
    texts = {rows.texts[place] for place in undrawn}
    return replace(
        estimates,
        corrected=Estimate(value, lower, upper, count, method, level, reason),
        alone=_sequential_labels_only(estimates.alone, rows, drawn, of_copies),
        apart=RowsApart(frozenset(repeated_places), len(undrawn), len(texts)),
    )


def _sequential_labels_only(
    alone: Estimate, rows: Rows, drawn: Sequence[LabelledRow], of_copies: Sequence[LabelApart]
) -> Estimate:
    """Return the estimate from labels alone, with limits that hold at every look.

    ``of_copies``: labels of copies, which are not part of the sample.
    """
    values = [
        row.value(rows.measure)
        for row in drawn
        if row.random and row.place not in rows.repeated_places
    ]
    if not values:
        return alone
    skipped = sum(
        is_drawn and place not in rows.repeated_places for place, is_drawn in rows.skipped.items()
    )
    total, value = len(rows.verdicts), alone.value
    limits: list[Interval] = []
    for end in (0.0, 1.0):
        # Skipped rows may be either end of the scale: the limits hold for both.
        filled = [*values, *[end] * skipped]
        if not of_copies:
            limits.append(confidence_sequence(filled, level=alone.level))
            continue
        hits = math.fsum(filled)
        sample = Stream(1 - len(of_copies) / total, hits, len(filled) - hits)
        copies = [end if label is None else label for label, _ in of_copies]
        limits.append(sequential_rate([sample], total, level=alone.level, apart=copies))
    if of_copies:
        unlike = [(label, None) for label, _ in of_copies]
        value = mean_with_apart(fmean(values), total - len(of_copies), unlike)
    return replace(
        alone, value=value, lower=limits[0].lower, upper=limits[1].upper, count=len(values)
    )


def _width_notes(
    corrected: Estimate, once: Estimate, settings: CalibrationSettings
) -> Iterator[Message]:
    """Yield a note on how much wider the interval is because it holds at every look."""
    if settings.sequential and corrected.width and once.width:
        yield Message(
            "the interval is valid however often you look at it; this makes it {ratio:.2f} times "
            "as wide as one for a single look",
            ratio=corrected.width / once.width,
        )


def _labels_only(
    rows: Rows, drawn: Sequence[LabelledRow], settings: CalibrationSettings
) -> Estimate:
    """Estimate the number from labels alone.

    Rows added to top up a verdict, or drawn with different chances, are no random sample of all
    rows and do not count.
    """
    sample = [row for row in drawn if row.random]
    if drawn and not sample:
        grown = Message("rows were added between the labels, so that their chances differ")
        why = grown if rows.is_grown else Message("no labelled row was drawn among all rows")
        count = len(drawn) if rows.is_grown else 0
        return undefined(Message("labels only"), count, why, level=settings.level)
    apart = rows_apart(rows, sample).places
    sample = [row for row in sample if row.place not in apart]
    skipped = [place for place, is_drawn in rows.skipped.items() if is_drawn and place not in apart]
    count = len(rows.verdicts) - len(apart)
    alone = labels_only(
        [row.value(rows.measure) for row in sample],
        level=settings.level,
        clusters=clusters_at(rows.together, [row.place for row in sample]),
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
    return within_possible(alone, [label for label in labels if label is not None], len(labels))


def _doubts(estimates: _Estimates, rows: Rows, drawn: Sequence[LabelledRow]) -> list[Message]:
    measure = rows.measure
    answers = [(answer, row) for row in drawn if (answer := row.judge_answer) is not None]
    corrected = from_unit(estimates.corrected, measure.range)
    bounded = corrected.value is None  # by failed judgments, which the labels alone say nothing of
    return doubts(
        [measure.value(answer) for answer, _ in answers],
        [row.value(measure) for _, row in answers],
        corrected,
        undefined("labels only", 0, "") if bounded else from_unit(estimates.alone, measure.range),
        clusters_at(rows.together, [row.place for _, row in answers]),
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
    """Yield verdicts with counts, in alphabetical order, failed judgments last."""
    counts = Counter(verdicts)
    for verdict in sorted(
        counts, key=lambda verdict_or_none: (verdict_or_none is None, str(verdict_or_none))
    ):
        yield ("failed" if verdict is None else verdict), counts[verdict]


def _notes(used: LabelsUsed, estimates: _Estimates, rows: Rows) -> Iterator[str]:
    if used.model_made:
        yield Message("the labels were made by a model: this corrects one model by another")
    yield from used.notes
    yield from rows_without_group(rows.without_group, rows.cluster or "")
    judged_rows = {row.identity for row in rows.labelled} | rows.late_labelled
    yield from nonzero(
        plural(
            "{count} label is about a row that this judge has not judged",
            "{count} labels are about rows that this judge has not judged",
            sum(label.row not in judged_rows for label in used.labels) - rows.unfit,
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
            "{count:,} row has no label, because copies of its text were labelled differently",
            "{count:,} rows have no label, because copies of their texts were labelled differently",
            rows.contradicted,
        ),
        plural(
            "{rows} rows are copies of one text that was not drawn; the intervals allow for any "
            "value of them",
            "{rows} rows are copies of {count} texts that were not drawn; the intervals allow "
            "for any value of them",
            estimates.apart.undrawn_texts,
            rows=estimates.apart.undrawn_rows,
        ),
        plural(
            "annotators are evenly split on {count} row: the mean of their answers counts in the "
            "rates, and agreement leaves it out",
            "annotators are evenly split on {count} rows: the mean of their answers counts in the "
            "rates, and agreement leaves them out",
            sum(row.truth is None for row in rows.labelled),
        ),
    )
    if estimates.corrected.reason and estimates.corrected.lower is not None:
        yield estimates.corrected.reason
