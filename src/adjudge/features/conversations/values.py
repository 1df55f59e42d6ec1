"""Values in a text: ids, e-mail addresses, dates, times, amounts and numbers, each in one normal
form, so that "$12.50" and "12,50 dollars" are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal
from unicodedata import normalize

Kind = Literal["e-mail address", "date", "time", "id", "number"]

# the lookbehind keeps a long word without "@" from being read from each of its letters
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_DOTTED = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_SHORT_DATE = re.compile(r"(?<![\w.])(0[1-9]|[12]\d|3[01])\.(0[1-9]|1[0-2])\.(\d{2})(?!\.?\d)")
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")
# 12/04/1990 is 12 April or 4 December
_NUMERIC_DATES = (
    (_ISO, 1, ((2, 3),)),
    (_DOTTED, 3, ((2, 1),)),
    (_SHORT_DATE, 3, ((2, 1),)),
    (_SLASHED, 3, ((2, 1), (1, 2))),
)
"""Pattern, the group of the year, and the groups of month and day."""
_MONTHS = (
    ("jan", "янв"),
    ("feb", "фев"),
    ("mar", "мар"),
    ("apr", "апр"),
    ("may", "мая"),
    ("jun", "июн"),
    ("jul", "июл"),
    ("aug", "авг"),
    ("sep", "сен"),
    ("oct", "окт"),
    ("nov", "ноя"),
    ("dec", "дек"),
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|январ[яь]|феврал[яь]|марта|апрел[яь]|мая|июн[яь]|июл[яь]|августа|сентябр[яь]|октябр[яь]"
    r"|ноябр[яь]|декабр[яь])"
)
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+{_MONTH}\b\.?(?:,?\s+(\d{{4}}))?"
)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")
_TIME = re.compile(r"\b(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*([ap])\.?m\b\.?)?")
_HOUR = re.compile(r"\b(\d{1,2})\s*([ap])\.?m\b\.?")
_PHONE = re.compile(r"(?<![\w.])(?:\+\d[\d() -]{5,}\d|\d(?:[() -]*\d){9,})(?!\w)")
_TOKEN = re.compile(r"[^\W_](?:[\w/-]*[^\W_])?")
_MONEY = re.compile(r"(?<![\w.,])\d{1,3}(?:[ ,.\u00a0]\d{3})+(?:[.,]\d{1,2})?(?![\w])")
_DECIMAL = re.compile(r"(?<![\w.,])\d+[.,]\d{1,2}(?![\w.,]*\d)")
_SMALL = 3
"""Digits that a number alone must have to be evidence."""
_WORDS = {
    word: str(number)
    for number, words in enumerate(
        (
            *(("one", "один"), ("two", "два"), ("three", "три"), ("four", "четыре")),
            *(("five", "пять"), ("six", "шесть"), ("seven", "семь"), ("eight", "восемь")),
            *(("nine", "девять"), ("ten", "десять"), ("eleven", "одиннадцать")),
            ("twelve", "двенадцать"),
        ),
        1,
    )
    for word in words
}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")
_SEPARATORS = re.compile(r"[\s_/()+-]+")
_OR = "|"
"""Between the readings of an ambiguous date."""
_SHORT = 40
"""Characters that the value of a fact has at most if it may be written with other spaces."""


@dataclass(frozen=True)
class Value:
    """A value in a text."""

    kind: Kind
    text: str
    """The value as it is written."""
    form: str
    """A normal form, equal for all ways to write the value."""


def fold(text: str) -> str:
    """Normalize case, width and apostrophes in a text."""
    return (
        normalize("NFKC", text)
        .casefold()
        .replace("’", "'")
        .replace("ё", "е")
        .replace("e-mail", "email")
    )


@lru_cache(maxsize=4096)
def values_in(text: str) -> tuple[Value, ...]:
    """Return the values in a text that are specific enough to need a source."""
    return tuple(dict.fromkeys(_find_values(text)))


def _find_values(text: str) -> Iterator[Value]:
    unread = fold(text)

    def take(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        nonlocal unread
        matches = list(pattern.finditer(unread))
        # blanked out, so that the parts of a date are not found again as numbers
        unread = pattern.sub(lambda match: " " * len(match[0]), unread)
        yield from matches

    # the order matters: each pattern reads only what earlier ones left
    for match in take(_EMAIL):
        yield Value("e-mail address", match[0], match[0].rstrip("."))
    for pattern, year, days in _NUMERIC_DATES:
        for match in take(pattern):
            readings = ((match[month], match[day]) for month, day in days)
            yield from _either_date(match[0], match[year], list(readings))
    for match in take(_DAY_MONTH):
        yield from _date(match[0], match[3], _month(match[2]), match[1])
    for match in take(_MONTH_DAY):
        yield from _date(match[0], match[3], _month(match[1]), match[2])
    for match in take(_TIME):
        yield from _time(match[0], match[1], match[2], match[3])
    for match in take(_HOUR):
        yield from _time(match[0], match[1], "0", match[2])
    for match in take(_PHONE):
        digits = re.sub(r"\D", "", match[0])
        # within Russia, +7 is dialled as 8
        is_long_distance = len(digits) == 11 and digits.startswith("8")
        form = f"7{digits[1:]}" if is_long_distance else digits
        yield Value("number", match[0].strip(), form)
    for match in take(_MONEY):
        yield Value("number", match[0], _amount(match[0]))
    for match in take(_DECIMAL):
        yield Value("number", match[0], _amount(match[0]))
    for match in take(_TOKEN):
        yield from _token(match[0])


def _token(token: str) -> Iterator[Value]:
    joined = _SEPARATORS.sub("", token)
    digits = sum(character.isdigit() for character in joined)
    if not digits:
        return
    if joined.isdigit():
        if digits >= _SMALL:
            yield Value("number", token, joined.lstrip("0") or "0")
    elif digits >= 2 and not re.fullmatch(r"\d+(?:st|nd|rd|th|s|x|й|го|я|е|ой|ая)", joined):
        yield Value("id", token, joined)


def _date(written: str, year: str | None, month: str, day: str) -> Iterator[Value]:
    if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
        yield Value("date", written, f"{year or '*'}-{int(month):02}-{int(day):02}")
    else:  # no day of any year, and still a value that somebody made up
        yield Value("id", written, _SEPARATORS.sub("", written))


def _either_date(written: str, year: str, days: Iterable[tuple[str, str]]) -> Iterator[Value]:
    """Yield one date that may be read in several ways, as (month, day) and with its century."""
    years = (year,) if len(year) == 4 else (f"19{year}", f"20{year}")
    dates = [date for each in years for day in days for date in _date(written, each, *day)]
    readings = dict.fromkeys(date.form for date in dates if date.kind == "date")
    if readings:
        yield Value("date", written, _OR.join(readings))
    else:
        yield from dates[:1]


def _month(word: str) -> str:
    return str(_MONTH_OF[word[:3]])


def _time(written: str, hour: str, minute: str, half: str | None) -> Iterator[Value]:
    if int(hour) > 24 or int(minute) > 59:
        return
    hours = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    yield Value("time", written, f"{60 * hours + int(minute)} min")


def _amount(text: str) -> str:
    """Return an amount's number, with a decimal point and without trailing zeros."""
    compact = text.replace(" ", "").replace("\u00a0", "")
    last = max(compact.rfind("."), compact.rfind(","))
    if last >= 0 and len(compact) - last - 1 in (1, 2):
        integer_part, fraction = re.sub(r"\D", "", compact[:last]), compact[last + 1 :].rstrip("0")
        return f"{integer_part}.{fraction}" if fraction else integer_part
    return re.sub(r"\D", "", compact)


@lru_cache(maxsize=1024)
def _source_forms(text: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the normal forms of the values in a text, its dates, and its numbers."""
    values, folded = values_in(text), fold(text)
    numbers = {part for value in values for part in re.findall(r"\d+", value.form)}
    numbers |= {part.lstrip("0") or "0" for part in re.findall(r"\d+", folded)}
    numbers |= {_WORDS[word] for word in _NUMBER_WORD.findall(folded)}
    forms = {value.form for value in values}
    forms |= {_SEPARATORS.sub("", part) for part in _TOKEN.findall(folded)}
    if len(folded) <= _SHORT:  # a value, which may be written without its spaces
        forms.add(_SEPARATORS.sub("", folded))
    dates = {value.form for value in values if value.kind == "date"}
    return frozenset(forms), frozenset(dates), frozenset(numbers)


class Sources:
    """The texts that a value may come from."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._forms: set[str] = set()
        self._dates: set[str] = set()
        self._numbers: set[str] = set()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        forms, dates, numbers = _source_forms(text)
        self._forms |= forms
        self._dates |= dates
        self._numbers |= numbers

    def near(self, value: Value) -> bool:
        """Return True if a date is at most one day away from one in the texts."""
        return any(
            abs(day - other_day) <= 1
            for day in _days_of_year(value.form)
            for date in self._dates
            for other_day in _days_of_year(date)
        )

    def hold(self, value: Value) -> bool:
        """Return True if the texts contain the value, or a longer one that it is part of."""
        if value.form in self._forms:
            return True
        if value.kind == "date":
            return any(_same_day(value.form, date) for date in self._dates)
        if value.kind == "number":
            if value.form in self._numbers:
                return True
            return len(value.form) >= 4 and any(
                form.endswith(value.form) and form[-len(value.form) - 1 : -len(value.form)] != "."
                for form in self._forms
            )
        if value.kind == "id":
            return value.form in self._numbers
        return False


def _days_of_year(form: str) -> Iterator[int]:
    for reading in form.split(_OR):
        month, day = reading.split("-")[1:]
        yield 31 * int(month) + int(day)


def _same_day(form_a: str, form_b: str) -> bool:
    return any(
        day == other_day and (year == other_year or "*" in (year, other_year))
        for (year, _, day), (other_year, _, other_day) in product(
            (reading.partition("-") for reading in form_a.split(_OR)),
            (reading.partition("-") for reading in form_b.split(_OR)),
        )
    )


@lru_cache(maxsize=8192)
def says(text: str, value: str) -> bool:
    """Return True if a text contains a value, as whole words and in any notation."""
    wanted_values = values_in(value)
    if len(wanted_values) == 1 and len(_content(value)) <= len(_content(wanted_values[0].text)) + 4:
        text_values = values_in(text)
        if any(_equal(wanted_values[0], value_in_text) for value_in_text in text_values):
            return True
    text_content, value_content = _content(text), _content(value)
    if value_content and f" {value_content} " in f" {text_content} ":
        return True
    compact = value_content.replace(" ", "")
    if not _SMALL < len(compact) <= _SHORT or not any(sign.isdigit() for sign in compact):
        return False
    # "SW1A 2AA" may be written "sw1a2aa", and "4419" "four four one nine"
    spaced = " ?".join(map(re.escape, compact))
    return re.search(rf"(?<![^ ]){spaced}(?![^ ])", text_content) is not None


def _equal(value_a: Value, value_b: Value) -> bool:
    if value_a.kind == "date" and value_b.kind == "date":
        return _same_day(value_a.form, value_b.form)
    return value_a.form == value_b.form


def _content(text: str) -> str:
    words = re.findall(r"[^\W_]+", fold(text))
    return " ".join(_WORDS.get(word, word) for word in words)


_STOP_WORDS = """
a an and are as at be but by can could do for from have i if in into is it me my not of on or please
so that the their them there this to want wants was we what when will with would you your user get
got need needs about all any also just then than
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было
вот от меня еще нет о из ему теперь когда даже ну вдруг ли если уже или ни быть был него до вас
нибудь опять уж вам почти дать пожалуйста хочу хочет нужно мой моя мое мои пользователь это для
"""
_STOP = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """Return the first letters of a text's content words, without their endings."""
    words = re.findall(r"[^\W_]{3,}", fold(text))
    return frozenset(_stem(word) for word in words if word not in _STOP and not word.isdigit())


def _stem(word: str) -> str:
    begin = _IRREGULAR.get(word, word)[:5]
    if begin.isascii():
        is_plural = len(begin) > 3 and begin[-1] == "s" and begin[-2] != "s"
        return begin[:-1] if is_plural else begin
    # "почта", "почту" and "почты" are one word
    return begin[:3] + begin[3:].rstrip("аеиоуыэюяйь")


_IRREGULAR = {
    **dict.fromkeys(("имени", "именем", "имена"), "имя"),
    **dict.fromkeys(("дня", "дню", "днем", "дни", "дней"), "день"),
}


def likeness(text_a: str, text_b: str) -> float:
    """Return the share of words that two texts have in common; 1.0 if both are empty."""
    words_a, words_b = set(_content(text_a).split()), set(_content(text_b).split())
    return len(words_a & words_b) / len(words_a | words_b) if words_a or words_b else 1.0
