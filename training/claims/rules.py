"""A sentence with another meaning, or in other words, by rule."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from training.texts import bank

_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_NAME = re.compile(r"(?<![.!?\"“]\s)(?<!^)\b(?:[A-Z][a-z]+(?: [A-Z][a-z]+)*)\b")
_HELPING = re.compile(
    r"\b(is|are|was|were|has been|have been|had been|will|can|could|would|should|must)\b(?! not)"
)
_DENIED = re.compile(r"\b(not|never|no)\b|n't")
_NOT_BEHIND = re.compile(
    r"\b(is|are|was|were|has|have|had|will|can|could|would|should) not ", re.IGNORECASE
)
_STARTS = re.compile(r"^(However|Meanwhile|Also|But|And|In addition|Moreover|Then|So),? ")
_ENDS = re.compile(r",? (which|who|where|while|although|after|because|as|with) [^,]{15,}[.]$")
_SAYS = re.compile(
    r", (he|she|it|they|[A-Z][a-z]+ [A-Z][a-z]+|police|officials)? ?"
    r"(said|says|added|told [^,.]+)\.$"
)
_BRACKETS = re.compile(r"\s*\([^)]*\)")
_WHEN_FIRST = re.compile(r"^(In|On|At|By|After|Since) ([^,]{3,40}), ([^.]+)\.$")
_FEWEST_WORDS = 5


class Rules:
    """Draws changes. ``names``: names of other documents."""

    def __init__(self, rng: random.Random, names: Sequence[str]) -> None:
        self._rng, self._names = rng, names

    def wrong(self, sentence: str, document: str) -> str | None:
        """The sentence with another number, name, meaning or order of names; None where no rule
        fits.
        """
        changes: list[Callable[[], str | None]] = [
            lambda: self.other_number(sentence, document),
            lambda: self.other_number(sentence, document),
            lambda: self._other_name(sentence, document),
            lambda: self._other_name(sentence, document),
            lambda: _negated(sentence),
            lambda: self._opposite(sentence),
            lambda: _turned_round(sentence),
        ]
        self._rng.shuffle(changes)
        found = (change() for change in changes)
        return next((one for one in found if one and one != sentence), None)

    def in_other_words(self, sentence: str, share: float = 0.45) -> str:
        """With synonyms, and the time at the end instead of the beginning."""
        alike = _words()["alike"]
        found = _alike().sub(
            lambda match: alike[match[0]] if self._rng.random() < share else match[0], sentence
        )
        match = _WHEN_FIRST.match(found)
        if match and self._rng.random() < 0.5:
            when, what = f"{match[1].lower()} {match[2]}", match[3]
            found = f"{what[:1].upper()}{what[1:]} {when}."
        return found

    def shortened(self, sentence: str) -> str:
        """Without what only links or explains, mostly in other words."""
        found = _STARTS.sub("", _BRACKETS.sub("", sentence))
        if self._rng.random() < 0.6:
            found = _ENDS.sub(".", found)
        found = _SAYS.sub(".", found)
        found = found[:1].upper() + found[1:]
        found = found if len(found.split()) >= _FEWEST_WORDS else sentence
        return self.in_other_words(found) if self._rng.random() < 0.75 else found

    def other_number(self, sentence: str, document: str) -> str | None:
        """Another number of the document, or one near it; another month, day or number word."""
        numbers = list(_NUMBER.finditer(sentence))
        if not numbers:
            return self._other_word(sentence)
        match = self._rng.choice(numbers)
        old = match[0].rstrip(".,")
        others = [one[0].rstrip(".,") for one in _NUMBER.finditer(document)]
        others = [one for one in others if one != old and abs(len(one) - len(old)) <= 1]
        new = self._rng.choice(others) if others and self._rng.random() < 0.5 else self._near(old)
        if new in (None, old):
            return None
        return f"{sentence[: match.start()]}{new}{sentence[match.start() + len(old) :]}"

    def _near(self, number: str) -> str | None:
        try:
            value = float(number.replace(",", ""))
        except ValueError:
            return None
        rng = self._rng
        if value > 1000 and len(number) == 4:
            value += rng.choice((-3, -2, -1, 1, 2, 3, 5, 10))
        elif rng.random() < 0.5:
            value *= rng.choice((0.5, 2, 3, 10))
        else:
            value += rng.choice((1, 2, 3, 5))
        return f"{value:.1f}" if "." in number else str(int(value))

    def _other_word(self, sentence: str) -> str | None:
        for name in ("numbers", "months", "days"):
            for word in _words()[name]:
                if re.search(rf"\b{word}\b", sentence):
                    other = self._rng.choice([one for one in _words()[name] if one != word])
                    return re.sub(rf"\b{word}\b", other, sentence, count=1)
        return None

    def _other_name(self, sentence: str, document: str) -> str | None:
        found = [match for match in _NAME.finditer(sentence) if len(match[0]) > 3]
        if not found:
            return None
        match = self._rng.choice(found)
        others = [name for name in names(document) if name not in sentence]
        if self._names and (not others or self._rng.random() < 0.3):
            others = [self._rng.choice(self._names)]
        if not others:
            return None
        new = self._rng.choice(others)
        if new in match[0] or match[0] in new:
            return None
        return f"{sentence[: match.start()]}{new}{sentence[match.end() :]}"

    def _opposite(self, sentence: str) -> str | None:
        opposites = _opposites()
        found = [match for match in re.finditer(r"\b[a-z]+\b", sentence) if match[0] in opposites]
        if not found:
            return None
        match = self._rng.choice(found)
        return f"{sentence[: match.start()]}{opposites[match[0]]}{sentence[match.end() :]}"


def names(text: str) -> list[str]:
    """Capitalised words that do not begin a sentence."""
    dates = {*_words()["months"], *_words()["days"]}
    found = (match[0] for match in _NAME.finditer(text))
    return [name for name in found if len(name) > 3 and name not in dates]


def _negated(sentence: str) -> str | None:
    if _DENIED.search(sentence):
        found = _NOT_BEHIND.sub(r"\1 ", sentence, count=1)
        return found if found != sentence else None
    match = _HELPING.search(sentence)
    if match is None:
        return None
    first, *rest = match[0].split()
    return f"{sentence[: match.start()]}{' '.join((first, 'not', *rest))}{sentence[match.end() :]}"


def _turned_round(sentence: str) -> str | None:
    match = _who_did().match(sentence)
    return f"{match[3]} {match[2]} {match[1]}{match[4]}" if match else None


@cache
def _words() -> dict[str, Any]:
    found: dict[str, Any] = dict(bank("claim_words"))
    return found


@cache
def _opposites() -> dict[str, str]:
    pairs = [pair.split() for pair in _words()["opposites"]]
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


@cache
def _alike() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, _words()['alike']))})\b")


@cache
def _who_did() -> re.Pattern[str]:
    name = r"([A-Z]\w+(?: [A-Z]\w+){0,2})"
    return re.compile(rf"^{name} ({'|'.join(_words()['verbs'])}) {name}(.*)$")
