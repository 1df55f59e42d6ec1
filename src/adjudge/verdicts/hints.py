"""Prose that decides nothing, but contradicts a verdict: "B is better", "it does not meet the
criterion", "wait, FAIL".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.parts import OBJECT, Line
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import (
    ASIDE,
    DENIES,
    DOUBT,
    EMPHASIS,
    HEADING,
    QUOTATION,
    sentences_of,
    unquoted,
)
from adjudge.verdicts.statements import Statement, Strength

_TAKEN_BACK = phrase("taken_back")
_CORRECTS = phrase("corrects")
_MEETS = phrase("meets")
_FALLS_SHORT = phrase("falls_short")
_TELLS = phrase("tells")
"""What follows is what the judged text tells of: "it explains why it fails to start"."""
_TO = re.compile(r"\bto\s*\Z", re.IGNORECASE)
_TURNS = phrase("turns")
_FAILS_TO = re.compile(r"(?:\bfail(?:s|ed)?\s+to|\bunable\s+to)\s*\Z", re.IGNORECASE)
_LIMITS = phrase("limits")
_WINS = phrase("wins", re.NOFLAG)
_LOSES = phrase("loses", re.NOFLAG)
_PREFERRED = phrase("preferred", re.NOFLAG)
_SHOULD_WIN = phrase("should_win", re.NOFLAG)
_EVEN = phrase("even")
_CONTRASTS = phrase("contrasts")
_SCORED = phrase("scored", re.NOFLAG)
"""A number that ends its clause, or is what the clause is about."""
_IF = phrase("if")
_NEEDS = phrase("needs")
"""Behind an option: what it takes, not what is chosen."""
_BUT = phrase("but")


def hints(
    lines: Sequence[Line], question: Question, stated: Sequence[Statement]
) -> Iterator[Statement]:
    """What the spoken lines hint at, where they state some verdict: hints alone decide nothing."""
    taken, asked = {one.line for one in stated if one.strength > Strength.BARE}, False
    for line in lines:
        text = QUOTATION.sub(unquoted, line.text.replace(OBJECT, " "))
        for place, sentence in enumerate(sentences_of(EMPHASIS.sub("", text))):
            if _TAKEN_BACK.match(sentence):
                yield Statement(Strength.REMARK, None, line.number, sentence.strip())
            yield from _comparing(sentence, line.number, question)
            yield from _meeting(sentence, line.number, question)
            if line.number not in taken or place:
                yield from _mentioned(sentence, line.number, place, question, asked=asked)
            asked = sentence.rstrip().endswith("?")


def conclusion_of(text: str, question: Question, *, cut: bool = False) -> Verdict | None:
    """What the last sentence of ``text`` says of the criterion as a whole, or which response it
    calls better.

    ``cut``: the beginning of ``text`` is missing, so that its first sentence may say the opposite
    of what is left of it.
    """
    *before, last = sentences_of(text)
    if cut and not before:
        return None
    if isinstance(question, Comparison):
        return one_winner(last, 0, question)
    return next((one.verdict for one in _meeting(last, 0, question)), None)


def _meeting(sentence: str, number: int, question: Question) -> Iterator[Statement]:
    if not isinstance(question, Choice) or question.numeric or sentence.rstrip().endswith("?"):
        return
    sentence = _TURNS.sub("", sentence, count=1) if _TURNS.match(sentence) else sentence
    found = _MEETS.search(sentence) or (
        _FALLS_SHORT.search(sentence) if _is_pass_or_fail(question) else None
    )
    if found is None or _TELLS.search(sentence[: found.start()]):
        return
    named = found.lastgroup
    before = sentence[found.start() : found.start(named)] if named else sentence[: found.start()]
    short = found.re is _FALLS_SHORT or _FAILS_TO.search(before)
    if (
        _LIMITS.search(_FAILS_TO.sub("", before))
        or _LIMITS.search(sentence, found.end())
        or (_TO.search(before) and not short)
    ):
        return
    not_met = short or DENIES.search(before)
    verdict = question.match("fail" if not_met else "pass")
    if verdict:
        yield Statement(Strength.HINT, verdict, number, sentence.strip())


def _is_pass_or_fail(question: Question) -> bool:
    """Whether to fail is an answer, so that "it fails to name the year" says it."""
    return any(label.casefold() in ("pass", "fail") for label in question.labels)


def one_winner(said: str, number: int, question: Question) -> Verdict | None:
    """Of a verdict in a sentence: "Response B is better"."""
    named = [
        one.verdict for one in _comparing(said, number, question) if one.verdict and not one.denied
    ]
    return named[0] if named and all(one.option == named[0].option for one in named) else None


def _comparing(sentence: str, number: int, question: Question) -> Iterator[Statement]:
    """ "B is better", "I prefer A", "it is a tie"."""
    if (
        isinstance(question, Comparison)
        and (meant := _SHOULD_WIN.search(sentence))
        and (verdict := question.match(meant["name"]))
    ):
        yield Statement(
            Strength.REMARK,
            verdict,
            number,
            sentence.strip(),
            denied=bool(DENIES.search(sentence[: meant.end()])),
        )
    if (
        not isinstance(question, Comparison)
        or _CONTRASTS.search(sentence)
        or sentence.rstrip().endswith("?")
    ):
        return
    for pattern in (_WINS, _PREFERRED):
        for found in pattern.finditer(sentence):
            if verdict := question.match(found["name"]):
                yield Statement(Strength.HINT, verdict, number, sentence.strip())
    for found in _LOSES.finditer(sentence):
        if verdict := question.match(found["name"]):
            yield Statement(Strength.HINT, verdict, number, sentence.strip(), denied=True)
    if _EVEN.search(sentence) and (verdict := question.match("tie")):
        yield Statement(Strength.HINT, verdict, number, sentence.strip())


def _mentioned(
    sentence: str, number: int, place: int, question: Question, *, asked: bool
) -> Iterator[Statement]:
    """An option that a sentence consists of, or turns to: "FAIL.", "so it should be FAIL"."""
    whole = sentence.strip()
    if whole.endswith("?") or HEADING.search(whole):
        return
    pattern = _mentions(question.labels) if not question.numeric else _SCORED
    if pattern is None:
        return
    turns = _CORRECTS.search(whole)
    if question.numeric and place and (said := question.match(whole)):
        yield Statement(Strength.REMARK, said, number, whole)
    for found in pattern.finditer(whole):
        if (
            found.group().islower()
            and len(found.group()) < 4
            and found.group() not in question.labels
        ):
            continue
        if not question.numeric and found.group().strip(" .!,;") == whole.strip(" .!,;*_()[]"):
            if not asked and (verdict := question.match(found.group())):
                yield Statement(Strength.REMARK, verdict, number, whole)
            continue
        if turns is None or (
            found.start() < turns.start() and "instead" not in turns.group().lower()
        ):
            continue
        before = whole[: found.start()]
        if ASIDE.search(before) or DOUBT.search(before[max(0, len(before) - 80) :]):
            continue
        if verdict := question.match(
            found["number"] if question.numeric else found.group(), certain=True
        ):
            yield Statement(
                Strength.REMARK, verdict, number, whole, denied=bool(DENIES.search(before))
            )


@lru_cache(maxsize=256)
def _mentions(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    """Where a text names one of the options.

    Short ones and those in capitals count only as they are written.
    """
    words = sorted((label for label in labels if label), key=len, reverse=True)
    if not words:
        return None
    each = [
        re.escape(word) if len(word) < 2 or word.isupper() else f"(?i:{re.escape(word)})"
        for word in words
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)")


def names_another(
    lines: Sequence[Line], verdict: Verdict, question: Question, *, alone: bool = False
) -> str | None:
    """A sentence that names another option; None where all speak of something else. ``alone``: the
    verdict has no label, so that the other counts in any spelling; else as it is written, and not
    where any word has a capital.
    """
    if question.numeric or isinstance(question, Comparison):
        return None
    pattern = _mentions(question.labels)
    for line in lines:
        text = QUOTATION.sub(" … ", line.text)
        for found in pattern.finditer(text) if pattern else ():
            named, before = question.match(found.group()), text[: found.start()][-60:]
            if (
                named is None
                or named.option == verdict.option
                or _IF.search(before)
                or ASIDE.search(before)
                or DENIES.search(before)
                or _NEEDS.match(text, found.end())
            ):
                continue
            if _is_plain_word(found.group(), before, text[found.end() :], question, alone=alone):
                continue
            if re.match(r"[^.!?]{0,80}\?", text[found.end() :]):  # asked, not said
                continue
            return found.group() if len(text) > 120 else text.strip()
    return None


def _is_plain_word(name: str, before: str, behind: str, question: Question, *, alone: bool) -> bool:
    """Whether an option's name is only a word of the sentence: "no" in "there is no year",
    "Excellent" at its beginning.
    """
    if name.isupper() and len(name) > 1:
        return False
    if _BUT.search(before):
        return False
    begins = not re.search(r"\w\W*\Z", before) or re.search(r"[.!?:]\W*\Z", before) is not None
    ends = not re.match(r"\W*\w", behind)
    if alone and len(name) < 4:
        return not (begins and not name.islower() and re.match(r"\s*(?:[,.!;:–—-]|\Z)", behind))
    if alone:
        return False
    return name not in question.labels or (begins and not ends)
