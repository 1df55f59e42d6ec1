"""Numbers in replies: what is one, what is none, and how a ballot that asks for one is read."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Reply
from adjudge.core.domain.numbers import match_number
from adjudge.core.domain.question import Rating
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Rated
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.core.verdicts.reader import read_ballot


def reading(text: str, low: float = 0, high: float = 10, finish: str = "stop") -> Reading:
    ballot = Ballot(
        Criteria("c", "How complex?"),
        Instance({"code": "x"}),
        Rating((low, high)),
        "quantitative",
        "m",
    )
    return read_ballot(Reply(text, finish=finish), ballot)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7.0),
        (7.5, 7.5),
        (0, 0.0),
        (10, 10.0),
        ("7", 7.0),
        (" 7.25 ", 7.25),
        ("7,5", 7.5),
        ("7/10", 7.0),
        ("7 / 10", 7.0),
        ("7 out of 10", 7.0),
        ("7 из 10", 7.0),
        ("7 points", 7.0),
        ("7 out of 10 stars", 7.0),
        ("**7**/10", 7.0),
        ("７", 7.0),
        ("٧", 7.0),
        ("**7**", 7.0),
        ('"7".', 7.0),
        ("+7", 7.0),
        ("-0", 0.0),
    ],
)
def test_what_is_a_number_from_0_to_10(value: object, number: float) -> None:
    assert match_number(value, 0, 10) == number


@pytest.mark.parametrize(
    "value",
    [
        *(
            11,
            -1,
            10.01,
            math.nan,
            math.inf,
            -math.inf,
            10**400,
            True,
            False,
            None,
            [7],
            {"score": 7},
        ),
        *(
            "",
            "seven",
            "7/5",
            "7/100",
            "70%",
            "7-8",
            "~7",
            "<7",
            "7+",
            "1e1",
            "NaN",
            "inf",
            "1,000",
            "7 8",
            "-7",
            "−7",
        ),
        *("7/10/10", "/10", "7/", "9" * 400),
    ],
)
def test_what_is_none(value: object) -> None:
    assert match_number(value, 0, 10) is None


def test_negative_scales_are_read_with_their_sign() -> None:
    assert match_number("-2", -5, 5) == -2
    assert match_number("−2.5", -5, 5) == -2.5


@given(st.text() | st.floats() | st.integers() | st.booleans() | st.none())
def test_whatever_is_read_lies_between_the_bounds(value: object) -> None:
    found = match_number(value, 1, 5)
    assert found is None or 1 <= found <= 5


@given(st.floats(min_value=0, max_value=10).map(lambda number: round(number, 2)))
def test_a_number_is_read_as_it_is_written(number: float) -> None:
    assert match_number(str(number), 0, 10) == match_number(number, 0, 10) == number


@pytest.mark.parametrize(
    "text",
    [
        '{"explanation": "e", "score": 7}',
        '{"explanation": "e", "score": "7/10"}',
        '{"reason": "e", "rating": 7.0}',
        '{"explanation": "e", "value": 7}',
        '{"explanation": "e", "grade": "7"}',
        'Sure:\n```json\n{"explanation": "e", "score": 7}\n```',
        "{'explanation': 'e', 'score': 7,}",
        '{"explanation": "e", "Score": 7, "pass": true}',
        '<think>{"score": 2}</think>{"explanation": "e", "score": 7}',
        "e.\nScore: 7/10",
        "**Rating:** 7",
        "e.\nОценка: 7",
    ],
)
def test_replies_that_say_seven(text: str) -> None:
    verdict = reading(text).verdict
    assert isinstance(verdict, Rated)
    assert (verdict.number, verdict.option) == (7.0, "7")
    assert (verdict.explanation or "e").rstrip(".") == "e"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"explanation": "e", "score": 11}', "'11' is not a number from 0 to 10"),
        ('{"explanation": "e", "score": -0.5}', "is not a number from 0 to 10"),
        ('{"explanation": "e", "score": NaN}', "'nan' is not a number"),
        ('{"explanation": "e", "score": true}', "'True' is not a number"),
        ('{"explanation": "e", "score": "high"}', "'high' is not a number"),
        ('{"explanation": "e", "score": 3, "rating": 4}', "'rating' may contradict 'score'"),
        ('{"score": 3}\nNo, wait.\n{"explanation": "e", "score": 7}', "contradicts itself"),
        ("Score: excellent", "'excellent' is not a number"),
        ("It is quite complex, I would say.", "no verdict found"),
        ("", "empty"),
    ],
)
def test_replies_that_say_nothing_are_unreadable_with_the_reason(text: str, said: str) -> None:
    found = reading(text)
    assert (found.outcome, found.verdict) == (Outcome.UNREADABLE, None)
    assert said in (found.reason or "")


def test_null_is_an_abstention_and_a_refusal_a_refusal() -> None:
    assert reading('{"explanation": "cannot tell", "score": null}').outcome is Outcome.ABSTAINED
    assert reading('{"score": 7}', finish="refusal").outcome is Outcome.REFUSED


def test_a_number_that_was_cut_off_is_not_read() -> None:
    assert reading('{"explanation": "e", "score": 1', finish="length").verdict is None


def test_mended_json_is_marked() -> None:
    assert reading("{'explanation': 'it's so', 'score': 7}").outcome is Outcome.REPAIRED


def test_the_schema_asks_for_the_explanation_first_and_has_no_bounds_that_providers_refuse() -> (
    None
):
    schema: Any = Rating((0, 10)).schema()
    assert list(schema["properties"]) == ["explanation", "score"]
    assert "minimum" not in json.dumps(schema)
    assert "from 0 to 10" in json.dumps(schema)
