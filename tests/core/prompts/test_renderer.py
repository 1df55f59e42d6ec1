"""Ballot → Prompt: what is shown, in which order, and what stays the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from attacks import CHAT_TOKENS, MARKS, ORDERS
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts.renderer import render, render_repair, shown_fields
from adjudge.errors import SetupError

CRITERIA = Criteria(
    "dates",
    "It names a year.",
    [CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0)],
)
BALLOT = Ballot(
    CRITERIA, Instance({"response": "Built in 1889."}), question_of(CRITERIA), "aspect", "m"
)
languages = pytest.mark.parametrize("language", ["en", "ru"])


def asked(text: str, language: str = "en") -> tuple[str, str]:
    system, user = render(
        replace(BALLOT, instance=Instance({"response": text}), language=language)
    ).messages
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


@languages
@given(st.text(st.characters()), st.text(st.characters()))
def test_the_system_text_is_the_same_for_all_instances(language: str, one: str, other: str) -> None:
    assert asked(one, language)[0] == asked(other, language)[0]


@languages
def test_what_comes_before_the_evaluated_text_is_the_same_for_all_instances(language: str) -> None:
    one, other = asked("one", language)[1], asked("other", language)[1]
    assert one.partition("<data-")[0] == other.partition("<data-")[0]


@languages
def test_the_evaluated_text_stands_last(language: str) -> None:
    fields = {
        "response": "THE ANSWER",
        "user_input": "the question",
        "contexts": ["c one", "c two"],
        "reference": "the reference",
    }
    prompt = render(replace(BALLOT, instance=Instance(fields), language=language))
    places = [
        prompt.text.index(text)
        for text in (
            "It names a year.",
            "the question",
            "c one",
            "c two",
            "the reference",
            "THE ANSWER",
        )
    ]
    assert places == sorted(places)
    assert prompt.text.partition("THE ANSWER")[2].startswith("\n</data-")
    assert prompt.text.endswith(">")


@languages
def test_rendering_twice_gives_the_same_prompt(language: str) -> None:
    assert asked("Built in 1889.", language) == asked("Built in 1889.", language)


def test_sample_seed_temperature_and_model_do_not_change_the_prompt() -> None:
    assert render(BALLOT) == render(
        replace(BALLOT, sample=3, seed=7, temperature=1.0, model="other")
    )


@languages
@given(st.lists(st.sampled_from(MARKS + CHAT_TOKENS + ORDERS), max_size=6).map("".join))
def test_a_prompt_has_as_many_fences_as_texts(language: str, attack: str) -> None:
    fields = {"contexts": [attack, attack], "user_input": attack, "response": attack}
    prompt = (
        render(replace(BALLOT, instance=Instance(fields), language=language)).messages[-1].content
    )
    assert len(re.findall(r"<data-\w", prompt)) == len(re.findall(r"<\W*/\W*data", prompt)) == 4


@pytest.mark.parametrize("token", CHAT_TOKENS)
def test_no_chat_template_token_reaches_the_prompt(token: str) -> None:
    assert (
        token
        not in render(
            replace(BALLOT, instance=Instance({"response": token, "user_input": token}))
        ).text
    )


@languages
def test_template_syntax_is_never_executed(language: str) -> None:
    sums = "{{ 7 * 7 }} {% if true %}yes{% endif %} {# note #}"
    ballot = replace(
        BALLOT,
        criteria=replace(CRITERIA, description=sums),
        instance=Instance({"response": sums}),
        language=language,
    )
    prompt = render(ballot)
    assert prompt.text.count(sums) == 2
    assert "49" not in prompt.messages[0].content


def test_the_language_decides_the_words() -> None:
    assert "Критерий" in asked("x", "ru")[0]
    assert "Criterion" in asked("x", "en")[0]


@languages
def test_the_system_text_holds_the_criterion_and_both_options(language: str) -> None:
    system, user = asked("x", language)
    assert all(
        part in system
        for part in ("It names a year.", "PASS", "FAIL", '"selected_option"', '"explanation"')
    )
    assert "It names a year." not in user


@languages
def test_a_repair_continues_the_conversation(language: str) -> None:
    ballot = replace(BALLOT, language=language)
    prompt = render(ballot)
    repair = render_repair(ballot, prompt, "hm", "'hm' is not one of PASS, FAIL")
    assert repair.messages[:2] == prompt.messages
    assert [message.role for message in repair.messages[2:]] == ["assistant", "user"]
    assert repair.messages[2].content == "hm"
    assert "'hm' is not one of PASS, FAIL" in repair.messages[3].content
    assert "PASS, FAIL" in repair.messages[3].content.partition(repair.messages[2].content)[2]


def test_an_empty_reply_is_repaired_too() -> None:
    assert (
        render_repair(BALLOT, render(BALLOT), "", "the reply was empty").messages[2].content == "…"
    )


@pytest.mark.parametrize("attack", MARKS + CHAT_TOKENS)
def test_what_a_reply_quotes_is_harmless_in_the_repair(attack: str) -> None:
    repair = render_repair(
        BALLOT, render(BALLOT), f"It says {attack}", f"'{attack}' is not one of PASS, FAIL"
    )
    assert all(attack not in message.content for message in repair.messages[2:])


FIELDS = {"response": "r", "user_input": "u", "reference": "f"}


@pytest.mark.parametrize(
    ("fields", "context", "shown"),
    [
        (FIELDS, None, ["user_input", "reference", "response"]),
        (FIELDS, [], ["response"]),
        (FIELDS, ["reference"], ["reference", "response"]),
        (FIELDS, ["reference", "user_input"], ["reference", "user_input", "response"]),
        (FIELDS, ["response", "user_input"], ["user_input", "response"]),
        ({"text": "t"}, None, ["text"]),
        ({"text": "t"}, [], ["text"]),
    ],
)
def test_the_criteria_decide_which_fields_are_shown(
    fields: dict[str, str], context: list[str] | None, shown: list[str]
) -> None:
    assert list(shown_fields(replace(CRITERIA, context_fields=context), Instance(fields))) == shown


@pytest.mark.parametrize(
    ("fields", "context", "missing"),
    [
        ({"a": "x", "b": "y"}, None, "response"),
        ({"response": "x", "b": "y"}, ["reference"], "reference"),
        ({"response": "x"}, ["reference"], "reference"),
        ({"text": "x"}, ["reference"], "reference"),
        ({"reference": "x"}, ["reference"], "response"),
        ({"reference": "x"}, ["reference", "user_input"], "user_input"),
    ],
)
def test_a_missing_field_is_named_with_the_criteria_and_the_fields_there_are(
    fields: dict[str, str], context: list[str] | None, missing: str
) -> None:
    with pytest.raises(SetupError) as error:
        shown_fields(replace(CRITERIA, context_fields=context), Instance(fields))
    assert "'dates'" in str(error.value)
    assert f"'{missing}'" in str(error.value)
    assert ", ".join(sorted(fields)) in str(error.value)
