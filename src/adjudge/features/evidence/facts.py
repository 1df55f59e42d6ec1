"""Facts that a program can check alone: numbers, dates, units, names and quotations of a sentence
that no source contains.

Not covered: sums and differences ("twice as many"), names that begin a sentence and stand alone,
synonyms ("the US" for "America"), and anything said in other words. A marked fact may be right, and
an unmarked one wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from adjudge.core.domain.span import Span
from adjudge.features.evidence.citation_marks import without_citations
from adjudge.features.evidence.fact_words import fact_words
from adjudge.features.evidence.quotes import find_quote
from adjudge.features.evidence.record import FactKind, UnseenFact
from adjudge.features.evidence.sentence_words import sentence_words
from adjudge.features.evidence.words import WORD, plain_word, same_name


@dataclass(frozen=True, slots=True)
class _Number(Span):
    """A number as written: its possible values and its precision."""

    values: tuple[float, ...]
    step: float
    """Half of it is how far a rounded number may be off."""
    unit: tuple[str, float] | None = None
    """(what is measured, the size of the unit in its first unit)."""
    counts: bool = False
    """A small number in words: "two ways" counts what the source lists."""


@dataclass(frozen=True, slots=True)
class _Date(Span):
    day: int | None
    month: int


@dataclass(frozen=True)
class _SourceFacts:
    """The facts in the sources."""

    numbers: tuple[_Number, ...]
    dates: frozenset[tuple[int | None, int]]
    words: frozenset[str]
    by_beginning: dict[str, list[str]]
    initials: str


_DIGITS: Final = re.compile(
    r"(?<![\w.])[-−]?\d+(?:[ \u00a0\u202f,.]\d{3})*(?:[.,]\d+)?(?:st|nd|rd|th|-?(?:й|я|е|го"
    r"|му|м|ая|ый|ой|ое|х))?(?!\d)"
)
_NUMERIC_DATE: Final = re.compile(
    r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})[./](\d{1,2})[./](\d{2,4})\b"
)
_QUOTED: Final = re.compile(r"“([^”]{8,300})”|«([^»]{8,300})»|\"([^\"]{8,300})\"|„([^“]{8,300})“")
_NAME: Final = re.compile(
    r"(?<!\w)[A-ZА-ЯЁ][\w’'-]*(?:[ \t]+(?:(?:of|de|van|von|the)[ \t]+)?[A-ZА-ЯЁ][\w’'-]*)*"
)
_UNIT_AFTER: Final = re.compile(r"[ \u00a0]?(?:[-–] ?)?(°[CС]|[%$€₽]|[^\W\d_]+\.?)")
_UNIT_BEFORE: Final = re.compile(r"([$€₽])[ \u00a0]?$")
_WORD_NEXT: Final = re.compile(r"[ \u00a0-]?([^\W\d_]+)\.?")
_LIST_NUMBER: Final = re.compile(r"\s*\(?\d{1,3}[.)]\s")
# Numbers in corpora that were cut into words: "3 , 700".
_TORN_NUMBER: Final = re.compile(r"(?<=\d) ([.,]) (?=\d)")
_COUNTED: Final = 3
_BEGINNING: Final = 3


def unseen_facts(sentence: str, sources: Sequence[str]) -> tuple[UnseenFact, ...]:
    """Return the facts in ``sentence`` that no source contains, in their order.

    Return none if all sources are blank.
    """
    source_facts = _collect_facts(tuple(sources))
    sentence = without_citations(sentence)
    dates = list(_dates(sentence))
    facts = [
        *(
            _fact(sentence, "date", date.start, date.end)
            for date in dates
            if (date.day, date.month) not in source_facts.dates
        ),
        *_unseen_numbers(sentence, source_facts, dates),
        *(
            _fact(sentence, "name", start, end)
            for start, end in _names(sentence)
            if not _has_name(source_facts, sentence[start:end])
        ),
        *_unseen_quotations(sentence, sources),
    ]
    return (
        tuple(sorted(facts, key=lambda fact: fact.start))
        if any(source.strip() for source in sources)
        else ()
    )


def _fact(sentence: str, kind: FactKind, start: int, end: int) -> UnseenFact:
    return UnseenFact(kind=kind, text=sentence[start:end], start=start)


@lru_cache(maxsize=256)
def _collect_facts(sources: tuple[str, ...]) -> _SourceFacts:
    sources = tuple(_TORN_NUMBER.sub(r"\1", text) for text in sources)
    words = frozenset(plain_word(match[0]) for text in sources for match in WORD.finditer(text))
    # "Austria-Hungary" also names Austria
    parts = {part for word in words if "-" in word for part in word.split("-")}
    by_beginning: dict[str, list[str]] = {}
    for word in words | parts:
        by_beginning.setdefault(word[:_BEGINNING], []).append(word)
    dates = {(date.day, date.month) for text in sources for date in _dates(text)}
    return _SourceFacts(
        numbers=tuple(figure for text in sources for figure in _numbers(text)),
        # a sentence may name only the month of a date
        dates=frozenset(dates | {(None, month) for _, month in dates}),
        words=words | parts,
        by_beginning=by_beginning,
        initials=" ".join(
            "".join(match[0][0] for match in WORD.finditer(text)) for text in sources
        ).casefold(),
    )


# --- numbers and units
# ----------------------------------------------------------------------------------------------


def _unseen_numbers(
    sentence: str, source_facts: _SourceFacts, dates: Sequence[_Date]
) -> Iterator[UnseenFact]:
    skipped = _LIST_NUMBER.match(sentence)
    for stated in _numbers(sentence):
        in_date = any(date.start <= stated.start < date.end for date in dates)
        # words such as "two", the number of a list item and parts of a date are no figures of their
        # own
        if (
            stated.counts
            or (skipped and stated.start < skipped.end())
            or (in_date and max(stated.values) <= 31)
        ):
            continue
        matches = [
            source_number for source_number in source_facts.numbers if _same(stated, source_number)
        ]
        if not matches:
            yield _fact(sentence, "number", stated.start, stated.end)
        elif stated.unit and all(
            source_number.unit and source_number.unit[0] != stated.unit[0]
            for source_number in matches
        ):
            yield _fact(sentence, "unit", stated.start, stated.end)


def _same(stated: _Number, source: _Number) -> bool:
    """Return True if the numbers are equal, or one is a rounded form of the other.

    Numbers in different units of the same measure are converted.
    """
    alike = stated.unit and source.unit and stated.unit[0] == source.unit[0]
    factor = source.unit[1] / stated.unit[1] if alike and stated.unit and source.unit else 1.0
    near = max(stated.step / 2, 1e-9) * 1.0001
    return any(
        abs(stated_value - source_value * factor)
        <= (near if abs(source_value * factor) > stated.step / 2 else 1e-9)
        for stated_value in stated.values
        for source_value in source.values
    )


def _numbers(text: str) -> Iterator[_Number]:
    for match in _DIGITS.finditer(text):
        values, step = _values(match[0])
        scale, end = _scale(text, match.end())
        unit, end = _unit(text, match.start(), end)
        yield _Number(
            match.start(), end, tuple(value * scale for value in values), step * scale, unit
        )
    yield from _in_words(text)


def _values(written: str) -> tuple[tuple[float, ...], float]:
    """Return the possible values of a number as written, and its precision."""
    bare = re.sub(r"[^\d.,−-]", "", written).replace("−", "-").rstrip("-.,")
    integer_part, _, tail = bare.replace(",", ".").rpartition(".")
    marks = re.sub(r"[^.,]", "", bare)
    groups = re.sub(r"[.,]", "", bare)
    # "1,234" may be a thousand and some, or a little more than one: both are tried
    if not marks or (len(tail) == 3 and len(set(marks)) == 1):
        values = (
            (float(groups), float(f"{integer_part}.{tail}"))
            if len(marks) == 1
            else (float(groups),)
        )
        return values, _step(groups, grouped=len(groups) < len(written.strip()))
    return (float(f"{integer_part.replace('.', '')}.{tail}"),), 10.0 ** -len(tail)


def _step(digits: str, *, grouped: bool) -> float:
    """Return a whole number's precision.

    Two or more trailing zeros are taken for rounding, except in years.
    """
    zeros = len(digits) - len(digits.rstrip("0"))
    is_year = not grouped and len(digits) == 4 and digits < "2101"
    return 1.0 if zeros < 2 or is_year else 10.0 ** min(zeros, len(digits) - 2)


def _scale(text: str, end: int) -> tuple[float, int]:
    word = _WORD_NEXT.match(text, end)
    scale = fact_words().scale(word[1]) if word else None
    return (scale, word.end(1)) if scale and word else (1.0, end)


def _unit(text: str, start: int, end: int) -> tuple[tuple[str, float] | None, int]:
    prefix = _UNIT_BEFORE.search(text, max(0, start - 2), start)
    if prefix:
        return fact_words().unit(prefix[1]), end
    suffix = _UNIT_AFTER.match(text, end)
    unit = fact_words().unit(suffix[1].rstrip(".").casefold()) if suffix else None
    return (unit, suffix.start(1) + len(suffix[1].rstrip("."))) if unit and suffix else (None, end)


def _in_words(text: str) -> Iterator[_Number]:
    """Yield runs of number words, such as "twenty-one thousand", «двадцать пять» or «тысяча
    девятьсот десятый».
    """
    run: list[tuple[float, int, int]] = []
    for match in re.finditer(r"[^\W\d_]+", text):
        scale = fact_words().scale(match[0]) if run else None
        value = fact_words().number(match[0], ordinal=bool(run)) if scale is None else None
        if run and text[run[-1][2] : match.start()].strip(" -"):
            yield _sum_run(text, run)
            run = []
        if value is not None:
            run.append((value, match.start(), match.end()))
        elif scale and run:
            run = _apply_scale(run, scale, match.end())
        elif run and plain_word(match[0]) != "and":
            yield _sum_run(text, run)
            run = []
    if run:
        yield _sum_run(text, run)


def _apply_scale(
    run: list[tuple[float, int, int]], scale: float, end: int
) -> list[tuple[float, int, int]]:
    """Apply a scale word to the numbers before it.

    In "two thousand five hundred", only the five counts hundreds.
    """
    begin = next(
        at
        for at in range(len(run))
        if all(value < scale for value, _, _ in run[at:]) or at == len(run) - 1
    )
    return [*run[:begin], (sum(value for value, _, _ in run[begin:]) * scale, run[begin][1], end)]


def _sum_run(text: str, run: Sequence[tuple[float, int, int]]) -> _Number:
    total = sum(value for value, _, _ in run)
    start, end = run[0][1], run[-1][2]
    unit, end = _unit(text, start, end)
    return _Number(start, end, (total,), 1e-6, unit, counts=total <= _COUNTED)


# --- dates
# --------------------------------------------------------------------------------------------------


def _dates(text: str) -> Iterator[_Date]:
    for match in _NUMERIC_DATE.finditer(text):
        day, month = (match[3], match[2]) if match[1] else (match[4], match[5])
        if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
            yield _Date(match.start(), match.end(), int(day), int(month))
    for match in WORD.finditer(text):
        month_number = fact_words().month(match[0])
        if month_number:
            day_number, start, end = _day(text, match.start(), match.end())
            yield _Date(start, end, day_number, month_number)


def _day(text: str, start: int, end: int) -> tuple[int | None, int, int]:
    preceding = re.search(
        r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|-?го|-?е)?(?:\s+of)?\s+$", text[max(0, start - 12) : start]
    )
    following = re.compile(r"\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d|[.,]\d)").match(text, end)
    if preceding and 1 <= int(preceding[1]) <= 31:
        return int(preceding[1]), start - len(preceding[0]), end
    if following and 1 <= int(following[1]) <= 31:
        return int(following[1]), start, following.end()
    return None, start, end


# --- names
# --------------------------------------------------------------------------------------------------


def _names(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of capitalized words that are likely to be names.

    The first word of the sentence counts only if another capitalized word follows.
    """
    marker = _LIST_NUMBER.match(sentence)
    begin = marker.end() if marker else 0
    for match in _NAME.finditer(sentence):
        alone = len(match[0].split()) == 1
        for word in WORD.finditer(sentence, match.start(), match.end()):
            begins_sentence = not any(
                character.isalnum() for character in sentence[begin : word.start()]
            )
            if not (begins_sentence and (alone or not word[0].isascii())) and not _is_common(
                word[0]
            ):
                yield word.start(), word.end()


def _is_common(word: str) -> bool:
    """Return True if a capitalized word is unlikely to be part of a name: "The", "May",
    "Million".
    """
    words, facts, bare = sentence_words(), fact_words(), word.casefold()
    if bare in words.starters or bare in words.function or len(word) < 2:
        return True
    return (
        plain_word(word) in facts.numbers
        or facts.month(word) is not None
        or facts.scale(word) is not None
    )


def _has_name(source_facts: _SourceFacts, name: str) -> bool:
    bare = plain_word(name)
    if bare in source_facts.words or any(
        same_name(name, candidate)
        for candidate in source_facts.by_beginning.get(bare[:_BEGINNING], ())
    ):
        return True
    # "WHO" is known if its letters begin words in a row
    if name.isupper() and len(name) <= 6 and bare in source_facts.initials:
        return True
    plural = bare.removesuffix("s")
    parts = [part for part in re.split(r"[-']", bare) if part]
    return (
        plural in source_facts.words
        or f"{bare}s" in source_facts.words
        or (len(parts) > 1 and all(part in source_facts.words for part in parts))
    )


# --- quotations
# --------------------------------------------------------------------------------------------------


def _unseen_quotations(sentence: str, sources: Sequence[str]) -> Iterator[UnseenFact]:
    for match in _QUOTED.finditer(sentence):
        quoted = next(filter(None, match.groups()))
        lowered = quoted.casefold().rstrip(".,!?…")
        if len(quoted.split()) >= 3 and not any(
            find_quote(lowered, source.casefold()) for source in sources
        ):
            yield _fact(sentence, "quotation", match.start(), match.end())
