"""The ``--json`` output of commands that know no feature, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired

from adjudge.core.catalog.lint import Finding
from adjudge.core.domain.json_document import Count
from adjudge.core.domain.multi_results import AggregateShape
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.cli.criteria import EntryShape
from adjudge.runs.cli.estimates import EstimateShape
from adjudge.runs.cli.plugins import PluginShape
from adjudge.runs.cli.run_data import ConfiguredRunShape, RunShape, UnreadableRunShape
from adjudge.runs.cli.show_diff import CameShape, ChangeShape
from adjudge.runs.exporters.documents import Envelope, SummaryShape
from adjudge.runs.results.report import Skipped
from adjudge.runs.results.systems import SystemDifferenceShape
from adjudge.trust.comparison import ComparisonShape


class Judgments(Envelope):
    """Output of check, judge, compare, rag and run, and of runs show (without votes)."""

    kind: Literal["judgments"]
    summary: SummaryShape
    reasons: Annotated[Count, "why judgments have no score, over all criteria"]
    skipped: Skipped
    remarks: NotRequired[
        Annotated[Sequence[str], "lines on cascades, and on what was learned from labels"]
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
    run: NotRequired[ConfiguredRunShape]
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
    results: Sequence[RunShape | UnreadableRunShape]


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
