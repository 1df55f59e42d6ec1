"""Judges travel between processes; what is printed of a result is short."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    DirectJudge,
    PairwiseJudge,
    QualitativeCriteria,
    QuantitativeCriteria,
    RagEvaluator,
)
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.features.compat.dummy_judges import DummyDirectJudge, DummyPairwiseJudge
from adjudge.features.compat.prometheus import MPrometheusDirectJudge, MPrometheusPairwiseJudge

MADE: dict[str, Callable[[], Any]] = {
    "aspect": lambda: AspectCritic(
        "c", models=["scripted/PASS", "openai/gpt-4o-mini"], strictness=3
    ),
    "direct": lambda: DirectJudge("openai/gpt-4o-mini", self_consistency=3),
    "pairwise": lambda: PairwiseJudge("scripted", contests="pairs"),
    "prometheus": lambda: MPrometheusDirectJudge("scripted"),
    "prometheus pairs": lambda: MPrometheusPairwiseJudge("scripted"),
    "qualitative": lambda: QualitativeCriteria("e", llm="scripted"),
    "quantitative": lambda: QuantitativeCriteria("e", llm="scripted"),
    "rag": lambda: RagEvaluator(model="scripted"),
    "dummy": DummyDirectJudge,
    "dummy pairs": DummyPairwiseJudge,
}


@pytest.mark.parametrize("name", MADE)
def test_a_judge_is_pickled_without_its_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-MARKED")
    judge = MADE[name]()
    pickled = pickle.dumps(judge)
    again = pickle.loads(pickled)
    assert repr(again) == repr(judge)
    assert list(again.panel) == list(judge.panel)
    assert b"sk-MARKED" not in pickled


def answer(prompt: str) -> str:
    """A model that a module has."""
    return '{"selected_option": "Yes"}'


def test_an_unpickled_judge_judges() -> None:
    for model in ("scripted", answer):
        judge = pickle.loads(pickle.dumps(DirectJudge(model)))
        assert judge.evaluate(["x"], "Is it good?")[0].option == "Yes"


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (
            lambda: open_model("openai/gpt-4o-mini", api_key="sk-MARKED"),
            "OpenModel openai/gpt-4o-mini",
        ),
        (lambda: [ScriptedModel(["Yes"])], "ScriptedModel scripted"),
        (lambda: lambda prompt: "Yes", "function"),
    ],
)
def test_a_live_model_is_named_as_the_reason_why_not(model: Callable[[], Any], named: str) -> None:
    judge = DirectJudge(model())
    with pytest.raises(
        TypeError, match=rf"DirectJudge contains a live model \({named}\).*give it a model id"
    ) as refused:
        pickle.dumps(judge)
    assert "sk-MARKED" not in str(refused.value)
    assert copy.copy(judge) == judge


def test_a_printed_result_is_one_short_line() -> None:
    long = "because " * 100
    said = json.dumps({"explanation": long, "selected_option": "Yes"})
    result = DirectJudge(ScriptedModel([said])).evaluate(["x" * 1000], "Is it good?")[0]
    assert str(result).startswith("Is it good?: Yes, score 1; 1 of 1 votes; because because")
    assert len(str(result)) < 200
    assert "\n" not in str(result)
    assert repr(result) == f"<DirectInstanceResult {result}>"


def test_a_printed_result_without_a_score_says_why() -> None:
    failed = DirectJudge("scripted/huh", max_repairs=0).evaluate(["x"], "Is it good?")[0]
    assert str(failed) == "Is it good?: failed; 0 of 1 votes; no verdict found in the reply: 'huh'"


def test_every_kind_of_result_names_its_verdict() -> None:
    assert "PASS, score 1" in str(AspectCritic("c", models="scripted").evaluate("x"))
    assert ": response 1; " in str(PairwiseJudge("scripted")([["a", "b"]], "Which?")[0])
    several = DirectJudge("scripted").evaluate_multi_criteria(["x"], ["Is it a?", "Is it b?"])[0]
    assert str(several).splitlines()[0] == "scored, aggregated score 1"
    assert len(str(several).splitlines()) == 3
    rows = [{"question": "q", "answer": "a", "contexts": "c"}]
    assert "clarity 0" in str(RagEvaluator(model="scripted").evaluate(rows)[0])
