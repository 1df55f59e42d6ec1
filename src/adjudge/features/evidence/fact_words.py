"""Number words, months and units: `data/facts.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from adjudge.core.reading.values import Place, mapping, number, our_yaml, phrase
from adjudge.features.evidence.words import plain_word

_ORDINAL = re.compile(r"(?:ый|ой|ий|ого|его|ому|ему|ым|им|ом|ем|ая|ья|ую|ью|ое|ье|ые|ьи|ых|ьих)$")
_MONTH_LETTERS = 3
_NOT_MONTHS = frozenset({"march", "may", "mar"})
"""Also other words, so they count as months only with a capital letter."""


@dataclass(frozen=True)
class FactWords:
    """What the words for quantities mean."""

    numbers: Mapping[str, float]
    ordinals: Mapping[str, float]
    """What Russian ordinals begin with, whatever their case."""
    scales: Mapping[str, float]
    months: Mapping[str, int]
    units: Mapping[str, tuple[str, float]]

    def number(self, word: str, *, ordinal: bool = False) -> float | None:
        """What a number word is worth; ``ordinal``: also one like «девятом», which ends a longer
        number.
        """
        bare = plain_word(word)
        found = self.numbers.get(bare)
        ending = _ORDINAL.search(bare) if found is None and ordinal else None
        return self.ordinals.get(bare[: ending.start()]) if ending else found

    def scale(self, word: str) -> float | None:
        """What a word multiplies the number before it by: "thousand", «тысяч»."""
        bare = plain_word(word)
        found = self.scales.get(bare) or self.scales.get(bare.removesuffix("s"))
        if found is None and not bare.isascii():
            longer = (
                value
                for name, value in self.scales.items()
                if len(name) > 2 and bare.startswith(name)
            )
            found = next(longer, None)
        return found

    def month(self, word: str) -> int | None:
        """The number of the month that a word names."""
        bare = plain_word(word)
        found = self.months.get(bare[:_MONTH_LETTERS])
        if found is None or (bare in _NOT_MONTHS and not word[0].isupper()):
            return None
        return found if _is_month(bare, found) else None

    def unit(self, word: str) -> tuple[str, float] | None:
        """What a unit measures, and how many of that measure's first unit it is."""
        return self.units.get(word) or self.units.get(word.casefold())


_NAMES = (
    ("january", "январь"), ("february", "февраль"), ("march", "март"), ("april", "апрель"),
    ("may", "май"), ("june", "июнь"), ("july", "июль"), ("august", "август"),
    ("september", "сентябрь"), ("october", "октябрь"), ("november", "ноябрь"),
    ("december", "декабрь"),
)  # fmt: skip


def _is_month(bare: str, found: int) -> bool:
    """Whether the word is a form of the month's name, or its beginning: "Sept", «сентября»;
    "marble" is none.
    """
    english, russian = _NAMES[found - 1]
    if bare.isascii():
        return english.startswith(bare)
    return bare[: len(russian) - 1] == russian[: len(russian) - 1] and len(bare) <= len(russian) + 2


@cache
def fact_words() -> FactWords:
    """The words of the file, read once."""
    given, place = our_yaml(__file__, "facts.yaml")
    return FactWords(
        numbers=_numbers(given["numbers"], place),
        ordinals=_numbers(given["ordinals"], place),
        scales=_numbers(given["scales"], place),
        months={name: int(value) for name, value in _numbers(given["months"], place).items()},
        units=_units(given["units"], place),
    )


def _numbers(value: object, place: Place) -> dict[str, float]:
    return {str(name): number(one, place) for name, one in mapping(value, place).items()}


def _units(value: object, place: Place) -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {}
    for measure, sizes in mapping(value, place).items():
        for size, names in mapping(sizes, place).items():
            found |= {name: (str(measure), float(size)) for name in phrase(names, place).split()}
    return found
