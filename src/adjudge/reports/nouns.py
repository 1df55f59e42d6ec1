"""Nouns beside numbers, in each language."""

from __future__ import annotations

from typing import Literal

Noun = Literal[
    "answer of all",
    "batch",
    "call",
    "failed call",
    "judgment",
    "label",
    "reply",
    "request",
    "round",
    "row",
    "row of all",
    "token",
    "vote",
]

NOUNS: dict[Noun, tuple[str, str]] = {
    "answer of all": ("answer", "answers"),
    "batch": ("batch", "batches"),
    "call": ("call", "calls"),
    "failed call": ("failed call", "failed calls"),
    "judgment": ("judgment", "judgments"),
    "label": ("label", "labels"),
    "reply": ("reply", "replies"),
    "request": ("request", "requests"),
    "round": ("round", "rounds"),
    "row": ("row", "rows"),
    "row of all": ("row", "rows"),
    "token": ("token", "tokens"),
    "vote": ("vote", "votes"),
}
RUSSIAN_NOUNS: dict[Noun, tuple[str, str, str]] = {
    "answer of all": ("ответа", "ответов", "ответов"),
    "batch": ("пакет", "пакета", "пакетов"),
    "call": ("вызов", "вызова", "вызовов"),
    "failed call": ("неудачный вызов", "неудачных вызова", "неудачных вызовов"),
    "judgment": ("оценка", "оценки", "оценок"),
    "label": ("метка", "метки", "меток"),
    "reply": ("ответ", "ответа", "ответов"),
    "request": ("запрос", "запроса", "запросов"),
    "round": ("круг", "круга", "кругов"),
    "row": ("строка", "строки", "строк"),
    "row of all": ("строки", "строк", "строк"),  # the case that «из» asks for
    "token": ("токен", "токена", "токенов"),
    "vote": ("голос", "голоса", "голосов"),
}


def russian_form(count: int, one: str, few: str, many: str) -> str:
    """The form of a Russian word that goes with ``count``."""
    last, two = count % 10, count % 100
    if last == 1 and two != 11:
        return one
    return few if last in (2, 3, 4) and two not in (12, 13, 14) else many
