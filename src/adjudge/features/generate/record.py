"""A candidate of a strategy, as a record."""

from __future__ import annotations

from typing import ClassVar

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail


@light_dataclass(frozen=True, kw_only=True)
class CandidateDetail(Detail):
    """A candidate of a strategy."""

    kind: ClassVar[str] = "candidate"

    verdict: str | None
    cost: float | None
    tries: int

    @property
    def chosen(self) -> str | None:
        return self.verdict
