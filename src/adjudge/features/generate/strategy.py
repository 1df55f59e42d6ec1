"""The choice between candidates: verifiers, costs, their number, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol, TypeVar, cast, runtime_checkable

from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.settings import at_least, one_of
from adjudge.errors import SetupError
from adjudge.features.generate.judge import SampledCriteria
from adjudge.features.generate.qualitative import QualitativeCriteria
from adjudge.features.generate.quantitative import QuantitativeCriteria
from adjudge.stats.rounding import above

Verifier = QualitativeCriteria | Callable[[str, Any], object]
"""A criterion, or a sync or async function ``(code, agent)`` that gives a bool or ``(bool,
reason)``.
"""
Costing = QuantitativeCriteria | Callable[[str, Any], object]
"""A criterion, or a sync or async function ``(code, agent)`` that gives a number."""


@runtime_checkable
class Verifies(Protocol):
    """A criterion that code passes or fails."""

    async def verify(self, code: str, agent: object) -> bool:
        """Return True if the code passes."""
        ...


@runtime_checkable
class Computes(Protocol):
    """A criterion that rates code with a number."""

    async def compute(self, code: str, agent: object) -> float: ...


T = TypeVar("T")


@dataclass(frozen=True)
class Strategy:
    """Generate candidates → check → verify → cost → retry failures → take the cheapest."""

    verify: Verifier | Sequence[Verifier] | None = None
    """The conditions that a candidate must pass, all of them."""
    cost: Costing | Sequence[Costing] | None = None
    """The cost of a candidate; several are added up."""
    num_candidates: int = 3
    """Candidates, each in a conversation of its own, all at once."""
    max_iterations: int = 3
    """Tries of a candidate: one that failed is told why and tries again."""
    min_candidates_for_comparison: int = 1
    """With ``compare_cost_threshold``: number of candidates that must be that cheap before they
    are compared.
    """
    accept_cost_threshold: float | None = None
    """A verified candidate at or below it is taken at once; the others are stopped."""
    compare_cost_threshold: float | None = None
    """When enough verified candidates are at or below it, the cheapest is taken now; the others are
    stopped.
    """
    generate: Callable[..., object] | None = None
    """Writes candidates instead of a model: ``(task)``, ``(task, agent)`` or ``(task, agent,
    feedback)``, sync or async.
    """
    _: KW_ONLY
    cost_is: Literal["lower", "higher"] = "lower"
    """The cost that wins. With "higher", cost is a quality score, and thresholds are reached from
    below.
    """
    fresh_samples: int = 0
    """Samples that the winner's cost is measured with once more: none of them had a part in its
    choice.
    """

    def __post_init__(self) -> None:
        at_least("num_candidates", self.num_candidates, 1)
        at_least("max_iterations", self.max_iterations, 1)
        at_least("min_candidates_for_comparison", self.min_candidates_for_comparison, 1)
        at_least("fresh_samples", self.fresh_samples, 0)
        one_of("cost_is", self.cost_is, ("lower", "higher"))
        if self.min_candidates_for_comparison > self.num_candidates:
            raise SetupError(
                "min_candidates_for_comparison={min_candidates_for_comparison} can never be "
                "reached with num_candidates={num_candidates}",
                min_candidates_for_comparison=self.min_candidates_for_comparison,
                num_candidates=self.num_candidates,
            )
        self._check_parts()

    def _check_parts(self) -> None:
        for check in self.verifiers:
            if not isinstance(check, Verifies) and not callable(check):
                raise SetupError(
                    "verify takes a QualitativeCriteria or a function (code, agent), not {kind}",
                    kind=_kind(check),
                )
        for part in self.costings:
            if not isinstance(part, Computes) and not callable(part):
                raise SetupError(
                    "cost takes a QuantitativeCriteria or a function (code, agent), not {kind}",
                    kind=_kind(part),
                )
        if self.generate is not None and not callable(self.generate):
            raise SetupError(
                "generate takes a function (task, agent), not {kind}", kind=_kind(self.generate)
            )
        for name, value in self._thresholds():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value):
                raise SetupError("{name} must be a number, not {value!r}", name=name, value=value)
        if self.fresh_samples and not self.costings:
            raise SetupError(
                "fresh_samples measures the winner's cost again, so a cost is needed: cost=…"
            )

    def _thresholds(self) -> Iterator[tuple[str, Any]]:
        """Yield the thresholds that are set, by name."""
        for name in ("accept_cost_threshold", "compare_cost_threshold"):
            if (value := getattr(self, name)) is not None:
                yield name, value

    def check_ready(self) -> None:
        """Raise a SetupError if a threshold has no cost to compare with."""
        for name, _ in self._thresholds() if not self.costings else ():
            raise SetupError("{name} needs a cost to compare with: give cost=…", name=name)

    @property
    def verifiers(self) -> tuple[Verifier, ...]:
        return _several(self.verify)

    @property
    def costings(self) -> tuple[Costing, ...]:
        return _several(self.cost)

    @property
    def judge_model(self) -> OpenModel | None:
        """The first model of the first criterion; None if there is no criterion."""
        parts = [
            part for part in (*self.verifiers, *self.costings) if isinstance(part, SampledCriteria)
        ]
        return next(iter(parts[0].panel.values())) if parts else None

    def rank(self, cost: float | None) -> float:
        """Return a candidate's sort key, the lowest first; unknown costs come last."""
        if cost is None:
            return math.inf if self.costings else 0.0
        return -cost if self.cost_is == "higher" else cost

    def reaches(self, cost: float | None, threshold: float | None) -> bool:
        """Return True if the cost is at least as good as the threshold; False if either is
        missing.
        """
        return (
            cost is not None
            and threshold is not None
            and not above(self.rank(cost), self.rank(threshold))
        )


def _several(parts: T | Sequence[T] | None) -> tuple[T, ...]:
    if parts is None:
        return ()
    return tuple(parts) if isinstance(parts, list | tuple) else (cast("T", parts),)


def _kind(part: object) -> str:
    return f"{type(part).__name__}"


USUAL = Strategy()
"""The strategy of an agent without one, if the runtime has none either."""
