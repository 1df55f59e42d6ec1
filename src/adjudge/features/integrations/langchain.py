"""LangChain: our judges as its string and pairwise evaluators. What has no verdict raises, as its
own evaluators do.
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


class _ReadsWhatIsGiven(_EvalArgsMixin):  # type: ignore[misc]
    """What is given is shown to the judge, required or not: LangChain's warning that it is ignored
    would be wrong.
    """

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


class AdjudgeEvaluator(_ReadsWhatIsGiven, StringEvaluator):  # type: ignore[misc]
    """``evaluate_strings(prediction=, input=, reference=)`` → ``score`` from 0 to 1, ``value``,
    ``reasoning``, ``metadata``.
    """

    def __init__(
        self,
        judge: TextJudge,
        criteria: str | Criteria | None = None,
        *,
        requires_input: bool = False,
        requires_reference: bool = False,
    ) -> None:
        """``requires_…``: whether the criteria reads one.

        LangChain raises where it is missing, and its chain over runs hands over only what is
        required.
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
        """``callbacks`` and ``include_run_info`` come from LangChain's chain over runs; no call of
        ours is a chain.
        """
        return _evaluated(self._asked.verdict(_cells(prediction, reference, input)))

    async def _aevaluate_strings(
        self,
        *,
        prediction: object,
        reference: object = None,
        input: object = None,
        callbacks: object = None,  # noqa: ARG002
        include_run_info: bool = False,  # noqa: ARG002
    ) -> Evaluated:
        return _evaluated(await self._asked.averdict(_cells(prediction, reference, input)))


class AdjudgePairwiseEvaluator(_ReadsWhatIsGiven, PairwiseStringEvaluator):  # type: ignore[misc]
    """``evaluate_string_pairs(prediction=, prediction_b=)`` → ``value`` "A", "B" or None for a tie;
    ``score`` 1, 0 or 0.5.
    """

    def __init__(
        self,
        judge: PairwiseJudge,
        criteria: str | Criteria,
        *,
        requires_input: bool = False,
        requires_reference: bool = False,
    ) -> None:
        """``requires_…``: whether the criteria reads one; LangChain raises where it is missing."""
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
        beside = {
            name: text
            for name, text in (("user_input", input), ("reference", reference))
            if text is not None
        }
        row = PairwiseInstance(responses=[prediction, prediction_b], context=beside)
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


def _evaluated(verdict: Verdict) -> Evaluated:
    found = verdict.scored_or_raise()
    return {
        "score": found.score,
        "value": found.label,
        "reasoning": found.result.explanation,
        "metadata": found.facts,
    }


def _cells(prediction: object, reference: object, question: object) -> dict[str, str | None]:
    return {
        "user_input": text_of(question),
        "reference": text_of(reference),
        "response": text_of(prediction),
    }
