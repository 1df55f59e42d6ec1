"""``after: checks``: a judge is asked only about rows that pass the checks of a program."""

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
    """An item for a judge, and the row that is checked first."""

    instance: Instance
    item: Any
    checks: Sequence[CheckJudge] = field(repr=False)

    @property
    def id(self) -> str | None:
        return self.instance.id

    @cached_property
    def refusal(self) -> str | None:
        """The check that fails, and its reason; None if all required checks pass."""
        return next(
            (
                reason
                for check in self.checks
                if (reason := check.refusal(self.instance)) is not None
            ),
            None,
        )


@dataclass(frozen=True)
class AfterChecks(JudgeAround[CheckedRow]):
    """A judge of the rows whose required checks pass. Other rows are skipped, which costs
    nothing.
    """

    checks: tuple[CheckJudge, ...] = ()

    def rows(self, instance: Instance) -> list[CheckedRow]:
        """Return the judge's items of a row, each with its checks."""
        return [CheckedRow(instance, item, self.checks) for item in self.ready.items(instance)]

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
            result: Result = self.judge.pool(item.item, votes)
            return result
        empty: Result = self.judge.pool(item.item, ())
        return replace(
            without_verdict(empty, Status.SKIPPED),
            votes=(),
            explanation=Message("not judged: {reason}", reason=item.refusal),
        )

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the judge's configuration with the checks that come first."""
        own = self.judge.configuration(criteria)
        return {**own, "after": [check.configuration(check.criteria) for check in self.checks]}


def after_checks(ready: ReadyJudge, checks: Sequence[ReadyJudge]) -> ReadyJudge:
    """Return the judge, asked only if the checks of the file pass."""
    check_judges = [check.judge for check in checks if isinstance(check.judge, CheckJudge)]
    if not check_judges:
        raise SetupError("after: checks needs checks: add checks to the file")
    if ready.compares:
        raise SetupError(
            "a judge that compares responses reads several at once: leave after: checks out"
        )
    judge = AfterChecks(replace(ready, per="row"), checks=tuple(check_judges))
    return replace(ready, judge=judge, first_step=None, columns=None, each_row=judge.rows)
