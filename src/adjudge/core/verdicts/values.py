"""Recognises options: a text that is only an option's name, its number or a known word for it."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

from adjudge.core.domain.numbers import plain_number
from adjudge.core.domain.question import Choice, Comparison, Question, Rating
from adjudge.core.domain.verdict import Verdict
from adjudge.core.verdicts.parts import EMPHASIS
from adjudge.core.verdicts.phrases import phrase, words

LONGEST: Final = 200
"""Characters of a line in which a verdict is looked for."""
_BOXED = re.compile(r"\$*+\\(?:boxed|text|mathrm|mathbf|textbf)\{([^{}]*+)\}\$*+")
_PICTURES = "★☆⭐🌟✅❌✔✖✗✘👍👎🟢🔴🏆"
_SIGNS = re.compile(rf"\A(?:[{_PICTURES}]\s*+)++|(?:\s*+[{_PICTURES}])++\Z")
_STARS = re.compile(r"([★⭐🌟]*)([☆✩]*)")
_STAR_WORD = re.compile(r"\d\s*(?:stars?|зв[её]зд)", re.IGNORECASE)
# Stars without empty ones are counted out of five.
_OF_FIVE = 5.0
_GOOD_SIGNS, _BAD_SIGNS = frozenset("✅✔☑👍🟢"), frozenset("❌✖✗✘👎🔴🚫⛔")
# Marks that cross an option out, or negate it.
_STRUCK = re.compile(r"~~|</?(?:s|del|strike)>|\A\W*!", re.IGNORECASE)
# Zero to ten in several languages.
_NUMBER_WORDS: Final = {word: at % 11 for at, word in enumerate(words("number_words"))}
_UNIT = re.compile(r"\s+(?:stars?|points?|зв[её]зд\w{0,2}|балл\w{0,3})\Z")
_NAMED_SCALE = phrase("named_scale")
_SAME_SCALE = re.compile(r"[\s*_`]*+[(\[]([^()\[\]]{1,30})[)\]][\s*_`.]*\Z")
_TOP = phrase("scale_top")
_PLACEHOLDER = phrase("placeholder", re.IGNORECASE | re.DOTALL)


def match_value(text: str, question: Question) -> Verdict | None:
    """Return the verdict if ``text`` is an option and nothing else, decoration aside."""
    text = text.strip().rstrip("。")
    if len(text) > LONGEST or _STRUCK.search(text) or is_question(text) or _has_other_sign(text):
        return None
    text = _BOXED.sub(r"\1", _BOXED.sub(r"\1", text)).strip()
    verdict = _count_stars(text, question) or _match_plain(text, question)
    if verdict is None and any(mark in text for mark in ("*", "`", "__")):
        verdict = _match_plain(EMPHASIS.sub("", text).strip(), question)
    if verdict is None or signs_otherwise(text, verdict, question):
        return None
    if _STAR_WORD.search(text) and highest(question) not in (None, _OF_FIVE):
        return None
    stars = sum(map(text.count, "★⭐🌟"))
    return None if stars and question.numeric and verdict.option != str(stars) else verdict


def _has_other_sign(text: str) -> bool:
    """Return True if the option has a sign next to it that is not on the list, or a single
    asterisk.
    """
    if text.count("*") % 2:
        return True  # "A*" is another grade, or has a footnote
    return not text.isascii() and any(
        category(character) == "So" and character not in _PICTURES for character in text
    )


def _match_plain(text: str, question: Question) -> Verdict | None:
    bare = _SIGNS.sub("", text).strip() or text
    verdict = (
        question.match(bare, certain=True)
        if isinstance(question, Comparison)
        else question.match(bare)
    )
    if verdict is None and question.numeric:
        return _read_number_words(bare, question)
    return verdict


def _read_number_words(text: str, question: Question) -> Verdict | None:
    """Return the number of "four", "4 (out of 5)" or "4 (4/5)" if the scale is the question's."""
    word = _UNIT.sub("", text.casefold().strip(" .!*_\"'`«»“”"))
    if word in _NUMBER_WORDS:
        return question.match(str(_NUMBER_WORDS[word]))
    if (scale := _NAMED_SCALE.search(text)) and float(scale[1]) == highest(question):
        return question.match(text[: scale.start()])
    if again := _SAME_SCALE.search(text):
        value, scale_value = question.match(text[: again.start()]), question.match(again[1])
        return value if value and scale_value and value.option == scale_value.option else None
    return None


def _count_stars(text: str, question: Question) -> Verdict | None:
    """Return the number of filled stars, if all stars together are the scale."""
    stars = _STARS.fullmatch(text.replace(" ", "").replace("\ufe0f", ""))
    top = highest(question)
    if stars is None or not text or top is None or not stars[0]:
        return None
    total = len(stars[0]) if stars[2] else _OF_FIVE
    return question.match(str(len(stars[1]))) if total == top else None


def highest(question: Question) -> float | None:
    """Return the top of a numeric scale; None for other questions, or without bounds."""
    if isinstance(question, Rating):
        return question.bounds[1] if question.bounds else None
    if isinstance(question, Choice) and question.numeric:
        return max(plain_number(label) or 0.0 for label in question.labels)
    return None


def scale_top(text: str) -> float | None:
    """Return the top of the scale that a text names: 5 for "1-5", "out of five" and "/5", 100 for
    percent.

    Return None if it names no scale.
    """
    scale = _TOP.search(text)
    if scale is None:
        return None
    if scale["percent"]:
        return 100.0
    top = scale["top"].casefold()
    return float(top) if top.isdecimal() else _NUMBER_WORDS.get(top)


def is_question(text: str) -> bool:
    """Return True if a text is a question: "PASS?" states nothing."""
    return text.rstrip("\"'”»*_`) ").endswith(("?", "？"))


def is_placeholder(value: object, question: Question) -> bool:
    """Return True if ``value`` only shows where a verdict goes: "…", "PASS or FAIL", a schema."""
    if isinstance(value, dict):
        return bool({"type", "enum", "const", "anyOf", "description"} & value.keys())
    if not isinstance(value, str):
        return False
    if _PLACEHOLDER.fullmatch(value[:LONGEST]):
        return True
    parts = re.split(
        r"\s*(?:\||/|,|\bor\b|\band\b|\bили\b)\s*",
        value[:LONGEST].strip("\"'`*[](){}<> "),
        flags=re.IGNORECASE,
    )
    options = {verdict.option for part in parts if (verdict := question.match(part, certain=True))}
    return len(parts) > 1 and len(options) == len(parts)


def signs_otherwise(text: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sign such as ✅ says the opposite of the option next to it."""
    good, bad = not _GOOD_SIGNS.isdisjoint(text), not _BAD_SIGNS.isdisjoint(text)
    if good == bad:
        return good and bad
    signed = question.match("pass" if good else "fail")
    return bad if signed is None else signed.option != verdict.option
