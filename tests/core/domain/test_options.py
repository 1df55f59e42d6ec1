"""Which option a value names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.options import match_option, yes_and_no
from adjudge.core.domain.question import Choice

MATCHES = [
    ("PASS", ("PASS", "FAIL"), "PASS"),
    ("pass", ("PASS", "FAIL"), "PASS"),
    ("«FAIL»!", ("PASS", "FAIL"), "FAIL"),
    ("- FAIL", ("PASS", "FAIL"), "FAIL"),
    ("<PASS>", ("PASS", "FAIL"), "PASS"),
    ("yes", ("Yes", "No"), "Yes"),
    (True, ("Yes", "No"), "Yes"),
    (False, ("PASS", "FAIL"), "FAIL"),
    ("ДА", ("PASS", "FAIL"), "PASS"),
    ("good enough", ("Good", "Good enough"), "Good enough"),
    ("Good.", ("Good", "Good enough"), "Good"),
    (3, ("1", "2", "3"), "3"),
    (3.0, ("1", "2", "3"), "3"),
    ("3", ("1", "2", "3"), "3"),
    (0.5, ("0", "0.5", "1"), "0.5"),
    (1.0, ("0.5", "1.0"), "1.0"),
    (1, ("-1", "0", "+1"), "+1"),
    (-1, ("-1", "0", "+1"), "-1"),
    ("(-1)", ("-1", "0", "+1"), "-1"),
    ("a", ("a", "A"), "a"),
    ("A", ("a", "A"), "A"),
    ("A-", ("A-", "A", "B"), "A-"),
    ("-", ("+", "-"), "-"),
    ("straße", ("STRASSE", "Weg"), "STRASSE"),
    ("Хорошо.", ("Хорошо", "Плохо"), "Хорошо"),
    ("true", ("Yes", "No", "Unclear"), "Yes"),
    (False, ("Yes", "Partially", "No"), "No"),
    (True, ("FAIL", "PARTIAL", "PASS"), "PASS"),
    ("not_found", ("supported", "not found"), "not found"),
    ("✅ PASS", ("PASS", "FAIL"), "PASS"),
    ("PA\u00adSS", ("PASS", "FAIL"), "PASS"),
    ("\u202bPASS\u202c", ("PASS", "FAIL"), "PASS"),
    ("ＰＡＳＳ", ("PASS", "FAIL"), "PASS"),
    ("「Yes」", ("Yes", "No"), "Yes"),
]

NO_MATCHES = [
    ("", ("PASS", "FAIL")),
    ("…", ("PASS", "FAIL")),
    ("PASS/FAIL", ("PASS", "FAIL")),
    ("PASSED with remarks", ("PASS", "FAIL")),
    ("not PASS", ("PASS", "FAIL")),
    ("yes", ("No", "Maybe not")),
    ("yes", ("Good", "Bad")),
    ("yes", ("Yes indeed", "No")),
    ("pass", ("Pass", "pASS")),
    ("fail", ("Yes", "No")),
    ("5", ("<5", "6")),
    ("5", (".5", "6")),
    ("A-", ("A", "B")),
    ("", ("+", "-")),
    ("?", ("+", "-")),
    (2.5, ("2", "3")),
    (None, ("PASS", "FAIL")),
    ([], ("PASS", "FAIL")),
    ({"a": 1}, ("PASS", "FAIL")),
    (float("nan"), ("1", "2")),
    (float("inf"), ("1", "2")),
]


@pytest.mark.parametrize(("value", "options", "option"), MATCHES)
def test_a_value_names_an_option(value: object, options: tuple[str, ...], option: str) -> None:
    assert match_option(value, options) == option


@pytest.mark.parametrize(("value", "options"), NO_MATCHES)
def test_a_value_that_only_resembles_an_option_names_none(
    value: object, options: tuple[str, ...]
) -> None:
    assert match_option(value, options) is None


@given(
    st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6, unique=True), st.data()
)
def test_an_offered_option_is_found_by_its_exact_name(
    options: list[str], data: st.DataObject
) -> None:
    stripped = list(dict.fromkeys(option.strip() for option in options))
    chosen = data.draw(st.sampled_from(stripped))
    assert match_option(chosen, stripped) == chosen


@given(
    st.one_of(st.text(), st.integers(), st.floats(), st.booleans()), st.lists(st.text(), max_size=5)
)
def test_whatever_is_named_was_offered(value: object, options: list[str]) -> None:
    assert match_option(value, options) in (None, *options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("PASS", "FAIL"), ("PASS", "FAIL")),
        (("No", "Yes"), ("Yes", "No")),
        (("Нет", "Да"), ("Да", "Нет")),
        (("Yes", "True"), None),
        (("Yes", "No", "Maybe"), None),
        (("Good", "Bad"), None),
    ],
)
def test_options_that_mean_yes_and_no_are_known(
    options: tuple[str, ...], expected: tuple[str, str] | None
) -> None:
    assert yes_and_no(options) == expected


def test_the_schema_asks_for_the_explanation_first_and_offers_just_the_options() -> None:
    schema: Any = Choice(("PASS", "FAIL")).schema()
    assert list(schema["properties"]) == schema["required"] == ["explanation", "selected_option"]
    assert schema["properties"]["selected_option"]["enum"] == ["PASS", "FAIL"]
    assert schema["additionalProperties"] is False
