"""Options that are numbers: every common way to write one is read, at the price of one call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import DirectJudge, RagEvaluator, ScriptedModel
from adjudge.core.domain.message import Reply
from adjudge.core.domain.numbers import without_note
from adjudge.core.domain.options import match_option
from adjudge.core.domain.question import Choice
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.reader import read
from support.rag import GOOD, ROW, asked_about

TEN = tuple(str(grade) for grade in range(1, 11))
CLARITY = ("0", "1", "2", "3", "4")


def said(text: str, options: tuple[str, ...] = TEN) -> str | None:
    verdict = read(Reply(text), Choice(options)).verdict
    return verdict.option if verdict else None


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"score": 7}',
            '{"rating": 7}',
            '{"value": "7"}',
            '{"selected_score": 7}',
            '{"Score": "7.0"}',
            '{"score": 7.0}',
        ),
        *(
            '{"selected_option": "7.0"}',
            '{"selected_option": "7/10"}',
            '{"selected_option": "7 out of 10"}',
            '{"grade": "7,0"}',
        ),
        *('{"score": "**7**"}',),
        *(
            '{"score": 7, "label": "good"}',
            '{"answer": "Paris", "score": 7}',
            '{"selected_option": "7", "score": 0.7}',
        ),
        *(
            "Score: 7",
            "**Score:** 7/10",
            "It is good.\nFinal score: 7",
            "Rating = 7.0",
            "Оценка: 7 из 10",
            "Балл: 7,0",
            "Verdict: 7",
        ),
        *(
            "7",
            "7.0",
            "7/10",
            "**7**",
            "7 points",
            "7.0\n\nIt is good and complete.",
            "It is good.\n7/10",
        ),
        '{"result": {"score": 7, "reason": "good"}}',
    ],
)
def test_seven_of_ten_is_read_however_it_is_written(text: str) -> None:
    assert said(text) == "7"
    assert read(Reply(text), Choice(TEN)).outcome is Outcome.OK


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"score": 11}',
            '{"score": "7: good"}',
            '{"score": "7 - good"}',
            "Score: 7 (good)",
            "7: good",
            '{"score": 0.7}',
            '{"score": "70%"}',
            '{"score": "7/5"}',
            '{"score": "7/100"}',
            '{"score": "7-8"}',
        ),
        *(
            '{"score": 7, "rating": 8}',
            '{"selected_option": "7", "score": 8}',
            '{"selected_option": 11, "score": 1}',
        ),
        *(
            '{"score": "7 or 8"}',
            '{"score": "7: or rather 8"}',
            '{"score": "not 7: bad"}',
            '{"score": true}',
            '{"score": "1,000"}',
        ),
        *(
            "Score: 7-8",
            "Score: 70%",
            "It has 7 points.",
            "1: It is clear.\n2: It is short.",
            "Score: < 7",
            "- 7",
            "7+",
        ),
    ],
)
def test_what_is_no_grade_is_not_made_one(text: str) -> None:
    assert said(text) is None


@pytest.mark.parametrize(
    ("value", "options", "option"),
    [
        (4, ("3.0", "4.0"), "4.0"),
        ("4", ("3.0", "4.0"), "4.0"),
        (4.0, ("3", "4"), "4"),
        ("0,5", ("0", "0.5", "1"), "0.5"),
        (0.5, ("0", "0,5", "1"), "0,5"),
        (".5", ("0", "0.5"), None),
        ("10/10", TEN, "10"),
        ("1/10", TEN, "1"),
        ("1/1", TEN, None),
        ("2/4", CLARITY, "2"),
        ("2/3", CLARITY, None),
        ("-1/1", ("-1", "0", "1"), "-1"),
        (1, ("1", "1.0"), "1"),
        (2.0, ("1", "2", "2.0"), "2.0"),
        ("2,0", ("1", "2", "2.0"), None),
        (1, ("1,000", "2,000"), None),
        (50, ("50%", "60%"), None),
        (7, ("low", "7.0"), None),
        (float("nan"), TEN, None),
        (10**400, TEN, None),
        (True, ("0", "1"), None),
    ],
)
def test_a_number_is_the_option_of_its_value(
    value: object, options: tuple[str, ...], option: str | None
) -> None:
    assert match_option(value, options) == option


def test_a_number_is_a_score_only_where_every_option_is_a_number() -> None:
    assert said('{"score": 1}', ("1", "2", "tie")) is None
    assert said("Score: PASS", ("PASS", "FAIL")) == "PASS"
    assert said("Score: 1", ("PASS", "FAIL")) is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("2: clear", "2"),
        ("2 – clear", "2"),
        ("2 (clear)", "2"),
        ("2/4: clear", "2/4"),
        ("-1: bad", "-1"),
        ("3:1", "3:1"),
        ("a: b", "a: b"),
    ],
)
def test_a_note_behind_a_number_is_left_out_unless_it_has_a_number(text: str, rest: str) -> None:
    assert without_note(text) == rest


@pytest.mark.parametrize(
    "reply", ['{"score": 4}', '{"rating": "4/5"}', "Score: 4", "4.0", '{"value": "4/5"}']
)
def test_a_prompt_of_ones_own_with_a_range_costs_one_call(reply: str) -> None:
    model = ScriptedModel([reply])
    (result,) = DirectJudge(model).evaluate_with_custom_prompt(["Grade this!"], (1, 5))
    assert (result.option, result.score, len(model.requests)) == ("4", 4.0, 1)


@pytest.mark.parametrize("reply", ['{"score": 12}', "Score: 12", "12.0", "**12**"])
def test_any_integer_is_read_under_the_same_names(reply: str) -> None:
    (result,) = DirectJudge(ScriptedModel([reply])).evaluate_with_custom_prompt(["Count!"], None)
    assert (result.option, result.score) == ("12", 12.0)


@pytest.mark.parametrize("shape", [int, float, str, "{}.".format])
def test_rag_replies_with_the_seeds_own_key_are_read_at_the_first_call(shape: Any) -> None:
    model = ScriptedModel(
        lambda request: json.dumps(
            {"score": shape(GOOD[asked_about(request)]), "explanation": "so"}
        )
    )
    (result,) = RagEvaluator(model=model).evaluate([ROW])
    assert dict(result.scores) == GOOD
    assert len(model.requests) == len(GOOD)


@given(
    st.sets(st.integers(-30, 30), min_size=1).map(lambda offered: {*offered, 30}),
    st.floats(-40, 40).map(lambda number: round(number, 1)),
)
def test_a_number_is_read_as_its_equal_or_not_at_all(offered: set[int], number: float) -> None:
    options = tuple(str(one) for one in sorted(offered))
    expected = f"{number:.0f}" if number in offered else None
    expected = "0" if expected == "-0" else expected
    for written in (
        str(number),
        str(number).replace(".", ","),
        f"{number}/{max(offered)}",
    ):
        assert said(json.dumps({"score": written}), options) == expected
    assert said(json.dumps({"selected_option": number}), options) == expected
    assert said(f"Score: {number}", options) == expected
