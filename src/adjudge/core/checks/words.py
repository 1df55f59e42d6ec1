"""Checks for words: equals, contains, starts, ends, patterns, forbidden words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.checks.check import Check, Observation, first_spans, lacks, quote, texts_in
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.span import Span
from adjudge.core.reading.patterns import CannotMatch, find_all
from adjudge.core.reading.types import Flag, Many, Text, key
from adjudge.errors import SetupError
from adjudge.messages import Message

_FIELD = "Instead of a text: the field of the row that holds it."
_CASE = "Whether capital letters matter."


def fold(text: str, *, case: bool) -> str:
    """Return a text for comparison: in one Unicode form (NFC), and without case unless ``case``."""
    text = unicodedata.normalize("NFC", text)
    return text if case else text.casefold()


@light_dataclass(frozen=True, kw_only=True)
class Equals(Check):
    """The text equals another one, ignoring surrounding whitespace."""

    text: str | None = key(Text(), "The text must equal this.", None)
    field: str | None = key(Text(), _FIELD, None)
    case: bool = key(Flag(), _CASE, True)

    @property
    def title(self) -> str:
        return _title(Message("equals"), (self.text,) if self.text is not None else (), self.field)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field,) if self.field else ()

    def prepare(self) -> None:
        if (self.text is None) == (self.field is None):
            raise SetupError("{name} needs a text or a field", name="equals")

    def look(self, text: str, row: Instance) -> Observation:
        expected = self.text or ""
        if self.field is not None:
            texts = texts_in(row, self.field)
            if not texts:
                return lacks(row, self.field)
            expected = "\n".join(texts)
        equal = fold(text.strip(), case=self.case) == fold(expected.strip(), case=self.case)
        if equal:
            return Observation(True, Message("the texts are equal"), (Span(0, len(text)),))
        return Observation(False, Message("it differs from {wanted!r}", wanted=short(expected)))


@light_dataclass(frozen=True, kw_only=True)
class Contains(Check):
    """The text contains some words: one, all of several, or any of them."""

    text: str | None = key(Text(), "The text must contain this.", None)
    all: tuple[str, ...] = key(Many(Text()), "The text must contain all of these.", ())
    any: tuple[str, ...] = key(Many(Text()), "The text must contain at least one of these.", ())
    field: str | None = key(Text(), _FIELD, None)
    case: bool = key(Flag(), _CASE, False)

    @property
    def title(self) -> str:
        if self.any:
            return Message("contains any of {texts}", texts=quote(self.any))
        return _title(Message("contains"), self._required, self.field)

    @property
    def _required(self) -> tuple[str, ...]:
        return (*((self.text,) if self.text is not None else ()), *self.all)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.field,) if self.field else ()

    def prepare(self) -> None:
        if sum(map(bool, (self._required, self.any, self.field))) != 1:
            raise SetupError("contains needs one of these: a text, all, any or field")

    def look(self, text: str, row: Instance) -> Observation:
        words: Sequence[str] = self.any or self._required
        if self.field is not None:
            words = texts_in(row, self.field)
            if not words:
                return lacks(row, self.field)
        places = {word: list(_places(text, word, case=self.case)) for word in words}
        missing = [word for word, spans_of_word in places.items() if not spans_of_word]
        spans = first_spans(span for spans_of_word in places.values() for span in spans_of_word)
        if self.any:
            present = [word for word, spans_of_word in places.items() if spans_of_word]
            if present:
                return Observation(
                    True, Message("it contains {texts}", texts=quote(present)), spans
                )
            return Observation(False, Message("it contains none of {texts}", texts=quote(self.any)))
        if missing:
            lacking = Message("it lacks {texts}", texts=quote(map(short, missing)))
            return Observation(False, lacking, spans)
        return Observation(
            True, Message("it contains {texts}", texts=quote(map(short, words))), spans
        )


@light_dataclass(frozen=True, kw_only=True)
class Begins(Check):
    """The text starts with some words."""

    text: str = key(Text(), "The text must begin with this.")
    case: bool = key(Flag(), _CASE, True)

    @property
    def title(self) -> str:
        return Message("starts with {text!r}", text=self.text)

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        stripped = text.lstrip()
        start = len(text) - len(stripped)
        if fold(stripped, case=self.case).startswith(fold(self.text, case=self.case)):
            span = Span(start, start + len(self.text))
            return Observation(True, Message("it does"), (span,))
        begin = short(stripped[: len(self.text)])
        return Observation(False, Message("it starts with {begin!r}", begin=begin))


@light_dataclass(frozen=True, kw_only=True)
class Ends(Check):
    """The text ends with some words."""

    text: str = key(Text(), "The text must end with this.")
    case: bool = key(Flag(), _CASE, True)

    @property
    def title(self) -> str:
        return Message("ends with {text!r}", text=self.text)

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        stripped = text.rstrip()
        if fold(stripped, case=self.case).endswith(fold(self.text, case=self.case)):
            span = Span(max(0, len(stripped) - len(self.text)), len(stripped))
            return Observation(True, Message("it does"), (span,))
        end = short(stripped[-len(self.text) :])
        return Observation(False, Message("it ends with {end!r}", end=end))


_FLAGS: Mapping[str, re.RegexFlag] = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


@light_dataclass(frozen=True, kw_only=True)
class Regex(Check):
    """A regular expression matches somewhere in the text, or all of it."""

    pattern: str = key(Text(), "A Python regular expression.")
    whole: bool = key(Flag(), "Match the whole text, not only a part.", False)
    flags: str = key(Text(), "i: ignore case; m, s: as in Python.", "")

    @property
    def title(self) -> str:
        return Message("matches {pattern}", pattern=self.pattern)

    @property
    def _flags(self) -> int:
        return sum(_FLAGS[letter] for letter in self.flags)

    def prepare(self) -> None:
        unknown = sorted(set(self.flags) - _FLAGS.keys())
        if unknown:
            raise SetupError("unknown flag {flag!r}; known: i, m, s", flag=unknown[0])
        try:
            re.compile(self.pattern, self._flags)
        except (re.error, RecursionError, OverflowError) as error:
            raise SetupError(
                "the regular expression {pattern!r} is invalid: {reason}",
                pattern=self.pattern,
                reason=str(error),
            ) from error

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        try:
            matches = find_all(self.pattern, self._flags, text, whole=self.whole)
        except CannotMatch as error:
            return Observation(None, error.message)
        if not matches:
            return Observation(False, Message("there is no match"))
        first_match = matches[0]
        return Observation(
            True,
            Message("{text!r} matches", text=short(text[first_match.start : first_match.end])),
            matches,
        )


@light_dataclass(frozen=True, kw_only=True)
class ForbiddenWords(Check):
    """The text contains none of some words."""

    words: tuple[str, ...] = key(Many(Text()), "Words that the text must not contain.")
    parts: bool = key(Flag(), "Also forbid them inside longer words.", False)

    @property
    def title(self) -> str:
        return Message("contains none of {texts}", texts=quote(self.words))

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        spans_by_word = {
            word: list(_places(text, word, case=False, words=not self.parts)) for word in self.words
        }
        present = [word for word, places in spans_by_word.items() if places]
        if not present:
            return Observation(True, Message("it contains none of them"))
        spans = first_spans(span for places in spans_by_word.values() for span in places)
        return Observation(False, Message("it contains {texts}", texts=quote(present)), spans)


def _places(text: str, wanted: str, *, case: bool, words: bool = False) -> Iterator[Span]:
    """Yield the places of ``wanted`` in the original text, even where folding changes the length of
    a letter.
    """
    folded, at = _fold_with_places(text, case=case)
    sought = fold(wanted, case=case)
    start = folded.find(sought) if sought else -1
    while start >= 0:
        end = start + len(sought)
        if not words or _stands_alone(folded, start, end):
            yield Span(at[start], at[end])
        start = folded.find(sought, start + 1)


def _fold_with_places(text: str, *, case: bool) -> tuple[str, Sequence[int]]:
    """Return the folded text, and the original place of each of its characters."""
    folded_text = fold(text, case=case)
    # Folding may change the length: "ß" becomes "ss".
    if len(folded_text) == len(text):
        return folded_text, range(len(text) + 1)
    parts, at = [], []
    for place, cluster in _clusters(text):
        folded = fold(cluster, case=case)
        parts.append(folded)
        at += [place] * len(folded)
    return "".join(parts), [*at, len(text)]


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Yield each letter with its combining accents, after its place."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not unicodedata.combining(text[place]):
            yield start, text[start:place]
            start = place


def _stands_alone(text: str, start: int, end: int) -> bool:
    previous, following = text[start - 1 : start], text[end : end + 1]
    return not (previous.isalnum() or previous == "_") and not (
        following.isalnum() or following == "_"
    )


def short(text: str, most: int = 60) -> str:
    """Return a text on one line, cut to ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _title(verb: Message, texts: Sequence[str], field: str | None) -> Message:
    if field is not None:
        return Message("{verb} the field {field}", verb=verb, field=field)
    return Message("{verb} {texts}", verb=verb, texts=quote(map(short, texts)))
