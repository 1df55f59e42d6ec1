"""Records of sampled answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail


@light_dataclass(frozen=True, kw_only=True)
class QualitativeDetail(Detail):
    """Pass or fail by sampled answers."""

    kind: ClassVar[str] = "qualitative"

    distribution: Annotated[Mapping[str, float], "share of the valid samples for each answer"]
    verdict: str | None
    passes: int
    min_pass: int

    @property
    def chosen(self) -> str | None:
        return self.verdict


@light_dataclass(frozen=True, kw_only=True)
class QuantitativeDetail(Detail):
    """A number by sampled answers."""

    kind: ClassVar[str] = "quantitative"

    distribution: Annotated[Mapping[str, float], "share of the valid samples for each answer"]
    numbers: tuple[float, ...]
    agg: str
    spread: float | None
    range: tuple[float, float]

    @property
    def rating_range(self) -> tuple[float, float]:
        return self.range
