"""Votes pooled for one instance and one criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from adjudge.domain.criteria import Criteria
from adjudge.domain.frozen import FrozenDict, plain
from adjudge.domain.instance import Instance
from adjudge.domain.message import Usage
from adjudge.domain.vote import Vote


class Status(StrEnum):
    """Whether a judgment has a score."""

    SCORED = "scored"
    ABSTAINED = "abstained"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What every kind of result has."""

    instance: Instance
    criteria: Criteria
    status: Status
    votes: tuple[Vote, ...]
    score: float | None = None
    """None unless scored: a failure is never a number."""
    explanation: str | None = None
    """Of the first vote that agrees with the outcome."""
    agreement: float | None = None
    """Share of the valid votes that agree with the outcome."""
    tie: bool = False
    """Whether a tie was broken on the way."""
    fallback: str | None = None
    """The stand-in the caller asked for, where one was used; it counts in no aggregate."""

    @property
    def votes_requested(self) -> int:
        """How many votes were asked for."""
        return len(self.votes)

    @property
    def votes_valid(self) -> int:
        """How many of them carry a verdict."""
        return sum(vote.valid for vote in self.votes)

    @property
    def usage(self) -> Usage:
        """What this judgment cost."""
        return sum((vote.usage for vote in self.votes), Usage())

    def to_dict(self) -> dict[str, object]:
        """This result as JSON knows it."""
        return {
            "id": self.instance.id,
            "criteria": self.criteria.name,
            "status": self.status.value,
            "score": self.score,
            "explanation": self.explanation,
            "agreement": self.agreement,
            "tie": self.tie,
            "fallback": self.fallback,
            "votes_requested": self.votes_requested,
            "votes_valid": self.votes_valid,
            "votes": [vote.to_dict() for vote in self.votes],
        }


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """What one model of a panel says, its votes taken together."""

    model: str
    option: str
    score: float
    agreement: float
    tie: bool
    votes_valid: int
    votes_requested: int


@dataclass(frozen=True, kw_only=True)
class AspectResult(Result):
    """Pass or fail on one aspect, over a panel of models."""

    verdict: str | None = None
    """"PASS", "FAIL", or None where there is no score."""
    panel: tuple[ModelVerdict, ...] = ()
    """The models that count, in the order they were given."""
    excluded_models: Mapping[str, str] = field(default_factory=FrozenDict)
    """The models that do not, each with its reason."""

    @property
    def model_scores(self) -> dict[str, float]:
        """1.0 or 0.0 for each model that counts."""
        return {entry.model: entry.score for entry in self.panel}

    def to_dict(self) -> dict[str, object]:
        """This result as JSON knows it."""
        own = {
            "verdict": self.verdict,
            "model_scores": self.model_scores,
            "excluded_models": plain(self.excluded_models),
        }
        return super().to_dict() | own
