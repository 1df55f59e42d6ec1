"""The output of ``--json`` as types: one envelope for every command, with results by ``kind``.

``adjudge schema results`` publishes it as JSON schema, made from these types; ``docs/json.md``
explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.core.catalog.lint import Finding
from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.results.report import Skipped
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
    saved_by_prompt_caching_usd: NotRequired[
        Annotated[float, "what the providers' prompt caches saved; negative if they cost more"]
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
    saved_by_prompt_caching_usd: NotRequired[float]
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


class PluginShape(TypedDict):
    """A part that an installed package brings."""

    name: str
    kind: str
    package: str
    version: str
    state: Annotated[str, "works, or what is wrong"]


class EntryShape(TypedDict):
    """Ready-made criteria in the catalogue."""

    kind: str
    language: str
    languages: Sequence[str]
    name: str
    description: str
    options: Sequence[CriteriaOption]


class PooledShape(TypedDict):
    """A slice's value, pulled towards the value that all rows suggest."""

    value: float
    from_whole: Annotated[float, "how much of it is the whole's, from 0 to 1"]


class FigureShape(TypedDict):
    """A figure with its interval."""

    value: Annotated[float | None, "null where it is not defined: see the reason"]
    lower: float | None
    upper: float | None
    n: Annotated[int, "rows that it stands on"]
    reason: str


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
    skipped: Skipped
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
    expectation: Annotated[
        Literal["passed", "failed", "inconclusive"] | None,
        "if the second run is better; null without --expect-better",
    ]
    results: Annotated[Sequence[ChangeShape], "judgments that differ"]
    only_in_one: Sequence[CameShape]
    only_in_two: Sequence[CameShape]


class Plugins(Envelope):
    """The output of ``adjudge plugins --json``."""

    kind: Literal["plugins"]
    summary: Count
    results: Sequence[PluginShape]


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
    results: Sequence[Finding]


DOCUMENTS: tuple[type, ...] = (Judgments, Estimates, Runs, Diff, Plugins, Catalogue, Findings)
"""Those of commands that know no feature; features bring theirs as parts (``documents``)."""
