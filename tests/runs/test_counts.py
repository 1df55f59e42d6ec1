"""Numbers and their nouns, in both languages."""

from __future__ import annotations

import pytest

from adjudge.messages import Message
from adjudge.runs.counts import (
    count_calls,
    count_failed_calls,
    count_judgments,
    count_replies,
    count_rows,
    count_tokens,
    count_votes,
)
from adjudge.runs.view.template import environment
from adjudge.web.site import templates


@pytest.mark.parametrize(
    ("message", "english", "russian"),
    [
        (count_calls(0), "0 calls", "0 вызовов"),
        (count_calls(1), "1 call", "1 вызов"),
        (count_calls(2), "2 calls", "2 вызова"),
        (count_tokens(5), "5 tokens", "5 токенов"),
        (count_tokens(11), "11 tokens", "11 токенов"),
        (count_votes(12), "12 votes", "12 голосов"),
        (count_votes(21), "21 votes", "21 голос"),
        (count_replies(22), "22 replies", "22 ответа"),
        (count_judgments(111), "111 judgments", "111 суждений"),
        (count_rows(101), "101 rows", "101 строка"),
        (count_tokens(1234567), "1,234,567 tokens", "1\u00a0234\u00a0567 токенов"),
        (count_failed_calls(1), "1 failed call", "1 неудачный вызов"),
    ],
)
def test_a_noun_agrees_with_its_number(message: Message, english: str, russian: str) -> None:
    assert message == english
    assert message.render("ru") == russian


@pytest.mark.parametrize(("language", "shown"), [("en", "1,500 of 2"), ("ru", "1\u00a0500 из 2")])
def test_templates_group_thousands(language: str, shown: str) -> None:
    text = "{{ rows | grouped }} {{ _('of') }} {{ few | grouped }}"
    for made in (environment(language, html=True), templates(language)):
        assert made.from_string(text).render(rows=1500, few=2) == shown
