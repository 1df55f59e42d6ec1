"""Numbers and their nouns, in both languages."""

from __future__ import annotations

import pytest

from adjudge.reports.nouns import Noun
from adjudge.reports.words import counted


@pytest.mark.parametrize(
    ("count", "noun", "english", "russian"),
    [
        (0, "call", "0 calls", "0 вызовов"),
        (1, "call", "1 call", "1 вызов"),
        (2, "call", "2 calls", "2 вызова"),
        (5, "token", "5 tokens", "5 токенов"),
        (11, "token", "11 tokens", "11 токенов"),
        (12, "vote", "12 votes", "12 голосов"),
        (21, "vote", "21 votes", "21 голос"),
        (22, "reply", "22 replies", "22 ответа"),
        (111, "judgment", "111 judgments", "111 оценок"),
        (1, "row of all", "1 row", "1 строки"),
        (23, "row of all", "23 rows", "23 строк"),
        (101, "row", "101 rows", "101 строка"),
        (1, "failed call", "1 failed call", "1 неудачный вызов"),
    ],
)
def test_a_noun_agrees_with_its_number(count: int, noun: Noun, english: str, russian: str) -> None:
    assert counted(count, noun, "en") == english
    assert counted(count, noun, "ru") == russian
