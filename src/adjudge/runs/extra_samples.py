"""A judge asked again: further samples for the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.runs.judge_wrapper import JudgeAround, judge_around
from adjudge.runs.ready_judge import ReadyJudge


@dataclass(frozen=True)
class WithOtherBallots(JudgeAround[Any]):
    """A judge whose ballots are modified before they are asked."""

    def change(self, ballots: Sequence[Ballot]) -> list[Ballot]:
        raise NotImplementedError

    def check(self, item: Any) -> None:
        self.judge.check(item)

    def plan(self, item: Any, votes: Sequence[Vote]) -> Sequence[Ballot]:
        return self.change(self.judge.plan(item, votes))

    def plan_all(self, item: Any) -> Sequence[Ballot]:
        return self.change(self.judge.plan_all(item))

    def pool(self, item: Any, votes: Sequence[Vote]) -> Result:
        result: Result = self.judge.pool(item, votes)
        return result


@dataclass(frozen=True)
class AskedAgain(WithOtherBallots):
    """A judge that asks for further samples, which no cache or ledger has yet."""

    asking: int = 1
    """The number of this asking, from 0."""

    def change(self, ballots: Sequence[Ballot]) -> list[Ballot]:
        offset = self.asking * self.samples
        return [
            replace(
                ballot,
                sample=ballot.sample + offset,
                seed=None if ballot.seed is None else ballot.seed + offset,
            )
            for ballot in ballots
        ]

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        return {**self.judge.configuration(criteria), "asking": self.asking}


def asked_again(ready: ReadyJudge, asking: int) -> ReadyJudge:
    """Return the judge for repetition ``asking``, counted from 0."""
    return judge_around(ready, AskedAgain(ready, asking=asking), f"({asking + 1})")
