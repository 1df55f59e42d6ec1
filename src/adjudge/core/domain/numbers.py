"""Read a number within bounds from a value.

Never the nearest one, and never one rescaled to fit.
"""

from __future__ import annotations

import re

from adjudge.core.domain.plain_text import plain

MOST_WEIGHT = 1e100
"""Largest weight: only ratios count, and sums of larger weights may overflow."""
_BEFORE = r"""[\s"'`*_(\[«“]*+"""
_AFTER = r"""[\s"'`*_)\].;!»”]*+"""
# Russian writes "7,5"; "1,000" is ambiguous, so three digits after a comma are not read.
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
    """Return the number that an option's whole name writes; None for any other name."""
    match = _PLAIN.fullmatch(name.strip())
    return _apply_sign(match[1], match[2]) if match else None


def without_note(text: str) -> str:
    """Reduce "2: clear", "2 - clear" and "2 (clear)" to "2"; return any other text unchanged."""
    match = _NOTED.fullmatch(text.strip())
    # A note with a number in it stays: the number may be another verdict.
    return match[1] if match and any(map(str.isdigit, match[1])) else text


def match_number(value: object, low: float, high: float) -> float | None:
    """Return the number that ``value`` is or writes: "7", 7.0, or "7/10" if ten is the highest.

    Return None outside the bounds, and for NaN.
    """
    number = _read_number(value, high) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
        return None
    return float(number) + 0.0  # turns -0.0 into 0.0


def _read_number(text: str, high: float) -> float | None:
    match = _WRITTEN.fullmatch(plain(text))
    if match is None or (match[3] and _decimal(match[3]) != high):
        return None
    return _apply_sign(match[1], match[2])


def _apply_sign(sign: str, digits: str) -> float:
    return _decimal(digits) * (1 if sign in ("", "+") else -1)


def _decimal(digits: str) -> float:
    return float(digits.replace(",", "."))


def number_of(value: object) -> float | None:
    """Return a JSON number as a float; None for other values and for integers beyond the range of
    floats.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
