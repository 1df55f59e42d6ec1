"""``after: checks`` and ``rows_with``: a judge is asked only about some of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from adjudge.core.checks.check import texts_in
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
    """An item for a judge, and the row to check first."""

    instance: Instance
    item: Any
    checks: Sequence[CheckJudge] = field(repr=False)
    rows_with: str = ""
    """The field that the row must have."""

    @property
    def id(self) -> str | None:
        return self.instance.id

    @cached_property
    def refusal(self) -> str | None:
        """The missing field, or the check that fails and its reason; None if the row is judged."""
        if self.rows_with and not texts_in(self.instance, self.rows_with):
            return Message("the row has no {field}", field=self.rows_with)
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
    """A judge that only sees rows that have a field and pass the required checks. Other rows are
    skipped at no cost.
    """

    checks: tuple[CheckJudge, ...] = ()
    rows_with: str = ""

    def rows(self, instance: Instance) -> list[CheckedRow]:
        """Return the judge's items for a row, each with its checks."""
        items = self.ready.items(instance)
        return [CheckedRow(instance, item, self.checks, self.rows_with) for item in items]

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
        """Return the judge's configuration, plus its conditions on rows."""
        limits: JsonDict = {}
        if self.checks:
            limits["after"] = [check.configuration(check.criteria) for check in self.checks]
        if self.rows_with:
            limits["rows_with"] = self.rows_with
        return {**self.judge.configuration(criteria), **limits}


def limited(
    ready: ReadyJudge, checks: Sequence[ReadyJudge] | None, rows_with: str = ""
) -> ReadyJudge:
    """Restrict a judge to rows that have the field ``rows_with``, if set, and pass ``checks``. None
    means no checks.

    Raises a SetupError if ``checks`` has no check, or if the judge compares responses.
    """
    check_judges = [check.judge for check in checks or () if isinstance(check.judge, CheckJudge)]
    # Without required checks every check counts, but not those of one judge beside another's.
    required = [judge for judge in check_judges if any(check.required for check in judge.checks)]
    if checks is not None and not check_judges:
        raise SetupError("after: checks needs checks: add checks to the file")
    if ready.compares:
        raise SetupError(
            "a judge that compares responses reads several at once, so {name} does not apply: "
            "leave it out",
            name="after: checks" if checks is not None else "rows_with",
        )
    judge = AfterChecks(
        replace(ready, per="row"), checks=tuple(required or check_judges), rows_with=rows_with
    )
    return replace(
        ready,
        judge=judge,
        first_step=None,
        columns=None,
        each_row=judge.rows,
        rows_with=rows_with,
    )
