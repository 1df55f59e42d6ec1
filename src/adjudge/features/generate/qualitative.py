"""Pass or fail in natural language: enough of the samples must say pass."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.sampled import QualitativeResult
from adjudge.core.domain.vote import Vote
from adjudge.core.judges.settings import at_least
from adjudge.core.pooling.majority import status_of
from adjudge.core.pooling.numbers import shares
from adjudge.features.generate.judge import SampledCriteria

PASS, FAIL = "PASS", "FAIL"


@dataclass(frozen=True)
class QualitativeCriteria(SampledCriteria[QualitativeResult]):
    """A criterion in natural language that code meets if at least ``min_pass`` samples say so.

    Parameters:
        expression: what the code must meet to pass.
        min_samples_for_aggregation: with fewer valid samples there is no verdict; ``verify``
            returns False, and the result is marked as a fallback.
        min_pass: how many samples must say pass.
        on_failure: what happens with too few valid samples: "fallback" (it fails) or "raise" (a
            RunError).
    """

    votes: int = 1
    min_samples_for_aggregation: int = 1
    min_pass: int = 1

    template: ClassVar[str] = "qualitative"
    options: ClassVar[tuple[CriteriaOption, ...]] = (
        CriteriaOption(PASS, score=1.0),
        CriteriaOption(FAIL, score=0.0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("min_pass", self.min_pass, 1)
        self._check_reachable("min_pass", self.min_pass)

    async def verify(self, code: str, agent: object | None = None) -> bool:
        """Return True if the code passes; False if too few samples are valid."""
        return (await self.evaluate(code, agent)).passed

    def pool(self, item: Instance, votes: Sequence[Vote]) -> QualitativeResult:
        """Return PASS if enough samples say so, else FAIL; no verdict if too few are valid."""
        valid = [vote.verdict for vote in votes if vote.verdict]
        passes = sum(verdict_given.option == PASS for verdict_given in valid)
        verdict = (PASS if passes >= self.min_pass else FAIL) if self.enough(votes) else None
        agreeing = [verdict_given for verdict_given in valid if verdict_given.option == verdict]
        return QualitativeResult(
            instance=item,
            criteria=self.criteria_for(item),
            status=status_of(votes, verdict is not None),
            votes=tuple(votes),
            score=None if verdict is None else float(verdict == PASS),
            verdict=verdict,
            explanation=next(
                (
                    verdict_given.explanation
                    for verdict_given in agreeing
                    if verdict_given.explanation
                ),
                None,
            ),
            agreement=len(agreeing) / len(valid) if verdict else None,
            distribution=FrozenDict(shares(votes)),
            passes=passes,
            min_pass=self.min_pass,
            notes=self.notes(votes),
        )

    def fallback_result(
        self,
        result: QualitativeResult,
        choice: random.Random,  # noqa: ARG002 - nothing is random
    ) -> QualitativeResult:
        """Return FAIL. The status does not change, so aggregates do not count it as a judgment."""
        return replace(self._fall_back(result, "fail", FAIL), verdict=FAIL, score=0.0)
