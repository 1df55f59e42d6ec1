"""The ``--json`` output of commands about people's labels, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.runs.exporters.documents import Envelope
from adjudge.runs.results.leaderboard import LeaderboardShape
from adjudge.trust.calibration import CalibrationShape
from adjudge.trust.cascades import ThresholdsShape
from adjudge.trust.guideline import GuidelineShape
from adjudge.trust.labels.store import Conflict
from adjudge.trust.planning import PlanShape
from adjudge.trust.probabilities import ProbabilityShape


class PersonShape(TypedDict):
    """The progress of an annotator with the assigned rows."""

    criteria: str
    annotator: str
    done: int
    total: int


class Conflicts(Envelope):
    """The output of ``adjudge label --conflicts --json``."""

    kind: Literal["conflicts"]
    summary: Count
    results: Sequence[Conflict]
    guideline: Annotated[Sequence[GuidelineShape], "what it should say more clearly"]


class Assigned(Envelope):
    """The output of ``adjudge label --assigned --json``."""

    kind: Literal["assigned"]
    summary: Count
    results: Sequence[PersonShape]


class Calibrations(Envelope):
    """The output of ``adjudge calibrate --json``."""

    kind: Literal["calibrations"]
    summary: Count
    results: Sequence[CalibrationShape]


class Cascades(Envelope):
    """The output of ``adjudge calibrate --cascade --json``."""

    kind: Literal["cascades"]
    summary: Count
    results: Sequence[ThresholdsShape]


class Probabilities(Envelope):
    """The output of ``adjudge calibrate --probabilities --json``."""

    kind: Literal["probabilities"]
    summary: Count
    results: Sequence[ProbabilityShape]


class Leaderboards(Envelope):
    """The output of ``adjudge rank --json``."""

    kind: Literal["leaderboards"]
    summary: Count
    results: Sequence[LeaderboardShape]


class PlansDocument(Envelope):
    """The output of ``adjudge plan --json``."""

    kind: Literal["plans"]
    summary: Count
    results: Sequence[PlanShape]
