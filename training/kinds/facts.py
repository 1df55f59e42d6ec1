"""Made-up things with facts: contexts, questions and answers whose relation is known by
construction.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from training.kinds.base import Draw, Kind, Language, Made, Phrases, yes_no
from training.texts import bank, joined

_NUMBERS = {
    "n": (4, 95),
    "big": (120, 9800),
    "year": (1820, 2024),
    "days": (2, 60),
    "months": (3, 60),
    "small": (2, 9),
}


@dataclass(frozen=True)
class Fact:
    """One thing that can be said of a thing."""

    name: str
    values: Any
    says: dict[str, str]
    asks: dict[str, str]
    tells: dict[str, list[str]]

    def value(self, rng: random.Random, language: Language, not_: str | None = None) -> str:
        """Some value, another one than ``not_``."""
        while True:
            found = self._value(rng, language)
            if found != not_:
                return found

    def _value(self, rng: random.Random, language: Language) -> str:
        if isinstance(self.values, list):
            return str(rng.choice(self.values)).split(" / ")[language == "ru"]
        if self.values in _NUMBERS:
            return str(rng.randint(*_NUMBERS[self.values]))
        words = {
            "person": ("name", "имя"),
            "city": ("city", "город"),
            "weekday": ("weekday", "день"),
            "month": ("month", "month"),
        }[self.values]
        found = str(rng.choice(bank("slots")[words[language == "ru"]]))
        if self.values == "person" and language == "en":
            return f"{found} {rng.choice(bank('slots')['surname'])}"
        return _MONTHS[found] if self.values == "month" and language == "ru" else found


_MONTHS = dict(
    zip(
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        [
            "январь",
            "февраль",
            "март",
            "апрель",
            "май",
            "июнь",
            "июль",
            "август",
            "сентябрь",
            "октябрь",
            "ноябрь",
            "декабрь",
        ],
        strict=True,
    )
)


@dataclass(frozen=True)
class Thing:
    """A thing of some sort, with a value for each fact."""

    sort: str
    name: str
    language: Language
    facts: tuple[Fact, ...]
    values: dict[str, str]

    def tell(self, fact: Fact, way: int = 0, value: str | None = None) -> str:
        """The fact as a sentence, in one of two wordings."""
        text = fact.tells[self.language][way].format(e=self.name, v=value or self.values[fact.name])
        return text[:1].upper() + text[1:]

    def ask(self, fact: Fact) -> str:
        """The question whose answer the fact is."""
        return fact.asks[self.language].format(e=self.name)


@cache
def sorts() -> dict[str, dict[str, Any]]:
    """Sorts of things: their names and facts."""
    return {
        sort: {
            "names": entry["names"],
            "facts": tuple(Fact(name, *about) for name, about in entry["facts"].items()),
        }
        for sort, entry in bank("things").items()
    }


def thing(draw: Draw, *, not_: str | None = None, sort: str | None = None) -> Thing:
    """Some thing; of another sort than ``not_``."""
    chosen = sort or draw.rng.choice([one for one in sorts() if one != not_])
    about = sorts()[chosen]
    values = {fact.name: fact.value(draw.rng, draw.language) for fact in about["facts"]}
    return Thing(
        chosen,
        draw.rng.choice(about["names"][draw.language]),
        draw.language,
        about["facts"],
        values,
    )


def question(draw: Draw) -> str:
    """A question about some thing."""
    found = thing(draw)
    return found.ask(draw.rng.choice(found.facts))


def some(draw: Draw, found: Thing, count: int) -> list[Fact]:
    """Some of a thing's facts."""
    return draw.rng.sample(list(found.facts), min(count, len(found.facts)))


def context(draw: Draw, found: Thing, facts: Sequence[Fact], way: int = 0) -> str | list[str]:
    """Facts as a passage, or as a list of fragments."""
    told = [found.tell(fact, way) for fact in facts]
    draw.rng.shuffle(told)
    if len(told) > 1 and draw.rng.random() < 0.3:
        cut = draw.rng.randrange(1, len(told))
        return [" ".join(told[:cut]), " ".join(told[cut:])]
    return " ".join(told)


# -- what a text says ----------------------------------------------------------


def kinds() -> Iterator[Kind]:
    """ "The text says when the company was founded", for every fact of every sort."""
    for sort, about in sorts().items():
        for fact in about["facts"]:
            phrases = Phrases(
                [
                    f"say {fact.says['en']}",
                    f"tell the reader {fact.says['en']}",
                    f"state {fact.says['en']}",
                ],
                [f"сообщает, {fact.says['ru']}", f"говорит, {fact.says['ru']}"],
            )
            yield yes_no(f"says_{sort}_{fact.name}", phrases, _Says(sort, fact), weight=0.4)


@dataclass(frozen=True)
class _Says:
    sort: str
    fact: Fact

    def __call__(self, draw: Draw, holds: bool) -> Made | None:
        found = thing(draw, sort=self.sort)
        others = [fact for fact in found.facts if fact != self.fact]
        shown = draw.rng.sample(others, draw.rng.randint(1, 3))
        if holds:
            shown[0] = self.fact
        told = [found.tell(fact, draw.rng.randrange(2)) for fact in shown]
        if holds or draw.rng.random() < 0.85:
            return Made({"response": joined(draw.rng, told)})
        other = thing(draw, not_=self.sort)
        return Made(
            {
                "response": joined(
                    draw.rng, [other.tell(fact) for fact in some(draw, other, len(shown))]
                )
            }
        )
