"""What the banks say in both languages: templates that leave the same choices, and sentences made
of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from training.kinds.bank import TRAINED
from training.texts import alike, bank, expand, for_validation

Both = tuple[str, str]
"""English, Russian."""
_SCENES = ("passages", "dangers", "instructions", "followups")
_LISTS = ("talk", "phrasebook")


@cache
def templates(fresh: bool = False) -> list[Both]:
    """Every pair of templates that leave the same choices; ``fresh``: of those that validation has
    to itself.
    """
    return [pair for pair in dict.fromkeys(_all(fresh)) if alike(*pair)]


@cache
def sentences(fresh: bool = False) -> list[Both]:
    """Every template filled in twice."""
    rng = random.Random(f"sentences {fresh}")
    return list(
        dict.fromkeys(filled(rng, template) for template in templates(fresh) for _ in range(2))
    )


def filled(rng: random.Random, template: Both) -> Both:
    """The same choices in both languages."""
    seed = rng.random()
    english, russian = (expand(random.Random(seed), text) for text in template)
    return english, russian


@cache
def words() -> list[Both]:
    """Words and short phrases, class by class."""
    return [
        pair
        for entry in bank("words").values()
        for pair in zip(entry["en"], entry["ru"], strict=True)
    ]


def _all(fresh: bool) -> Iterator[Both]:
    own = slice(-1, None) if fresh else slice(None, -1)
    for name in TRAINED:
        for entry in bank(name).values():
            yield from zip(entry["texts"][own], entry["тексты"][own], strict=False)
    for name in _LISTS:
        pairs = zip(bank(name)["en"], bank(name)["ru"], strict=True)
        yield from (pair for pair in pairs if for_validation(pair[0]) == fresh)
    for name in _SCENES:
        for key, entry in bank(name).items():
            if for_validation(key) == fresh:
                yield from _leaves(entry["en"], entry["ru"])


def _leaves(english: Any, russian: Any) -> Iterator[Both]:
    """All texts in the same places of both."""
    if isinstance(english, str):
        yield english, russian
    elif isinstance(english, Mapping):
        for name, value in english.items():
            yield from _leaves(value, russian[name])
    elif isinstance(english, Sequence):
        for one, other in zip(english, russian, strict=True):
            yield from _leaves(one, other)
