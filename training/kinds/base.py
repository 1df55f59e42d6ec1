"""What a kind of criteria is, and what it makes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from training.texts import World
from training.wordings import ask

Language = Literal["en", "ru"]
Role = Literal["train", "tuning", "held_out"]
Fields = Mapping[str, str | Sequence[str]]
_MIXED, _MIXED_MEASURED = 0.22, 0.1
"""How often the question is in one language and the text in the other: what Russian words mean is
learned from that.
"""


@dataclass(frozen=True)
class Draw:
    """Where a case is drawn from."""

    world: World
    rng: random.Random
    language: Language
    fresh: bool
    """Whether only texts that training never sees may be used."""
    wording: random.Random | None = None
    """Where the wording is drawn from, where that is not ``rng``: to ask about many texts in the
    same words.
    """


@dataclass(frozen=True)
class Case:
    """One question about some texts, with its right answer."""

    criteria: Criteria
    fields: Fields
    truth: str
    """The name of the right option; of compared responses the label of the better one, or "tie"."""
    origin: str = "bank"
    offered: tuple[str, ...] = ()
    """The labels of compared responses."""


@dataclass(frozen=True)
class Kind:
    """A kind of criteria. ``make`` gives a case; it is called as often as examples are wanted."""

    name: str
    make: Callable[[Draw], Case | None]
    role: Role = "train"
    weight: float = 1.0
    """How many examples it gets, relative to others."""
    languages: tuple[Language, ...] = ("en", "ru")


@dataclass(frozen=True)
class Made:
    """Texts for which something is known: that a phrase holds, or how good they are."""

    fields: Fields
    origin: str = "bank"


@dataclass(frozen=True)
class Phrases:
    """How a criterion is called in each language, the verb first."""

    en: Sequence[str]
    ru: Sequence[str]
    subjects: Mapping[str, Sequence[str]] = field(default_factory=dict)


def yes_no(
    name: str,
    phrases: Phrases,
    texts: Callable[[Draw, bool], Made | None],
    *,
    role: Role = "train",
    weight: float = 1.0,
    languages: tuple[Language, ...] = ("en", "ru"),
) -> Kind:
    """A kind answered by Yes or No: ``texts`` gives texts for which the phrase
    holds, or does not.
    """

    def make(draw: Draw) -> Case | None:
        asked_in, words = draw.language, draw.wording or draw.rng
        if words.random() < (_MIXED_MEASURED if draw.fresh else _MIXED):
            asked_in = "ru" if asked_in == "en" else "en"
        found = phrases.en if asked_in == "en" else phrases.ru
        asked = ask(words, found, asked_in, phrases.subjects.get(asked_in, ()))
        holds = draw.rng.random() < 0.5
        drawn = texts(draw, holds)
        if drawn is None:
            return None
        judged = "response" if "response" in drawn.fields else list(drawn.fields)[-1]
        criteria = replace(yes_no_criteria(asked.text), to_evaluate_field=judged)
        return Case(
            criteria, drawn.fields, "Yes" if holds == asked.positive else "No", drawn.origin
        )

    return Kind(name, make, role, weight, languages)


def russian(criteria: Criteria) -> bool:
    """Whether the criterion is worded in Russian."""
    return any("а" <= letter <= "я" for letter in criteria.description.lower())
