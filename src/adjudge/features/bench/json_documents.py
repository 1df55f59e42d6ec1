"""The ``--json`` output of ``adjudge bench`` and ``adjudge criteria improve``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.features.bench.benchmark import RankingShape
from adjudge.features.bench.candidates import TriedShape
from adjudge.features.bench.published_results import PublishedSet
from adjudge.runs.exporters.documents import Envelope
from adjudge.stats.estimate import FigureShape


class ImprovementShape(TypedDict):
    """The best of several criteria, and its results on rows that did not choose it."""

    criteria: str
    before: Mapping[str, object]
    proposal: Mapping[str, object]
    explanation: str
    changes: Sequence[Mapping[str, str]]
    split: Annotated[Count, "seed, rows to learn from, rows to choose by, rows held out"]
    shown: Annotated[Sequence[Mapping[str, object]], "disagreements that the writer was shown"]
    candidates: Annotated[Sequence[TriedShape], "on the rows to choose by"]
    stopped: Annotated[str, "why the search stopped"]
    tried_before: Annotated[int, "candidates that earlier calls tried on these labels"]
    measurement: Annotated[
        int, "which measurement on these held-out rows it is; the interval allows for earlier ones"
    ]
    agreement_before: float
    agreement_after: float
    gain: Annotated[FigureShape, "on the held-out rows"]
    level: Annotated[float, "of the interval of the gain"]
    p_value: float | None
    smallest: Annotated[float | None, "the smallest difference that these rows could show"]
    outcome: Literal["better", "worse", "cannot tell"]
    failed: int
    written: Annotated[str | None, "the new file of criteria"]


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
    results: Sequence[PublishedSet]


class Improvements(Envelope):
    """The output of ``adjudge criteria improve --json``."""

    kind: Literal["improvement"]
    summary: Count
    results: Annotated[Sequence[ImprovementShape], "one, or none if no candidate was better"]
