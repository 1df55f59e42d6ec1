"""Ragas: adjudge's judges as metrics.

A judgment without a verdict raises, so that no aggregate of Ragas counts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragas.metrics.base import SimpleBaseMetric
from ragas.metrics.result import MetricResult

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.features.integrations.adapters import Asked, TextJudge, Verdict


class AdjudgeMetric(SimpleBaseMetric):  # type: ignore[misc]
    """A Ragas metric that asks a judge.

    ``metric.score(user_input=, response=)`` returns a MetricResult with a score from 0 to 1 and its
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
        """Judge one response; raise a RunError if there is no verdict."""
        cells = {
            "user_input": user_input,
            "reference": reference,
            "contexts": list(retrieved_contexts or ()),
        }
        return _result(await self._asked.averdict({**cells, "response": response}))

    score = sync_edge(ascore)


def _result(verdict: Verdict) -> MetricResult:
    verdict.scored_or_raise()
    value = verdict.label if verdict.score is None else verdict.score
    return MetricResult(
        value=value, reason=verdict.result.explanation, traces={"output": verdict.facts}
    )
