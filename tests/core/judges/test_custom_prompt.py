"""Prompts of the caller's own: options, a range, or any integer."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import DirectJudge, ScriptedModel, SetupError


def judged(reply: str, valid: Any, **settings: Any) -> Any:
    model = ScriptedModel([reply])
    (result,) = DirectJudge(model, max_repairs=0, **settings).evaluate_with_custom_prompt(
        ["Grade {{this}}!"], valid
    )
    return result, model


@pytest.mark.parametrize(
    ("valid", "reply", "option", "score"),
    [
        (["good", "bad"], '{"selected_option": "Bad"}', "bad", None),
        ((1, 5), '{"selected_option": 4}', "4", 4.0),
        (range(0, 11, 5), '{"selected_option": "10"}', "10", 10.0),
        ((-2, 2), '{"selected_option": -1}', "-1", -1.0),
        (None, '{"explanation": "x", "selected_option": 12345}', "12345", 12345.0),
        (None, "-7", "-7", -7.0),
    ],
)
def test_what_may_be_answered_is_read(
    valid: Any, reply: str, option: str, score: float | None
) -> None:
    result, _ = judged(reply, valid)
    assert (result.option, result.score) == (option, score)


@pytest.mark.parametrize(
    ("valid", "reply"),
    [((1, 5), "6"), ((1, 5), "4.5"), (None, "4.5"), (None, "many"), (["a"], "b")],
)
def test_nothing_else_is(valid: Any, reply: str) -> None:
    result, _ = judged(reply, valid)
    assert result.option is None
    assert result.score is None


def test_the_prompt_is_asked_as_it_stands_and_never_as_a_template() -> None:
    _, model = judged("1", (1, 5))
    assert model.requests[0].prompt.messages[-1].content == "Grade {{this}}!"


def test_any_integers_are_pooled_by_majority_and_ties_go_to_the_lowest() -> None:
    model = ScriptedModel(["7", "9", "9", "7"])
    (result,) = DirectJudge(model, self_consistency=4).evaluate_with_custom_prompt(["?"])
    assert (result.option, result.score, result.tie, result.mean_score) == ("7", 7.0, True, 8.0)


@pytest.mark.parametrize("valid", [[], (5, 1), range(5000), "abc"])
def test_senseless_outputs_are_refused(valid: Any) -> None:
    with pytest.raises(SetupError, match="valid outputs"):
        judged("1", valid)


def test_a_single_prompt_is_asked_whole_and_not_letter_by_letter() -> None:
    model = ScriptedModel(["4"])
    (result,) = DirectJudge(model).evaluate_with_custom_prompt("Grade this haiku!", (1, 5))
    assert result.option == "4"
    assert model.requests[0].prompt.messages[-1].content.startswith("Grade this haiku!")
