"""Checks of amounts: a number in the text, its length, the cost of the answer."""

from __future__ import annotations

import math
import re
from typing import Literal

from adjudge.core.checks.check import Check, Observation, check_limits, limits_text, within
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.span import Span
from adjudge.core.reading.types import Number, Text, WholeNumber, Word, key
from adjudge.messages import Message

# Spaces that hold the groups of a number together.
_NO_BREAK = "\u00a0\u2007\u2009\u202f"
_SPACED = rf"\d{{1,3}}(?:[ {_NO_BREAK}]\d{{3}})+(?!\d)(?:[.,]\d+)?"
# Some programs write a minus as another dash, and words stand for it. Then nobody can tell.
_DASHES = "‐‑‒–—﹣－"
_SIGN = rf"(?:[-+−{_DASHES}]|(?i:minus|минус)\s+)"
_NUMBER = re.compile(
    rf"(?<![\w.,])({_SIGN}?(?:{_SPACED}|(?!{_SPACED})\d[\d.,']*+|\.\d++|[¼-¾⅐-⅞])(?:[eE][-+]?\d+)?+%?+)(\w*)"
)
# Endings of 1st, 2nd, 5-й, 5го: such words name a place.
_ORDINAL = frozenset(
    ["st", "nd", "rd", "th", "й", "я", "е", "го", "му", "ый", "ий", "ой", "ая", "ое"]
)
_GROUPED = re.compile(r"\d{1,3}([,.\u00a0'])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d+)?\Z")
_DECIMAL = re.compile(r"0[.,]\d+\Z")
# A thousands or a decimal separator; one number or several.
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2}([.,])\d{3}\Z|\d+ ")
_COUNT = WholeNumber(least=0)
Which = Literal["only", "first", "last"]
Separator = Literal["point", "comma"]
_SEPARATORS: dict[Separator, str] = {"point": ".", "comma": ","}


class _Ambiguous(Exception):
    """Raised for a number that may be read in two ways."""


class _Unclear(Exception):
    """Raised for a number whose value is not certain."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason


def number_in(written: str, decimal: Separator | None = None) -> float | None:
    """Return the value of a written number, with any thousands separators; None if it is not a
    number.

    Raises _Ambiguous for numbers such as 1,234, 1.234 and 1 234, which can be read in two ways.
    ``decimal`` decides the first two.
    """
    text = written.strip().rstrip("%").rstrip(".,").replace("−", "-")
    text = re.sub(f"[{_NO_BREAK}]", "\u00a0", text)
    sign, digits = (-1.0, text[1:]) if text[:1] == "-" else (1.0, text.lstrip("+"))
    if ambiguous := _AMBIGUOUS.match(digits):
        if decimal is None or ambiguous[1] is None:
            raise _Ambiguous
        is_decimal = ambiguous[1] == _SEPARATORS[decimal]
        return sign * float(digits.replace(ambiguous[1], "." if is_decimal else ""))
    if _DECIMAL.match(digits):
        return sign * float(digits.replace(",", "."))
    if grouped := _GROUPED.match(digits):
        digits = digits.replace(grouped[1], "").replace(",", ".")
    elif digits.count(",") == 1 and "." not in digits:
        digits = digits.replace(",", ".")
    try:
        value = float(digits)
    except ValueError:
        return None
    return sign * value if math.isfinite(value) else None


@light_dataclass(frozen=True, kw_only=True)
class NumberWithin(Check):
    """A number in the text is within limits."""

    least: float | None = key(Number(), "Smallest accepted value.", None)
    most: float | None = key(Number(), "Largest accepted value.", None)
    which: Which = key(
        Word[Which](("only", "first", "last")),
        "Which number to use, if the text has several.",
        "only",
    )
    decimal: Separator | None = key(
        Word[Separator](("point", "comma")),
        "The decimal separator of the texts. Without it, 1.234 and 1,234 are ambiguous.",
        None,
    )

    @property
    def title(self) -> str:
        return Message("a number: {limits}", limits=limits_text(self.least, self.most))

    def prepare(self) -> None:
        check_limits("number", self.least, self.most)

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        matches = [match for match in _NUMBER.finditer(text) if match[2] not in _ORDINAL]
        if not matches:
            return Observation(False, Message("it contains no number"))
        if self.which == "only" and len(matches) > 1:
            return Observation(
                None,
                Message(
                    "it contains {count} numbers: choose one with 'which: first' or 'which: last'",
                    count=len(matches),
                ),
            )
        match = matches[-1 if self.which == "last" else 0]
        span = Span(match.start(), match.end(1))
        try:
            value = self._value_of(match)
        except _Unclear as unclear:
            return Observation(None, unclear.reason, (span,))
        reason = Message("it says {value:.15g}", value=value)
        return Observation(within(value, self.least, self.most), reason, (span,), value)

    def _value_of(self, match: re.Match[str]) -> float:
        """Return the value of a match of _NUMBER; raise an _Unclear if it is not certain."""
        written, letters = match.groups()
        if written[0] in _DASHES or written[0].isalpha():
            raise _Unclear(Message("{text} may be a negative number", text=match[0]))
        if letters and not written.endswith((".", ",")):  # a unit, a factor as in 3.7k, or a name
            raise _Unclear(
                Message("{text} cannot be read as a number: letters follow it", text=match[0])
            )
        try:
            value = number_in(written, self.decimal)
        except _Ambiguous as error:
            raise _Unclear(self._doubt(written)) from error
        if value is None:
            raise _Unclear(Message("{text} cannot be read as a number", text=written))
        return value

    def _doubt(self, written: str) -> Message:
        if " " in written:
            return Message("{text} is ambiguous: it may be one number or several", text=written)
        return Message(
            "{text} is ambiguous: it can be read as two numbers. Add 'decimal: point' or "
            "'decimal: comma' to the check",
            text=written,
        )


Unit = Literal["words", "characters"]


@light_dataclass(frozen=True, kw_only=True)
class Length(Check):
    """The length of the text is within limits."""

    least: int | None = key(_COUNT, "Minimum.", None)
    most: int | None = key(_COUNT, "Maximum.", None)
    unit: Unit = key(Word[Unit](("words", "characters")), "The unit to count.", "words")

    @property
    def title(self) -> str:
        limits = limits_text(self.least, self.most)
        if self.unit == "words":
            return Message("words: {limits}", limits=limits)
        return Message("characters: {limits}", limits=limits)

    def prepare(self) -> None:
        check_limits("length", self.least, self.most)

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        count = len(text.split()) if self.unit == "words" else len(text)
        reason = (
            Message("{count} words", count=count)
            if self.unit == "words"
            else Message("{count} characters", count=count)
        )
        return Observation(within(count, self.least, self.most), reason, (), float(count))


@light_dataclass(frozen=True, kw_only=True)
class Took(Check):
    """The answer took no more than some seconds or dollars, as measured by the target or read from
    a column.
    """

    column: str = key(Text(), "The column with the value.")
    most: float = key(Number(least=0), "Maximum value.")

    @property
    def title(self) -> str:
        return Message("{column}: at most {most:g}", column=self.column, most=self.most)

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the row says it
        raw = row.metadata.get(self.column, row.input.get(self.column))
        try:
            value = float(str(raw))
        except ValueError:
            value = math.nan
        if raw is None or isinstance(raw, bool) or not math.isfinite(value):
            return Observation(
                None, Message("the {column} of this row is unknown", column=self.column)
            )
        reason = Message("{column} {value:g}", column=self.column, value=value)
        return Observation(value <= self.most, reason, (), value)
