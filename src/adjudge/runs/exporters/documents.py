"""The documents of ``--json``: one envelope for every command, with results by ``kind``.

``adjudge schema results`` publishes it as JSON schema, made from these types; ``docs/json.md``
explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.core.catalog.lint import Finding
from adjudge.core.domain.json_document import Count
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.cli.criteria import EntryShape
from adjudge.runs.cli.estimates import EstimateShape
from adjudge.runs.cli.judge import AggregateShape
from adjudge.runs.cli.plugins import PluginShape
from adjudge.runs.cli.run_data import ConfiguredRunShape, RunShape, UnreadableRunShape
from adjudge.runs.cli.show_diff import CameShape, ChangeShape
from adjudge.runs.results.cascades import CascadeShape
from adjudge.runs.results.contests import OrderShape, SystemShape
from adjudge.runs.results.cost import CostShape
from adjudge.runs.results.gate import GateShape
from adjudge.runs.results.repeats import RepeatsShape
from adjudge.runs.results.report import Skipped
from adjudge.runs.results.setup import ChangeOfMeanShape
from adjudge.runs.results.summary import CountsShape, FiguresShape, IntervalShape, ModelMeanShape
from adjudge.runs.results.systems import SystemDifferenceShape
from adjudge.trust.comparison import ComparisonShape


class SummaryShape(CountsShape, CostShape):
    """All judgments. There is a mean only if all are by one criterion."""

    mean: NotRequired[float | None]
    skipped: NotRequired[Annotated[int, "rows that were not to be judged"]]
    tied: NotRequired[
        Annotated[int, "rows with a verdict although as many votes are for another option"]
    ]
    interval: NotRequired[IntervalShape | None]
    options: NotRequired[Annotated[Count, "option: how often it was chosen"]]
    reasons: NotRequired[Annotated[Count, "reason: how many judgments have no score by it"]]
    calls: int
    failed_calls: int
    prompt_tokens: int
    completion_tokens: int
    calls_with_estimated_tokens: int
    excluded_models: NotRequired[
        Annotated[Count, "model of a panel: on how many rows it did not count"]
    ]
    models: NotRequired[Annotated[Mapping[str, ModelMeanShape], "of a panel: each model by itself"]]


class CriteriaShape(FiguresShape):
    """One judge by one criteria."""

    judge: str
    criteria: str
    system: NotRequired[Annotated[str, "the system whose answers they are, if several answered"]]
    good_answer: NotRequired[
        Annotated[str, "of two options the one that counts as good, unless it is PASS"]
    ]
    systems: NotRequired[Annotated[Sequence[SystemShape], "comparisons: the best first"]]
    positional_bias: NotRequired[OrderShape | None]
    cascade: NotRequired[CascadeShape]
    repeats: NotRequired[Annotated[Sequence[RepeatsShape], "rows that were answered several times"]]
    baseline: NotRequired[
        Annotated[Sequence[ChangeOfMeanShape], "against --baseline: mean, dimensions or win rates"]
    ]


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


DOCUMENTS: tuple[type, ...] = (Judgments, Estimates, Runs, Diff, Plugins, Catalogue, Findings)
"""Those of commands that know no feature; features bring theirs as parts (``documents``)."""
