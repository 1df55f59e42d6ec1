"""The ``--json`` output of ``adjudge attack`` and ``adjudge drift``, as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import Count
from adjudge.features.stress.attacks.report import JudgeFindingShape
from adjudge.features.stress.drift.history import QuestionDriftShape
from adjudge.runs.exporters.documents import Envelope


class AnchorLookShape(TypedDict):
    """The anchors judged once."""

    number: Annotated[int, "0: when they were chosen"]
    at: float
    models: Annotated[Mapping[str, str], "model that was asked: what its replies name"]


class RenamedShape(TypedDict):
    """A model whose replies name another model than at first."""

    model: str
    before: str
    now: str


class AttackShape(JudgeFindingShape):
    """One judge by one criterion with one defence."""

    grade: Annotated[str, "how far the judge can be moved, in a sentence"]


class Attacks(Envelope):
    """The output of ``adjudge attack --json``."""

    kind: Literal["attack"]
    summary: Count
    run: str
    level: float
    decisions: Annotated[Sequence[str], "what --fail-over says of each judge"]
    results: Sequence[AttackShape]


class DriftShape(QuestionDriftShape):
    """The history of one question over all looks."""

    sentence: str


class Drifts(Envelope):
    """drift check, drift history."""

    kind: Literal["drift"]
    summary: Count
    edited: Annotated[Sequence[str], "anchors whose text is not the one that was judged"]
    looks: Sequence[AnchorLookShape]
    renamed: Sequence[RenamedShape]
    results: Sequence[DriftShape]
