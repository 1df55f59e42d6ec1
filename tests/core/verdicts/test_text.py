"""Texts that models were asked to write: what stands around them goes, what they consist of stays,
nothing is no text.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.message import Reply
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.text import read_persona, read_text, unwrap

TEXT = "Dear friend,\n\nthank you."


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"  {TEXT}\n",
        f"Here is the improved text:\n\n{TEXT}",
        f"Sure! Here's the revised version of the response:\n{TEXT}",
        f"**Improved text:**\n\n{TEXT}",
        f"Rewritten text: {TEXT}",
        f"```\n{TEXT}\n```",
        f"```text\n{TEXT}\n```\n",
        f"~~~\n{TEXT}\n~~~",
        f"```\n{TEXT}",
        f"Here is the improved text:\n\n```\n{TEXT}\n```",
        f"Here you go:\n```markdown\n{TEXT}\n```\nI made it kinder.",
        f"```\nImproved text:\n{TEXT}\n```",
        f'<data-0123456789ab field="response">\n{TEXT}\n</data-0123456789ab>',
        f"<think>How would a friend say it?</think>\n{TEXT}",
        f"Вот улучшенный текст:\n\n{TEXT}",
        f"Конечно! Вот исправленная версия ответа:\n```\n{TEXT}\n```",
        f"Улучшенный текст: {TEXT}",
    ],
)
def test_what_a_model_puts_around_a_text_is_taken_off(reply: str) -> None:
    reading = read_text(Reply(reply))
    assert reading.verdict is not None
    assert reading.verdict.option == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "Here is what you need:\n- flour\n- sugar",
        "Note: the shop is closed.",
        "Run this:\n\n```\nls\n```\n\nthen that:\n\n```\npwd\n```",
        "The new version has arrived: 2.0 is out.",
        "I'm sorry, but I can't refund you.",
        "Ниже — список:\n1. Мука",
    ],
)
def test_what_belongs_to_the_text_stays(text: str) -> None:
    reading = read_text(Reply(text))
    assert reading.verdict is not None
    assert reading.verdict.option == text


def test_what_the_original_has_is_left_in_the_new_text() -> None:
    fenced = "```python\nprint(1)\n```"
    assert unwrap(fenced, original="```python\nprint(0)\n```") == fenced
    assert (
        unwrap("Improved text: is a label.", original="Improved text: was one.")
        == "Improved text: is a label."
    )
    says_no_answer = read_text(
        Reply("I'm sorry, but I can't help with that today."), "I can't help with that."
    )
    assert says_no_answer.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("reply", "outcome", "reason"),
    [
        (Reply(""), Outcome.UNREADABLE, "contains no text"),
        (Reply(" \n"), Outcome.UNREADABLE, "contains no text"),
        (Reply("Here is the improved text:"), Outcome.UNREADABLE, "contains no text"),
        (Reply("Here is the improved text:\n```\n\n```"), Outcome.UNREADABLE, "contains no text"),
        (Reply("<think>Hm.</think>"), Outcome.UNREADABLE, "contains no text"),
        (Reply("Dear fri", finish="length"), Outcome.UNREADABLE, "cut off"),
        (Reply("No.", finish="refusal"), Outcome.REFUSED, "refused: 'No.'"),
        (Reply("I'm sorry, but I can't help with that."), Outcome.REFUSED, "refused"),
        (Reply("I cannot create such a description."), Outcome.REFUSED, "refused"),
        (Reply("Извините, но я не могу помочь с этим."), Outcome.REFUSED, "refused"),
    ],
)
def test_a_refusal_and_nothing_are_no_text(reply: Reply, outcome: Outcome, reason: str) -> None:
    for reading in (read_text(reply), read_persona(reply)):
        assert (reading.outcome, reading.verdict) == (outcome, None)
        assert reason in str(reading.reason)


@pytest.mark.parametrize(
    ("reply", "persona"),
    [
        ("You are an editor.", "You are an editor."),
        ("Here is the description:\n\nYou are an editor.", "You are an editor."),
        (
            '``\n{"persona_name": "An editor", "persona_description": "You edit."}\n```',
            "An editor\nYou edit.",
        ),
        ('```json\n{"persona": "You are an editor."}\n```', "You are an editor."),
        ("You are an editor who likes {braces}.", "You are an editor who likes {braces}."),
    ],
)
def test_a_persona_is_a_text_or_an_object_that_holds_one(reply: str, persona: str) -> None:
    reading = read_persona(Reply(reply))
    assert reading.verdict is not None
    assert reading.verdict.option == persona


def test_an_object_that_describes_nobody_is_no_persona() -> None:
    assert read_persona(Reply('{"persona_name": "", "persona_description": " "}')).verdict is None


@given(st.text())
def test_whatever_was_written_is_read_without_an_exception(text: str) -> None:
    reading = read_text(Reply(text), original=text)
    assert (reading.verdict is None) == (reading.outcome is not Outcome.OK)
    assert reading.verdict is None or reading.verdict.option.strip()
