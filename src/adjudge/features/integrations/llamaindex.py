"""LlamaIndex: adjudge's judges as evaluators.

A judgment without a verdict is an invalid result with the reason and without a score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

from adjudge.core.domain.criteria import Criteria
from adjudge.features.integrations.adapters import Asked, TextJudge


class AdjudgeEvaluator(BaseEvaluator):  # type: ignore[misc]
    """A LlamaIndex evaluator that asks a judge.

    Example: ``AdjudgeEvaluator(judge, criteria).evaluate(query=, response=, contexts=)``
    """

    def __init__(self, judge: TextJudge, criteria: str | Criteria | None = None) -> None:
        self._asked = Asked(judge, criteria)

    def _get_prompts(self) -> dict[str, object]:
        """Return nothing: adjudge's prompts are files."""
        return {}

    def _update_prompts(self, prompts: dict[str, object]) -> None:
        """Do nothing: adjudge's prompts cannot be changed here."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | None = None,
        sleep_time_in_seconds: int = 0,
    ) -> EvaluationResult:
        """Judge one response, with ``reference`` if the criteria read one."""
        await asyncio.sleep(sleep_time_in_seconds)
        cells = {
            "user_input": query,
            "contexts": list(contexts or ()),
            "reference": reference,
            "response": response,
        }
        verdict = await self._asked.averdict(cells)
        inputs = {"query": query, "response": response, "contexts": contexts}
        if not verdict.is_scored:
            return EvaluationResult(
                **inputs,
                invalid_result=True,
                invalid_reason=f"{verdict.error_code}: {verdict.error_message}",
            )
        return EvaluationResult(
            **inputs,
            passing=verdict.passed,
            score=verdict.score,
            feedback=verdict.result.explanation,
        )
