"""What a measure says of a trajectory, and all of them together."""

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
    """A trajectory by one measure. ``score`` is the number, or what the option scores."""

    measure: str
    option: str | None = None
    """What was chosen; of a rule that holds or not, PASS or FAIL."""
    evidence: tuple[StepCitation, ...] = ()
    parts: tuple[MeasuredPart, ...] = ()
    """Of a rule: what makes the number what it is."""
    place: KeptPlace = field(default_factory=lambda: NOWHERE)
    points: tuple[PointRecord, ...] | None = None
    sentences: EvidenceRecord | None = None
    invented: Mapping[str, int] = field(default_factory=FrozenDict)
    """Model → quotes that it gave and that stand in no step."""
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
        """Whether the score is a count."""
        return not self.criteria.higher_is_better and not self.criteria.options

    @property
    def step(self) -> int | None:
        """Of blame: the step where it went wrong."""
        return self.place["step"]

    @property
    def agent(self) -> str | None:
        """Of blame: the agent who made the fault."""
        return self.place["agent"]

    @property
    def paragraph(self) -> int | None:
        """Of a policy that was broken: which paragraph of it."""
        return self.place["paragraph"]

    def detail(self) -> AgentDetail:
        """What this kind of result says beside what all of them say."""
        return AgentDetail(
            measure=self.measure,
            option=self.option,
            value=self.score if self.status is Status.SCORED else None,
            evidence=tuple(one.to_dict() for one in self.evidence),
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
    """All measures of one trajectory."""

    instance: Instance
    trajectory: Trajectory
    results: Mapping[str, MeasureResult]

    @property
    def id(self) -> str | None:
        """What the trajectory is called."""
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
        """The explanation per measure, one on each line."""
        lines = [f"{name}: {text}" for name, text in self.explanations.items() if text]
        return "\n".join(lines) or None

    @property
    def status(self) -> Status:
        """Scored if every measure is."""
        missing = [one.status for one in self.results.values() if one.status is not Status.SCORED]
        return missing[0] if missing else Status.SCORED

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes of all measures."""
        return tuple(vote for one in self.results.values() for vote in one.votes)

    @property
    def _only(self) -> MeasureResult | None:
        return next(iter(self.results.values())) if len(self.results) == 1 else None

    @property
    def scores(self) -> dict[str, float | None]:
        """Measure → its number; None where it has none."""
        return {name: one.score for name, one in self.results.items()}

    @property
    def options(self) -> dict[str, str | None]:
        """Measure → what was chosen."""
        return {name: one.option for name, one in self.results.items()}

    @property
    def evidence(self) -> dict[str, tuple[StepCitation, ...]]:
        """Measure → the steps and quotes that show it."""
        return {name: one.evidence for name, one in self.results.items()}

    @property
    def explanations(self) -> dict[str, str | None]:
        """Measure → why; without a number, why there is none."""
        return {name: one.explanation or one.reason for name, one in self.results.items()}

    def __getitem__(self, measure: str) -> MeasureResult:
        return self.results[measure]

    def cells(self) -> JsonDict:
        """What a table of results shows of this one."""
        return {
            "id": self.id,
            **{name: one.option or one.score for name, one in self.results.items()},
        }

    def to_dict(self) -> JsonDict:
        return {"id": self.id, "measures": {n: one.to_dict() for n, one in self.results.items()}}
