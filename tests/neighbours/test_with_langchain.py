"""LangChain's own calls to an evaluator; what has no verdict raises."""

from __future__ import annotations

import asyncio
import warnings
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from adjudge import DirectJudge, PairwiseJudge, ScriptedModel
from adjudge.errors import RunError, SetupError
from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

pytest.importorskip(
    "langchain_classic", reason="langchain-classic is not installed: make test-neighbours tries it"
)
from langchain_classic.smith.evaluation.string_run_evaluator import StringRunEvaluatorChain
from langsmith.schemas import DataType, Example, Run

from adjudge.features.integrations.langchain import AdjudgeEvaluator, AdjudgePairwiseEvaluator


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


@pytest.mark.parametrize(
    ("said", "value", "score"), [("A", "A", 1.0), ("B", "B", 0.0), ("tie", None, 0.5)]
)
def test_a_pair_is_evaluated(said: str, value: str | None, score: float) -> None:
    evaluator = AdjudgePairwiseEvaluator(PairwiseJudge(ScriptedModel([said])), "Which is better?")
    found = evaluator.evaluate_string_pairs(prediction="one", prediction_b="two", input="When?")
    assert (found["value"], found["score"]) == (value, score)


def test_a_pair_without_a_verdict_raises() -> None:
    judge = PairwiseJudge(ScriptedModel(["nonsense"]), max_repairs=0)
    with pytest.raises(RunError):
        AdjudgePairwiseEvaluator(judge, "Which is better?").evaluate_string_pairs(
            prediction="one", prediction_b="two"
        )


def test_what_is_given_is_read_and_what_is_required_must_be_given() -> None:
    asked: list[str] = []

    def says(prompt: str) -> str:
        asked.append(prompt)
        return "A" if "two" in prompt else "all"

    single = AdjudgeEvaluator(DirectJudge(says), SCALE)
    pair = AdjudgePairwiseEvaluator(PairwiseJudge(says), "Which is better?")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # LangChain warns of what an evaluator ignores
        single.evaluate_strings(prediction=GOOD, input="a question", reference="a reference")
        pair.evaluate_string_pairs(
            prediction="one", prediction_b="two", input="a question", reference="a reference"
        )
    assert all("a question" in prompt and "a reference" in prompt for prompt in asked)
    with pytest.raises(ValueError, match="requires a reference"):
        AdjudgeEvaluator(critic(), requires_reference=True).evaluate_strings(prediction=GOOD)
    with pytest.raises(ValueError, match="requires an input"):
        AdjudgeEvaluator(critic(), requires_input=True).evaluate_strings(prediction=GOOD)


def test_the_chain_over_runs_gives_question_and_reference_and_has_no_score_without_a_verdict() -> (
    None
):
    """A verdict does not get through it: this langsmith refuses the ``reasoning`` that LangChain's
    own evaluators return.
    """
    asked: list[str] = []

    def says(prompt: str) -> str:
        asked.append(prompt)
        return "nonsense"

    evaluator = AdjudgeEvaluator(
        DirectJudge(says, max_repairs=0), SCALE, requires_input=True, requires_reference=True
    )
    chain = StringRunEvaluatorChain.from_run_and_data_type(evaluator, "chain", DataType.kv)
    id, inputs = uuid4(), {"q": "the question"}
    run = Run(
        id=id,
        trace_id=id,
        name="r",
        start_time=datetime.now(UTC),
        run_type="chain",
        inputs=inputs,
        outputs={"a": "the answer"},
    )
    example = Example(id=uuid4(), dataset_id=uuid4(), inputs=inputs, outputs={"a": "the reference"})
    for found in (chain.evaluate_run(run, example), asyncio.run(chain.aevaluate_run(run, example))):
        assert (found.key, found.score) == ("years", None)
        assert "unreadable" in found.comment
    assert len(asked) == 2
    assert all(
        text in prompt
        for prompt in asked
        for text in ("the question", "the reference", "the answer")
    )


def test_what_langchains_own_chains_pass_on_is_taken() -> None:
    found = AdjudgeEvaluator(critic()).evaluate_strings(
        prediction=GOOD, callbacks=[], include_run_info=True
    )
    assert (found["score"], found["metadata"]["adjudge.option"]) == (1.0, "PASS")
