"""Checks as a judge: it asks nobody, and its results are like any other's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from adjudge.core.checks.check import Expectation, Observation
from adjudge.core.checks.kinds import say
from adjudge.core.domain.check_result import FAIL, PASS, CheckRecord, CheckResult
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.results import Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.judge import Judge
from adjudge.errors import SetupError
from adjudge.messages import Message, join

_OPTIONS = (CriteriaOption(PASS, score=1.0), CriteriaOption(FAIL, score=0.0))
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A row, and the check that it is looked at by; None: all of them together."""

    instance: Instance
    expectation: Expectation | None

    @property
    def id(self) -> str | None:
        return self.instance.id


@dataclass(frozen=True)
class CheckJudge(Judge[RowCheck, CheckResult]):
    """Pass or fail by a program, without a model: each check by itself and, of several, all of them
    together.

    Parameters:
        checks: what is expected of a row, as ``adjudge.core.checks.kinds`` reads them.
        threshold: the share of the checks, by their weights, that is enough to pass; a required one
            must pass whatever that share is.
        code: a hash of the files that checks in Python stand in: edited, they are other checks.
    """

    checks: Sequence[Expectation]
    name: str = "checks"
    threshold: float = 1.0
    code: str = ""

    def check_settings(self) -> None:
        super().check_settings()
        if not self.checks:
            raise SetupError("give at least one check")
        titles = [str(one.title) for one in self.checks]
        for title in titles:
            if titles.count(title) > 1 or title == self.name:
                raise SetupError("two checks are called {title!r}: give one a name", title=title)

    @property
    def samples(self) -> int:
        return 1

    @property
    def max_in_flight(self) -> int:
        return _AT_ONCE

    @cached_property
    def criteria(self) -> tuple[Criteria, ...]:
        """What each check asks, and of several what all of them do."""
        each = tuple(
            Criteria(
                str(one.title),
                str(Message("A program checks: {title}.", title=one.title)),
                _OPTIONS,
                to_evaluate_field=one.field,
            )
            for one in self.checks
        )
        if len(each) == 1:
            return each
        return (*each, Criteria(self.name, str(Message("All checks together.")), _OPTIONS))

    def rows(self, instance: Instance) -> list[RowCheck]:
        """What is looked at of an instance, one for each result."""
        each = [RowCheck(instance, one) for one in self.checks]
        return each if len(each) == 1 else [*each, RowCheck(instance, None)]

    def refusal(self, instance: Instance) -> str | None:
        """Which required check does not pass, and why; without required ones, any. One that cannot
        be told does not.
        """
        for one in [one for one in self.checks if one.required] or self.checks:
            if not one.applies_to(instance):
                continue
            found = one.look(instance)
            if not found.passed:
                return Message("{name}: {reason}", name=one.title, reason=found.reason)
        return None

    # nobody is asked
    def plan(self, item: RowCheck, votes: Sequence[Vote]) -> Sequence[Ballot]:  # noqa: ARG002
        return ()

    def check(self, item: RowCheck) -> None:
        """Whatever a row lacks is a result, not an error."""

    # there are none
    def pool(self, item: RowCheck, votes: Sequence[Vote]) -> CheckResult:  # noqa: ARG002
        if item.expectation is None:
            return self._together(item.instance)
        place = self.checks.index(item.expectation)
        if not item.expectation.applies_to(item.instance):
            return _not_checked(item.instance, self.criteria[place], item.expectation)
        found = _record(item.expectation, item.expectation.look(item.instance))
        return CheckResult(
            instance=item.instance,
            criteria=self.criteria[place],
            status=Status.FAILED if found.passed is None else Status.SCORED,
            score=None if found.passed is None else float(found.passed),
            verdict=None if found.passed is None else PASS if found.passed else FAIL,
            explanation=None if found.passed is None else found.reason,
            checks=(found,),
        )

    def _together(self, instance: Instance) -> CheckResult:
        applying = [one for one in self.checks if one.applies_to(instance)]
        if not applying:
            return _not_checked(instance, self.criteria[-1], self.checks[0])
        found = tuple(_record(one, one.look(instance)) for one in applying)
        missed = [one for one in found if one.passed is False]
        if any(one.passed is None for one in found):
            return CheckResult(
                instance=instance, criteria=self.criteria[-1], status=Status.FAILED, checks=found
            )
        share = sum(one.weight for one in found if one.passed) / sum(one.weight for one in found)
        passed = share >= self.threshold and not any(one.required for one in missed)
        each = (Message("{name}: {reason}", name=one.name, reason=one.reason) for one in missed)
        return CheckResult(
            instance=instance,
            criteria=self.criteria[-1],
            score=share,
            verdict=PASS if passed else FAIL,
            explanation=join("; ", each) if missed else Message("all checks pass"),
            checks=found,
        )

    def recorded_settings(self) -> dict[str, object]:
        """The checks as a file would say them, wherever it lies."""
        return {
            "name": self.name,
            "threshold": self.threshold,
            "checks": [say(one) for one in self.checks],
            **({"code": self.code} if self.code else {}),
        }

    def fallback_result(
        self,
        result: CheckResult,
        choice: random.Random,  # noqa: ARG002
    ) -> CheckResult:
        """Nothing stands in for what a program cannot tell."""
        return result


def _not_checked(row: Instance, criteria: Criteria, one: Expectation) -> CheckResult:
    """The result for a row without the field that a check is limited to."""
    return CheckResult(
        instance=row,
        criteria=criteria,
        status=Status.SKIPPED,
        explanation=Message("the row has no {field}", field=one.rows_with),
    )


def _record(one: Expectation, found: Observation) -> CheckRecord:
    return CheckRecord(
        name=str(one.title),
        passed=found.passed,
        reason=found.reason,
        value=found.value,
        spans=tuple((span.start, span.end) for span in found.spans),
        weight=one.weight,
        required=one.required,
    )
