"""The shapes of a verdict that are lines of text; ``shapes.SHAPES`` is the table of all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.conclusions import stated_winner
from adjudge.verdicts.parts import EMPHASIS, OBJECT, Line, is_foreign_lead, is_own_lead
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import sentences_of
from adjudge.verdicts.values import (
    LONGEST,
    highest,
    is_placeholder,
    is_question,
    match_value,
    scale_top,
)

_LABELLED = phrase("labelled", re.IGNORECASE | re.DOTALL)
_POLAR = phrase("polar")
_CLOSING = phrase("closing", re.IGNORECASE | re.DOTALL)
_TAG = phrase("tag")
_ARGUMENT = phrase("argument")
_MARK = re.compile(
    r"\[\[(?P<inner>[^\[\]\n]{1,40})\]\]|\[RESULT\](?P<rest>(?:(?!\[RESULT\]).)*+)",
    re.IGNORECASE | re.DOTALL,
)
_BOX = re.compile(r"[-*•\s]*+\[(?P<tick>[ xX✓✔])\]\s*+(?P<option>.+)")
_PLACED = re.compile(r"\W*+(\d{1,2})[.)]\s++(.{1,60})")
_RANKS = re.compile(
    r"\A\W*(?:(?:my|the|final|overall)\s)*(?:ranking|рейтинг|best to worst|от лучшего к худшему)"
    r"(?:\W{0,3}(?:best (?:to worst|first)|from best to worst))?\W*\Z",
    re.IGNORECASE,
)
_CELLS = re.compile(r"\|([^|]*)\|([^|]*)\|(?P<more>(?:[^|]*\|)*)")
_OPENING_QUOTES = ('"', "'", "`", "“", "«", "„")
_CLOSING_MARKS = " .\"'”»`*"
_SENTENCE_ENDS = (".", "!", "?", "。", ")", "*", "”", '."', "_")
_FEW = 4
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_HEADING = re.compile(r"\s*#")
_OPENS_SECTION = re.compile(
    r"\W*(?:none|nothing|no|not|keine?r?|nichts|aucune?|rien|ning[uú]n\w*|nada|нет|никак\w*|ничего)\b"
    r"|\s*(?:[-*+•]\s|\d+[.)]\s)",
    re.IGNORECASE,
)
"""A line that belongs to the heading above it: a bullet, or "None."."""
_LIST_ITEM = re.compile(r"[-*•]\s+\d")
_COUNTS = re.compile(r"\b(?:number|count|amount) of\b|\A\W*step\b", re.IGNORECASE)
_NOTE_LABEL = re.compile(
    r"\A\W*(?:feedback|explanation|reason(?:ing)?|rationale|пояснение|обоснование)\W*:\W*",
    re.IGNORECASE,
)
_YES = frozenset(("yes", "true", "да", "✅"))
_NO = frozenset(("no", "false", "нет", "❌"))


class Statement(NamedTuple):
    """A verdict that a reply states."""

    verdict: Verdict | None
    """None if the place of a verdict holds something other than an option."""
    line: int
    words: str
    note: str = ""
    """What follows it on its line."""
    own: bool = True
    """False if the reply announces it as a quotation."""
    decides: bool = True
    """False if it can only contradict other statements."""


def read_labels(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``Verdict: FAIL``, ``**Final answer:** B``, ``Score (1-5): 4``, ``The score is 4.``

    The label starts its line. The value is an option, alone on the line or ended by a full stop.
    """
    for line in lines:
        first, *rest = sentences_of(line.text)
        label = _LABELLED.match(first)
        is_row = line.text.startswith("|")  # a table: see read_rows
        if label and label["mark"] and label["said"].strip("*_ :|") and not is_row:
            for statement in _labelled(label, line, " ".join(rest), question):
                is_whole = len(lines) == 1 and not rest
                yield statement._replace(decides=statement.decides or is_whole)


def read_headings(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``### Verdict`` with the option on the next line."""
    for line, following in pairwise(lines):
        label = _LABELLED.match(line.text)
        if label is None or label["said"].strip("*_ :|"):
            continue
        if not label["mark"] and not line.text.startswith(("#", "*")):
            continue
        first, *rest = sentences_of(following.text)
        is_item = question.numeric and _LIST_ITEM.match(first)
        if (verdict := match_value(first, question)) and not is_item:
            is_plain = _is_plain_label(label, question)
            yield Statement(
                verdict if is_plain else None,
                following.number,
                following.text,
                " ".join(rest),
                line.own and following.own,
                _may_decide(label, question),
            )


def read_polar(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``Pass: no`` and ``PASS/FAIL: PASS``."""
    for line in lines:
        polar = _POLAR.fullmatch(line.text)
        if polar is None:
            continue
        said = polar["said"].strip(" .!*_\"'`").casefold()
        if polar["both"]:
            verdict = match_value(polar["said"], question)
        elif said in _YES | _NO:
            verdict = question.match("pass" if said in _YES else "fail")
        else:
            continue
        yield Statement(verdict, line.number, line.text, own=line.own)


def read_bare(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """A line that is an option: the whole reply, its first line or its last line."""
    for place, line in enumerate(lines):
        option = _bare_option(place, line, lines, question)
        if option is None:
            continue
        decides = len(lines) == 1 or _stands_apart(place, lines)
        if place == 0 and question.numeric and len(lines) > 1:
            decides = decides and lines[1].number > line.number + 1  # "3" and "errors" below it
        is_name = isinstance(question, Comparison) and ">" not in line.text
        if not decides and (_HEADING.match(line.text) or (is_name and place < len(lines) - 1)):
            continue  # the heading of a section: "## Good", "Response A"
        yield Statement(option[0], line.number, line.text, option[1], line.own, decides)


def _bare_option(
    place: int, line: Line, lines: Sequence[Line], question: Question
) -> tuple[Verdict, str] | None:
    text, is_only = line.text, len(lines) == 1
    is_heading = not is_only and text.rstrip("*_` ").endswith((":", "："))
    is_item = question.numeric and _LIST_ITEM.match(text)  # "- 1" may be a sign
    if is_heading or is_item or OBJECT in text or _BOX.fullmatch(text):
        return None
    first, *rest = sentences_of(text) if len(text) <= 4 * LONGEST else [""]
    is_set_off = not rest or first.rstrip("*_`\"' ").endswith((".", "。"))
    verdict = match_value(first, question) if is_set_off and not is_question(text) else None
    if verdict is None or (_is_two_way(first, question) and (rest or not is_only)):
        return None
    is_comparison = isinstance(question, Comparison)
    if rest:  # "1. It is short." and "A. It is short." are items of a list
        is_listed = bool(place) or question.numeric or is_comparison
        return (
            None if is_listed or len(" ".join(rest).split()) < _FEW else (verdict, " ".join(rest))
        )
    names_response = is_comparison and len(text.split()) > 1 and ">" not in text
    return None if names_response and not is_only else (verdict, "")


def _stands_apart(place: int, lines: Sequence[Line]) -> bool:
    """Return True if a line is the first or last, and no part of what stands around it."""
    text = lines[place].text
    if place == 0:
        following = lines[1].text
        is_section = _OPENS_SECTION.match(following) or following[:1].islower()
        has_headings = any(_is_heading(line.text) for line in lines[1:])
        return not (_HEADING.match(text) or is_section or has_headings)
    before = lines[place - 1].text.rstrip("*_\"' )”»`")
    is_led = before.endswith((":", "：")) and is_own_lead(before)
    is_last = place == len(lines) - 1 and not _COUNTS.search(before)
    return is_last and (is_led or before.endswith((".", "!", "。", "！", OBJECT)) or before == text)


def _is_heading(text: str) -> bool:
    """Return True for "## Style", "**Style**" and "Style:"."""
    is_bold = text.startswith("**") and text.endswith("**")
    is_short = len(text.split()) <= _FEW
    return bool(_HEADING.match(text)) or (is_short and (is_bold or text.endswith((":", "："))))


def _is_two_way(text: str, question: Question) -> bool:
    """Return True if a text says yes or no to options of other names.

    "No. Nothing is wrong with it." may mean either end.
    """
    word = re.match(r"\W*(yes|no|true|false|да|нет|верно|неверно)\b", text, re.IGNORECASE)
    if not word or not isinstance(question, Choice):
        return False
    return word[1].casefold() not in {label.casefold() for label in question.labels}


def read_marks(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``[[A]]`` and ``[RESULT] 4``: alone on a line, after a sentence, or at the very end."""
    for place, line in enumerate(lines):
        for mark in _MARK.finditer(line.text) if "[" in line.text else ():
            before = line.text[: mark.start()].rstrip()
            clause = EMPHASIS.sub("", sentences_of(before)[-1])
            is_apart = not before or before.endswith(_SENTENCE_ENDS)
            if before.endswith(_OPENING_QUOTES):
                continue
            own = line.own and (is_apart or not is_foreign_lead(clause))
            said, note = mark["inner"] or "", line.text[mark.end() :]
            if mark["rest"] is not None:
                said, note = mark["rest"], ""
                if not said.strip(" :=*_`"):
                    said = lines[place + 1].text if place + 1 < len(lines) else ""
            first, *rest = sentences_of(said.strip(" :=*_`"))
            label = _LABELLED.match(first)
            value = label["said"] if label and label["mark"] else first
            is_reversed = mark["rest"] is not None and "<" in value  # not a form of Prometheus
            verdict = None if is_reversed else match_value(value, question)
            if verdict is None and is_placeholder(value or "…", question):
                continue
            note = " ".join((*rest, note)).strip(_CLOSING_MARKS)
            after = line.text[mark.end() :].strip(_CLOSING_MARKS.replace(".", ""))
            is_set_off = mark["rest"] is not None or after[:1] in ("", ".", "。", "[")
            decides = (is_apart or not note) and is_set_off
            if before.endswith((":", "：")):
                decides = is_own_lead(clause) or _is_winner_lead(clause, question)
            yield Statement(verdict, line.number, mark.group().strip(), note, own, decides)


def _is_winner_lead(clause: str, question: Question) -> bool:
    """Return True for "Assistant A is slightly better:", as Arena's judges write."""
    if not isinstance(question, Comparison):
        return False
    sentence = re.sub(r"\A.*?\bverdict is:?\s*", "", clause.rstrip(":： "), flags=re.IGNORECASE)
    return stated_winner(sentence, question) is not None


def read_tags(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``<verdict>FAIL</verdict>`` and tool arguments in tags, outside any sentence."""
    for place, line in enumerate(lines):
        if "<" not in line.text:
            continue
        text = line.text
        if line.text.endswith(">") and "</" not in line.text:  # the value is on the next lines
            text = "\n".join(each.text for each in lines[place : place + _FEW - 1])
        for pattern in (_TAG, _ARGUMENT):
            for tag in pattern.finditer(text):
                if tag.start() > len(line.text):
                    continue
                before = text[: tag.start()].rstrip()
                after = text[text.find(">", tag.end()) + 1 :].split("\n", 1)[0].lstrip()
                is_outside = (not before or before.endswith(">")) and after[:1] in ("", "<")
                verdict = match_value(tag["said"], question)
                is_unclear = is_placeholder(tag["said"], question) or tag["answer"]
                if verdict or not is_unclear:
                    own = line.own and is_outside
                    yield Statement(verdict, line.number, tag.group().strip(), own=own)


def read_boxes(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``- [x] FAIL``, the only ticked box."""
    boxes = [(line, box) for line in lines if (box := _BOX.fullmatch(line.text))]
    ticked = [(line, box["option"]) for line, box in boxes if box["tick"] != " "]
    for line, option in ticked:
        verdict = match_value(option, question)
        if verdict:
            is_only = len(ticked) == 1
            yield Statement(verdict if is_only else None, line.number, line.text, own=line.own)


def read_rows(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``| Verdict | PASS |``: a table row of two cells whose first is a label."""
    for line in lines:
        cells = _CELLS.fullmatch(line.text)
        label = _LABELLED.match(cells[1].strip()) if cells else None
        if cells is None or label is None or label["said"].strip("*_ :|") or label["mark"].strip():
            continue
        is_plain = not cells["more"] and _is_plain_label(label, question)
        verdict = match_value(cells[2], question) if is_plain else None
        if verdict or _NUMBERS.search(line.text) or match_value(cells[2], question):
            yield Statement(verdict, line.number, line.text, own=line.own)


def read_ranking(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """A numbered list that names every response once, best first."""
    if not isinstance(question, Comparison) or not question.ranked:
        return
    count = len(question.letters)
    for first in range(len(lines) - count + 1):
        placed = [_PLACED.fullmatch(line.text) for line in lines[first : first + count]]
        if [item and item[1] for item in placed] != [str(rank) for rank in range(1, count + 1)]:
            continue
        if first and not _RANKS.search(lines[first - 1].text):
            continue
        if first + count < len(lines) and not first:
            continue
        order = " > ".join(EMPHASIS.sub("", item[2]) for item in placed if item)
        if verdict := question.match(order, certain=True):
            yield from (
                Statement(verdict, line.number, order, own=line.own)
                for line in lines[first : first + count]
            )


def read_closing(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """The last sentence, if it is a template: ``Overall, FAIL.``, ``B is better than A.``

    The same templates elsewhere can only contradict.
    """
    for line in lines:
        sentences = sentences_of(line.text) if OBJECT not in line.text else []
        for place, sentence in enumerate(sentences):
            is_last = line is lines[-1] and place == len(sentences) - 1
            for statement in _closed(sentence, place, line, question):
                yield statement._replace(decides=is_last)


def _closed(sentence: str, place: int, line: Line, question: Question) -> Iterator[Statement]:
    sentence = _NOTE_LABEL.sub("", EMPHASIS.sub("", sentence)).strip()
    if is_question(sentence):
        return
    closing = _CLOSING.fullmatch(sentence)
    is_word = closing is not None and closing["said"].strip(" .!\"'") in ("a", "i")
    verdict = match_value(closing["said"], question) if closing and not is_word else None
    if verdict and not _is_other_scale(sentence, question):
        yield Statement(verdict, line.number, sentence, own=line.own)
    elif place and (label := _LABELLED.match(sentence)) and label["mark"]:
        yield from _labelled(label, line, "", question)
    elif isinstance(question, Comparison) and (winner := stated_winner(sentence, question)):
        yield Statement(winner, line.number, sentence, own=line.own)


def _labelled(
    label: re.Match[str], line: Line, rest: str, question: Question
) -> Iterator[Statement]:
    """Read the value after a label; anything but an option is a reason to ask again."""
    said = label["said"].strip()
    if _MARK.search(said) or OBJECT in said:
        return
    verdict = match_value(said, question)
    if verdict is None and is_placeholder(said, question):
        return
    is_dash = label["mark"] in ("-", "–", "—")
    if verdict is None and isinstance(question, Comparison):
        verdict = stated_winner(said, question)
    if verdict is None and (is_dash or is_question(said)):
        return
    if verdict is None and label["answer"] and len(said.split()) > _FEW:
        return  # "Answer: the capital is Paris" states no verdict
    if is_dash and verdict and question.match(f"-{verdict.option}"):
        verdict = None  # the dash may be a minus sign
    if verdict and not _is_plain_label(label, question):
        verdict = None
    is_said_of = label["answer"] and label["mark"].strip().startswith(("is", "was")) and rest
    decides = _may_decide(label, question) and not is_said_of
    yield Statement(verdict, line.number, line.text, rest, line.own, decides)


def _may_decide(label: re.Match[str], question: Question) -> bool:
    """Return False for "Answer: 4": it may be the answer to the judged problem."""
    is_letter = all(len(label) == 1 and label.isascii() for label in question.labels)
    is_short = is_letter or question.numeric
    return not label["answer"] or not is_short or isinstance(question, Comparison)


def _is_plain_label(label: re.Match[str], question: Question) -> bool:
    """Return True if a label has no qualifier but its scale or its options: "Score (1-5):"."""
    qualifier = (label["qualifier"] or label["range"] or label["top"] or "").strip()
    if not qualifier:
        return True
    if (top := scale_top(qualifier)) is not None:
        return top == highest(question)
    return qualifier.casefold() in ("final", "overall") or is_placeholder(qualifier, question)


def _is_other_scale(text: str, question: Question) -> bool:
    """Return True if a sentence with a numeric verdict names a scale with another top."""
    top = scale_top(text)
    return question.numeric and top is not None and top != highest(question)
