"""The ``--json`` output of ``adjudge explain``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.features.explain.opinions import OpinionShape
from adjudge.runs.exporters.documents import Envelope


class OpinionCounts(TypedDict):
    """The number of judgments of each kind."""

    asked: int
    agrees: int
    differs: int
    incomparable: Annotated[int, "one of the two has no verdict"]
    good: Annotated[int, "not asked about: the best verdict, and certain"]
    left_out: Annotated[int, "comparisons, numbers, and what no question describes"]
    skipped: Annotated[int, "rows that the run skipped"]


class SecondOpinions(Envelope):
    """The output of ``adjudge explain --json``."""

    kind: Literal["second-opinions"]
    summary: OpinionCounts
    model: str
    folder: str
    calibrated: Annotated[bool, "the probabilities are at the learned temperature"]
    results: Sequence[OpinionShape]
