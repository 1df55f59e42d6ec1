"""A panel: each model's own majority, then the mean over the models that have one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudge.domain.criteria import Criteria
from adjudge.domain.results import ModelVerdict, Status
from adjudge.domain.vote import Outcome, Vote
from adjudge.pooling.majority import majority


@dataclass(frozen=True, slots=True)
class Panel:
    """What the models say, and which of them could not be counted."""

    counted: tuple[ModelVerdict, ...]
    excluded: dict[str, str]

    @property
    def score(self) -> float | None:
        """The mean over the counted models; None when there is none."""
        if not self.counted:
            return None
        return sum(entry.score for entry in self.counted) / len(self.counted)

    def weighted(self, weights: Mapping[str, float]) -> float | None:
        """The mean with each model's weight; None where no counted model has one above 0."""
        total = math.fsum(weights[entry.model] for entry in self.counted)
        return math.fsum(weights[entry.model] * entry.score for entry in self.counted) / total if total > 0 else None


def panel(votes: Sequence[Vote], models: Sequence[str], criteria: Criteria, min_valid: int = 1) -> Panel:
    """Every model by its own votes. One with fewer than ``min_valid`` valid ones is excluded, with the reason."""
    counted: list[ModelVerdict] = []
    excluded: dict[str, str] = {}
    for model in models:
        own = [vote for vote in votes if vote.model == model]
        entry = _model_verdict(model, own, criteria, min_valid)
        if entry:
            counted.append(entry)
        else:
            excluded[model] = why_excluded(own, min_valid)
    return Panel(tuple(counted), excluded)


def status_of(votes: Sequence[Vote], scored: bool) -> Status:
    """Scored; else abstained where a model declined to decide; else failed."""
    if scored:
        return Status.SCORED
    abstained = any(vote.outcome is Outcome.ABSTAINED for vote in votes)
    return Status.ABSTAINED if abstained else Status.FAILED


def why_excluded(votes: Sequence[Vote], min_valid: int) -> str:
    """The commonest reason among the votes that carry no verdict."""
    valid = sum(vote.valid for vote in votes)
    if valid >= min_valid:
        return "the option it chose has no score"
    reasons = Counter(f"{vote.outcome.value}: {vote.reason}" for vote in votes if not vote.valid)
    short = f"{valid} of {len(votes)} votes valid, {min_valid} needed; " if valid else ""
    return short + (reasons.most_common(1)[0][0] if reasons else "no votes")


def _model_verdict(model: str, votes: Sequence[Vote], criteria: Criteria, min_valid: int) -> ModelVerdict | None:
    said = [vote.verdict.option for vote in votes if vote.verdict]
    won = majority(said, criteria)
    if won is None or len(said) < min_valid:
        return None
    score = criteria.option(won.option).score
    if score is None:
        return None
    return ModelVerdict(model, won.option, score, won.agreement, won.tie, len(said), len(votes))
