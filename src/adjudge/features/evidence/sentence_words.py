"""Words and patterns of the sentence splitter, from `data/sentences.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading.values import Place, list_of, mapping, our_yaml, phrase

# After a refusal these words make a claim again: "I do not know the price, but it is less than 5
# euros.".
_TURN = re.compile(
    r"[,;:.—-]\s*(?:but|however|although|though|yet|но|однако|хотя|зато|а)\s+"
    r"(?!(?:i|we|you|please|if|feel|я|мы|вы|могу|можем|пожалуйста)\b)(?:\S+\s+){2}\S+",
    re.IGNORECASE,
)
# A figure in a separate clause also makes a claim: "The documents do not say the price, it is 5
# euros.".
_FIGURE_AFTER = re.compile(r"[,;:—–]\s.*\d", re.DOTALL)
# In a courtesy, a clause that tells something: "Thank you for asking, the price is five euros.".
_NEWS = re.compile(
    r"[,;:—–]\s+(?!(?:i|we|you|your|please|feel|let|if|and|so|don|do|я|мы|вы|ваш\w*"
    r"|пожалуйста|если|и|что|за|обращайтесь|пишите|"
    r"спрашивайте|дайте|рад\w*|будем|всего|хорошего|удачи|желаю|желаем|всегда)\b)"
    r"(?:(?:\S+\s+){0,6}?(?:is|are|was|were|has|have|costs?|takes?|must|will|can|may)\b"
    r"|[а-яё]+(?:\s+[\w-]+){2})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SentenceWords:
    """Abbreviations, grouped by what may follow them, and patterns of sentences without a claim."""

    leading: frozenset[str]
    before_numbers: frozenset[str]
    trailing: frozenset[str]
    units: frozenset[str]
    starters: frozenset[str]
    function: frozenset[str]
    courtesy: re.Pattern[str]
    refusal: re.Pattern[str]

    def is_courtesy(self, sentence: str) -> bool:
        """Return True for a greeting, thanks or an offer of help that says nothing else."""
        return (
            bool(self.courtesy.match(sentence))
            and not re.search(r"\d", sentence)
            and not _NEWS.search(sentence)
        )

    def is_refusal(self, sentence: str) -> bool:
        """Return True for a sentence that only says that there is no answer, or refuses to give
        one.
        """
        refusal = self.refusal.match(sentence)
        if refusal is None:
            return False
        return not _TURN.search(sentence, refusal.end()) and not _FIGURE_AFTER.search(
            sentence, refusal.end()
        )


@cache
def sentence_words() -> SentenceWords:
    """Load the words from sentences.yaml."""
    content, _ = our_yaml(__file__, "sentences.yaml")
    opening = r"(?:(?:well|ok|okay|sure|yes|great|hi|hello)[,!.]?\s+)?"
    return SentenceWords(
        leading=_words(content, "leading"),
        before_numbers=_words(content, "before_numbers"),
        trailing=_words(content, "trailing"),
        units=_words(content, "units"),
        starters=_words(content, "starters"),
        function=_words(content, "function"),
        courtesy=_pattern(content, "courtesy", prefix=opening, suffix=r"[\s.!…)☺:,-]*$"),
        refusal=_pattern(content, "refusal"),
    )


def _words(content: JsonObject, key: str) -> frozenset[str]:
    return frozenset(phrase(content[key], Place("evidence/data/sentences.yaml", key)).split())


def _pattern(content: JsonObject, key: str, prefix: str = "", suffix: str = "") -> re.Pattern[str]:
    place = Place("evidence/data/sentences.yaml", key)
    parts = {str(name): str(part) for name, part in mapping(content["parts"], place).items()}
    patterns = [phrase(pattern, at) for at, pattern in list_of(content[key], place)]
    for name, part in parts.items():
        patterns = [pattern.replace(name, part) for pattern in patterns]
    either = "|".join(pattern.replace(" ", r"\s+") for pattern in patterns)
    return re.compile(f"{prefix}(?:{either}){suffix}", re.IGNORECASE | re.DOTALL)
