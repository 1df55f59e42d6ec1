"""Judges around another judge: they change what it is shown, or its results."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.judge import I, Judge
from adjudge.core.judges.settings import ModelPanel, OnFailure, OnTooFew
from adjudge.runs.ready_judge import ReadyJudge

_VERDICTS: Mapping[str, object] = {
    "verdict": None,
    "option": None,
    "selected_option": None,
    "checks": (),
}
"""Fields of a verdict → their values in a result without one."""


@dataclass(frozen=True)
class JudgeAround(Judge[I, Result]):
    ready: ReadyJudge
    """The judge inside, as its file made it."""

    @property
    def judge(self) -> Judge[Any, Any]:
        return self.ready.judge

    @property
    def language(self) -> str:  # type: ignore[override]
        return self.judge.language

    @property
    def on_failure(self) -> OnFailure | OnTooFew:
        return self.judge.on_failure

    @property
    def samples(self) -> int:
        return self.judge.samples

    @property
    def max_in_flight(self) -> int:
        return self.judge.max_in_flight

    def check_settings(self) -> None:
        """Do nothing: the inner judge has already checked its settings."""

    def open_models(self) -> ModelPanel:
        return self.judge.panel

    async def ask(self, ballot: Ballot) -> Vote:
        return await self.judge.ask(ballot)

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        return self.judge.vote_keys()

    def ballots_of_result(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        return self.judge.ballots_of_result(ballots)

    def fallback_result(self, result: Result, choice: random.Random) -> Result:
        fallback: Result = self.judge.fallback_result(result, choice)
        return fallback

    def recorded_settings(self) -> dict[str, object]:
        return self.judge.recorded_settings()

    # the file says them
    def criteria_of(self, items: Sequence[I]) -> list[Criteria]:  # noqa: ARG002
        return list(self.ready.criteria)


def judge_around(ready: ReadyJudge, judge: JudgeAround[Any], mark: str) -> ReadyJudge:
    """Replace the inner judge by ``judge``, on the same rows. ``mark``: appended to its name."""
    return replace(
        ready,
        name=f"{ready.name} {mark}",
        label=f"{ready.label} {mark}",
        judge=judge,
        first_step=None,
        columns=None,
        per="row",
        each_row=ready.items,
    )


def without_verdict(result: Result, status: Status) -> Result:
    """Return the result without its verdict, score and explanation."""
    names = {result_field.name for result_field in fields(result)}
    empty = {name: value for name, value in _VERDICTS.items() if name in names}
    bare = replace(result, status=status, score=None, explanation=None)
    return replace(bare, **empty)  # type: ignore[arg-type]
