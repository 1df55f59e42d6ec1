"""One judgment in a test, and what may be asserted of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from adjudge.domain.results import Result
from adjudge.reports.passed import passed

Undecided = Callable[[str], None]
"""Ends a test that cannot be decided."""


@dataclass(frozen=True)
class JudgedText:
    """A judgment, and what may be asserted of it. A judgment without a verdict passes nothing and fails nothing."""

    result: Result
    _undecided: Undecided = field(repr=False, compare=False)

    def __str__(self) -> str:
        agreement = "" if self.result.agreement is None else f", agreement {self.result.agreement:.2f}"
        return f"{self.result}{agreement}"

    @property
    def passed(self) -> bool | None:
        """Whether it passes: by its verdict, or by a score above the middle of the scale; None where nobody can say."""
        points = [one.points for one in self.result.criteria.options if one.points is not None]
        ends = {self.result.criteria.name: (min(points), max(points))} if points else {}
        return passed(self.result.to_dict(votes=False), ends)

    def must_pass(self, agreement: float = 0.0) -> None:
        """Fail the test unless it passes; with less ``agreement`` of the votes than this, nothing is decided."""
        self._must(True, agreement)

    def must_fail(self, agreement: float = 0.0) -> None:
        """Fail the test unless it fails."""
        self._must(False, agreement)

    def must_be(self, *options: str) -> None:
        """Fail the test unless one of these options was chosen."""
        if self.result.verdict_name is None:
            self._undecided(str(self))
        elif self.result.verdict_name not in options:
            raise AssertionError(f"not {' or '.join(options)}: {self}")

    def _must(self, wanted: bool, agreement: float) -> None:
        found = self.passed
        if found is None or (self.result.agreement or 0.0) < agreement:
            self._undecided(str(self))
        elif found is not wanted:
            raise AssertionError(f"judged {'not ' if wanted else ''}to pass: {self}")
