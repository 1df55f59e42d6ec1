"""``after: checks``: a judge is asked only about rows that pass what a program can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.checks import CheckJudge
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.judge_wrapper import JudgeAround, without_verdict
from adjudge.runs.ready_judge import ReadyJudge


@dataclass(frozen=True)
class CheckedRow:
    """What a judge would look at, and the row that is checked before."""

    instance: Instance
    item: Any
    checks: Sequence[CheckJudge] = field(repr=False)

    @property
    def id(self) -> str | None:
        return self.instance.id

    @cached_property
    def refusal(self) -> str | None:
        """Which check does not pass, and why; None where all that must pass do."""
        return next(
            (found for one in self.checks if (found := one.refusal(self.instance)) is not None),
            None,
        )


@dataclass(frozen=True)
class AfterChecks(JudgeAround[CheckedRow]):
    """A judge of the rows whose required checks pass; the others are skipped, which costs
    nothing.
    """

    checks: tuple[CheckJudge, ...] = ()

    def rows(self, instance: Instance) -> list[CheckedRow]:
        """What the judge takes of a row, each with its checks."""
        return [CheckedRow(instance, one, self.checks) for one in self.ready.items(instance)]

    def check(self, item: CheckedRow) -> None:
        if item.refusal is None:
            self.judge.check(item.item)

    def plan(self, item: CheckedRow, votes: Sequence[Vote]) -> Sequence[Ballot]:
        return self.judge.plan(item.item, votes) if item.refusal is None else ()

    def plan_all(self, item: CheckedRow) -> Sequence[Ballot]:
        return self.plan_if_allowed(item) if item.refusal is None else ()

    def plan_if_allowed(self, item: CheckedRow) -> Sequence[Ballot]:
        return self.judge.plan_all(item.item)

    def pool(self, item: CheckedRow, votes: Sequence[Vote]) -> Result:
        if item.refusal is None:
            judged: Result = self.judge.pool(item.item, votes)
            return judged
        empty: Result = self.judge.pool(item.item, ())
        return replace(
            without_verdict(empty, Status.SKIPPED),
            votes=(),
            explanation=Message("not judged: {reason}", reason=item.refusal),
        )

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """The judge's own, and the checks that come first."""
        own = self.judge.configuration(criteria)
        return {**own, "after": [one.configuration(one.criteria) for one in self.checks]}


def after_checks(ready: ReadyJudge, checks: Sequence[ReadyJudge]) -> ReadyJudge:
    """The same judge, asked only where the checks of the file pass."""
    made = [one.judge for one in checks if isinstance(one.judge, CheckJudge)]
    if not made:
        raise SetupError("after: checks needs checks: add checks to the file")
    if ready.compares:
        raise SetupError(
            "a judge that compares responses reads several at once: leave after: checks out"
        )
    judge = AfterChecks(replace(ready, per="row"), checks=tuple(made))
    return replace(ready, judge=judge, first_step=None, columns=None, each_row=judge.rows)
