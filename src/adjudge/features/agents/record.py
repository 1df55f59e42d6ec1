"""The record of one measure of a trajectory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail, JudgmentRecord
from adjudge.core.domain.verdict import KeptCitation, KeptPlace
from adjudge.features.agents.trajectory import Trajectory
from adjudge.features.evidence.record import EvidenceRecord


@light_dataclass(frozen=True, kw_only=True)
class MeasuredPart:
    """One detail behind a number, such as a missing call and its step."""

    text: str
    step: Annotated[int | None, "the step it is about; null: none"] = None


@light_dataclass(frozen=True, kw_only=True)
class PointRecord:
    """One point of a checklist."""

    text: str
    met: Annotated[bool | None, "null: it cannot be told"]


@light_dataclass(frozen=True, kw_only=True)
class Shortened:
    """The part of the steps that a judge was not shown."""

    characters: int
    of: int
    steps: Annotated[int, "steps of which only a count was shown"] = 0


@light_dataclass(frozen=True, kw_only=True)
class AgentDetail(Detail):
    """A trajectory by one measure: a number by rule, or an option with its evidence."""

    kind: ClassVar[str] = "agent"
    sections: ClassVar[tuple[str, ...]] = ("steps",)
    unit: ClassVar[Literal["row", "task", "conversation"]] = "task"
    counts_skip_reasons: ClassVar[bool] = True

    measure: str
    option: Annotated[str | None, "of a question to a model, and of a rule that holds or not"]
    value: Annotated[float | None, "the number; null: there is nothing to measure"]
    evidence: tuple[KeptCitation, ...]
    parts: tuple[MeasuredPart, ...]
    count: Annotated[bool | None, "true: the fewer the better, and there is no most"] = None
    place: Annotated[KeptPlace | None, "blame: step and agent; policy: the paragraph"] = None
    points: Annotated[tuple[PointRecord, ...] | None, "checklist: each of its points"] = None
    sentences: Annotated[EvidenceRecord | None, "reported_truly: the answer in sentences"] = None
    invented_quotes: Annotated[Mapping[str, int] | None, "model: quotes that stand in no step"] = (
        None
    )
    moved_quotes: Annotated[
        Mapping[str, int] | None, "model: quotes with the number of another step"
    ] = None
    shortened: Shortened | None = None
    model_scores: Annotated[Mapping[str, float] | None, "of a panel: each model by itself"] = None
    trajectory: Annotated[
        Trajectory | None, "with the first measure of each row: what the agent did"
    ] = None

    @property
    def chosen(self) -> str | None:
        return self.option

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest score that a missing one could have; a count has no upper
        bound.
        """
        return 0.0, math.inf if self.is_count else 1.0

    @property
    def is_count(self) -> bool:
        """True if the score is a count."""
        return bool(self.count)

    def passes_or_fails(self, score: float | None) -> bool:  # noqa: ARG002
        """Return True if the measure has options: a share of 1.0 is not a pass."""
        return self.option is not None

    @property
    def is_shortened(self) -> bool:
        """True if the judge was not shown all of the steps."""
        return self.shortened is not None

    def possible_scores(
        self, record: JudgmentRecord, scale: tuple[float, float]
    ) -> tuple[float, float] | None:
        is_vote = self.option is not None and self.points is None and self.sentences is None
        if not is_vote:
            return super().possible_scores(record, scale)
        if record.score is None or not record.lost_votes or record.has_safe_majority:
            return None
        return self._any_score(record.score, scale)

    @property
    def blamed_step(self) -> int | None:
        return self.place["step"] if self.place else None


def agent_detail(record: JudgmentRecord) -> AgentDetail | None:
    """Return the agent detail of a record; None for other kinds of judgments."""
    return record.detail if isinstance(record.detail, AgentDetail) else None
