"""LangChain: adjudge's judges as string and pairwise evaluators.

A judgment without a verdict raises, as in LangChain's own evaluators.
"""

from __future__ import annotations

from collections.abc import Mapping

from langchain_classic.evaluation.schema import (
    PairwiseStringEvaluator,
    StringEvaluator,
    _EvalArgsMixin,
)

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import PairwiseInstance
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.errors import RunError
from adjudge.features.integrations.adapters import Asked, TextJudge, Verdict, text_of

Evaluated = dict[str, object]
_CHOSEN: Mapping[int | str, tuple[str | None, float]] = {
    0: ("A", 1.0),
    1: ("B", 0.0),
    "tie": (None, 0.5),
}


class _OptionalInputs(_EvalArgsMixin):  # type: ignore[misc]
    """Passes optional inputs to the judge without LangChain's warning about ignored inputs."""

    def __init__(self, requires_input: bool, requires_reference: bool) -> None:
        self._requires_input, self._requires_reference = requires_input, requires_reference

    @property
    def requires_input(self) -> bool:
        return self._requires_input

    @property
    def requires_reference(self) -> bool:
        return self._requires_reference

    def _check_evaluation_args(
        self, reference: str | None = None, input_: str | None = None
    ) -> None:
        super()._check_evaluation_args(
            reference=reference if self._requires_reference else None,
            input_=input_ if self._requires_input else None,
        )


class AdjudgeEvaluator(_OptionalInputs, StringEvaluator):  # type: ignore[misc]
    """Evaluates a string with a judge.

    ``evaluate_strings(prediction=, input=, reference=)`` returns ``score`` from 0 to 1, ``value``,
    ``reasoning`` and ``metadata``.
    """

    def __init__(
        self,
        judge: TextJudge,
        criteria: str | Criteria | None = None,
        *,
        requires_input: bool = False,
        requires_reference: bool = False,
    ) -> None:
        """Set ``requires_…`` if the criteria read that input.

        LangChain raises if a required input is missing, and its chain over runs passes only
        required ones.
        """
        super().__init__(requires_input, requires_reference)
        self._asked = Asked(judge, criteria)

    @property
    def evaluation_name(self) -> str:
        return self._asked.name

    def _evaluate_strings(
        self,
        *,
        prediction: object,
        reference: object = None,
        input: object = None,
        callbacks: object = None,  # noqa: ARG002
        include_run_info: bool = False,  # noqa: ARG002
    ) -> Evaluated:
        # LangChain's chain over runs passes callbacks and include_run_info; adjudge has no use for
        # them.
        return _as_langchain(self._asked.verdict(_cells(prediction, reference, input)))

    async def _aevaluate_strings(
        self,
        *,
        prediction: object,
        reference: object = None,
        input: object = None,
        callbacks: object = None,  # noqa: ARG002
        include_run_info: bool = False,  # noqa: ARG002
    ) -> Evaluated:
        return _as_langchain(await self._asked.averdict(_cells(prediction, reference, input)))


class AdjudgePairwiseEvaluator(_OptionalInputs, PairwiseStringEvaluator):  # type: ignore[misc]
    """Compares two strings with a judge.

    ``evaluate_string_pairs(prediction=, prediction_b=)`` returns ``value`` "A", "B" or None for a
    tie, and ``score`` 1, 0 or 0.5.
    """

    def __init__(
        self,
        judge: PairwiseJudge,
        criteria: str | Criteria,
        *,
        requires_input: bool = False,
        requires_reference: bool = False,
    ) -> None:
        """Set ``requires_…`` if the criteria read that input; LangChain raises if it is missing."""
        super().__init__(requires_input, requires_reference)
        self._judge = judge
        self._criteria = criteria

    def _evaluate_string_pairs(
        self,
        *,
        prediction: str,
        prediction_b: str,
        reference: str | None = None,
        input: str | None = None,
    ) -> Evaluated:
        context = {
            name: text
            for name, text in (("user_input", input), ("reference", reference))
            if text is not None
        }
        row = PairwiseInstance(responses=[prediction, prediction_b], context=context)
        (result,) = self._judge.evaluate([row], self._criteria)
        if result.selected_option is None:
            raise RunError(
                "{name}: no verdict: {reason}", name=result.criteria.name, reason=result.reason
            )
        value, score = _CHOSEN[result.selected_option]
        return {
            "value": value,
            "score": score,
            "reasoning": result.explanation,
            "certainty": result.certainty,
        }


def _as_langchain(verdict: Verdict) -> Evaluated:
    scored = verdict.scored_or_raise()
    return {
        "score": scored.score,
        "value": scored.label,
        "reasoning": scored.result.explanation,
        "metadata": scored.facts,
    }


def _cells(prediction: object, reference: object, question: object) -> dict[str, str | None]:
    return {
        "user_input": text_of(question),
        "reference": text_of(reference),
        "response": text_of(prediction),
    }
