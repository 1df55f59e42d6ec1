"""Rank judges by their agreement with people, over a run whose rows have labels."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypedDict

from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.judge_configuration import judges_of
from adjudge.core.domain.judge_criterion import JudgeCriterion
from adjudge.core.domain.label import Label, LabelScale
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.verdict import TIE
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.file import read_meta
from adjudge.core.ledger.records import records, votes_of
from adjudge.errors import RunError
from adjudge.messages import Message, join, plural
from adjudge.runs.folder import reading
from adjudge.stats.agreement import TwoRaters
from adjudge.stats.difference import ComparisonOutcome, Difference, compare
from adjudge.stats.estimate import Estimate, FigureShape, undefined
from adjudge.stats.intervals import rows_interval, share_limits
from adjudge.trust.agreement import GROWN, AgreementReport, AgreementSettings, agreement_of
from adjudge.trust.contestants import Contestants
from adjudge.trust.judge_figures import (
    Effort,
    LabelledJudgment,
    confidence_figures,
    consistency,
    effort_of,
    order_effect,
    reasons_of,
    vote_agreement,
)
from adjudge.trust.labels.queue import verdict_of
from adjudge.trust.labels.rows_of_draws import RowPlaces
from adjudge.trust.labels.scales import judge_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.measure import Measure
from adjudge.trust.rows import Answer, LabelledRow, Rows, Votes, by_row
from adjudge.trust.usable_labels import draw_sizes, nonzero

FACT = "bench"
"""What a run folder that a benchmark made keeps about it."""
_LONGEST_TEXT = 400
_MOST_NUMBERS = 20


class RowKey(NamedTuple):
    """Identifies a row; equal for all judges of a run."""

    unit: str
    """What was drawn to be labelled (``LabelledRow.unit``): all copies of a text share it."""
    copy: int = 0
    """Which of the copies it is."""


@dataclass(frozen=True, kw_only=True)
class BenchSettings:
    """Settings of a benchmark."""

    level: float = 0.95
    agreement: AgreementSettings = AgreementSettings()
    only: str | None = None
    """Pattern for the ids of rows, in which ``*`` stands for any text."""
    prices: PriceTable = field(default_factory=PriceTable.load)


class DisagreementShape(TypedDict):
    """A row on which the judge and people disagree."""

    row: int
    id: str | None
    judge_says: str | float
    people_say: str | float
    labels: Annotated[Mapping[str, str | float | None], "annotator: what they say"]
    explanation: str
    text: str


class AmongPeopleShape(TypedDict):
    """The agreement of two people, and of the judge with one of them, on the same rows."""

    people: int
    pairs: Annotated[
        int, "rows that two people labelled and the judge decided, over all pairs of people"
    ]
    agreement: Annotated[float, "of two people"]
    kappa: float | None
    judge_agreement: Annotated[float, "of the judge with one of them"]
    judge_kappa: float | None


class BehindShape(FigureShape):
    """The lead of the best judge."""

    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]


class BenchedJudgeShape(TypedDict):
    """The results of one judge on the labelled rows."""

    rank: int
    judge: str
    criteria: str
    identity: str
    models: Sequence[str]
    rows: Annotated[int, "labelled rows that it was asked about"]
    failed: Annotated[int, "of these, without a verdict"]
    reasons: Count
    figure: Literal["accuracy", "Spearman"]
    agreement: FigureShape
    kappa: FigureShape
    single_vote: FigureShape
    consistency: FigureShape
    order_effect: FigureShape
    confidence_error: Annotated[FigureShape, "minus what chance explains"]
    confidence_error_by_chance: FigureShape
    brier: FigureShape
    calls: int
    tokens: int
    cost_usd: float | None
    cost_usd_per_1000_rows: float | None
    unpriced_models: Sequence[str]
    seconds_per_row: float | None
    behind_best: BehindShape | None
    told_apart_from_best: Annotated[
        bool | None, "whether the best judge is better; null for the best itself"
    ]
    details: Annotated[Mapping[str, object], "every agreement figure, as calibrate prints it"]
    among_people: AmongPeopleShape | None
    disagreements: Sequence[DisagreementShape]


class RankingShape(TypedDict):
    """Judges that answer one question."""

    question: str
    ceiling: Annotated[AmongPeopleShape | None, "of the first judge, as its among_people"]
    baselines: Annotated[Mapping[str, FigureShape], "what judges would reach that read nothing"]
    chosen: Annotated[
        FigureShape | None, "the judge that ranks first, on rows that had no part in choosing it"
    ]
    cannot_be_told_apart: Annotated[Sequence[str], "the best judge and those as good as it"]
    judges: Annotated[Sequence[BenchedJudgeShape], "the best first"]


@dataclass(frozen=True)
class Disagreement:
    """A row on which the judge and people disagree."""

    row: int
    """The place of the judgment among the judge's, from 1."""
    id: str | None
    said: Answer
    truth: Answer
    answers: Mapping[str, Answer]
    """Annotator → what they say."""
    explanation: str
    text: str
    """The judged text, shortened."""
    identity: str = ""
    """The row's ``Instance.identity``."""

    def to_dict(self) -> JsonDict:
        return fill(
            DisagreementShape,
            self,
            judge_says=self.said,
            people_say=self.truth,
            labels=self.answers,
        )


@dataclass(frozen=True, kw_only=True)
class AmongPeople:
    """Agreement of pairs of people, and of the judge with either person, on the same rows.

    These are the rows that both people labelled and the judge decided, even if the people disagree.
    """

    people: int
    pairs: int
    """These rows, added up over all pairs of people."""
    agreement: float
    kappa: float | None
    judge_agreement: float
    judge_kappa: float | None

    def to_dict(self) -> JsonDict:
        return fill(AmongPeopleShape, self)


@dataclass(frozen=True, kw_only=True)
class BenchedJudge(JudgeCriterion):
    """The results of one judge with one criterion."""

    rank: int = 0
    identity: str
    models: tuple[str, ...]
    rows: int
    """Labelled rows that it was asked about."""
    failed: int
    reasons: Mapping[str, int]
    figure: str
    """The measure of agreement: accuracy or, for numbers, Spearman's correlation."""
    agreement: Estimate
    kappa: Estimate
    single_vote: Estimate
    consistency: Estimate
    order_effect: Estimate
    confidence_error: Estimate
    """Less what chance makes of it (``confidence_error_by_chance``)."""
    confidence_error_by_chance: Estimate
    brier: Estimate
    effort: Effort
    report: AgreementReport
    among_people: AmongPeople | None
    disagreements: tuple[Disagreement, ...]
    behind: Difference | None = None
    """The best judge less this one, over the rows that both decided."""
    told_apart: bool | None = None
    """True if the best judge is better, corrected for all comparisons of the ranking; None for the
    best itself.
    """
    scores: Mapping[RowKey, float] = field(default_factory=dict, repr=False)
    """Row → whether the judge was right."""

    def to_dict(self) -> JsonDict:
        effort, behind = self.effort, self.behind
        return fill(
            BenchedJudgeShape,
            self,
            calls=effort.calls,
            tokens=effort.tokens,
            cost_usd=effort.usd,
            cost_usd_per_1000_rows=effort.usd_per_1000,
            unpriced_models=effort.unpriced,
            seconds_per_row=effort.seconds,
            behind_best=fill(BehindShape, behind, **behind.estimate.to_dict()) if behind else None,
            told_apart_from_best=self.told_apart,
            details=self.report,
        )


@dataclass(frozen=True)
class Ranking:
    """Judges that answer the same question, best first."""

    question: str
    judges: tuple[BenchedJudge, ...]
    baselines: Mapping[str, Estimate]
    chosen: Estimate | None = None
    """How well the judge agrees that such a ranking puts first: on rows that had no part in
    choosing it, with limits that hold whichever of the judges it is. None for one judge.
    """

    @property
    def tied(self) -> tuple[BenchedJudge, ...]:
        """The best judge and those indistinguishable from it; empty if there are none."""
        rivals = [judge for judge in self.judges[1:] if judge.told_apart is False]
        return (self.judges[0], *rivals) if rivals else ()

    @property
    def figure(self) -> str:
        """The name of the agreement measure."""
        return self.judges[0].figure

    def to_dict(self) -> JsonDict:
        return fill(
            RankingShape,
            self,
            ceiling=self.judges[0].among_people,
            cannot_be_told_apart=[judge.judge for judge in self.tied],
        )


@dataclass(frozen=True)
class Benchmark:
    """A run with labels, as a benchmark of its judges."""

    source: str
    rankings: tuple[Ranking, ...]
    settings: BenchSettings
    notes: tuple[str, ...] = ()

    @property
    def judges(self) -> list[BenchedJudge]:
        return [judge for ranking in self.rankings for judge in ranking.judges]


def benchmark_of(folder: str | Path, settings: BenchSettings | None = None) -> Benchmark:
    """Rank a run's judges by their agreement with its human labels.

    Rows are streamed; only labelled ones are kept in memory. Rows that a judge learned from are
    left out for that judge.
    """
    settings = settings or BenchSettings()
    with reading(folder) as ledger:
        meta = read_meta(ledger)
    facts = object_in(meta.get(FACT))
    labels = [label for label in LabelStore(folder).of_each_copy() if label.is_by_person]
    if not labels:
        raise RunError(
            "{folder} has no human labels to measure judges against: label rows with 'adjudge "
            "label {folder}'",
            folder=folder,
        )
    configurations = judges_of(meta.get("configuration"))
    results, learned_notes = [], []
    for judge, scale, identity in judge_scales(folder):
        configuration = configurations[judge]
        if not configuration.models:
            continue
        # Rows that the judge learned from would flatter it.
        unlearned = [label for label in labels if label.row not in configuration.learned_rows]
        result = _measure(
            folder, judge, scale, identity, unlearned, settings, tuple(configuration.models)
        )
        results += [result] if result else []
        learned_rows = {label.row for label in labels if label.criteria == scale.name} - {
            label.row for label in unlearned
        }
        learned_notes += nonzero(_learned_note(judge, len(learned_rows), is_ranked=bool(result)))
    if not results:
        if learned_notes:
            raise RunError("{folder}: {why}", folder=folder, why=join("; ", learned_notes))
        raise RunError(
            "{folder} has labels, but no judge that judged those rows: name models with -m, and "
            "criteria with -c",
            folder=folder,
        )
    groups: dict[str, list[BenchedJudge]] = {}
    for result in results:
        # in a benchmark's own run, all criteria are candidates for one question
        groups.setdefault("" if facts else result.criteria, []).append(result)
    rankings = tuple(_rank(name, judges, settings) for name, judges in groups.items())
    notes = facts.get("notes")
    recorded_notes = tuple(map(str, notes)) if isinstance(notes, Sequence) else ()
    return Benchmark(
        str(facts.get("data") or folder),
        rankings,
        settings,
        (*recorded_notes, *learned_notes, *_notes(results, settings)),
    )


def _learned_note(judge: str, count: int, *, is_ranked: bool) -> Message:
    """Note how many labelled rows do not count because the judge learned from them."""
    if is_ranked:
        return plural(
            "{judge} learned from {count} of the labelled rows; its figures cover only the others",
            "{judge} learned from {count} of the labelled rows; its figures cover only the others",
            count,
            judge=judge,
        )
    return plural(
        "{judge} is not ranked, because it learned from all {count} of its labelled rows",
        "{judge} is not ranked, because it learned from all {count} of its labelled rows",
        count,
        judge=judge,
    )


def _measure(
    folder: str | Path,
    judge: str,
    scale: LabelScale,
    identity: str,
    labels: Sequence[Label],
    settings: BenchSettings,
    models: tuple[str, ...],
) -> BenchedJudge | None:
    criterion_labels = [label for label in labels if label.criteria == scale.name]
    numbers = [label.score for label in criterion_labels if label.score is not None]
    points = [option.points for option in scale.criteria.options if option.points is not None]
    if numbers and points and not scale.range and not scale.compares:
        # people gave numbers and the judge chooses options with scores: compare both as numbers
        scale = replace(scale, range=(min(*numbers, *points), max(*numbers, *points)))
    with reading(folder) as ledger:
        places = RowPlaces(LabelStore(folder).drawn_rows(scale.name))
        rows, labelled = _read_rows(ledger, judge, scale, criterion_labels, settings.only, places)
    if not labelled or not rows.verdicts:
        return None
    if not (compared := {row.place for row in rows.compared}):
        raise RunError("{folder}: {why}", folder=folder, why=GROWN)
    judgments = [judgment for judgment in labelled if judgment.row.place in compared]
    measure, level = rows.measure, settings.level
    report = agreement_of(rows, settings.agreement, level)
    figure = "Spearman" if measure.is_number else "accuracy"
    sure = confidence_figures([] if measure.is_number else judgments, level)
    return BenchedJudge(
        judge=judge,
        criteria=scale.name,
        identity=identity,
        models=models,
        rows=len(judgments),
        failed=sum(judgment.row.verdict is None for judgment in judgments),
        reasons=reasons_of(judgments),
        figure=figure,
        agreement=report.figures[figure],
        kappa=report.figures.get("kappa")
        or undefined("kappa", 0, Message("this figure is not defined for numbers"), level=level),
        single_vote=vote_agreement([] if measure.is_number else judgments, level),
        consistency=consistency(judgments, level),
        order_effect=order_effect(judgments, level),
        confidence_error=sure["ECE"],
        confidence_error_by_chance=sure["ECE by chance"],
        brier=sure["Brier"],
        effort=effort_of(judgments, settings.prices),
        report=report,
        among_people=None if measure.is_number else _among_people(judgments),
        disagreements=tuple(_disagreements(labelled, measure)),
        scores={} if measure.is_number else dict(_scores(judgments, settings.agreement.missing)),
    )


def _read_rows(
    ledger: sqlite3.Connection,
    judge: str,
    scale: LabelScale,
    labels: Sequence[Label],
    only: str | None,
    places: RowPlaces,
) -> tuple[Rows, list[LabelledJudgment]]:
    def votes(record: JudgmentRecord) -> Votes:
        return votes_of(ledger, judge, record.index)

    rows = Rows(
        scale,
        by_row(labels),
        read_votes=votes,
        contestants=Contestants.of_judge(ledger, judge),
        drawn_of=draw_sizes(labels),
    )
    judgments: list[LabelledJudgment] = []
    place = -1
    for record in records(ledger, judge=judge):
        if verdict_of(record, scale.name) is None:
            continue
        place += 1
        number = places.number(record.identity, place)
        if only is not None and not fnmatchcase(str(record.id), only):
            continue
        count_before = len(rows.labelled)
        rows.add(record, number)
        judgments += [LabelledJudgment(row, record) for row in rows.labelled[count_before:]]
    return rows, judgments


def _scores(judgments: Sequence[LabelledJudgment], missing: str) -> Iterator[tuple[RowKey, float]]:
    """Yield each row's score for the ranking. ``missing`` says how a missing verdict counts."""
    copies: Counter[str] = Counter()
    for judgment in judgments:
        unit = judgment.row.unit
        key = RowKey(unit, copies[unit])
        copies[unit] += 1
        if judgment.right is not None:
            yield key, float(judgment.right)
        elif judgment.row.truth is not None and missing != "drop":
            yield key, float(missing == "tie" and judgment.row.truth == TIE)


def compare_rows(
    scores_a: Mapping[RowKey, float], scores_b: Mapping[RowKey, float], *, level: float
) -> Difference:
    """Compare two judges on the rows of ``scores_a``, which both must have judged.

    Copies of a text count as one.
    """
    rows = list(scores_a)
    units = [row.unit for row in rows]
    clusters = units if len(set(units)) < len(units) else None
    return compare(
        [scores_a[row] for row in rows],
        [scores_b[row] for row in rows],
        clusters=clusters,
        level=level,
    )


def _disagreements(
    judgments: Sequence[LabelledJudgment], measure: Measure
) -> Iterator[Disagreement]:
    """Yield the rows on which the judge and people disagree.

    Numbers are seldom equal, so for them only the rows with the largest differences are returned.
    """
    wrong = [judgment for judgment in judgments if judgment.right is False]
    if measure.is_number:
        wrong.sort(
            key=lambda judgment: (
                -abs(measure.value(judgment.row.judge_answer or 0.0) - judgment.row.value(measure))
            )
        )
        wrong = wrong[:_MOST_NUMBERS]
    for judgment in wrong:
        answer, truth = judgment.row.judge_answer, judgment.row.truth
        if answer is not None and truth is not None:
            yield Disagreement(
                judgment.record.row,
                judgment.record.id,
                answer,
                truth,
                judgment.row.answers,
                judgment.record.explanation or "",
                _text(judgment.record),
                judgment.row.identity,
            )


def _text(record: JudgmentRecord) -> str:
    fields = record.fields
    response = fields.get("response", next(reversed(list(fields.values())), ""))
    text = response if isinstance(response, str) else " | ".join(response)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"


def _rank(question: str, judges: Sequence[BenchedJudge], settings: BenchSettings) -> Ranking:
    order = sorted(judges, key=_worth)
    best, *rivals = order
    differences = []
    for rival in rivals:
        shared = {row: score for row, score in best.scores.items() if row in rival.scores}
        differences.append(
            compare_rows(shared, rival.scores, level=settings.level) if shared else None
        )
    # the best was found by looking at all judges, so all pairs count as compared
    pairs = len(order) * len(rivals) / 2
    placed = [replace(best, rank=1)]
    for place, (judge, difference) in enumerate(zip(rivals, differences, strict=True)):
        is_worse = (
            difference is not None
            and difference.outcome is ComparisonOutcome.BETTER
            and difference.p_value is not None
            and difference.p_value * pairs <= 1 - settings.level
        )
        placed.append(
            replace(
                judge,
                rank=place + 2,
                behind=difference,
                told_apart=is_worse if difference else None,
            )
        )
    most_rows = max(order, key=lambda ranked_judge: ranked_judge.rows)
    return Ranking(
        question,
        tuple(placed),
        most_rows.report.baselines,
        chosen_judge([judge.scores for judge in order], settings.level),
    )


FOLDS = 10


def chosen_judge(scores: Sequence[Mapping[RowKey, float]], level: float = 0.95) -> Estimate | None:
    """Estimate how often the judge that ranks first is right, allowing for the choice.

    The best of many judges is partly lucky, which its own rows do not show. So each tenth of the
    texts is scored by the judge that is best on the other nine. ``scores``: for each judge, row →
    whether it was right. The limits are those of the best judge, at a level that holds for all
    judges at once. None for a single judge, or if the judges share too few rows.
    """
    # only rows that all judges scored, in an order that does not depend on any judge
    rows = sorted(set.intersection(*map(set, scores))) if len(scores) > 1 else []
    units = sorted({row.unit for row in rows}, key=lambda unit: blake2b(unit.encode()).digest())
    if len(units) < FOLDS:
        return None
    fold_of = {unit: place % FOLDS for place, unit in enumerate(units)}
    folds: list[list[RowKey]] = [[] for _ in range(FOLDS)]
    for row in rows:
        folds[fold_of[row.unit]].append(row)
    sums = [[sum(judge_scores[row] for row in fold) for fold in folds] for judge_scores in scores]
    totals = [sum(sums_of_judge) for sums_of_judge in sums]
    right = 0.0
    for fold in range(FOLDS):
        best = max(range(len(scores)), key=lambda judge: totals[judge] - sums[judge][fold])
        right += sums[best][fold]
    level_of_one = 1 - (1 - level) / len(scores)
    limits = share_limits(max(totals), len(rows), level=level_of_one)
    if len(units) < len(rows):  # copies of a text count once
        best_scores = scores[totals.index(max(totals))]
        clustered = rows_interval(
            [best_scores[row] for row in rows],
            level=level_of_one,
            clusters=[row.unit for row in rows],
        )
        if clustered is None:
            return None
        limits = clustered
    value = right / len(rows)
    return Estimate(
        value,
        min(limits.lower, value),
        max(limits.upper, value),
        len(rows),
        Message("on rows not used for choosing it"),
        level,
    )


def _worth(judge: BenchedJudge) -> tuple[float, float, int, float, str]:
    """Return a sort key for judges, best first. Ties go to the one with fewer failures, then
    the cheaper.
    """
    agreement, kappa = judge.agreement.value, judge.kappa.value
    cost = judge.effort.usd if judge.effort.usd is not None else float("inf")
    worth = -agreement if agreement is not None else float("inf")
    return worth, -kappa if kappa is not None else 0.0, judge.failed, cost, judge.judge


def _among_people(judgments: Sequence[LabelledJudgment]) -> AmongPeople | None:
    """Compare people with each other and with the judge.

    Return None if no row that the judge decided was labelled by two people.
    """
    rows = [judgment.row for judgment in judgments if judgment.row.judge_answer is not None]
    pairs: dict[tuple[str, str], list[LabelledRow]] = {}
    for row in rows:
        for pair in combinations(sorted(row.answers), 2):
            pairs.setdefault(pair, []).append(row)
    if not pairs:
        return None
    people = [
        TwoRaters.of([(row.answers[a], row.answers[b]) for row in shared])
        for (a, b), shared in pairs.items()
    ]
    judge = [
        TwoRaters.of(
            [
                (row.judge_answer, row.answers[person])
                for row in shared
                if row.judge_answer is not None
            ]
        )
        for pair, shared in pairs.items()
        for person in pair
    ]
    return AmongPeople(
        people=len({person for pair in pairs for person in pair}),
        pairs=sum(map(len, pairs.values())),
        agreement=_mean_over_rows([(pair.count, pair.accuracy.value) for pair in people]) or 0.0,
        kappa=_mean_over_rows([(pair.count, pair.kappa.value) for pair in people]),
        judge_agreement=_mean_over_rows([(pair.count, pair.accuracy.value) for pair in judge])
        or 0.0,
        judge_kappa=_mean_over_rows([(pair.count, pair.kappa.value) for pair in judge]),
    )


def _mean_over_rows(figures: Sequence[tuple[int, float | None]]) -> float | None:
    """Return the mean weighted by row counts; None if no value is defined."""
    defined = [(count, value) for count, value in figures if value is not None]
    total = sum(count for count, _ in defined)
    return math.fsum(count * value for count, value in defined) / total if total else None


def _notes(judges: Sequence[BenchedJudge], settings: BenchSettings) -> Iterator[str]:
    failed = sum(bench_judge.failed for bench_judge in judges)
    counts = {
        "drop": Message("left out"),
        "tie": Message("counted as ties"),
        "wrong": Message("counted as wrong"),
    }[settings.agreement.missing]
    if failed:
        yield plural(
            "{count} judgment has no verdict: it is {counts} in agreement figures (--missing)",
            "{count} judgments have no verdict: they are {counts} in agreement figures (--missing)",
            failed,
            counts=counts,
        )
    split = max(bench_judge.rows - bench_judge.report.count for bench_judge in judges)
    if split:
        yield Message(
            "people are evenly split on {split} rows, which are left out of agreement figures",
            split=split,
        )
    reports = [judge.report for judge in judges]
    yield from max(reports, key=lambda report: report.drawn_otherwise).notes
    if not all(bench_judge.report.drawn for bench_judge in judges):
        yield Message(
            "the labelled rows were chosen, not drawn at random, so the figures apply only to "
            "these rows"
        )
