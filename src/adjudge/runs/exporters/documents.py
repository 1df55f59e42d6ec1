"""The documents of ``--json``: one envelope for every command, with results by ``kind``.

``adjudge schema results`` publishes it as JSON schema, made from these types; ``docs/json.md``
explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.runs.results.cascades import CascadeShape
from adjudge.runs.results.contests import OrderShape, SystemShape
from adjudge.runs.results.cost import CostShape
from adjudge.runs.results.gate import GateShape
from adjudge.runs.results.repeats import RepeatsShape
from adjudge.runs.results.setup import ChangeOfMeanShape
from adjudge.runs.results.summary import CountsShape, FiguresShape, IntervalShape, ModelMeanShape


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
    """The figures of one judge and criterion."""

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
