"""What ``--json`` prints, as types: the same envelope for every command, and what its results are
by ``kind``.

``adjudge schema results`` publishes it as JSON schema, made from these types; ``docs/json.md``
explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.bench.published import PublishedSet
from adjudge.domain.record import JudgmentRecord
from adjudge.exporters.shapes import (
    AggregateShape,
    AlarmShape,
    AnchorLookShape,
    AttackShape,
    CalibrationShape,
    CameShape,
    ChangeShape,
    ComparisonShape,
    ConflictShape,
    Count,
    CriteriaShape,
    DriftShape,
    EntryShape,
    EstimateShape,
    FindingShape,
    GateShape,
    GuidelineShape,
    ImportShape,
    ImprovementShape,
    LeaderboardShape,
    ModelShape,
    PersonShape,
    PlanShape,
    PluginShape,
    RankingShape,
    ReachedShape,
    RenamedShape,
    RoundShape,
    RunShape,
    SelectionShape,
    SkippedShape,
    SummaryShape,
    SystemDifferenceShape,
    ThresholdsShape,
    TrafficRateShape,
    WeightsShape,
)


class Envelope(TypedDict):
    """What every document has."""

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
    """What ``adjudge runs list --json`` prints."""

    kind: Literal["runs"]
    summary: Count
    results: Sequence[RunShape]


class Diff(Envelope):
    """What ``adjudge runs diff --json`` prints."""

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
    """What ``adjudge models --json`` prints."""

    kind: Literal["models"]
    summary: Count
    results: Sequence[ModelShape]


class Doctor(Envelope):
    """What ``adjudge doctor --json`` prints."""

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
    """What ``adjudge plugins --json`` prints."""

    kind: Literal["plugins"]
    summary: Count
    results: Sequence[PluginShape]


class Selections(Envelope):
    """What ``adjudge generate --json`` prints."""

    kind: Literal["selection"]
    summary: Count
    results: Sequence[SelectionShape]


class Catalogue(Envelope):
    """criteria, criteria show."""

    kind: Literal["criteria"]
    summary: Count
    results: Sequence[EntryShape]


class Findings(Envelope):
    """What ``adjudge criteria check --json`` prints."""

    kind: Literal["findings"]
    summary: Count
    file: str
    results: Sequence[FindingShape]


class Conflicts(Envelope):
    """What ``adjudge label --conflicts --json`` prints."""

    kind: Literal["conflicts"]
    summary: Count
    results: Sequence[ConflictShape]
    guideline: Annotated[Sequence[GuidelineShape], "what it should say more clearly"]


class Assigned(Envelope):
    """What ``adjudge label --assigned --json`` prints."""

    kind: Literal["assigned"]
    summary: Count
    results: Sequence[PersonShape]


class Calibrations(Envelope):
    """What ``adjudge calibrate --json`` prints."""

    kind: Literal["calibrations"]
    summary: Count
    results: Sequence[CalibrationShape]


class Cascades(Envelope):
    """What ``adjudge calibrate --cascade --json`` prints."""

    kind: Literal["cascades"]
    summary: Count
    results: Sequence[ThresholdsShape]


class Leaderboards(Envelope):
    """What ``adjudge rank --json`` prints."""

    kind: Literal["leaderboards"]
    summary: Count
    results: Sequence[LeaderboardShape]


class PlansDocument(Envelope):
    """What ``adjudge plan --json`` prints."""

    kind: Literal["plans"]
    summary: Count
    results: Sequence[PlanShape]


class Imports(Envelope):
    """What ``adjudge import --json`` prints."""

    kind: Literal["imports"]
    summary: Count
    results: Sequence[ImportShape]


class Bench(Envelope):
    """What ``adjudge bench --json`` prints."""

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
    """What bench --published prints."""

    kind: Literal["published"]
    summary: Count
    results: Sequence[PublishedSet]


class Attacks(Envelope):
    """What ``adjudge attack --json`` prints."""

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
    """What ``adjudge criteria improve --json`` prints."""

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
    *(Calibrations, Cascades, Leaderboards, PlansDocument, Imports, Bench, PublishedDocument),
    *(Attacks, Drifts, Traffic, Improvements),
)
