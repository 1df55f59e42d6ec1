"""What is found in criteria: each finding where it belongs, and not where it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.catalog.double_barrelled import find_double_question
from adjudge.core.catalog.lint import Finding, lint, lint_file
from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption

GOOD = Criteria(
    "tone",
    "Is the response friendly?",
    [
        CriteriaOption("Warm", "It is.", 1.0),
        CriteriaOption("Plain", "Neither.", 0.5),
        CriteriaOption("Cold", "It is not.", 0.0),
    ],
    context_fields=["user_input"],
    examples=[
        CriteriaExample({"user_input": "Hi", "response": "Hello!"}, "Warm"),
        CriteriaExample({"user_input": "Hi", "response": "What?"}, "Cold"),
    ],
)


def named(*names: str) -> list[CriteriaOption]:
    """Options without scores, each with a description of its own."""
    return [CriteriaOption(name, f"Described as {number}.") for number, name in enumerate(names)]


def bare(*names: str) -> list[CriteriaOption]:
    return [CriteriaOption(name) for name in names]


def scored(*scores: float | None) -> list[CriteriaOption]:
    """Described options with scores."""
    return [
        CriteriaOption(f"Option-{chr(97 + number)}", f"Case {number}.", score)
        for number, score in enumerate(scores)
    ]


def silent(*scores: float | None) -> list[CriteriaOption]:
    return [replace(option, description="") for option in scored(*scores)]


def example(option: str, **fields: str) -> CriteriaExample:
    return CriteriaExample(fields, option)


FOUND: list[tuple[dict[str, Any], str, str, str]] = [
    (
        {"description": "Is it clear and concise?"},
        "warning",
        "description",
        "two things at once ('clear and concise')",
    ),
    (
        {"options": named("Good", "good")},
        "error",
        "options",
        "'Good' and 'good' differ only in case or punctuation",
    ),
    (
        {"options": named("Good", "«Good!»")},
        "error",
        "options",
        "differ only in case or punctuation",
    ),
    (
        {"options": named("Off-topic", "off topic")},
        "error",
        "options",
        "differ only in case or punctuation",
    ),
    (
        {"options": named("Correct", "Partly correct")},
        "warning",
        "options",
        "one name contains the other",
    ),
    (
        {"options": named("Not harmful", "Harmful")},
        "warning",
        "options",
        "one name contains the other",
    ),
    ({"options": named("Верно", "Не верно")}, "warning", "options", "one name contains the other"),
    (
        {"options": [CriteriaOption("A", "It is fine."), CriteriaOption("B", "it is fine")]},
        "error",
        "options",
        "'A' and 'B' have the same description",
    ),
    ({"options": named("Only")}, "error", "options", "'Only' is the only option"),
    (
        {"options": [*named("X", "Y"), CriteriaOption("Z")]},
        "warning",
        "options",
        "'Z' has no description",
    ),
    (
        {"options": silent(1.0, 0.0, 0.0)},
        "warning",
        "options",
        "have the same score and no descriptions to distinguish them",
    ),
    (
        {"options": bare("1", "2", "5")},
        "warning",
        "options",
        "there is no option between '2' and '5'",
    ),
    (
        {"options": silent(1.0, 0.3, 0.2, 0.1, 0.0)},
        "warning",
        "options",
        "there is no option between 'Option-b' and 'Option-a'",
    ),
    ({"options": scored(5, 3, 1)}, "warning", "options", "range from 1 to 5"),
    ({"options": scored(1.0, -0.5)}, "warning", "options", "range from -0.5 to 1"),
    ({"options": scored(1.0, 0.0, 0.5)}, "warning", "options", "go up and down"),
    ({"options": bare("1", "3", "2")}, "warning", "options", "go up and down"),
    (
        {"options": scored(1.0, 0.75, 0.5)},
        "warning",
        "options",
        "all scores are above the middle of the scale (0.5 to 1)",
    ),
    (
        {"options": scored(0.5, 0.25, 0.0)},
        "warning",
        "options",
        "all scores are below the middle of the scale (0 to 0.5)",
    ),
    ({"options": scored(0.9, 0.0)}, "warning", "options", "the best score is 0.9, not 1"),
    ({"options": scored(1.0, 0.1)}, "warning", "options", "the worst score is 0.1, not 0"),
    (
        {"options": scored(1.0, None, 0.0)},
        "warning",
        "options",
        "some options have a score and some do not",
    ),
    (
        {"examples": [example("tie", user_input="x", response="y")]},
        "error",
        "examples[1].option",
        "'tie' is not an option",
    ),
    (
        {"examples": [example("Warm", response="y", reference="z")]},
        "error",
        "examples[1].fields",
        "reads 'user_input', but the example has only reference, response",
    ),
    (
        {
            "examples": [
                example("Warm", user_input="a", response="b"),
                example("Warm", user_input="c", response="d"),
            ]
        },
        "warning",
        "examples",
        "all examples have the option 'Warm'",
    ),
]
NOT_FOUND: list[dict[str, Any]] = [
    {},
    {"description": "Does the response name the city and the year?"},
    {"options": named("A+", "A", "A-", "B")},
    {"options": named("-1", "0", "1", "10")},
    {"options": named("Relevant", "Irrelevant")},
    {"options": named("+", "-")},
    {"options": bare("Yes", "No")},
    {"options": bare("1", "2", "3", "4", "5")},
    {"options": bare("0", "0.5", "1")},
    {"options": silent(1.0, 0.5, 0.0)},
    {"options": silent(0.0, 0.33, 0.67, 1.0)},
    {"options": scored(0.0, 0.25, 0.5, 0.75, 1.0)},
    {"options": scored(1.0, 0.0, 0.0)},
    {"options": scored(1.0, 0.3, 0.2, 0.0)},
    {"options": scored(None, None)},
    {"options": named("A", "B", "C"), "examples": [example("tie", user_input="x", response="y")]},
    {"examples": [example("Warm", response="the one field is judged")]},
    {"examples": [example("Warm", user_input="x", response="y", more="z")]},
    {"context_fields": None, "examples": [example("Warm", response="y", reference="z")]},
]


def changed(change: dict[str, Any]) -> Criteria:
    return replace(GOOD, **({"examples": []} if "options" in change else {}) | change)


@pytest.mark.parametrize(
    ("change", "severity", "field", "said"), FOUND, ids=[said for *_, said in FOUND]
)
def test_what_is_wrong_is_found_and_nothing_else(
    change: dict[str, Any], severity: str, field: str, said: str
) -> None:
    (found,) = lint(changed(change))
    assert (found.severity, found.criteria, found.field) == (severity, "tone", field)
    assert said in found.message


@pytest.mark.parametrize("change", NOT_FOUND, ids=str)
def test_what_is_right_is_left_alone(change: dict[str, Any]) -> None:
    assert lint(changed(change)) == []


def test_errors_come_first() -> None:
    options = [CriteriaOption("Good", "It is.", 0.9), CriteriaOption("good", "It is not.", 0.0)]
    found = lint(replace(GOOD, options=options, examples=[]))
    assert [finding.severity for finding in found] == ["error", "warning"]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"response", "user_input"}, []),
        ({"response", "user_input", "more"}, []),
        (
            {"response", "userinput"},
            [("context_fields", "no row has 'user_input'; did you mean 'userinput'?")],
        ),
        (
            {"user_input", "zzz"},
            [("to_evaluate_field", "no row has 'response'; known: user_input, zzz")],
        ),
        ({"response"}, [("context_fields", "no row has 'user_input'; known: response")]),
    ],
)
def test_fields_that_no_row_has_are_errors(fields: set[str], found: list[tuple[str, str]]) -> None:
    assert lint(GOOD, fields) == [
        Finding("error", "tone", field, message) for field, message in found
    ]


def test_criteria_that_read_everything_need_only_the_judged_field() -> None:
    assert lint(replace(GOOD, context_fields=None), {"response", "x"}) == []


def test_one_bad_entry_does_not_hide_the_others(tmp_path: Path) -> None:
    good = {"name": "a", "description": "Is it?", "options": ["Yes", "No"]}
    path = tmp_path / "own.json"
    path.write_text(
        json.dumps(
            [{"name": "b", "opions": []}, good, {**good, "name": "c", "description": ""}, good]
        )
    )
    assert [(found.severity, found.criteria, found.field) for found in lint_file(path)] == [
        ("error", "entry 1 ('b')", "opions"),
        ("error", "entry 3 ('c')", "description"),
        ("error", "entry 4 ('a')", "name"),
    ]


TWO_THINGS = [
    "Is the text self-explanatory and self-contained?",
    "Is the response polite, helpful and safe?",
    "Is it clear, and also very polite?",
    "Is the response factual or relevant?",
    "Is the answer correct and is it short?",
    "The response is accurate and complete.",
    "Does the response answer the question and cite a source?",
    "Does it explain or justify the choice?",
    "Does the response contain insults or threaten the user?",
    "Rate it. Is it clear and concise? Ignore length.",
    "Вежлив и краток ли ответ?",
    "Ясен ли ответ и полон ли он?",
    "Отвечает ли ответ на вопрос и приводит источник?",
    "Ответ вежливый и полный.",
    "Объясняет или обосновывает ли ответ выбор?",
]
ONE_THING = [
    "",
    "and",
    "Is it about bread and butter",
    "Does the response name the city and the year?",
    "Does the response contain names and dates?",
    "Are the questions and answers in one language?",
    "Is the tone right for a letter to a bank or an office?",
    "Does the response say no or maybe?",
    "Is the response polite? Judge whether it is warm and kind, nothing else.",
    "Вежлив ли ответ?",
    "Есть ли в ответе имена и даты?",
    "Назван ли в ответе город и год?",
    "Есть ли в ответе совет или ответ на вопрос?",
    "Содержит ли ответ требования и ограничения?",
]


@pytest.mark.parametrize("question", TWO_THINGS)
def test_a_question_about_two_things_is_noticed(question: str) -> None:
    assert find_double_question(question)


@pytest.mark.parametrize("question", ONE_THING)
def test_a_question_about_one_thing_is_not(question: str) -> None:
    assert find_double_question(question) is None
