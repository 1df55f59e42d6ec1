"""Results of checks without a model."""

from __future__ import annotations

from typing import Annotated, ClassVar

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail
from adjudge.core.domain.results import Result, Status

PASS, FAIL = "PASS", "FAIL"


@light_dataclass(frozen=True, kw_only=True)
class CheckRecord:
    """The outcome of one check on one row."""

    name: str
    passed: Annotated[bool | None, "null: it cannot be told"]
    reason: Annotated[str, "what was found, or why it cannot be told"]
    value: Annotated[float | None, "what was measured, where something was"]
    spans: Annotated[tuple[tuple[int, int], ...], "where in the text: start, end"] = ()
    weight: float = 1.0
    required: bool = False


@light_dataclass(frozen=True, kw_only=True)
class CheckDetail(Detail):
    """The detail of a program's pass or fail: one check, or all checks of a row."""

    kind: ClassVar[str] = "check"
    counts_skip_reasons: ClassVar[bool] = True

    verdict: str | None
    checks: tuple[CheckRecord, ...]

    @property
    def chosen(self) -> str | None:
        return self.verdict


@light_dataclass(frozen=True, kw_only=True)
class CheckResult(Result):
    """Pass or fail, decided by a program. The score of several checks is the weighted share that
    passed.
    """

    verdict: str | None = None
    """"PASS", "FAIL", or None if it cannot be decided."""
    checks: tuple[CheckRecord, ...] = ()

    @property
    def reason(self) -> str | None:
        """The reason of the first check that cannot be decided, else that of any result; None if
        there is a score.
        """
        if self.status is Status.SCORED:
            return None
        check_reasons = (check.reason for check in self.checks if check.passed is None)
        return next(check_reasons, None) or super().reason

    def detail(self) -> CheckDetail:
        return CheckDetail(verdict=self.verdict, checks=self.checks)
