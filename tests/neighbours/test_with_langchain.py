"""LangChain's own calls to an evaluator; what has no verdict raises."""

from __future__ import annotations

import asyncio

import pytest

from adjudge import PairwiseJudge, ScriptedModel
from adjudge.errors import RunError, SetupError
from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

pytest.importorskip("langchain_classic", reason="langchain-classic is not installed: make test-neighbours tries it")
from adjudge.integrations.langchain import AdjudgeEvaluator, AdjudgePairwiseEvaluator


def test_a_string_is_evaluated() -> None:
    evaluator = AdjudgeEvaluator(critic())
    found = evaluator.evaluate_strings(prediction=GOOD, input="When?", reference="1889")
    assert (found["score"], found["value"], found["reasoning"]) == (1.0, "PASS", "it does")
    found = asyncio.run(AdjudgeEvaluator(direct(), SCALE).aevaluate_strings(prediction=BAD))
    assert (found["score"], found["value"]) == (0.0, "none")
    assert evaluator.evaluation_name == "year"


def test_what_has_no_verdict_raises() -> None:
    with pytest.raises(RunError, match="unreadable"):
        AdjudgeEvaluator(critic()).evaluate_strings(prediction=ODD)
    with pytest.raises(SetupError, match="needs criteria"):
        AdjudgeEvaluator(direct())


@pytest.mark.parametrize(("said", "value", "score"), [("A", "A", 1.0), ("B", "B", 0.0), ("tie", None, 0.5)])
def test_a_pair_is_evaluated(said: str, value: str | None, score: float) -> None:
    evaluator = AdjudgePairwiseEvaluator(PairwiseJudge(ScriptedModel([said])), "Which is better?")
    found = evaluator.evaluate_string_pairs(prediction="one", prediction_b="two", input="When?")
    assert (found["value"], found["score"]) == (value, score)


def test_a_pair_without_a_verdict_raises() -> None:
    judge = PairwiseJudge(ScriptedModel(["nonsense"]), max_repairs=0)
    with pytest.raises(RunError):
        AdjudgePairwiseEvaluator(judge, "Which is better?").evaluate_string_pairs(prediction="one", prediction_b="two")
