"""The base of judges that have a model write a proposal for a person to review."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.gateway.opener import ModelLike
from adjudge.core.judges.judge import Judge
from adjudge.core.judges.settings import AskSettings, ModelPanel, alias

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class ProposalJudge(AskSettings, Judge[Instance, R]):
    """Asks its models one after the other until one has written a valid proposal."""

    model: ModelLike | Sequence[ModelLike] | None = field(default=None, hash=False)
    models: ModelLike | Sequence[ModelLike] | None = alias("model")

    def open_models(self) -> ModelPanel:
        """Open the models."""
        return ModelPanel.of(self.model)

    @property
    def samples(self) -> int:
        """One proposal per model."""
        return 1

    @abstractmethod
    def ballot_of(self, item: Instance, model: str) -> Ballot:
        """Return the request for a proposal."""

    def plan(self, item: Instance, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return a ballot for the next model, until one has answered."""
        if any(vote.verdict for vote in votes):
            return []
        asked_models = {vote.model for vote in votes}
        waiting = [name for name in self.panel if name not in asked_models][:1]
        return [self.ballot_of(item, name) for name in waiting]

    def fallback_result(self, result: R, choice: random.Random) -> R:  # noqa: ARG002
        """Return the result unchanged, because a proposal cannot be drawn at random."""
        return replace(result)
