"""The shapes in which a reply may state its verdict. Nothing else is read.

Each function reads one shape and yields a ``Statement`` per occurrence. A statement without a
verdict means that something other than an option stands in the place of a verdict, so the model is
asked again. ``docs/judges.md`` lists the shapes for users; keep both in step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.conclusions import stated_winner
from adjudge.verdicts.parts import EMPHASIS, OBJECT, Line, is_foreign_lead, is_own_lead
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import sentences_of
from adjudge.verdicts.values import LONGEST, highest, is_placeholder, is_question, match_value

_LABELLED = phrase("labelled", re.IGNORECASE | re.DOTALL)
_POLAR = phrase("polar")
_CLOSING = phrase("closing", re.IGNORECASE | re.DOTALL)
_TAG = phrase("tag")
_ARGUMENT = phrase("argument")
_CALL = re.compile(r"""[\[`\s]*+[\w.]{1,60}\((?P<arguments>.*)\)[\]`;\s]*""", re.DOTALL)
_KEYWORD = phrase("keyword")
_MARK = re.compile(
    r"\[\[(?P<inner>[^\[\]\n]{1,40})\]\]|\[RESULT\](?P<rest>(?:(?!\[RESULT\]).)*+)",
    re.IGNORECASE | re.DOTALL,
)
_BOX = re.compile(
    r"[-*•\s]*+\[(?P<tick>[ xX✓✔])\]\s*+(?P<option>.+)|\s*+(?P<sign>[☑☒☐])\s*+(?P<name>.+)"
)
_PLACED = re.compile(r"\W*+(\d{1,2})[.)]\s++(.{1,60})")
_CELLS = re.compile(r"\|([^|]*)\|([^|]*)\|(?:[^|]*\|)*")
_OPENING_QUOTES = ('"', "'", "`", "“", "«", "„")
_CLOSING_MARKS = " .\"'”»`*"
_SENTENCE_ENDS = (".", "!", "?", "。", ")", "*", "”", '."', "_")
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_HEADING = re.compile(r"\s*#")
_LIST_ITEM = re.compile(r"[-*•]\s+\d")
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


Shape = Callable[[Sequence[Line], Question], Iterator[Statement]]


def read_labels(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``Verdict: FAIL``, ``**Final answer:** B``, ``Score (1-5): 4``, ``The score is 4.``

    The label starts its line. The value is an option, alone on the line or ended by a full stop.
    """
    for line in lines:
        first, *rest = sentences_of(line.text)
        label = _LABELLED.match(first)
        if label and label["mark"] and label["said"].strip("*_ :|"):
            yield from _labelled(label, line, " ".join(rest), question)


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
            yield Statement(
                verdict, following.number, following.text, " ".join(rest), line.own or following.own
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
    options = [
        (place, line, _bare_option(place, line, lines, question))
        for place, line in enumerate(lines)
    ]
    named = [(place, line, *option) for place, line, option in options if option]
    headings = {verdict.option for _, line, verdict, _ in named if _HEADING.match(line.text)}
    for place, line, verdict, note in named:
        if _HEADING.match(line.text) and len(headings) > 1:
            continue  # sections of a review, one per option
        decides = len(lines) == 1 or _stands_apart(place, lines)
        if isinstance(question, Comparison) and not decides and place != len(lines) - 1:
            continue  # "Response A" above what is said of it
        yield Statement(verdict, line.number, line.text, note, line.own, decides)


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
        return None if place or question.numeric or is_comparison else (verdict, " ".join(rest))
    names_response = is_comparison and len(text.split()) > 1 and ">" not in text
    return None if names_response and place else (verdict, "")


def _stands_apart(place: int, lines: Sequence[Line]) -> bool:
    """Return True if a line is the first or last, and no part of a sentence around it."""
    text = lines[place].text
    if place == 0:
        is_heading = any(_heads(text, line.text) for line in lines[1:])
        return not lines[1].text[:1].islower() and not is_heading
    before = lines[place - 1].text.rstrip("*_\"' )”»`")
    is_last = place == len(lines) - 1
    is_led = before.endswith((":", "：")) and is_own_lead(before)
    return is_last and (is_led or before.endswith((".", "!", "。", "！", OBJECT)) or before == text)


def _heads(first: str, other: str) -> bool:
    """Return True if two lines differ in one letter only, as "Response A" and "Response B" do."""
    return len(first) == len(other) > 1 and sum(map(str.__ne__, first, other)) == 1


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
            decides = is_apart or not note
            if before.endswith((":", "：")):
                decides = is_own_lead(clause)
            yield Statement(verdict, line.number, mark.group().strip(), note, own, decides)


def read_tags(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``<verdict>FAIL</verdict>`` and tool arguments in tags, outside any sentence."""
    text = "\n".join(line.text for line in lines)
    for pattern in (_TAG, _ARGUMENT) if "<" in text else ():
        for tag in pattern.finditer(text):
            before = text[: tag.start()].rsplit("\n", 1)[-1].rstrip()
            after = re.sub(r"\A[^<>]{0,60}>", "", text[tag.end() :]).split("\n", 1)[0].lstrip()
            line = lines[text.count("\n", 0, tag.start())]
            is_outside = (not before or before.endswith(">")) and after[:1] in ("", "<")
            verdict = match_value(tag["said"], question)
            if verdict is None and is_placeholder(tag["said"], question):
                continue
            if verdict is None and tag["answer"]:
                continue
            yield Statement(verdict, line.number, tag.group().strip(), own=line.own and is_outside)


def read_calls(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``submit(verdict="PASS")`` as a whole line."""
    for line in lines:
        if line.text.endswith((")", ")]", ")`")) and (call := _CALL.fullmatch(line.text)):
            for argument in _KEYWORD.finditer(call["arguments"]):
                verdict = match_value(argument["said"], question)
                if verdict or argument["verdict"]:
                    yield Statement(verdict, line.number, line.text, own=line.own)


def read_boxes(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``- [x] FAIL``, the only ticked box."""
    boxes = [(line, box) for line in lines if (box := _BOX.fullmatch(line.text))]
    ticked = [
        (line, box["option"] or box["name"])
        for line, box in boxes
        if (box["tick"] or box["sign"]) not in (" ", "☐")
    ]
    for line, option in ticked:
        if verdict := match_value(option, question):
            yield Statement(verdict, line.number, line.text, own=line.own)


def read_rows(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``| Verdict | PASS |``: a table row whose first cell is a label."""
    for line in lines:
        cells = _CELLS.fullmatch(line.text)
        label = _LABELLED.match(cells[1].strip()) if cells else None
        if cells and label and not label["said"].strip("*_ :|") and not label["mark"].strip():
            verdict = match_value(cells[2], question)
            if verdict or _NUMBERS.search(cells[2]):
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
    verdict = match_value(closing["said"], question) if closing else None
    if verdict and not _is_other_scale(sentence, question):
        yield Statement(verdict, line.number, sentence, own=line.own)
    elif place and (label := _LABELLED.match(sentence)) and label["mark"]:
        yield from _labelled(label, line, "", question)
    elif isinstance(question, Comparison) and (winner := stated_winner(sentence, question)):
        yield Statement(winner, line.number, sentence, own=line.own)


SHAPES: Final[Mapping[str, Shape]] = {
    "label": read_labels,
    "heading": read_headings,
    "pass or fail": read_polar,
    "line": read_bare,
    "mark": read_marks,
    "tag": read_tags,
    "call": read_calls,
    "box": read_boxes,
    "table": read_rows,
    "ranking": read_ranking,
    "closing": read_closing,
}
"""Every accepted shape besides the object, which ``objects.reading_of`` reads."""


def statements_of(lines: Sequence[Line], question: Question) -> list[Statement]:
    """Return the statements of all shapes, in the order of their lines."""
    continued = {line.number for line in lines if not line.apart}
    stated = [
        statement._replace(decides=statement.decides and statement.line not in continued)
        for shape in SHAPES.values()
        for statement in shape(lines, question)
    ]
    return sorted(stated, key=lambda statement: statement.line)


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
    if verdict and is_dash and question.match(f"-{verdict.option}"):
        verdict = None  # the dash may be a minus sign
    if verdict and _is_other_scale(line.text[: label.start("said") - label.start()], question):
        verdict = None
    if verdict is None and (label["answer"] or is_dash or is_question(said)):
        return  # "Answer: the capital is Paris" states no verdict
    yield Statement(verdict, line.number, line.text, rest, line.own)


def _is_other_scale(text: str, question: Question) -> bool:
    """Return True if a numeric verdict names a scale with another top: "Score (0-20)"."""
    top = highest(question)
    scale = re.search(
        r"[(\[（]([^)\]）]*)[)\]）]|\b(?:out of|scale|from|to|из|по шкале)\b(.*)", text
    )
    if top is None or scale is None:
        return False
    numbers = _NUMBERS.findall(scale[1] or scale[2] or "")
    return bool(numbers) and max(map(float, numbers)) != top
