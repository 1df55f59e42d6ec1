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
        phrases = Phrases(
            [f"name {one}" for one in _split(entry["what"])],
            [f"называет {one}" for one in _split(entry["что"])],
        )
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


@cache
def _other_names(name: str) -> list[str]:
    return [one for one in _named() if one != name]


class _Of:
    """Words of which one is of the class, or none; in any language."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, draw: Draw, holds: bool) -> Made | None:
        language = draw.language if draw.rng.random() < 0.7 else _OTHER[draw.language]
        own, others = (
            _named()[self.name][language],
            draw.rng.sample(_other_names(self.name), draw.rng.choice((1, 1, 1, 2, 3))),
        )
        found = [draw.rng.choice(_named()[name][language]) for name in others]
        if set(found) & set(own):
            return None
        if holds:
            found[0] = draw.rng.choice(own)
        return Made({"response": ", ".join(draw.rng.sample(found, len(found)))})


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
