"""What a result says about itself: votes that only repeat one answer, and what judging by
log-probability leaves out.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaExample,
    CriteriaOption,
    DirectJudge,
    DummyDirectJudge,
    MPrometheusDirectJudge,
    PairwiseJudge,
    QualitativeCriteria,
    QuantitativeCriteria,
    ScriptedModel,
    open_model,
)
from adjudge.features.rag import RagEvaluator
from adjudge.messages import render
from adjudge.runs.exporters.export import export
from support.said import always, likely, says

GRADES = Criteria(
    "grade", "How good is it?", [CriteriaOption(name, "so", float(name)) for name in "12345"]
)
YES_NO = [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
TAUGHT = Criteria(
    "polite", "Is it polite?", YES_NO, examples=[CriteriaExample({"response": "Thanks."}, "Yes")]
)
ROW = {"user_input": "q", "response": "a", "contexts": "c"}


def direct(model: Any, **settings: Any) -> Any:
    (result,) = DirectJudge(model, self_consistency=3, **settings)(["x"], "Is it polite?")
    return result


def sure() -> ScriptedModel:
    return ScriptedModel(lambda _: likely(Yes=0.9, No=0.1))


REPEATING = {
    "direct": lambda: direct(always("Yes"), temperature=0),
    "the model's own temperature": lambda: direct(open_model(always("Yes"), temperature=0.0)),
    "both orders": lambda: direct(always("Yes"), temperature=0, check_positional_bias=True),
    "pairwise": lambda: PairwiseJudge(always("A"), self_consistency=3, temperature=0)(
        [["a", "b"]], "Which is better?"
    )[0],
    "aspect": lambda: AspectCritic("It is short.", always("PASS"), 3, temperature=0).evaluate("x"),
    "prometheus": lambda: MPrometheusDirectJudge(
        lambda _: "Fine. [RESULT] 4", self_consistency=3, temperature=0
    )(["x"], GRADES)[0],
    "qualitative": lambda: asyncio.run(
        QualitativeCriteria("It runs.", always("PASS"), 3, temperature=0).evaluate("x = 1")
    ),
    "quantitative": lambda: asyncio.run(
        QuantitativeCriteria(
            "Speed.", ScriptedModel(lambda _: '{"score": 3}'), num_samples=3, temperature=0
        ).evaluate("x = 1")
    ),
    "rag": lambda: RagEvaluator(
        always("1"), dimensions=["conciseness"], strictness=3, temperature=0
    ).evaluate(ROW),
}


@pytest.mark.parametrize("made", REPEATING.values(), ids=REPEATING)
def test_votes_at_temperature_0_say_that_their_agreement_means_nothing(made: Any) -> None:
    result = made()
    (note,) = [one for one in result.notes if "one order" not in one]
    assert "3 votes at temperature 0" in note
    assert result.to_dict()["notes"] == list(result.notes)


QUIET = {
    "one vote": lambda: DirectJudge(always("Yes"), temperature=0)(["x"], "Is it polite?")[0],
    "several votes, as they are by default": lambda: direct(always("Yes")),
    "a judge of one's own": lambda: DummyDirectJudge(self_consistency=3)(["x"], "Is it polite?")[0],
    "one aspect": lambda: AspectCritic("It is short.", always("PASS"), temperature=0).evaluate("x"),
    "one reading": lambda: DirectJudge(sure(), mode="likelihood")(["x"], "Is it polite?")[0],
    "examples in writing": lambda: DirectJudge(always("Yes"), generate_feedback=True)(
        ["x"], TAUGHT
    )[0],
}


@pytest.mark.parametrize("made", QUIET.values(), ids=QUIET)
def test_there_is_nothing_to_say_of_votes_that_differ_if_the_model_does(made: Any) -> None:
    assert made().notes == ()


def test_of_a_panel_the_models_that_repeat_themselves_are_named() -> None:
    models = [
        open_model(ScriptedModel(lambda _: says("Yes"), name=name), temperature=heat)
        for name, heat in (("cold", 0.0), ("warm", 0.7))
    ]
    (note,) = direct(models).notes
    assert note.startswith("cold: 3 votes")


def test_three_readings_by_log_probability_are_one() -> None:
    (note,) = direct(sure(), mode="likelihood").notes
    assert "votes by token probability are identical" in note


@pytest.mark.parametrize(
    ("language", "examples", "feedback"),
    [("en", "examples", "feedback"), ("ru", "примеры", "замечаниях")],
)
def test_what_log_probabilities_leave_out_is_said(
    language: str, examples: str, feedback: str
) -> None:
    def note(criteria: Any = "Is it polite?", **settings: Any) -> str:
        (result,) = DirectJudge(sure(), mode="likelihood", **settings)(["x"], criteria)
        return "".join(render(one, language) for one in result.notes)

    assert examples in note(TAUGHT)
    assert feedback not in note(TAUGHT)
    assert feedback in note(generate_feedback=True)
    assert "mode='generate'" in note(generate_synthetic_persona=True)
    assert note() == ""


def test_who_the_judge_is_told_to_be_is_used_by_log_probability_too() -> None:
    plain, told = sure(), sure()
    DirectJudge(plain, mode="likelihood")(["x"], "Is it polite?")
    (result,) = DirectJudge(
        told, mode="likelihood", judge_description_prompt="You are a strict butler."
    )(["x"], "Is it polite?")
    before, after = (model.requests[0].prompt.messages for model in (plain, told))
    assert (
        before[0].content.replace("You are a careful judge.", "You are a strict butler.")
        == after[0].content
    )
    assert before[1] == after[1]
    assert result.notes == ()


def test_notes_are_in_the_run_and_in_what_is_exported_of_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    DirectJudge(always("Yes"), self_consistency=2, temperature=0)(
        ["x", "y"], "Is it polite?", run=run
    )
    for name in ("out.jsonl", "out.csv", "out.md", "out.html"):
        export(run, tmp_path / name)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert all("temperature 0" in row["notes"][0] for row in rows)
    for name in ("out.csv", "out.md", "out.html"):
        assert "temperature 0" in (tmp_path / name).read_text(encoding="utf-8-sig")
    assert (tmp_path / "out.md").read_text().count("temperature 0") == 1
