"""LlamaIndex: our judges as its evaluators. What has no verdict is an invalid result, with the
reason and without a score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

from adjudge.core.domain.criteria import Criteria
from adjudge.features.integrations.adapters import Asked, TextJudge


class AdjudgeEvaluator(BaseEvaluator):  # type: ignore[misc]
    """``evaluate(query=, response=, contexts=)``, and whatever LlamaIndex builds on it."""

    def __init__(self, judge: TextJudge, criteria: str | Criteria | None = None) -> None:
        self._asked = Asked(judge, criteria)

    def _get_prompts(self) -> dict[str, object]:
        """Ours are files of their own."""
        return {}

    def _update_prompts(self, prompts: dict[str, object]) -> None:
        """Ours stay what they are."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | None = None,
        sleep_time_in_seconds: int = 0,
    ) -> EvaluationResult:
        """Judge one response; ``reference`` where the criteria reads one."""
        await asyncio.sleep(sleep_time_in_seconds)
        cells = {
            "user_input": query,
            "contexts": list(contexts or ()),
            "reference": reference,
            "response": response,
        }
        found = await self._asked.averdict(cells)
        given = {"query": query, "response": response, "contexts": contexts}
        if not found.is_scored:
            return EvaluationResult(
                **given,
                invalid_result=True,
                invalid_reason=f"{found.error_code}: {found.error_message}",
            )
        return EvaluationResult(
            **given, passing=found.passed, score=found.score, feedback=found.result.explanation
        )
