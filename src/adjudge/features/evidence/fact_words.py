"""Number words, months and units, from `data/facts.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from adjudge.core.reading.values import Place, mapping, number, our_yaml, phrase
from adjudge.features.evidence.words import plain_word

_ORDINAL = re.compile(r"(?:ый|ой|ий|ого|его|ому|ему|ым|им|ом|ем|ая|ья|ую|ью|ое|ье|ые|ьи|ых|ьих)$")
_MONTH_LETTERS = 3
# Words with another meaning; they count as months only with a capital letter.
_NOT_MONTHS = frozenset({"march", "may", "mar"})


@dataclass(frozen=True)
class FactWords:
    """The meanings of words for quantities."""

    numbers: Mapping[str, float]
    ordinals: Mapping[str, float]
    """Stems of Russian ordinals, without the ending of their case."""
    scales: Mapping[str, float]
    months: Mapping[str, int]
    units: Mapping[str, tuple[str, float]]

    def number(self, word: str, *, ordinal: bool = False) -> float | None:
        """Return a number word's value; None if it is not one.

        With ``ordinal`` this includes ordinals that end a longer number, such as «девятом».
        """
        bare = plain_word(word)
        value = self.numbers.get(bare)
        ending = _ORDINAL.search(bare) if value is None and ordinal else None
        return self.ordinals.get(bare[: ending.start()]) if ending else value

    def scale(self, word: str) -> float | None:
        """Return the factor of a word after a number, such as "thousand" or «тысяч»; None for
        other words.
        """
        bare = plain_word(word)
        factor = self.scales.get(bare) or self.scales.get(bare.removesuffix("s"))
        if factor is None and not bare.isascii():
            longer = (
                value
                for name, value in self.scales.items()
                if len(name) > 2 and bare.startswith(name)
            )
            factor = next(longer, None)
        return factor

    def month(self, word: str) -> int | None:
        """Return the number of the month that a word names; None if it names none."""
        bare = plain_word(word)
        number = self.months.get(bare[:_MONTH_LETTERS])
        if number is None or (bare in _NOT_MONTHS and not word[0].isupper()):
            return None
        return number if _is_month(bare, number) else None

    def unit(self, word: str) -> tuple[str, float] | None:
        """Return a unit's measure and its size in the measure's first unit; None for other
        words.
        """
        return self.units.get(word) or self.units.get(word.casefold())


_NAMES = (
    ("january", "январь"), ("february", "февраль"), ("march", "март"), ("april", "апрель"),
    ("may", "май"), ("june", "июнь"), ("july", "июль"), ("august", "август"),
    ("september", "сентябрь"), ("october", "октябрь"), ("november", "ноябрь"),
    ("december", "декабрь"),
)  # fmt: skip


def _is_month(bare: str, number: int) -> bool:
    """Return True if the word is a form or abbreviation of the month's name, such as "Sept" or
    «сентября», but not "marble".
    """
    english, russian = _NAMES[number - 1]
    if bare.isascii():
        return english.startswith(bare)
    return bare[: len(russian) - 1] == russian[: len(russian) - 1] and len(bare) <= len(russian) + 2


@cache
def fact_words() -> FactWords:
    """Load the words for quantities from facts.yaml."""
    content, place = our_yaml(__file__, "facts.yaml")
    return FactWords(
        numbers=_numbers(content["numbers"], place),
        ordinals=_numbers(content["ordinals"], place),
        scales=_numbers(content["scales"], place),
        months={name: int(value) for name, value in _numbers(content["months"], place).items()},
        units=_units(content["units"], place),
    )


def _numbers(value: object, place: Place) -> dict[str, float]:
    return {str(name): number(raw, place) for name, raw in mapping(value, place).items()}


def _units(value: object, place: Place) -> dict[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for measure, sizes in mapping(value, place).items():
        for size, names in mapping(sizes, place).items():
            units |= {name: (str(measure), float(size)) for name in phrase(names, place).split()}
    return units
