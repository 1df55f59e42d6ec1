"""The ``--json`` output of commands about people's labels, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.runs.exporters.documents import Count, Envelope, FigureShape, PooledShape
from adjudge.trust.labels.store import Conflict


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


class Conflicts(Envelope):
    """The output of ``adjudge label --conflicts --json``."""

    kind: Literal["conflicts"]
    summary: Count
    results: Sequence[Conflict]
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
