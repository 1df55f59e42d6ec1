"""Language detection by letters and short words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from adjudge.core.checks.check import Check, Observation
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.types import Word, key
from adjudge.core.reading.values import plain_yaml
from adjudge.messages import Message

_WORD = re.compile(r"[^\W\d_]+")
# Addresses begin after a space or code: elsewhere, a long word would be read from each letter.
_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|`[^`]*`|\b[a-z]+://\S+|(?<![^\s`])\S+@\S+", re.DOTALL)
# Scripts of (nearly) one language each.
_BY_SCRIPT: Mapping[str, str] = {
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "GREEK": "el",
    "HEBREW": "he",
    "ARABIC": "ar",
    "DEVANAGARI": "hi",
    "THAI": "th",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
}
_BY_WORDS = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "bg")
LANGUAGES = (*_BY_WORDS, "zh", *dict.fromkeys(_BY_SCRIPT.values()))
# Letters that tell languages of one script apart.
_LETTERS_OF: Mapping[str, str] = {"uk": "іїєґ", "ru": "ыэё"}
# All letters of languages whose script has other languages that are not told apart here.
_ALPHABETS: Mapping[str, frozenset[str]] = {
    "uk": frozenset("абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"),
    "ru": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя"),
    "bg": frozenset("абвгдежзийклмнопрстуфхцчшщъьюя"),
}
# Share of words with other letters, such as names, up to which a text may be of a language.
_FOREIGN = 0.1
# Minimum number of short words for a result; letters of a language alone, with none, prove nothing.
_FEWEST = 3
_AHEAD = 1.5
# Characters that are read.
_MOST = 20_000


@cache
def _short_words() -> Mapping[str, frozenset[str]]:
    read = plain_yaml(Path(__file__).parent / "data" / "languages.yaml")
    return {name: frozenset(words) for name, words in read.items()}


def language_of(text: str) -> str | None:
    """Return a language code, such as "en"; None if unclear. Code and addresses do not count."""
    prose = _NOT_PROSE.sub(" ", text[:_MOST])
    words = _WORD.findall(unicodedata.normalize("NFC", prose).lower())
    scripts = Counter(script for word in words for script in map(_script, word))
    if not scripts:
        return None
    script, count = scripts.most_common(1)[0]
    # Japanese mixes three scripts, so none of them needs a majority.
    if count < 0.6 * scripts.total() and script not in ("CJK", "HIRAGANA", "KATAKANA"):
        return None
    if script in ("CJK", "HIRAGANA", "KATAKANA"):
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        return "ja" if kana > 0.1 * scripts.total() else "zh" if script == "CJK" else None
    if script in _BY_SCRIPT:
        return _BY_SCRIPT[script]
    return _by_words(words)


def _by_words(words: list[str]) -> str | None:
    letters = Counter("".join(words))
    found = {
        name: sum(word in short_words for word in words)
        for name, short_words in _short_words().items()
    }
    counts = {
        name: count + 2 * sum(letters[letter] for letter in _LETTERS_OF.get(name, ""))
        for name, count in found.items()
    }
    (best, most), (_, runner_up) = sorted(counts.items(), key=lambda item: -item[1])[:2]
    if not found[best] or most < _FEWEST or most < _AHEAD * runner_up:
        return None
    return None if _has_foreign_letters(best, words) else best


def _has_foreign_letters(name: str, words: list[str]) -> bool:
    """Return True if many words have letters that the language lacks."""
    alphabet = _ALPHABETS.get(name)
    if alphabet is None:
        return False
    foreign = sum(
        any(_script(c) == "CYRILLIC" and c not in alphabet for c in word) for word in words
    )
    return foreign > _FOREIGN * len(words)


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split(" ")[0].split("-")[0]


@light_dataclass(frozen=True, kw_only=True)
class Language(Check):
    """The text is written in a language."""

    code: str = key(Word(LANGUAGES), "Language code, such as en or ru.")

    @property
    def title(self) -> str:
        return Message("language: {code}", code=self.code)

    def look(self, text: str, row: Instance) -> Observation:  # noqa: ARG002 - the text decides
        code = language_of(text)
        if code is None:
            return Observation(
                None,
                Message(
                    "its language cannot be detected: the text is too short or mixes languages"
                ),
            )
        return Observation(code == self.code, Message("its language is {code}", code=code))
