"""Explanations that come to another verdict than the object they are in."""

from __future__ import annotations

import re
from functools import lru_cache

from adjudge.domain.question import Comparison, Question
from adjudge.domain.verdict import TIE, Verdict
from adjudge.verdicts.conclusions import CONTRASTS, DENIES_NEXT, compares_otherwise, conclusions_of
from adjudge.verdicts.line_shapes import read_closing, read_labels
from adjudge.verdicts.parts import Line
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import sentences_of
from adjudge.verdicts.values import match_value

_CANNOT_JUDGE = phrase("cannot_judge")
_SPARES = phrase("spares")
"""Sentences that name an option without choosing it: "Nothing in it is unsafe"."""
_SCORED = phrase("scored")
_QUOTING = re.compile(r"[{}\"“”«»]")
_TAIL = re.compile(r"→|\n|:\s")
_SHORTEST = 4
"""Letters of an option that is looked for inside a sentence; "no" is in many."""


def explains_otherwise(
    text: str, verdict: Verdict, question: Question, *, cut: bool = False
) -> bool:
    """Return True if the first or the last sentence of ``text`` comes to another verdict.

    ``cut``: the beginning of ``text`` is missing, so its first sentence may say the opposite of
    what is left of it.
    """
    sentences = sentences_of(text)[1 if cut else 0 :]
    if not sentences:
        return False
    first, last = sentences[0], sentences[-1]
    tails = [_TAIL.split(sentence)[-1] for sentence in {first, last}]
    bare = [match_value(tail, question) for tail in tails if not _QUOTING.search(tail)]
    if any(each is not None and each.option != verdict.option for each in bare):
        return True
    if _CANNOT_JUDGE.search(first) or _CANNOT_JUDGE.search(last):
        return True
    return _concludes_otherwise(last, verdict, question) or (
        not cut and _states_other(first, verdict, question)
    )


def _concludes_otherwise(sentence: str, verdict: Verdict, question: Question) -> bool:
    line = Line(0, sentence, sentence)
    stated = [*read_labels([line], question), *read_closing([line], question)]
    if any(each.verdict and each.verdict.option != verdict.option for each in stated):
        return True
    if any(each.contradicts(verdict) for each in conclusions_of(sentence, question)):
        return True
    return _states_other(sentence, verdict, question)


def _states_other(sentence: str, verdict: Verdict, question: Question) -> bool:
    """Return True if a sentence says another option of the text, or denies the chosen one."""
    if isinstance(question, Comparison):
        is_balanced = CONTRASTS.search(sentence) or verdict.option == TIE
        return not is_balanced and compares_otherwise(sentence, verdict, question)
    if question.numeric:
        scored = _SCORED.search(sentence)
        other = question.match(scored["number"]) if scored else None
        return other is not None and other.option != verdict.option
    own = verdict.option
    denied = rf"\bnot\s+(?:\w+\s+){{0,3}}{re.escape(own)}\b(?=\W*\Z|\W+(?:because|since|by)\b)"
    if len(own) >= _SHORTEST and re.search(denied, sentence, re.IGNORECASE):
        return True
    if _SPARES.search(sentence) or DENIES_NEXT.search(sentence[:80]):
        return False
    others = (label for label in question.labels if label != verdict.option)
    is_two_way = len(question.labels) == len(("yes", "no"))  # of grades, parts may have others
    return any(_says(label, is_two_way).search(sentence) for label in others if label)


@lru_cache(maxsize=512)
def _says(label: str, is_two_way: bool) -> re.Pattern[str]:
    """Return a pattern for a sentence that chooses an option: "is unsafe because", "ответ: нет"."""
    name = rf"[\"'“«*]*{re.escape(label)}[\"'”»*]*"
    ends = r"(?=\s*(?:[.,;:!。]|\Z|because\b|since\b|as\b|while\b|потому\b|weil\b|car\b|porque\b))"
    chosen = (
        r"(?:verdict|answer|label|option|choose|chose|select(?:ed)?|pick(?:ed)?|meant|correction"
        r"|labell?ed|classified|marked|graded|should\ be|should\ have\ been|should|must\ be|must"
        r"|hence|thus|therefore|so|overall,?|ответ|вариант|значит|поэтому|antwort|also"
        r"|réponse|respuesta|答案|选择|因此|所以)"
        r"(?:\s+(?:is|as|be|lautet|est|es|donc|therefore|clearly|an?|—|–|-))*\s*[:—–是]?\s*"
    )
    said = r"|(?:\b(?:is|was|are|be)\s+(?:\w+ly\s+|an?\s+|clear\s+|only\s+){0,3})"
    before = chosen + (said if is_two_way and len(label) >= _SHORTEST else "")
    leads = rf"|\A\W*{name}(?=\s*(?:[:–—-]|because\b))" if len(label) >= _SHORTEST else ""
    return re.compile(rf"(?:{before}){name}(?!\w){ends}{leads}", re.IGNORECASE)
