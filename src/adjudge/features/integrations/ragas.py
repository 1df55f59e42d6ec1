"""Ragas: our judges as its metrics. What has no verdict raises, so that no aggregate of Ragas
counts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragas.metrics.base import SimpleBaseMetric
from ragas.metrics.result import MetricResult

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.features.integrations.adapters import Asked, TextJudge, Verdict


class AdjudgeMetric(SimpleBaseMetric):  # type: ignore[misc]
    """``metric.score(user_input=, response=)`` → a MetricResult with a score from 0 to 1 and its
    reason.
    """

    def __init__(
        self, judge: TextJudge, criteria: str | Criteria | None = None, *, name: str | None = None
    ) -> None:
        self._asked = Asked(judge, criteria)
        self.name = name or self._asked.name
        self.allowed_values = (0.0, 1.0)

    async def ascore(
        self,
        response: str,
        user_input: str | None = None,
        reference: str | None = None,
        retrieved_contexts: Sequence[str] | None = None,
    ) -> MetricResult:
        """Judge one response; a RunError where there is no verdict."""
        beside = {
            "user_input": user_input,
            "reference": reference,
            "contexts": list(retrieved_contexts or ()),
        }
        return _result(await self._asked.averdict({**beside, "response": response}))

    score = sync_edge(ascore)


def _result(found: Verdict) -> MetricResult:
    found.scored_or_raise()
    value = found.label if found.score is None else found.score
    return MetricResult(
        value=value, reason=found.result.explanation, traces={"output": found.facts}
    )
