"""What prose concludes: which response wins, and if the text meets the criterion.

A conclusion decides only as a closing sentence (``shapes.read_closing``). Anywhere else it can only
contradict a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.parts import EMPHASIS
from adjudge.verdicts.phrases import phrase

_MEETS = phrase("meets")
_FALLS_SHORT = phrase("falls_short")
_NOT_MET = phrase("not_met")
_TELLS = phrase("tells")
"""The judged text tells of what follows: "it explains why it fails to start"."""
_TO = re.compile(r"\bto\s*\Z", re.IGNORECASE)
_TURNS = phrase("turns")
_FAILS_TO = re.compile(r"(?:\bfail(?:s|ed)?\s+to|\bunable\s+to)\s*\Z", re.IGNORECASE)
_LIMITS = phrase("limits")
DENIES_NEXT = phrase("denies_next")
_WINS = phrase("wins", re.NOFLAG)
_LOSES = phrase("loses", re.NOFLAG)
_PREFERRED = phrase("preferred", re.NOFLAG)
COMPARES = phrase("compares")
_SHOULD_WIN = phrase("should_win", re.NOFLAG)
_EVEN = phrase("even")
CONTRASTS = phrase("contrasts")
_ONLY_WINS = phrase("only_wins", re.NOFLAG)
"""A sentence that names the winner and nothing else."""


class Conclusion(NamedTuple):
    """A verdict that a sentence leads to, or denies."""

    verdict: Verdict
    denied: bool = False

    def contradicts(self, verdict: Verdict) -> bool:
        """Return True if both cannot hold."""
        is_same = self.verdict.option == verdict.option
        return is_same if self.denied else not is_same


def stated_winner(sentence: str, question: Comparison) -> Verdict | None:
    """Return the winner if the sentence states it and nothing else: "B is better than A."."""
    plain = EMPHASIS.sub("", sentence).strip()
    stated = _ONLY_WINS.fullmatch(plain)
    if stated is None:
        return None
    if stated["even"]:
        return question.match("tie")
    winner = question.match(stated["winner"] or stated["chosen"])
    loser = question.match(stated["loser"]) if stated["loser"] else None
    if stated["loser"] and question.ranked:
        return None  # "A is better than B" says nothing about C
    if winner is None or (stated["loser"] and (loser is None or loser.option == winner.option)):
        return None
    return winner


def conclusions_of(sentence: str, question: Question) -> Iterator[Conclusion]:
    """Return what a sentence concludes, as far as it can contradict a verdict."""
    if isinstance(question, Comparison):
        yield from _comparing(sentence, question)
    elif isinstance(question, Choice) and not question.numeric:
        yield from _meeting(sentence, question)


def named_responses(sentence: str, question: Comparison) -> list[Verdict]:
    """Return the responses that a sentence names by their letters, in its order."""
    letters = re.findall(r"(?<![\w'’])[A-Z](?![\w'’])", sentence)
    return [question.put_back(letter) for letter in letters if letter in question.letters]


def compares_otherwise(sentence: str, verdict: Verdict, question: Comparison) -> bool:
    """Return True if a sentence may rate another response above the winner."""
    compared = COMPARES.search(sentence)
    if compared is None or sentence.rstrip().endswith("?"):
        return False
    named = named_responses(sentence, question)
    return bool(named) and named[0].option != verdict.option


def _meeting(sentence: str, question: Choice) -> Iterator[Conclusion]:
    """Read "it does not meet the criterion" and "the response fails to"."""
    if sentence.rstrip().endswith("?"):
        return
    sentence = _TURNS.sub("", sentence, count=1) if _TURNS.match(sentence) else sentence
    if (short := _NOT_MET.search(sentence)) and not _LIMITS.search(sentence[: short.start()]):
        verdict = question.match("fail") or question.match("no")
        if verdict:
            yield Conclusion(verdict)
        return
    found = _MEETS.search(sentence) or (
        _FALLS_SHORT.search(sentence) if _is_pass_or_fail(question) else None
    )
    if found is None or _TELLS.search(sentence[: found.start()]):
        return
    named = found.lastgroup
    before = sentence[found.start() : found.start(named)] if named else sentence[: found.start()]
    falls_short = found.re is _FALLS_SHORT or _FAILS_TO.search(before)
    if (
        _LIMITS.search(_FAILS_TO.sub("", before))
        or _LIMITS.search(sentence, found.end())
        or (_TO.search(before) and not falls_short)
    ):
        return
    verdict = question.match("fail" if falls_short or DENIES_NEXT.search(before) else "pass")
    if verdict:
        yield Conclusion(verdict)


def _is_pass_or_fail(question: Question) -> bool:
    return any(label.casefold() in ("pass", "fail") for label in question.labels)


def _comparing(sentence: str, question: Comparison) -> Iterator[Conclusion]:
    """Read "B is better", "I prefer A", "B should have won", "it is a tie"."""
    if (meant := _SHOULD_WIN.search(sentence)) and (verdict := question.match(meant["name"])):
        yield Conclusion(verdict, bool(DENIES_NEXT.search(sentence[: meant.end()])))
    if CONTRASTS.search(sentence) or sentence.rstrip().endswith("?"):
        return
    for pattern in (_WINS, _PREFERRED):
        for found in pattern.finditer(sentence):
            if verdict := question.match(found["name"]):
                yield Conclusion(verdict)
    for found in _LOSES.finditer(sentence):
        if verdict := question.match(found["name"]):
            yield Conclusion(verdict, denied=True)
    if _EVEN.search(sentence) and (verdict := question.match("tie")):
        yield Conclusion(verdict)
