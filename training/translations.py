"""Russian texts with their English translations, from templates that are alike in both languages.

The base model hardly knows Russian. Translating teaches it more with each example than a Yes or No does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from training.data import Translations
from training.kinds.bank import TRAINED, tags
from training.prompts import Tokeniser
from training.texts import alike, bank, expand, for_validation
from training.wordings import asked_alike

Template = tuple[str, str]
"""English, Russian."""
_SCENES = ("passages", "dangers", "instructions", "followups")
_ASK = "Translate into English: {}"
_LONGEST = 640


def translations(tokeniser: Tokeniser, count: int, seed: int) -> Translations:
    """Tokenised, each with its prompt."""
    rng = random.Random(f"translations {seed}")
    found = list(dict.fromkeys(_pair(rng) for _ in range(count)))
    texts = tokeniser.answered([(_ASK.format(russian), english) for english, russian in found])
    kept = [(ids, tail) for ids, tail in texts if len(ids) <= _LONGEST and tail <= len(ids) // 4]
    return Translations(
        ids=np.concatenate([np.array(ids, np.uint16) for ids, _ in kept]),
        lengths=np.array([len(ids) for ids, _ in kept], np.int32),
        tails=np.array([tail for _, tail in kept], np.int32),
    )


def _pair(rng: random.Random) -> Template:
    """A sentence or two, a criterion, or a word."""
    sort = rng.random()
    if sort < 0.15:
        phrases = rng.choice(list(tags().values())).phrases
        return asked_alike(rng, phrases.en, phrases.ru)
    if sort < 0.35:
        return rng.choice(words())
    chosen = rng.sample(templates(), rng.choice((1, 1, 2)))
    made = [_expanded(rng, template) for template in chosen]
    return " ".join(english for english, _ in made), " ".join(russian for _, russian in made)


def _expanded(rng: random.Random, template: Template) -> Template:
    seed = rng.random()
    english, russian = (expand(random.Random(seed), text) for text in template)
    return english, russian


@cache
def templates() -> list[Template]:
    """Every pair of templates that leave the same choices, of what validation does not have to itself."""
    return [pair for pair in dict.fromkeys(_all()) if alike(*pair)]


@cache
def words() -> list[Template]:
    """Words and short phrases, class by class."""
    return [pair for entry in bank("words").values() for pair in zip(entry["en"], entry["ru"], strict=True)]


def _all() -> Iterator[Template]:
    for name in TRAINED:
        for entry in bank(name).values():
            yield from zip(entry["texts"][:-1], entry["тексты"][:-1], strict=False)
    for name in ("plain", "talk"):
        yield from zip(bank(name)["en"], bank(name)["ru"], strict=False)
    for name in _SCENES:
        for key, entry in bank(name).items():
            if not for_validation(key):
                yield from _leaves(entry["en"], entry["ru"])


def _leaves(english: Any, russian: Any) -> Iterator[Template]:
    """All texts in the same places of both."""
    if isinstance(english, str):
        yield english, russian
    elif isinstance(english, Mapping):
        for name, value in english.items():
            yield from _leaves(value, russian[name])
    elif isinstance(english, Sequence):
        for one, other in zip(english, russian, strict=True):
            yield from _leaves(one, other)
