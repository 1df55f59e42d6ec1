"""What the spoken lines of a reply state: verdicts behind a label, and those that stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.hints import one_winner
from adjudge.verdicts.labels import WORST_FIRST, labelled, marked, numbered, tagged
from adjudge.verdicts.parts import OBJECT, Line
from adjudge.verdicts.sentences import EMPHASIS, HEADING, sentences_of
from adjudge.verdicts.statements import Statement, Strength
from adjudge.verdicts.values import BOXED, LONGEST, match_value, signs_otherwise

_ASKS = re.compile(
    r"\A\W*+(?:does|do|did|is|are|was|were|has|have|can|which)\b[^?:\n]{1,200}+\?\s+(?=[^?\n]++\Z)",
    re.IGNORECASE,
)
"""A question that is repeated before it is answered."""
_OF_ONESELF = re.compile(
    r"\W*(?:i|we|you|thanks?|thank|problem|worries|sorry|я|мы|вы|спасибо)\b", re.IGNORECASE
)
"""What is said of the judge itself answers another question: "No, I have not checked it"."""
_ADVISES = re.compile(
    r"\b(?:should(?: not|n['’]t)? be|must(?: not|n['’]t)? be|не (?:стоит|следует|нужно|надо))\b",
    re.IGNORECASE,
)
"""So does advice: "No, this should not be shown"."""
_ONLY_WINS = re.compile(
    r"(?:(?:therefore|thus|so|overall|hence|in conclusion|итак|поэтому),?\s+)?"
    r"(?:response|assistant|answer|model|output|candidate|option|ответ|вариант)\s+\(?[A-Z]\)?\s",
    re.IGNORECASE,
)


def line_statements(lines: Sequence[Line], question: Question) -> list[Statement]:
    """What the spoken lines state, in order."""
    found: list[Statement] = []
    found += tagged(lines, question)
    found += marked(lines, question)
    found += numbered(lines, question)
    if isinstance(question, Comparison):
        found += [
            Statement(Strength.VERDICT, None, line.number, line.text)
            for line in lines
            if WORST_FIRST.search(line.text)
        ]
    found += labelled(lines, question)
    found += _won(lines, question)
    found += _bare(
        lines, question, taken={one.line for one in found if one.strength > Strength.UNMATCHED}
    )
    return sorted(found, key=lambda one: one.line)


class _Alone(NamedTuple):
    place: int
    line: Line
    verdict: Verdict
    note: str | None
    """What stands behind it in the line; None where nothing may."""


def _bare(lines: Sequence[Line], question: Question, taken: set[int]) -> Iterator[Statement]:
    """Lines that are nothing but an option.

    Options in a row are a list of them, and one with a colon behind it is a heading.
    """
    spoken = [line for line in lines if line.number not in taken]
    alone = [
        one for place, line in enumerate(spoken) if (one := _alone(place, line, spoken, question))
    ]
    for kind in (
        [one for one in alone if one.note],
        [one for one in alone if one.line.text.startswith("#")],
    ):
        if len({one.verdict.option for one in kind}) > 1:
            alone = [one for one in alone if one not in kind]
    listed = _listed(alone)
    for one in alone:
        if one.place in listed:
            continue
        at_end = one.place in (0, len(spoken) - 1)
        if signs_otherwise(one.line.text, one.verdict, question):
            yield Statement(Strength.BARE, None, one.line.number, one.line.text)
        if question.numeric and _is_count(one, spoken):
            continue
        decides = at_end and (not one.note or one.place == 0 or len(spoken) == 1)
        yield Statement(
            Strength.BARE if decides else Strength.HINT,
            one.verdict,
            one.line.number,
            one.line.text,
            one.note or "",
        )


def _listed(alone: Sequence[_Alone]) -> set[int]:
    """The places of options that stand in a row with others."""
    found: set[int] = set()
    for one, other in pairwise(alone):
        if other.place == one.place + 1 and one.verdict.option != other.verdict.option:
            found |= {one.place, other.place}
    return found


def _alone(place: int, line: Line, spoken: Sequence[Line], question: Question) -> _Alone | None:
    text, only = line.text, len(spoken) == 1
    text = _ASKS.sub("", text, count=1) if only else text
    if len(text) > 4 * LONGEST or OBJECT in text or _is_heading_or_item(text, only, question):
        return None
    shown = BOXED.sub(r"\1", BOXED.sub(r"\1", text))
    verdict = (
        question.match(shown, certain=True)
        if only
        else question.match(EMPHASIS.sub("", shown)) or question.match(shown)
    )
    two_way = _is_two_way(text, question)
    if verdict:
        return _Alone(place, line, verdict, None) if only or not two_way else None
    value = None if two_way else match_value(text, question)
    if value is None:
        return None
    if not value[1]:
        return _Alone(place, line, value[0], None) if only else None
    if not _is_note(
        value[1], text[: len(text) - len(value[1])].rstrip(" )）")[-1:], only, question
    ):
        return None
    return _Alone(place, line, *value)


def _is_heading_or_item(text: str, only: bool, question: Question) -> bool:
    """Whether a line ends with a colon or a question mark, or has a bullet before a number, which
    may be its sign.
    """
    if text.rstrip("*_\"' ").endswith("?") or (HEADING.search(text) and not only):
        return True
    return re.match(
        r"-\s+\d" if only and question.numeric else r"[-*•]\s+\d", text
    ) is not None and (not only or question.numeric)


def _is_note(note: str, mark: str, only: bool, question: Question) -> bool:
    """Whether what stands behind a verdict, after ``mark``, explains it, and is no item of a list:
    "1. It is short.".
    """
    if not note or _OF_ONESELF.match(note) or _ADVISES.search(note):
        return False
    if question.numeric:
        return mark not in ".,;!)" and (mark != ":" or only) and not any(map(str.isdigit, note))
    return not isinstance(question, Comparison) or (only and mark not in ":,")


def _is_two_way(text: str, question: Question) -> bool:
    """Whether a line says yes or no to options of other names: "No. Nothing is wrong with it." may
    mean either.
    """
    word = re.match(r"\W*(yes|no|true|false|да|нет|верно|неверно)\b", text, re.IGNORECASE)
    if not word or not isinstance(question, Choice):
        return False
    return word[1].casefold() not in {label.casefold() for label in question.labels}


def _is_count(one: _Alone, spoken: Sequence[Line]) -> bool:
    """Whether a number at the end may be anything: only behind a whole sentence
    is it the verdict.
    """
    if one.place == 0 or "/" in one.line.text or "of" in one.line.text or "из" in one.line.text:
        return False
    before = spoken[one.place - 1].text.rstrip("*_\"' )”»")
    return not before.endswith((".", "!", "?", "。", OBJECT, *map(str, range(10))))


def _won(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """A sentence at the end that says which response wins, and nothing else: "**Response A is
    better.**".
    """
    if isinstance(question, Comparison) and lines and len(sentences_of(lines[-1].text)) == 1:
        text = EMPHASIS.sub("", lines[-1].text).strip()
        if _ONLY_WINS.match(text) and (winner := one_winner(text, lines[-1].number, question)):
            yield Statement(Strength.BARE, winner, lines[-1].number, text)
