"""What ``--json`` prints, as types: the same envelope for every command, and what its results are by ``kind``.

``adjudge schema results`` publishes it as JSON schema, made from these types; ``docs/json.md`` explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.reports.shapes import (
    AggregateShape,
    CalibrationShape,
    CameShape,
    ChangeShape,
    ConflictShape,
    Count,
    CriteriaShape,
    EntryShape,
    FindingShape,
    GateShape,
    ImportShape,
    JudgmentShape,
    LeaderboardShape,
    ModelShape,
    ReachedShape,
    RunShape,
    SelectionShape,
    SkippedShape,
    SummaryShape,
)

SCHEMA = "adjudge.results/1"
"""The version: a number that grows when something is taken away or changes its meaning."""


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
    aggregates: NotRequired[Annotated[Sequence[AggregateShape], "judge by several criteria: one per row"]]
    files: NotRequired[Annotated[Sequence[str], "what was written"]]
    run: NotRequired[RunShape]
    results: Sequence[JudgmentShape]


class Runs(Envelope):
    """runs list."""

    kind: Literal["runs"]
    summary: Count
    results: Sequence[RunShape]


class Diff(Envelope):
    """runs diff."""

    kind: Literal["diff"]
    summary: Count
    settings: Sequence[str]
    results: Annotated[Sequence[ChangeShape], "judgments that differ"]
    only_in_one: Sequence[CameShape]
    only_in_two: Sequence[CameShape]


class Models(Envelope):
    """models."""

    kind: Literal["models"]
    summary: Count
    results: Sequence[ModelShape]


class Doctor(Envelope):
    """doctor."""

    kind: Literal["doctor"]
    summary: Count
    version: str
    python: str
    system: str
    configuration: Annotated[str | None, "the file that was read"]
    extras: Annotated[Mapping[str, bool], "extra: whether it is installed"]
    keys: Annotated[Mapping[str, bool], "environment variable: whether it is set"]
    results: Sequence[ReachedShape]


class Selections(Envelope):
    """generate."""

    kind: Literal["selection"]
    summary: Count
    results: Sequence[SelectionShape]


class Catalogue(Envelope):
    """criteria, criteria show."""

    kind: Literal["criteria"]
    summary: Count
    results: Sequence[EntryShape]


class Findings(Envelope):
    """criteria check."""

    kind: Literal["findings"]
    summary: Count
    file: str
    results: Sequence[FindingShape]


class Conflicts(Envelope):
    """label --conflicts."""

    kind: Literal["conflicts"]
    summary: Count
    results: Sequence[ConflictShape]


class Calibrations(Envelope):
    """calibrate."""

    kind: Literal["calibrations"]
    summary: Count
    results: Sequence[CalibrationShape]


class Leaderboards(Envelope):
    """rank."""

    kind: Literal["leaderboards"]
    summary: Count
    results: Sequence[LeaderboardShape]


class Imports(Envelope):
    """import."""

    kind: Literal["imports"]
    summary: Count
    results: Sequence[ImportShape]


DOCUMENTS: tuple[type, ...] = (
    *(Judgments, Runs, Diff, Models, Doctor, Selections, Catalogue, Findings, Conflicts),
    *(Calibrations, Leaderboards, Imports),
)
"""One for each ``kind``."""
