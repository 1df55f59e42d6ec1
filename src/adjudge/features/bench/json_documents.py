"""The ``--json`` output of ``adjudge bench`` and ``adjudge criteria improve``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.features.bench.benchmark import RankingShape
from adjudge.features.bench.published_results import PublishedSet
from adjudge.runs.exporters.documents import Envelope
from adjudge.stats.estimate import FigureShape


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
    results: Annotated[
        Sequence[ImprovementShape], "one, or none where there was nothing to improve"
    ]
