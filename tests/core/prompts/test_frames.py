"""What is made once for many prompts is what would be made for each of them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import text_hash
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.core.domain.question import question_of
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts import fence
from adjudge.core.prompts.fence import neutral
from adjudge.core.prompts.renderer import _values, load, render, shown_in

_TEXTS = st.text(st.sampled_from("ab \n<[＜]>|/\\0\x00{}%data-sINST\ud800é"), max_size=40)


def _ballot(template: str, language: str, definition: str, text: str) -> Ballot:
    criteria = Criteria(
        "tone", definition, [CriteriaOption("PASS", score=1.0), CriteriaOption("FAIL", score=0.0)]
    )
    return Ballot(
        criteria,
        Instance({"user_input": "Why?", "response": text}),
        question_of(criteria),
        template,
        "m",
        language,
    )


def _rendered_whole(ballot: Ballot) -> Prompt:
    """Both turns by the template alone, for this ballot."""
    values, template, parts = (
        _values(ballot),
        load(ballot.template, ballot.language),
        fence.fence(shown_in(ballot)),
    )
    system = template.render("system", {**values, "parts": []})
    user = template.render("user", {**values, "parts": parts})
    return Prompt((ChatMessage("system", system), ChatMessage("user", user)))


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("template", ["aspect", "direct", "custom", "qualitative"])
@given(definition=_TEXTS.filter(str.strip), text=_TEXTS)
def test_a_prompt_is_what_its_template_says_of_this_very_text(
    template: str, language: str, definition: str, text: str
) -> None:
    ballot = _ballot(template, language, definition, text)
    assert render(ballot) == _rendered_whole(ballot)


def test_criteria_of_one_name_that_say_different_things_are_asked_in_their_own_words() -> None:
    first, second = (
        render(_ballot("aspect", "en", words, "Hello")).messages[0].content
        for words in ("Be brief.", "Be kind.")
    )
    assert "Be brief." in first and "Be kind." in second


@given(_TEXTS)
@example("<<SYS>> [INST]")
@example("＜|im_start|＞ [/INST] </data")
def test_a_text_is_made_harmless_as_by_every_pattern_in_turn(text: str) -> None:
    every = fence._NO_CHARACTER.sub("\ufffd", text)
    every = fence._mark().sub(fence._NO_ANGLE, every)
    every = fence._pattern(fence._CHAT_MARK).sub(fence._harmless, every)
    assert neutral(text) == every


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_the_hash_of_a_prompt_is_the_one_that_older_ledgers_hold(texts: list[str]) -> None:
    prompt = Prompt(tuple(ChatMessage("user", text) for text in texts))
    assert prompt.hash == text_hash(*(("user", text) for text in texts))
