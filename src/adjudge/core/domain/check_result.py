"""What checks without a model say of a row."""

from __future__ import annotations

from typing import Annotated, ClassVar

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail
from adjudge.core.domain.results import Result, Status

PASS, FAIL = "PASS", "FAIL"


@light_dataclass(frozen=True, kw_only=True)
class CheckRecord:
    """What one check says of one row."""

    name: str
    passed: Annotated[bool | None, "null: it cannot be told"]
    reason: Annotated[str, "what was found, or why it cannot be told"]
    value: Annotated[float | None, "what was measured, where something was"]
    spans: Annotated[tuple[tuple[int, int], ...], "where in the text: start, end"] = ()
    weight: float = 1.0
    required: bool = False


@light_dataclass(frozen=True, kw_only=True)
class CheckDetail(Detail):
    """Pass or fail by a program: one check, or all of a row."""

    kind: ClassVar[str] = "check"

    verdict: str | None
    checks: tuple[CheckRecord, ...]

    @property
    def chosen(self) -> str | None:
        return self.verdict


@light_dataclass(frozen=True, kw_only=True)
class CheckResult(Result):
    """Pass or fail by a program. Of several checks the score is the share that passed, by their
    weights.
    """

    verdict: str | None = None
    """"PASS", "FAIL", or None where it cannot be told."""
    checks: tuple[CheckRecord, ...] = ()

    @property
    def reason(self) -> str | None:
        """Why there is no score: the first check of which it cannot be told."""
        if self.status is Status.SCORED:
            return None
        own = (one.reason for one in self.checks if one.passed is None)
        return next(own, None) or super().reason

    def detail(self) -> CheckDetail:
        return CheckDetail(verdict=self.verdict, checks=self.checks)
