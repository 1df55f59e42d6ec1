"""Run checks as a judge: it asks no model, and its results look like any other's."""

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
    """One row with one check; without an expectation it stands for all checks together."""

    instance: Instance
    expectation: Expectation | None

    @property
    def id(self) -> str | None:
        return self.instance.id


@dataclass(frozen=True)
class CheckJudge(Judge[RowCheck, CheckResult]):
    """Passes or fails rows by a program, without a model: by each check and, if there are several,
    by all of them together.

    Parameters:
        checks: what is expected of a row, as ``adjudge.core.checks.kinds`` reads them.
        threshold: the share of the checks, by their weights, that is enough to pass; a required one
            must pass whatever that share is.
        code: a hash of the files with checks in Python: edited files are other checks.
    """

    checks: Sequence[Expectation]
    name: str = "checks"
    threshold: float = 1.0
    code: str = ""

    def check_settings(self) -> None:
        super().check_settings()
        if not self.checks:
            raise SetupError("give at least one check")
        titles = [str(check.title) for check in self.checks]
        for title in titles:
            if titles.count(title) > 1 or title == self.name:
                raise SetupError(
                    "two checks are named {title!r}: give one of them another name", title=title
                )

    @property
    def samples(self) -> int:
        return 1

    @property
    def max_in_flight(self) -> int:
        return _AT_ONCE

    @cached_property
    def criteria(self) -> tuple[Criteria, ...]:
        """Return one criterion per check and, if there are several, one for all of them
        together.
        """
        single = tuple(
            Criteria(
                str(check.title),
                str(Message("Checked by a program: {title}.", title=check.title)),
                _OPTIONS,
                to_evaluate_field=check.field,
            )
            for check in self.checks
        )
        if len(single) == 1:
            return single
        return (*single, Criteria(self.name, str(Message("All checks together.")), _OPTIONS))

    def rows(self, instance: Instance) -> list[RowCheck]:
        """Return an instance's row checks: one per check and, if there are several, one for all
        together.
        """
        single = [RowCheck(instance, check) for check in self.checks]
        return single if len(single) == 1 else [*single, RowCheck(instance, None)]

    def refusal(self, instance: Instance) -> str | None:
        """Return the name and reason of the first required check that does not pass, else None.

        Without required checks every check counts. A check that does not apply to the row is
        skipped, and one that cannot be decided does not pass.
        """
        for check in [check for check in self.checks if check.required] or self.checks:
            if not check.applies_to(instance):
                continue
            observation = check.look(instance)
            if not observation.passed:
                return Message("{name}: {reason}", name=check.title, reason=observation.reason)
        return None

    # Checks need no votes.
    def plan(self, item: RowCheck, votes: Sequence[Vote]) -> Sequence[Ballot]:  # noqa: ARG002
        return ()

    def check(self, item: RowCheck) -> None:
        """Accept every row: a missing field is a result, not an error."""

    # There are no votes.
    def pool(self, item: RowCheck, votes: Sequence[Vote]) -> CheckResult:  # noqa: ARG002
        if item.expectation is None:
            return self._pool_all_checks(item.instance)
        place = self.checks.index(item.expectation)
        if not item.expectation.applies_to(item.instance):
            return _skipped_result(item.instance, self.criteria[place], item.expectation)
        record = _record(item.expectation, item.expectation.look(item.instance))
        return CheckResult(
            instance=item.instance,
            criteria=self.criteria[place],
            status=Status.FAILED if record.passed is None else Status.SCORED,
            score=None if record.passed is None else float(record.passed),
            verdict=None if record.passed is None else PASS if record.passed else FAIL,
            explanation=None if record.passed is None else record.reason,
            checks=(record,),
        )

    def _pool_all_checks(self, instance: Instance) -> CheckResult:
        applying = [record for record in self.checks if record.applies_to(instance)]
        if not applying:
            return _skipped_result(instance, self.criteria[-1], self.checks[0])
        records = tuple(_record(record, record.look(instance)) for record in applying)
        failures = [record for record in records if record.passed is False]
        if any(record.passed is None for record in records):
            return CheckResult(
                instance=instance, criteria=self.criteria[-1], status=Status.FAILED, checks=records
            )
        share = sum(record.weight for record in records if record.passed) / sum(
            record.weight for record in records
        )
        passed = share >= self.threshold and not any(record.required for record in failures)
        reasons = (
            Message("{name}: {reason}", name=record.name, reason=record.reason)
            for record in failures
        )
        return CheckResult(
            instance=instance,
            criteria=self.criteria[-1],
            score=share,
            verdict=PASS if passed else FAIL,
            explanation=join("; ", reasons) if failures else Message("all checks pass"),
            checks=records,
        )

    def recorded_settings(self) -> dict[str, object]:
        """Return the checks in the form of an eval file, without paths."""
        return {
            "name": self.name,
            "threshold": self.threshold,
            "checks": [say(check) for check in self.checks],
            **({"code": self.code} if self.code else {}),
        }

    def fallback_result(
        self,
        result: CheckResult,
        choice: random.Random,  # noqa: ARG002
    ) -> CheckResult:
        """Return the result unchanged: an undecided check has no stand-in."""
        return result


def _skipped_result(row: Instance, criteria: Criteria, expectation: Expectation) -> CheckResult:
    """Return the result for a row without the field that a check is limited to."""
    return CheckResult(
        instance=row,
        criteria=criteria,
        status=Status.SKIPPED,
        explanation=Message("the row has no {field}", field=expectation.rows_with),
    )


def _record(expectation: Expectation, observation: Observation) -> CheckRecord:
    return CheckRecord(
        name=str(expectation.title),
        passed=observation.passed,
        reason=observation.reason,
        value=observation.value,
        spans=tuple((span.start, span.end) for span in observation.spans),
        weight=expectation.weight,
        required=expectation.required,
    )
