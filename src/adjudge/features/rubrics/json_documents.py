"""The ``--json`` output of ``adjudge rubric``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.features.rubrics.audit import AuditShape, PointFiguresShape
from adjudge.features.rubrics.comparison import RubricChangeShape
from adjudge.features.rubrics.corrected import CorrectedRateShape
from adjudge.features.rubrics.lint import RubricFindingShape
from adjudge.features.rubrics.probes import PointProbesShape, ProbeCountsShape
from adjudge.runs.exporters.documents import Envelope


class ProbesSummaryShape(TypedDict):
    """The probes of all rubrics."""

    rows: int
    points: Annotated[int, "points that earn something if they are met"]
    probes: Mapping[str, ProbeCountsShape]


class RubricFindings(Envelope):
    """The output of ``adjudge rubric check FILE --json``."""

    kind: Literal["rubric-findings"]
    summary: Count
    file: str
    results: Sequence[RubricFindingShape]


class RubricAudit(Envelope):
    """The output of ``adjudge rubric check RUN --json``."""

    kind: Literal["rubric-audit"]
    summary: AuditShape
    run: str
    results: Sequence[PointFiguresShape]


class RubricDiff(Envelope):
    """The output of ``adjudge rubric diff --json``."""

    kind: Literal["rubric-diff"]
    summary: Count
    results: Sequence[RubricChangeShape]


class RubricRates(Envelope):
    """The output of ``adjudge rubric rates --json``."""

    kind: Literal["rubric-rates"]
    summary: Count
    results: Sequence[CorrectedRateShape]


class RubricProbes(Envelope):
    """The output of ``adjudge rubric probe --json``."""

    kind: Literal["rubric-probes"]
    summary: ProbesSummaryShape
    file: str
    results: Annotated[Sequence[PointProbesShape], "points that a probe was credited for"]
