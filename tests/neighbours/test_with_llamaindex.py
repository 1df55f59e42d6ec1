"""LlamaIndex's own calls to an evaluator, its batch runner included; what has no verdict is
invalid.
"""

from __future__ import annotations

import asyncio

import pytest

from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

pytest.importorskip(
    "llama_index.core", reason="llama-index-core is not installed: make test-neighbours tries it"
)
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.schema import NodeWithScore, TextNode

from adjudge.features.integrations.llamaindex import AdjudgeEvaluator


def test_a_response_is_evaluated() -> None:
    found = AdjudgeEvaluator(critic()).evaluate(
        query="When?", response=GOOD, contexts=["The tower."]
    )
    assert (found.passing, found.score, found.feedback, found.invalid_result) == (
        True,
        1.0,
        "it does",
        False,
    )
    response = Response(BAD, source_nodes=[NodeWithScore(node=TextNode(text="The tower."))])
    found = AdjudgeEvaluator(direct(), SCALE).evaluate_response(query="When?", response=response)
    assert (found.passing, found.score) == (False, 0.0)


def test_what_has_no_verdict_is_invalid_and_has_no_score() -> None:
    found = AdjudgeEvaluator(critic()).evaluate(query="When?", response=ODD)
    assert (found.invalid_result, found.score, found.passing) == (True, None, None)
    assert found.invalid_reason.startswith("unreadable: ")


def test_the_batch_runner_takes_it() -> None:
    runner = BatchEvalRunner({"year": AdjudgeEvaluator(critic())}, workers=2)
    found = asyncio.run(
        runner.aevaluate_response_strs(
            queries=["When?"] * 3, response_strs=[GOOD, BAD, ODD], contexts_list=[["x"]] * 3
        )
    )
    assert [one.score for one in found["year"]] == [1.0, 0.0, None]
