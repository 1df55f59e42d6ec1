"""Single words: what they name, and whether two of them mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from training.kinds.base import Draw, Kind, Language, Made, Phrases, yes_no
from training.texts import bank

_OTHER: dict[Language, Language] = {"en": "ru", "ru": "en"}
_FIELDS = {"en": ("Word", "Translation"), "ru": ("Слово", "Перевод")}


def kinds() -> Iterator[Kind]:
    """One for each class that has a name, and one for translations."""
    for name, entry in _named().items():
        phrases = Phrases([f"name {one}" for one in _split(entry["what"])], [f"называет {one}" for one in _split(entry["что"])])
        yield yes_no(f"word_{name}", phrases, _Of(name), weight=0.35)
    phrases = Phrases(
        ["be a right translation of the word", "mean the same as the word"],
        ["верно передаёт слово", "значит то же, что и слово"],
        {"en": ("translation",), "ru": ("перевод",)},
    )
    yield yes_no("word_translated", phrases, _translated, weight=6)


@cache
def _named() -> dict[str, dict[str, Any]]:
    return {name: entry for name, entry in bank("words").items() if "what" in entry}


class _Of:
    """A word of the class, or of another; in any language."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, draw: Draw, holds: bool) -> Made | None:
        name = self.name if holds else draw.rng.choice([one for one in _named() if one != self.name])
        language = draw.language if draw.rng.random() < 0.7 else _OTHER[draw.language]
        found = draw.rng.choice(_named()[name][language])
        if not holds and found in _named()[self.name][language]:
            return None
        return Made({"response": found})


def _translated(draw: Draw, holds: bool) -> Made | None:
    entry = draw.rng.choice(list(bank("words").values()))
    place, other = draw.rng.sample(range(len(entry["en"])), 2)
    word, translation = entry[draw.language], entry[_OTHER[draw.language]]
    if not holds and translation[place] == translation[other]:
        return None
    first, second = _FIELDS[draw.language]
    return Made({first: word[place], second: translation[place if holds else other]})


def _split(text: str) -> list[str]:
    return text.split(" | ")
