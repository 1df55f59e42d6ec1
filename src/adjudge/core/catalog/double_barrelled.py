"""Detects questions that ask two things at once, by their words. A guess, in English and Russian;
good for a warning.

Not covered: questions joined without "and" or "or" ("clear, yet short"), and words that neither the
list nor their ending gives away.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from adjudge.core.reading.values import plain_yaml

_SENTENCE = re.compile(r"[^.?!]+[.?!]*")
_WORD = re.compile(r"[\w'’-]+|[,;:]")
# Words of this length or shorter are not matched by their ending.
_SHORTEST = 4
# Words that are read after a joint.
_READ = 3


def find_double_question(description: str) -> str | None:
    """Return the words that join two questions, or None.

    Only the questions of a description count; without any, its first sentence.

    >>> find_double_question("Is the answer short and polite?")
    'short and polite'
    """
    words = _WORD.findall(_questions_in(description).casefold())
    previous, has_verb, starts = "", False, _starts(words)
    for index, word in enumerate(words):
        following = (
            words[starts[index + 1] : starts[index + 1] + _READ] if _is("joints", word) else []
        )
        if index and following and _joins(previous, following, has_verb=has_verb):
            return " ".join((words[index - 1], word, *following[:2]))
        previous = previous if word == "," else word
        has_verb = has_verb or _verb(word)
    return None


def _questions_in(description: str) -> str:
    sentences = _SENTENCE.findall(description)
    questions = [sentence for sentence in sentences if sentence.endswith("?")]
    return " ".join(questions or sentences[:1])


def _starts(words: list[str]) -> list[int]:
    """Return for each place the index of the next word that is not "also", "very" or the like."""
    starts = list(range(len(words) + 1))
    for place in reversed(range(len(words) - 1)):
        if _is("between", words[place]):
            starts[place] = starts[place + 1]
    return starts


def _joins(left: str, after: list[str], *, has_verb: bool) -> bool:
    """Return True if a joining word connects two questions.

    ``left``: the word before it; ``after``: the words after it; ``has_verb``: True if any word
    before it is a verb.
    """
    new_clause = _is("clause_openers", after[0]) or "ли" in after[1:3]
    return (
        new_clause
        or (_adjective(left) and _adjective(after[0]))
        or (has_verb and _second_verb(left, after))
    )


def _second_verb(left: str, after: list[str]) -> bool:
    """Return True if the first word of ``after`` is a second verb.

    It follows a verb directly, has a verb's ending, or has an object of its own; any other may be a
    noun.
    """
    if not _verb(after[0]):
        return False
    return (
        _verb(left)
        or after[0].endswith(_words("verb_endings"))
        or _is("object_openers", *after[1:2])
    )


def _adjective(word: str) -> bool:
    return (
        _is("adjectives", word)
        or word.startswith("self-")
        or (_not_noun(word) and _ends("adjective_endings", word))
    )


def _verb(word: str) -> bool:
    bases = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))
    return _is("verbs", *bases) or (_not_noun(word) and _ends("verb_endings", word))


def _not_noun(word: str) -> bool:
    return not _is("nouns", word, word.removesuffix("s")) and not _ends("noun_endings", word)


def _ends(which: str, word: str) -> bool:
    return len(word) > _SHORTEST and word.endswith(_words(which))


def _is(which: str, *words: str) -> bool:
    return not _set(which).isdisjoint(words)


@cache
def _set(which: str) -> frozenset[str]:
    return frozenset(_words(which))


@cache
def _words(which: str) -> tuple[str, ...]:
    return tuple(_lists()[which].split())


@cache
def _lists() -> dict[str, str]:
    lists: dict[str, str] = plain_yaml(Path(__file__).parent / "data" / "double_barrelled.yaml")
    return lists
