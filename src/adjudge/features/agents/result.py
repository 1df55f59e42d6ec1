"""The result of one measure of a trajectory, and of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.verdict import KeptPlace
from adjudge.core.domain.vote import Vote
from adjudge.features.agents.record import AgentDetail, MeasuredPart, PointRecord, Shortened
from adjudge.features.agents.steps import NOWHERE, StepCitation
from adjudge.features.agents.trajectory import Trajectory
from adjudge.features.evidence.record import EvidenceRecord


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasureResult(Result):
    """One measure's result for a trajectory. ``score`` is the number, or the score of the
    option.
    """

    measure: str
    option: str | None = None
    """The chosen option; PASS or FAIL for a rule that holds or not."""
    evidence: tuple[StepCitation, ...] = ()
    parts: tuple[MeasuredPart, ...] = ()
    """The details behind a rule's number."""
    place: KeptPlace = field(default_factory=lambda: NOWHERE)
    points: tuple[PointRecord, ...] | None = None
    sentences: EvidenceRecord | None = None
    invented: Mapping[str, int] = field(default_factory=FrozenDict)
    """Model → number of its quotes that are in no step."""
    moved: Mapping[str, int] = field(default_factory=FrozenDict)
    """Model → quotes that it gave with the number of another step."""
    shortened: Shortened | None = None
    own_scores: Mapping[str, float] = field(default_factory=FrozenDict)
    trajectory: Trajectory | None = None
    """Kept with the first measure of each row."""

    @property
    def verdict(self) -> str | None:
        return self.option

    @property
    def is_count(self) -> bool:
        """True if the score is a count."""
        return not self.criteria.higher_is_better and not self.criteria.options

    @property
    def step(self) -> int | None:
        """The number of the blamed step, or None."""
        return self.place["step"]

    @property
    def agent(self) -> str | None:
        """The blamed agent, or None."""
        return self.place["agent"]

    @property
    def paragraph(self) -> int | None:
        """The number of the policy paragraph that was broken."""
        return self.place["paragraph"]

    def detail(self) -> AgentDetail:
        """Return the part of the record that is specific to this kind of result."""
        return AgentDetail(
            measure=self.measure,
            option=self.option,
            value=self.score if self.status is Status.SCORED else None,
            evidence=tuple(citation.to_dict() for citation in self.evidence),
            parts=self.parts,
            count=True if self.is_count else None,
            place=None if self.place == NOWHERE else self.place,
            points=self.points,
            sentences=self.sentences,
            invented_quotes=self.invented or None,
            moved_quotes=self.moved or None,
            shortened=self.shortened,
            model_scores=self.own_scores if len(self.own_scores) > 1 else None,
            trajectory=self.trajectory,
        )


@dataclass(frozen=True)
class TrajectoryResult:
    """The results of all measures of one trajectory."""

    instance: Instance
    trajectory: Trajectory
    results: Mapping[str, MeasureResult]

    @property
    def id(self) -> str | None:
        """The id of the trajectory."""
        return self.instance.id

    @property
    def verdict(self) -> str | None:
        """The verdict of the only measure; None if there are several."""
        return self._only.verdict if self._only else None

    @property
    def score(self) -> float | None:
        """The score of the only measure; None if there are several."""
        return self._only.score if self._only else None

    @property
    def explanation(self) -> str | None:
        """The explanations of all measures, one per line; None if there are none."""
        lines = [f"{name}: {text}" for name, text in self.explanations.items() if text]
        return "\n".join(lines) or None

    @property
    def status(self) -> Status:
        """SCORED if every measure is scored, else the status of the first that is not."""
        missing = [
            result.status for result in self.results.values() if result.status is not Status.SCORED
        ]
        return missing[0] if missing else Status.SCORED

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes of all measures."""
        return tuple(vote for result in self.results.values() for vote in result.votes)

    @property
    def _only(self) -> MeasureResult | None:
        return next(iter(self.results.values())) if len(self.results) == 1 else None

    @property
    def scores(self) -> dict[str, float | None]:
        """Measure → its score, or None."""
        return {name: result.score for name, result in self.results.items()}

    @property
    def options(self) -> dict[str, str | None]:
        """Measure → the chosen option."""
        return {name: result.option for name, result in self.results.items()}

    @property
    def evidence(self) -> dict[str, tuple[StepCitation, ...]]:
        """Measure → steps and quotes."""
        return {name: result.evidence for name, result in self.results.items()}

    @property
    def explanations(self) -> dict[str, str | None]:
        """Measure → its explanation, or the reason why it has no score."""
        return {name: result.explanation or result.reason for name, result in self.results.items()}

    def __getitem__(self, measure: str) -> MeasureResult:
        return self.results[measure]

    def cells(self) -> JsonDict:
        """Return this result as a table row: the id and one cell per measure."""
        return {
            "id": self.id,
            **{name: result.option or result.score for name, result in self.results.items()},
        }

    def to_dict(self) -> JsonDict:
        return {
            "id": self.id,
            "measures": {n: result.to_dict() for n, result in self.results.items()},
        }
