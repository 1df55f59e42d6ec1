"""The output of ``--json`` as types: one envelope for every command, with results by ``kind``.

``adjudge schema results`` publishes it as JSON schema, made from these types; ``docs/json.md``
explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.results.summary import IntervalShape

Count = Mapping[str, int]


class ModelMeanShape(TypedDict):
    """The mean of one model of a panel."""

    mean: float
    rows: int


class FiguresShape(TypedDict):
    """The counts and the mean of many judgments."""

    attempted: int
    scored: int
    abstained: int
    failed: int
    without_number: Annotated[int, "scored, but with an outcome that is not a number"]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    failed_calls: NotRequired[int]
    calls_with_estimated_tokens: NotRequired[int]
    mean: NotRequired[float | None]
    interval: NotRequired[IntervalShape | None]
    tied: NotRequired[
        Annotated[int, "rows with a verdict although as many votes are for another option"]
    ]
    options: NotRequired[Annotated[Count, "option: how often it was chosen"]]
    reasons: NotRequired[Annotated[Count, "reason: how many judgments have no score by it"]]
    excluded_models: NotRequired[
        Annotated[Count, "model of a panel: on how many rows it did not count"]
    ]
    models: NotRequired[Annotated[Mapping[str, ModelMeanShape], "of a panel: each model by itself"]]


class SummaryShape(FiguresShape):
    """All judgments. There is a mean only if all are by one criterion."""

    cost_usd: Annotated[float | None, "US dollars; null where no price is known"]
    unpriced_models: Annotated[
        Sequence[str], "models whose price is not known: what they cost is not in cost_usd"
    ]


class SystemShape(TypedDict):
    """The results of one of the compared systems."""

    system: str
    wins: int
    ties: int
    losses: int
    win_rate: float | None
    interval: IntervalShape | None
    missing: int


class OrderShape(TypedDict):
    """The changes that another order of the responses made."""

    rows: int
    turned: int
    flip_rate: float | None
    noise_rate: float | None
    excess: float | None


class CriteriaShape(FiguresShape):
    """One judge by one criteria."""

    judge: str
    criteria: str
    good_answer: NotRequired[
        Annotated[str, "of two options the one that counts as good, unless it is PASS"]
    ]
    systems: NotRequired[Annotated[Sequence[SystemShape], "comparisons: the best first"]]
    positional_bias: NotRequired[OrderShape | None]
    cascade: NotRequired[CascadeShape]
    baseline: NotRequired[
        Annotated[Sequence[ChangeOfMeanShape], "against --baseline: mean, dimensions or win rates"]
    ]


class StepDecidedShape(TypedDict):
    """The decisions of one step of a cascade."""

    step: str
    decided: Annotated[int, "rows whose verdict is its own"]
    asked: Annotated[int, "rows that it was asked about"]


class CascadeShape(TypedDict):
    """The decisions of a cascade's steps, and the savings."""

    steps: Sequence[StepDecidedShape]
    undecided: int
    calls_saved: Annotated[
        int | None, "calls of the last step that were not needed, by what it took elsewhere"
    ]
    cost_usd: Annotated[float | None, "null where a price is not known"]
    cost_of_last_step_alone_usd: float | None


class ChangeOfMeanShape(TypedDict):
    """A figure of this run and of an earlier one."""

    name: Annotated[str, "the criteria, dimension or system"]
    before: float
    now: float
    change: float


class PairingShape(TypedDict):
    """The rows of two runs that were compared with each other."""

    rows: Annotated[int, "rows that have a counterpart"]
    of: Annotated[Sequence[int], "rows of the other run, and of this one"]
    by: Annotated[Count, "id, fields, text or place → rows that were paired so"]
    rows_that_share_an_id: int
    pairs_with_another_question: int


class GateShape(TypedDict):
    """A bar, and whether it was reached."""

    judge: str
    name: Annotated[str, "the criteria, or the compared system"]
    measure: str
    value: float | None
    lower: Annotated[float | None, "None: there is no least, since counts are missing"]
    upper: Annotated[float | None, "None: there is no most"]
    bar: float
    margin: Annotated[float | None, "by how much the bar was reached; below 0 where it was missed"]
    needed: int
    verdict: Literal["holds", "failed", "inconclusive"]
    rows: int
    missing: Annotated[int, "rows without a score; of two runs also those without a counterpart"]
    unjudged: NotRequired[
        Annotated[int, "rows that neither run judged, where the run is held to another one"]
    ]
    rows_with_lost_votes: NotRequired[
        Annotated[int, "rows whose score lost votes of a panel could change"]
    ]
    labels: NotRequired[
        Annotated[int, "rows labelled in both runs, if they correct the difference"]
    ]
    not_corrected_because: NotRequired[Annotated[str, "why labels of both runs do not correct it"]]
    rows_added_since_draw: NotRequired[
        Annotated[int, "rows that were added after these labels were drawn; they may be anything"]
    ]
    rows_skipped: NotRequired[
        Annotated[int, "drawn rows that were skipped or marked unsure; they may be anything"]
    ]
    not_compared: NotRequired[
        Annotated[Sequence[str], "criteria of this run that the other one does not have"]
    ]
    pairing: NotRequired[Annotated[PairingShape, "where the run is held to another one"]]
    system: NotRequired[
        Annotated[
            str, "of compared responses, where the run is held to another one: whose win rate it is"
        ]
    ]
    message: str


class SkippedShape(TypedDict):
    """Rows that were not judged."""

    rows: int
    reasons: Count
    first: Sequence[str]
    blank: int
    blank_places: str


class AggregateShape(TypedDict):
    """One row by several criteria."""

    row: Annotated[int, "its place among the rows that were read, from 1"]
    judgments: Annotated[Sequence[int], "the row of each of its judgments in results"]
    id: str | None
    status: Literal["scored", "abstained", "failed", "skipped"]
    aggregated_score: float | None
    lower_bound: float
    upper_bound: float
    per_criterion_score: Mapping[str, float | None]
    per_criterion_contribution: Mapping[str, float | None]


class EndsShape(TypedDict):
    """The certain cost, and the possible cost."""

    lower: float
    upper: float


class ExpectedSavingShape(TypedDict):
    """The rows that a learned first step of a cascade is expected to decide."""

    step: str
    last: Annotated[str, "the model that is not asked about them"]
    rows: int
    share: Annotated[float, "of the rows that set the step's threshold"]
    spared: int
    set_by: Annotated[int, "rows that set the threshold"]
    promise: Annotated[Sequence[str], "what it risks"]


class EstimateShape(TypedDict):
    """The estimated cost of judging. Candidates of ``generate`` count as judgments."""

    judgments: int
    answered: Annotated[int, "votes that the run holds already"]
    in_batches: Annotated[
        int, "votes that the run's open batches were asked for; not in what follows"
    ]
    refused: NotRequired[
        Annotated[
            Count,
            "why votes will fail before any model is asked, as too long for it, and how many",
        ]
    ]
    calls: EndsShape
    tokens: EndsShape
    cost_usd: EndsShape
    unpriced_models: Annotated[Sequence[str], "not in the cost"]
    expected_savings: NotRequired[
        Annotated[Sequence[ExpectedSavingShape], "of cascades; the upper ends are without them"]
    ]


class SystemDifferenceShape(TypedDict):
    """The second system minus the first by one criterion, over the rows that both answered."""

    judge: str
    criteria: str
    systems: Sequence[str]
    means: Sequence[float]
    difference: float | None
    interval: IntervalShape | None
    p_value: Annotated[float | None, "adjusted over all such comparisons of the run (Holm)"]
    outcome: Annotated[
        Literal["better", "worse", "cannot tell"],
        "the second system; a count is better the lower it is",
    ]
    rows: int
    missing: Annotated[int, "rows without a score of one of the two"]


class RunShape(TypedDict):
    """A run folder in the list of runs."""

    folder: str
    state: str
    error: NotRequired[Annotated[str, "why it cannot be read"]]
    judgments: NotRequired[Annotated[Mapping[str, Count], "judge: status: how many"]]
    judge_identities: NotRequired[Mapping[str, str]]
    excluded_models: NotRequired[Mapping[str, Count]]
    votes: NotRequired[int]
    failed_votes: NotRequired[int]
    undecided_votes: NotRequired[Annotated[int, "votes with an answer that holds no verdict"]]
    failed_calls: NotRequired[int]
    calls: NotRequired[Count]
    cost_usd: NotRequired[float | None]
    unpriced_models: NotRequired[Sequence[str]]
    configuration: NotRequired[Mapping[str, object]]


class CameShape(TypedDict):
    """The result of a row of a run."""

    judge: str
    criteria: str
    row: int
    id: str | None
    status: str
    score: float | None
    chosen: Annotated[object, "the verdict, the option, or which of the systems is better, from 0"]
    systems: NotRequired[
        Annotated[Sequence[str], "the compared responses, in the order of the first run"]
    ]


class ChangeShape(TypedDict):
    """A row with another result in the other run."""

    before: CameShape
    after: CameShape
    same_content: bool


class DifferenceShape(TypedDict):
    """A difference with its limits, or why there are none."""

    value: float | None
    lower: float | None
    upper: float | None
    reason: str
    method: NotRequired[str]


class VoteNoiseShape(TypedDict):
    """The part of the difference that may be noise of the votes."""

    share: float | None
    half_width: float | None
    with_votes: Annotated[Mapping[str, float] | None, "votes a row: the half-width with so many"]


class ComparedSliceShape(TypedDict):
    """A comparison of one slice. The intervals of all slices of all criteria hold together."""

    name: str
    outcome: Literal["better", "worse", "cannot tell"]
    means: Sequence[float | None]
    difference: DifferenceShape
    is_corrected: bool
    rows: int
    labels: int
    level_of_each: float
    pooled: Annotated[PooledShape | None, "the difference pulled towards that of all rows"]


class ComparisonShape(TypedDict):
    """The second run minus the first, by one judge and criterion."""

    judge: str
    criteria: str
    system: NotRequired[Annotated[str, "of compared responses: whose win rate it is"]]
    outcome: Literal["better", "worse", "cannot tell"]
    is_comparable: Annotated[bool, "false if the options, or what they score, differ"]
    means: Sequence[float | None]
    difference: DifferenceShape
    corrected: Annotated[
        DifferenceShape | None, "by the labels of rows that people labelled in both runs"
    ]
    not_corrected_because: Annotated[str | None, "why labels of both runs do not correct it"]
    labels: int
    rows_added_since_draw: Annotated[
        int, "rows that were added after the labels were drawn; the corrected limits hold anyway"
    ]
    rows_skipped: Annotated[
        int, "drawn rows that were skipped or marked unsure; the corrected limits hold anyway"
    ]
    rows: Annotated[int, "with a number in both runs"]
    rows_with_lost_votes: NotRequired[
        Annotated[int, "rows whose number lost votes of a panel could change; the limits hold"]
    ]
    independent: int
    missing: Annotated[int, "pairs of which one has no number, or both failed"]
    unjudged: Annotated[int, "rows that neither run judged, since they were skipped"]
    pairing: PairingShape
    rows_with_another_text: int
    same_judge: bool
    p_value: float | None
    p_value_adjusted: float | None
    smallest_detectable: float | None
    vote_noise: VoteNoiseShape | None
    margin: float
    level: float
    notes: Sequence[str]
    slices: NotRequired[Annotated[Sequence[ComparedSliceShape], "with --by"]]
    rows_in_another_slice: NotRequired[
        Annotated[int, "with --by: rows with another value in either run; they are in no slice"]
    ]


class ModelShape(TypedDict):
    """A model, or a provider of models."""

    provider: str
    example: str
    key_variable: str | None
    key_set: bool
    can_do: Sequence[str]
    state: NotRequired[str]


class PluginShape(TypedDict):
    """A part that an installed package brings."""

    name: str
    kind: str
    package: str
    version: str
    state: Annotated[str, "works, or what is wrong"]


class WeightsShape(TypedDict):
    """The weights of the embedded model on this machine."""

    model: str
    message: Annotated[str, "whether they are there, or what is the matter and what to do"]
    precision: str | None
    path: Annotated[str | None, "the file that is read, or that it is made of"]
    bytes: int | None


class ReachedShape(TypedDict):
    """A model that was tried, and the result."""

    model: str
    base_url: str | None
    reached: bool
    message: str


class SelectionShape(TypedDict):
    """The code that was written for a task, and the code that was chosen."""

    task: str
    output: object
    stdout: str
    winner: int | None
    cost: float | None
    compared: int
    cost_spread: float | None
    cost_is: str
    fresh: object
    candidates: Sequence[Mapping[str, object]]


class EntryShape(TypedDict):
    """Ready-made criteria in the catalogue."""

    kind: str
    language: str
    languages: Sequence[str]
    name: str
    description: str
    options: Sequence[CriteriaOption]


class FindingShape(TypedDict):
    """Something that is likely to go wrong with criteria."""

    severity: Literal["error", "warning"]
    criteria: str
    field: str
    message: str


class ConflictShape(TypedDict):
    """A row on which annotators differ."""

    criteria: str
    row: str
    labels: Sequence[Label]


class PersonShape(TypedDict):
    """The progress of an annotator with the assigned rows."""

    criteria: str
    annotator: str
    done: int
    total: int


class GuidelineShape(TypedDict):
    """A point that a guideline should say more clearly."""

    criteria: str
    options: Annotated[Sequence[str], "the two options that annotators confuse; of a slice none"]
    slice: Annotated[str, "in which annotators differ more than elsewhere"]
    rows: Annotated[int, "on which they differ so"]
    of: Annotated[int, "rows that several of them labelled"]
    examples: Sequence[str]
    p_value: Annotated[float | None, "of a slice, adjusted for all slices (Holm)"]
    found: str
    proposal: Annotated[str, "text for the guideline"]


class PooledShape(TypedDict):
    """A slice's value, pulled towards the value that all rows suggest."""

    value: float
    from_whole: Annotated[float, "how much of it is the whole's, from 0 to 1"]


class CorrectedSliceShape(TypedDict):
    """The corrected number of one slice."""

    name: str
    rows: int
    labels: int
    naive: float | None
    corrected: FigureShape
    more: Annotated[int, "labels that it lacks for a number of its own"]
    pooled: PooledShape | None
    rows_added_since_draw: NotRequired[
        Annotated[int, "of its rows; the figures are about the others, if there are any"]
    ]


class SlicesShape(TypedDict):
    """The corrected number per slice."""

    column: str
    level: Annotated[float, "at which the intervals of all slices hold together"]
    level_of_each: float
    multiplicity: str
    slices: Sequence[CorrectedSliceShape]
    notes: Sequence[str]


class RateShape(TypedDict):
    """A rate with its limits of confidence."""

    rate: float | None
    lower: float | None
    upper: float | None
    n: Annotated[int, "rows or labels that it stands on"]
    reason: NotRequired[str]
    method: NotRequired[str]


class RefusalShape(TypedDict):
    """The reason why there is no corrected number."""

    code: str
    text: str


class LabelsUsedShape(TypedDict):
    """The labels that a number stands on."""

    n: int
    by_verdict: Count
    design: Count
    annotators: Sequence[str]
    kind: str | None


class CalibrationShape(TypedDict):
    """The trust in a judge, by labels."""

    judge: str
    criteria: str
    rows: int
    rows_added_since_draw: Annotated[int, "rows that could not be drawn; no number is about them"]
    rows_skipped: Annotated[int, "drawn rows without a label; the intervals hold whatever they are"]
    interval_of: Annotated[str, "'rows like these', or 'these rows' alone"]
    naive: RateShape
    corrected: Annotated[RateShape | None, "null where it is refused"]
    refusal: RefusalShape | None
    labels: LabelsUsedShape
    slices: SlicesShape | None
    notes: Sequence[str]


class ThresholdShape(TypedDict):
    """The confidence from which on one step is accepted."""

    step: str
    identity: str
    confidence: float | None
    rows: int
    accepted: int
    errors: int
    limit: float | None
    reason: str


class ThresholdsShape(TypedDict):
    """The confidence from which on the steps of a cascade are accepted, by labels."""

    judge: str
    criteria: str
    risk: Annotated[float, "the greatest share of errors among accepted verdicts"]
    delta: Annotated[float, "how often that promise may fail"]
    labels: int
    date: str
    steps: Sequence[ThresholdShape]
    refusal: RefusalShape | None
    notes: Sequence[str]


class ProbabilityShape(TypedDict):
    """The trust in the probabilities of one model, by labels."""

    judge: str
    criteria: str
    model: str
    identity: Annotated[str, "of the judge: another one needs its own labels"]
    risk: Annotated[float, "the greatest share of errors among accepted verdicts"]
    delta: Annotated[float, "how often that promise may fail"]
    rows: int
    temperature: float | None
    before: Annotated[FigureShape | None, "calibration error on rows not used for fitting"]
    after: Annotated[FigureShape | None, "the same at the temperature"]
    reason: Annotated[str, "why there is no temperature"]
    threshold: ThresholdShape
    refusal: RefusalShape | None
    notes: Sequence[str]


class PlaceShape(TypedDict):
    """A system and its rank."""

    rank: int
    system: str
    rating: float
    lower: float | None
    upper: float | None
    best_rank: int
    worst_rank: int
    win_rate: float | None
    wins: float
    ties: float
    losses: float
    rating_with_control: float | None


class LeaderboardShape(TypedDict):
    """Systems ranked by their comparisons."""

    judge: str
    criteria: str
    rows: int
    rows_left_out: Annotated[int, "rows without a score: none of their contests counts"]
    contests: int
    places: Annotated[Sequence[PlaceShape], "the best first"]


class MeasuredJudgeShape(TypedDict):
    """The share of right verdicts of a judge, by the labels of its run."""

    sensitivity: float
    specificity: float


class PlanShape(TypedDict):
    """The rows and labels that a precision or power needs."""

    what: Literal["rate", "comparison", "gate"]
    rate: float
    width: float | None
    difference: float | None
    bar: float | None
    power: float
    level: float
    sequential: bool
    seed: int
    rows: Annotated[int | None, "None where it is out of reach"]
    labels: int | None
    usd: float | None
    labels_alone: Annotated[int | None, "labels that it would take without the judge"]
    reached: Annotated[float, "the median width, or the share of draws that were decided"]
    error: Annotated[float, "its standard error"]
    sensitivity: float | None
    specificity: float | None
    measured: Annotated[
        MeasuredJudgeShape | None,
        "of the judge of a run: both by its labels, before the plan adds a mistake of each kind",
    ]
    sentences: Sequence[str]


class ImportShape(TypedDict):
    """The content that was read from another tool's file, and the fields that were left."""

    source: str
    folder: str
    format: str
    judgments: int
    statuses: Count
    votes: Count
    labels: int
    left: Annotated[Count, "fields that were kept as they are, and how often"]
    notes: Sequence[str]
    bad_rows: Sequence[str]


class FigureShape(TypedDict):
    """A figure with its interval."""

    value: Annotated[float | None, "null where it is not defined: see the reason"]
    lower: float | None
    upper: float | None
    n: Annotated[int, "rows that it stands on"]
    reason: str


class BehindShape(FigureShape):
    """The lead of the best judge."""

    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]


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


class DisagreementShape(TypedDict):
    """A row on which the judge and people disagree."""

    row: int
    id: str | None
    judge_says: str | float
    people_say: str | float
    labels: Annotated[Mapping[str, str | float | None], "annotator: what they say"]
    explanation: str
    text: str


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
    confidence_error: Annotated[FigureShape, "less what chance makes of it"]
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


class ImprovementShape(TypedDict):
    """A proposal for criteria, and its results on rows that its writer has not seen."""

    criteria: str
    before: Mapping[str, object]
    proposal: Mapping[str, object]
    explanation: str
    changes: Sequence[Mapping[str, str]]
    split: Annotated[Count, "seed, rows that the writer may see, rows held out"]
    shown: Sequence[Mapping[str, object]]
    agreement_before: float
    agreement_after: float
    gain: FigureShape
    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]
    outcome: Literal["better", "worse", "cannot tell"]
    failed: int
    written: Annotated[str | None, "the new file of criteria"]


class PublishedFigureShape(TypedDict):
    """A share of rows with its 95% interval; the rows that it stands on."""

    value: float | None
    lower: float | None
    upper: float | None
    n: int


class PublishedJudgeShape(TypedDict):
    """The results of one judge on one set."""

    judge: str
    figure: str
    rows: int
    failed: int
    agreement: PublishedFigureShape
    kappa: PublishedFigureShape
    order_effect: PublishedFigureShape
    embedded: bool


class PublishedSetShape(TypedDict):
    """A public set of rows that people labelled, and the judges on one question about it."""

    name: str
    question: str
    source: str
    licence: str
    recorded: str
    labels: int
    people: int
    ceiling: float | None
    majority: float | None
    note: str
    judges: Sequence[PublishedJudgeShape]


class AttackTextShape(TypedDict):
    """The effect of one text of a family."""

    text: Annotated[int, "which one of the family, from 1"]
    field: Annotated[str, "the field that it was put into"]
    asked: int
    moved: int
    example: Annotated[str | None, "a row that it moved"]


class AttackFamilyShape(TypedDict):
    """The effect of the texts of one family."""

    family: str
    control: Annotated[bool, "whether it changes nothing of substance"]
    rows: Annotated[int, "rows that could be moved"]
    moved: Annotated[float, "rows with a better verdict under attack; of controls another"]
    beyond_noise: Annotated[FigureShape, "the share moved, less the share that asking again moves"]
    lower_together: Annotated[
        float | None, "lower limit of beyond_noise that holds for all attacks of the run together"
    ]
    p_value: Annotated[float | None, "one-sided, held for all families of the run (Holm)"]
    shift: Annotated[FigureShape, "the mean score under attack, less that without"]
    unscored: Annotated[int, "attacked rows without a verdict"]
    failed: Annotated[int, "those of them whose judgment failed: they are left out"]
    texts: Sequence[AttackTextShape]


class ThroughShape(TypedDict):
    """The attacks that worked in one field."""

    moved: int
    asked: int


class AttackShape(TypedDict):
    """One judge by one criterion with one defence."""

    judge: str
    criteria: str
    defence: Literal["fence", "sandwich", "two-pass"]
    rows: int
    room: Annotated[int, "rows without the best verdict"]
    noise: Annotated[int, "rows with another verdict when they are asked again"]
    unscored: Annotated[int, "rows without a verdict when not attacked"]
    fields: Mapping[str, ThroughShape]
    families: Sequence[AttackFamilyShape]
    grade: Annotated[str, "how far the judge can be moved, in a sentence"]


class DriftShape(TypedDict):
    """One question at all looks."""

    criteria: str
    outcome: Literal["changed", "noise", "cannot tell"]
    evidence: Annotated[
        Sequence[float], "after each look but the first, of the judge looked at: 20 is a risk of 5%"
    ]
    bar: Annotated[float, "from which on the judge is said to have changed"]
    since: Annotated[int | None, "the look at which the bar was reached first"]
    compared: Annotated[int, "anchors with a verdict at first and at the last look"]
    differ: Annotated[int, "those of them whose verdict is another one"]
    means: Annotated[Sequence[float | None], "of the scores, from 0 to 1, at each look"]
    first: Annotated[Count, "option: anchors, at first"]
    last: Count
    reconfigured: Annotated[bool, "whether the judge is set up otherwise than at first"]
    other_judge: Annotated[Sequence[int], "looks at another judge than that of the anchors"]
    sentence: str


class AnchorLookShape(TypedDict):
    """The anchors judged once."""

    number: Annotated[int, "0: when they were chosen"]
    at: float
    models: Annotated[Mapping[str, str], "model that was asked: what its replies name"]


class RenamedShape(TypedDict):
    """A model whose replies name another model than at first."""

    model: str
    before: str
    now: str


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


class AlarmShape(TypedDict):
    """An alarm: a rate fell below its bar, or a mean count rose above it."""

    judge: str
    criteria: str
    bar: float
    evidence: Annotated[float, "from 20 on it is an alarm"]
    unscored: Annotated[int, "rows of the day without a score, each taken as good"]
    raised: bool
    above: Annotated[bool, "true: a mean count that must not be above its bar"]


class Envelope(TypedDict):
    """The keys of every document."""

    schema: Literal["adjudge.results/1"]
    criteria: Sequence[CriteriaShape]
    gates: Sequence[GateShape]
    notes: Annotated[Sequence[str], "what a reader must know"]


class Judgments(Envelope):
    """check, judge, compare, rag, run; runs show, without votes."""

    kind: Literal["judgments"]
    summary: SummaryShape
    reasons: Annotated[Count, "why judgments have no score, over all criteria"]
    skipped: SkippedShape
    remarks: NotRequired[
        Annotated[Sequence[str], "what cascades decided and saved, and what was learnt from labels"]
    ]
    differences: NotRequired[
        Annotated[Sequence[SystemDifferenceShape], "every two systems that answered the same rows"]
    ]
    comparisons: NotRequired[
        Annotated[
            Sequence[ComparisonShape], "against --baseline, row by row; of a run that is kept"
        ]
    ]
    aggregates: NotRequired[
        Annotated[Sequence[AggregateShape], "judge by several criteria: one per row"]
    ]
    files: NotRequired[Annotated[Sequence[str], "what was written"]]
    run: NotRequired[RunShape]
    results: Sequence[JudgmentRecord]


class Estimates(Envelope):
    """Any command with --dry-run."""

    kind: Literal["estimate"]
    summary: Count
    results: Annotated[Sequence[EstimateShape], "one"]


class Runs(Envelope):
    """The output of ``adjudge runs list --json``."""

    kind: Literal["runs"]
    summary: Count
    results: Sequence[RunShape]


class Diff(Envelope):
    """The output of ``adjudge runs diff --json``."""

    kind: Literal["diff"]
    summary: Count
    settings: Sequence[str]
    comparisons: Annotated[
        Sequence[ComparisonShape], "by each judge and criteria that both runs have"
    ]
    results: Annotated[Sequence[ChangeShape], "judgments that differ"]
    only_in_one: Sequence[CameShape]
    only_in_two: Sequence[CameShape]


class Models(Envelope):
    """The output of ``adjudge models --json``."""

    kind: Literal["models"]
    summary: Count
    results: Sequence[ModelShape]


class Doctor(Envelope):
    """The output of ``adjudge doctor --json``."""

    kind: Literal["doctor"]
    summary: Count
    version: str
    python: str
    system: str
    configuration: Annotated[str | None, "the file that was read"]
    extras: Annotated[Mapping[str, bool], "extra: whether it is installed"]
    keys: Annotated[Mapping[str, bool], "environment variable: whether it is set"]
    embedded: WeightsShape
    broken_plugins: Annotated[Sequence[str], "what is wrong with each"]
    results: Sequence[ReachedShape]


class Plugins(Envelope):
    """The output of ``adjudge plugins --json``."""

    kind: Literal["plugins"]
    summary: Count
    results: Sequence[PluginShape]


class Selections(Envelope):
    """The output of ``adjudge generate --json``."""

    kind: Literal["selection"]
    summary: Count
    results: Sequence[SelectionShape]


class Catalogue(Envelope):
    """criteria, criteria show."""

    kind: Literal["criteria"]
    summary: Count
    results: Sequence[EntryShape]


class Findings(Envelope):
    """The output of ``adjudge criteria check --json``."""

    kind: Literal["findings"]
    summary: Count
    file: str
    results: Sequence[FindingShape]


class Conflicts(Envelope):
    """The output of ``adjudge label --conflicts --json``."""

    kind: Literal["conflicts"]
    summary: Count
    results: Sequence[ConflictShape]
    guideline: Annotated[Sequence[GuidelineShape], "what it should say more clearly"]


class Assigned(Envelope):
    """The output of ``adjudge label --assigned --json``."""

    kind: Literal["assigned"]
    summary: Count
    results: Sequence[PersonShape]


class Calibrations(Envelope):
    """The output of ``adjudge calibrate --json``."""

    kind: Literal["calibrations"]
    summary: Count
    results: Sequence[CalibrationShape]


class Cascades(Envelope):
    """The output of ``adjudge calibrate --cascade --json``."""

    kind: Literal["cascades"]
    summary: Count
    results: Sequence[ThresholdsShape]


class Probabilities(Envelope):
    """The output of ``adjudge calibrate --probabilities --json``."""

    kind: Literal["probabilities"]
    summary: Count
    results: Sequence[ProbabilityShape]


class Leaderboards(Envelope):
    """The output of ``adjudge rank --json``."""

    kind: Literal["leaderboards"]
    summary: Count
    results: Sequence[LeaderboardShape]


class PlansDocument(Envelope):
    """The output of ``adjudge plan --json``."""

    kind: Literal["plans"]
    summary: Count
    results: Sequence[PlanShape]


class Imports(Envelope):
    """The output of ``adjudge import --json``."""

    kind: Literal["imports"]
    summary: Count
    results: Sequence[ImportShape]


class Bench(Envelope):
    """The output of ``adjudge bench --json``."""

    kind: Literal["bench"]
    summary: Count
    data: str
    missing: Annotated[
        Literal["drop", "tie", "wrong"], "what a judgment without a verdict counts as"
    ]
    level: float
    results: Annotated[
        Sequence[RankingShape], "one; where recorded judges answer several questions, one for each"
    ]


class PublishedDocument(Envelope):
    """The output of bench --published."""

    kind: Literal["published"]
    summary: Count
    results: Sequence[PublishedSetShape]


class Attacks(Envelope):
    """The output of ``adjudge attack --json``."""

    kind: Literal["attack"]
    summary: Count
    run: str
    level: float
    decisions: Annotated[Sequence[str], "what --fail-over says of each judge"]
    results: Sequence[AttackShape]


class Drifts(Envelope):
    """drift check, drift history."""

    kind: Literal["drift"]
    summary: Count
    edited: Annotated[Sequence[str], "anchors whose text is not the one that was judged"]
    looks: Sequence[AnchorLookShape]
    renamed: Sequence[RenamedShape]
    results: Sequence[DriftShape]


class Traffic(Envelope):
    """follow: one document for each round, on a line of its own."""

    kind: Literal["traffic"]
    summary: RoundShape
    alarms: Sequence[AlarmShape]
    results: Sequence[TrafficRateShape]


class Improvements(Envelope):
    """The output of ``adjudge criteria improve --json``."""

    kind: Literal["improvement"]
    summary: Count
    results: Annotated[
        Sequence[ImprovementShape], "one, or none where there was nothing to improve"
    ]


DOCUMENTS: tuple[type, ...] = (
    *(
        Judgments,
        Estimates,
        Runs,
        Diff,
        Models,
        Plugins,
        Doctor,
        Selections,
        Catalogue,
        Findings,
        Conflicts,
        Assigned,
    ),
    *(
        Calibrations,
        Cascades,
        Probabilities,
        Leaderboards,
        PlansDocument,
        Imports,
        Bench,
        PublishedDocument,
    ),
    *(Attacks, Drifts, Traffic, Improvements),
)
