"""``models`` and ``votes`` in every judge, options with their scores, and how results are shown."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Budget,
    Criteria,
    CriteriaOption,
    DirectJudge,
    DummyDirectJudge,
    EvidenceJudge,
    Judge,
    MPrometheusDirectJudge,
    MPrometheusPairwiseJudge,
    PairwiseJudge,
    QualitativeCriteria,
    QuantitativeCriteria,
    RagEvaluator,
    ScriptedModel,
    SetupError,
    open_model,
)

POLITE = "Is it polite?"


def model() -> ScriptedModel:
    return ScriptedModel(["Yes"])


MAKERS: dict[Callable[..., Any], tuple[str, str]] = {
    DirectJudge: ("inference_engine", "self_consistency"),
    PairwiseJudge: ("inference_engine", "self_consistency"),
    MPrometheusDirectJudge: ("inference_engine", "self_consistency"),
    MPrometheusPairwiseJudge: ("inference_engine", "self_consistency"),
    EvidenceJudge: ("model", "strictness"),
    RagEvaluator: ("model", "strictness"),
    lambda **settings: AspectCritic("It is polite.", **settings): ("models", "strictness"),
    lambda **settings: QualitativeCriteria("It is polite.", **settings): ("llm", "num_samples"),
    lambda **settings: QuantitativeCriteria("It is polite.", **settings): ("llm", "num_samples"),
}


@pytest.mark.parametrize(("make", "seed_names"), MAKERS.items())
def test_every_judge_takes_models_and_votes(
    make: Callable[..., Judge[Any, Any]], seed_names: tuple[str, str]
) -> None:
    asked = model()
    judge, same = (
        make(models=asked, votes=3),
        make(**dict(zip(seed_names, (asked, 3), strict=True))),
    )
    assert judge == same
    assert (judge.samples, list(judge.panel)) == (3, ["scripted"])
    assert judge.configuration() == same.configuration()
    for made in (judge, same, pickle.loads(pickle.dumps(same)) if asked is None else same):
        assert (made.votes, getattr(made, seed_names[1])) == (3, 3)  # type: ignore[attr-defined]
        assert made.models is getattr(made, seed_names[0]) is asked  # type: ignore[attr-defined]
    assert replace(judge, seed=7) == replace(same, seed=7)  # type: ignore[type-var]
    assert getattr(replace(same, votes=5), seed_names[1]) == 5  # type: ignore[type-var]
    with pytest.raises(
        SetupError, match=rf"votes and {seed_names[1]} are two names of the same setting"
    ):
        make(votes=2, **{seed_names[1]: 3})
    for wrong in (0, True, 1.5):
        with pytest.raises(ValueError, match="votes must be a whole number of at least 1"):
            make(votes=wrong)


def test_two_models_by_two_names_are_refused() -> None:
    with pytest.raises(SetupError, match="models and inference_engine are two names"):
        DirectJudge(model(), inference_engine=model())


def test_yes_and_no_of_self_consistency_are_three_votes_and_one() -> None:
    assert [DirectJudge(model(), self_consistency=yes).votes for yes in (True, False)] == [3, 1]


def test_a_run_keeps_the_name_that_1_x_gave_the_votes() -> None:
    assert DirectJudge(model(), votes=3).recorded_settings()["self_consistency"] == 3
    assert AspectCritic("x", model(), votes=3).recorded_settings()["strictness"] == 3


def test_a_judge_is_shown_with_what_was_set() -> None:
    judge = AspectCritic("It is polite.", "local/smollm2-135m", strictness=3)
    assert repr(judge) == (
        "AspectCritic(definition='It is polite.', models='local/smollm2-135m', votes=3)"
    )


def test_custom_judges_and_ready_made_aspects_have_votes() -> None:
    custom = DummyDirectJudge(votes=2)
    assert (custom.samples, custom.self_consistency) == (2, 2)
    custom.self_consistency = 4
    assert custom.votes == 4
    assert AspectCritic.conciseness(models=model(), votes=2).samples == 2


def test_an_option_may_have_its_score_at_once() -> None:
    yes = CriteriaOption("Yes", 1.0)
    assert yes == CriteriaOption("Yes", score=1.0)
    assert (yes.description, yes.points) == ("", 1.0)
    assert CriteriaOption("No", "It is rude.", 0) == CriteriaOption("No", "It is rude.", score=0.0)
    assert pickle.loads(pickle.dumps(yes)) == replace(yes)
    criteria = Criteria("polite", POLITE, [yes, CriteriaOption("No", 0)])
    (result,) = DirectJudge(models=model()).evaluate(["Thanks."], criteria)
    assert (result.option, result.score) == ("Yes", 1.0)
    with pytest.raises(ValueError, match=r"option 'Yes' has two scores, 1\.0 and 0\.5"):
        CriteriaOption("Yes", 1.0, 0.5)
    with pytest.raises(
        ValueError, match="the description of option 'Yes' must be a string, not list"
    ):
        CriteriaOption("Yes", ["good"])  # type: ignore[arg-type]


def test_results_are_a_list_that_shows_a_table() -> None:
    results = DirectJudge(models=model()).evaluate(["Thanks.", "Wait."] * 12, POLITE)
    assert isinstance(results, list)
    assert results == list(results)
    lines = repr(results).splitlines()
    assert lines[0].split() == ["row", "criterion", "verdict", "score", "votes", "explanation"]
    assert lines[1].split() == ["1", "Is", "it", "polite?", "Yes", "1", "1/1"]
    assert (len(lines), lines[-1]) == (22, "… and 4 more")
    assert max(map(len, lines)) <= 100
    assert "<td>Is it polite?</td>" in results._repr_html_()  # type: ignore[attr-defined]
    assert len(repr(results[:2]).splitlines()) == 3
    assert pickle.loads(pickle.dumps(results)) == results
    assert repr(results[0]) == "<DirectInstanceResult Is it polite?: Yes, score 1; 1 of 1 votes>"


def test_other_results_are_shown_in_their_own_columns() -> None:
    both = DirectJudge(models=model()).evaluate_multi_criteria(
        ["Thanks."], [POLITE, "Is it short?"]
    )
    assert "aggregated_score  Is it polite?  Is it short?" in repr(both)
    assert repr(both[0]) == "<MultiCriteriaDirectInstanceResult scored, aggregated score 1>"
    row = {"user_input": "q", "response": "a", "contexts": []}
    scored = RagEvaluator(ScriptedModel(["2"])).evaluate([row])
    assert repr(scored).split()[:5] == ["row", "status", "composite", "answer_relevance", "clarity"]
    won = PairwiseJudge(models=ScriptedModel(["A"])).evaluate([["a", "b"]], "Which is better?")
    assert "response 1" in repr(won)
    assert repr(won[0]).startswith("<PairwiseInstanceResult ")
    assert repr(DirectJudge(models=model()).evaluate([], POLITE)) == "[]"


def test_progress_is_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = DirectJudge(models=model())
    judge.evaluate(["a", "b"], POLITE, progress=True)
    assert capsys.readouterr().err.startswith("2 of 2 judged")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    judge.evaluate(["a", "b"], POLITE, progress=True)
    assert "[########################] 2 of 2 judged" in capsys.readouterr().err
    judge.evaluate(["a"], POLITE, progress=False)
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="progress must be True or a function, not 5"):
        judge.evaluate(["a"], POLITE, progress=5)  # type: ignore[call-overload]


WRONG: list[Callable[[], object]] = [
    lambda: Budget(max_usd=-1),
    lambda: DirectJudge(models=model(), temperature="hot"),  # type: ignore[arg-type]
    lambda: DirectJudge(models=model(), temperature=-1),
    lambda: DirectJudge(models=model(), language="fr"),
    lambda: open_model("no-such-model"),
    lambda: DirectJudge(models=model()).evaluate([b"1"], POLITE),  # type: ignore[list-item]
    lambda: DirectJudge(models=model()).evaluate(["a"], POLITE, budget=5),  # type: ignore[call-overload]
    lambda: RagEvaluator(models=model()).evaluate([]),
    lambda: RagEvaluator(models=model()).evaluate("nowhere.csv"),
]


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_value_is_a_value_error(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        call()
