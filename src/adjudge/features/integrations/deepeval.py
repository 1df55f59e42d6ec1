"""DeepEval: adjudge's judges as metrics.

A judgment without a verdict raises, and DeepEval counts it as an error, not as a score.
"""

from __future__ import annotations

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.domain.criteria import Criteria
from adjudge.errors import RunError
from adjudge.features.integrations.adapters import Asked, TextJudge, Verdict


class AdjudgeMetric(BaseMetric):  # type: ignore[misc]
    """A DeepEval metric that asks a judge.

    Example: ``assert_test(case, [AdjudgeMetric(judge)])``. The score is from 0 to 1 and must reach
    ``threshold``.
    """

    def __init__(
        self, judge: TextJudge, judged_by: str | Criteria | None = None, *, threshold: float = 0.5
    ) -> None:
        self.judge, self.judged_by = (
            judge,
            judged_by,
        )  # DeepEval copies metrics by these names; ``criteria`` means something to it
        self._asked = Asked(judge, judged_by)
        self.threshold = threshold
        self.async_mode = True
        self.include_reason = True
        self.verbose_mode = False
        self.evaluation_model = ", ".join(judge.panel)

    @property
    def __name__(self) -> str:
        return self._asked.name

    async def a_measure(
        # DeepEval passes the arguments with an underscore.
        self,
        test_case: LLMTestCase,
        _show_indicator: bool = True,
        _in_component: bool = False,
    ) -> float:
        """Return the score; raise a RunError if there is no verdict."""
        return self._keep(await self._asked.averdict(_cells(test_case)))

    measure = sync_edge(a_measure)

    def is_successful(self) -> bool:
        """Return True if the score reaches the threshold, False if it is missing."""
        self.success = (
            self.error is None and self.score is not None and self.score >= self.threshold
        )
        return self.success

    def _keep(self, verdict: Verdict) -> float:
        self.score, self.error = None, None
        self.reason = verdict.result.explanation
        try:
            self.score = verdict.scored_or_raise().score
            if self.score is None:
                raise RunError(
                    "{name}: its options have no scores to compare with a threshold",
                    name=verdict.name,
                )
        except RunError as error:
            self.error = str(error)
            raise
        self.is_successful()
        return self.score


def _cells(case: LLMTestCase) -> dict[str, object]:
    return {
        "user_input": case.input,
        "reference": case.expected_output,
        "contexts": case.retrieval_context or case.context,
        "response": case.actual_output,
    }
