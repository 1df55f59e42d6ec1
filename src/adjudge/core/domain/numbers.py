"""Which number a value is, if it lies between the bounds.

Never the nearest one, never another scale made to fit.
"""

from __future__ import annotations

import re

from adjudge.core.domain.plain_text import plain

MOST_WEIGHT = 1e100
"""Of a weight among others: only their ratio counts, and sums of larger ones may be no numbers any
more.
"""
_BEFORE = r"""[\s"'`*_(\[«“]*+"""
_AFTER = r"""[\s"'`*_)\].;!»”]*+"""
# "7,5" is how it is written in Russian; "1,000" is anybody's guess
_NUMBER = r"[0-9]{1,15}(?:[.,][0-9]{1,2}|\.[0-9]{3,15})?"
_UNIT = r"(?:\s*+(?:stars?|points?|pts|зв[её]зд\w{0,2}|балл\w{0,3}|очк\w{0,2})\b)?"
_WRITTEN = re.compile(
    rf"{_BEFORE}([-+−–]?)\s*({_NUMBER})(?:[\s*_`]*+(?:/|out of|of"
    rf"|из)\s*({_NUMBER}))?{_UNIT}{_AFTER}",
    re.IGNORECASE,
)
_PLAIN = re.compile(rf"([-+−–]?)({_NUMBER})")
_NOTED = re.compile(r"([^:(]{1,30}?)\s*(?::|\s[-–—]\s|\()\D*")


def plain_number(name: str) -> float | None:
    """The number that an option's name is, if it is nothing else."""
    found = _PLAIN.fullmatch(name.strip())
    return _signed(found[1], found[2]) if found else None


def without_note(text: str) -> str:
    """ "2: clear", "2 - clear", "2 (clear)" → "2". A note with a number in it stays: it may be
    another verdict.
    """
    found = _NOTED.fullmatch(text.strip())
    return found[1] if found and any(map(str.isdigit, found[1])) else text


def match_number(value: object, low: float, high: float) -> float | None:
    """The number that ``value`` is or writes: "7", 7.0, "7/10" where ten is the highest. None
    outside the bounds, and for NaN.
    """
    number = _written(value, high) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
        return None
    return float(number) + 0.0  # minus nothing is nothing


def _written(text: str, high: float) -> float | None:
    found = _WRITTEN.fullmatch(plain(text))
    if found is None or (found[3] and _decimal(found[3]) != high):
        return None
    return _signed(found[1], found[2])


def _signed(sign: str, digits: str) -> float:
    return _decimal(digits) * (1 if sign in ("", "+") else -1)


def _decimal(digits: str) -> float:
    return float(digits.replace(",", "."))


def number_of(value: object) -> float | None:
    """A number of JSON, or None; also where no float is so large."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
