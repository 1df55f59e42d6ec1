"""Texts made better by feedback."""

from __future__ import annotations

import asyncio
import json

import pytest

from adjudge import Criteria, CriteriaOption, DirectJudge, Instance, ScriptedModel, SetupError
from adjudge.core.domain.message import Request
from adjudge.features.generate import aimprove, improve

TONE = Criteria(
    "tone",
    "How friendly?",
    [
        CriteriaOption("Rude", score=0.0),
        CriteriaOption("Plain", score=0.5),
        CriteriaOption("Warm", score=1.0),
    ],
)


def model(*grades: str) -> ScriptedModel:
    """Version i (its number is its text) gets grade i; a rewrite counts one up."""

    def line(request: Request) -> str:
        text = (
            request.prompt.messages[-1].content.split('field="response">\n')[1].split("\n</data")[0]
        )
        if request.schema is None:
            return str(int(text) + 1)
        return json.dumps(
            {
                "explanation": "e",
                "feedback": f"better than {text}",
                "selected_option": grades[int(text)],
            }
        )

    return ScriptedModel(line)


def judge(*grades: str) -> DirectJudge:
    return DirectJudge(model(*grades), generate_feedback=True)


def test_it_goes_on_until_nothing_is_left_to_change() -> None:
    done = improve("0", judge("Rude", "Plain", "Warm", "Warm"), TONE, rounds=5)
    assert (done.text, done.best) == ("2", 2)
    assert [result.option for result in done.results] == ["Rude", "Plain", "Warm"]


def test_rounds_are_a_limit() -> None:
    done = improve("0", judge("Rude", "Plain", "Warm"), TONE, rounds=1)
    assert (done.text, len(done.versions)) == ("1", 2)


def test_a_rewrite_that_is_no_better_is_not_taken() -> None:
    assert improve("0", judge("Plain", "Rude", "Plain"), TONE, rounds=2).text == "0"


def test_a_good_text_stays() -> None:
    done = improve("0", judge("Warm"), TONE)
    assert (done.text, len(done.versions)) == ("0", 1)


def test_a_judgment_that_fails_ends_it_with_what_there_is() -> None:
    done = improve(
        "0", DirectJudge(model("Plain", "huh"), generate_feedback=True, max_repairs=0), TONE
    )
    assert (done.text, len(done.versions), done.results[1].option) == ("0", 2, None)


def test_other_fields_stay_as_they_are() -> None:
    instance = Instance({"user_input": "Hi?", "response": "0"}, id="a")
    done = asyncio.run(aimprove(instance, judge("Rude", "Warm"), TONE))
    assert done.versions[1].fields == {"user_input": "Hi?", "response": "1"}
    assert done.text == "1"


def test_a_judge_without_feedback_is_refused() -> None:
    with pytest.raises(SetupError, match="generate_feedback=True"):
        improve("0", DirectJudge(model("Warm")), TONE)
    with pytest.raises(SetupError, match="rounds"):
        improve("0", judge("Warm"), TONE, rounds=0)
