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

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.options import as_pass
from adjudge.core.domain.question import Choice, Comparison, Question
from adjudge.core.domain.verdict import Verdict
from adjudge.core.verdicts.objects import reading_of
from adjudge.core.verdicts.parts import EMPHASIS, OBJECT, Line, is_own_lead, sentences_of
from adjudge.core.verdicts.phrases import phrase, words
from adjudge.core.verdicts.values import (
    LONGEST,
    highest,
    is_placeholder,
    match_value,
    scale_top,
)

_LABELLED = phrase("labelled", re.IGNORECASE | re.DOTALL)
_POLAR = phrase("polar")
_CLOSING = phrase("closing", re.IGNORECASE | re.DOTALL)
_TAG, _ARGUMENT = phrase("tag"), phrase("argument")
# A sentence that names the winner and nothing else.
_ONLY_WINS = phrase("only_wins", re.NOFLAG)
_OPENS_SECTION, _RANKS, _COUNTS = phrase("opens_section"), phrase("ranks"), phrase("counts")
_REASON_LABEL, _FOREIGN_LEAD = phrase("reason_label"), phrase("foreign_lead")
_MARK = re.compile(
    r"\[\[(?P<inner>[^\[\]\n]{1,40})\]\]"
    r"|\[RESULT\](?:\W*score\s*[:=])?(?P<rest>(?:(?!\[RESULT\]).)*+)",
    re.IGNORECASE | re.DOTALL,
)
_CALL = re.compile(r"[\[`\s]*+(?P<name>[\w.]{1,60})\((?P<arguments>.*)\)[\]`;\s]*", re.DOTALL)
_KEYWORD = re.compile(r"""(\w{1,40})\s*=\s*("[^"\n]{0,2000}"|'[^'\n]{0,2000}'|[\w.-]{1,40})""")
_YAML = re.compile(r"(?P<key>[^\W\d][\w ]{0,30}?)\s*[:=]\s*(?P<value>\S.*)")
_BOX = re.compile(r"[-*•\s]*+\[(?P<tick>[ xX✓✔])\]\s*+(?P<option>.+)")
_PLACED = re.compile(r"\W*+(\d{1,2})[.)]\s++(.{1,60})")
_CELLS = re.compile(r"\|([^|]*)\|([^|]*)\|(?P<more>(?:[^|]*\|)*)")
_TITLE = re.compile(r"\s*#")
_HEADING = re.compile(r"\s*#|\*\*.{1,40}\*\*\Z|(?:\S+\s*){1,4}[:：]\Z")
_LIST_ITEM = re.compile(r"[-*•]\s+\d")
_TWO_WAY = re.compile(r"\W*(yes|no|true|false|да|нет|верно|неверно)\b", re.IGNORECASE)
_XML_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z_]{1,40})(?:[ =][^<>]{0,80})?>", re.IGNORECASE)
# Tags that may enclose the verdict's own.
_WRAPPERS = frozenset((*words("container_keys"), *words("wrapper_tags")))
_PLAIN_VALUES: Final[Mapping[str, JsonValue]] = {"True": True, "False": False, "None": None}
_SENTENCE_ENDS = (".", "!", "?", "。", ")", "*", "”", '."', "_", "！", OBJECT)
_DECORATION = " *_:|"
# Characters before a tag in which other tags may enclose it.
_LONGEST_LEAD = 200
_FEW = 4


class Statement(NamedTuple):
    """A verdict that a reply states."""

    verdict: Verdict | None
    """None if the place of a verdict holds something other than an option."""
    line: int
    words: str
    note: str = ""
    """The rest of its line."""
    is_own: bool = True
    """False if the reply announces it as a quotation."""
    decides: bool = True
    """False if it can only contradict other statements."""


# -- labels --------------------------------------------------------------------------


def read_labels(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``Verdict: FAIL``, ``**Final answer:** B``, ``Score (1-5): 4``, ``The score is 4.``

    The label starts its line. The value is an option, alone on the line or ended by a full stop.
    """
    for line in lines:
        first_sentence, *more = sentences_of(line.text)
        label = _LABELLED.match(first_sentence)
        if label and label["said"].strip(_DECORATION) and not line.text.startswith("|"):
            for statement in _read_label(label, line, " ".join(more), question):
                is_whole = len(lines) == 1 and not more
                yield statement._replace(decides=statement.decides or is_whole)


def _read_label(
    label: re.Match[str], line: Line, rest: str, question: Question
) -> Iterator[Statement]:
    """Read the value after a label; a value that is not an option is a reason to ask again.

    Placeholders, objects, marks and values that may be plain prose yield nothing.
    """
    value, is_dash = label["said"].strip(), label["mark"] in ("-", "–", "—")
    if _MARK.search(value) or OBJECT in value:
        return
    verdict = match_value(value, question) or stated_winner(value, question)
    is_long_answer = label["answer"] and len(value.split()) > _FEW  # "Answer: the capital is Paris"
    if verdict is None and (is_placeholder(value, question) or is_dash or is_long_answer):
        return
    is_minus = is_dash and verdict and question.match(f"-{verdict.option}")
    if is_minus or not _is_plain_label(label, question):
        verdict = None
    is_said_of = label["answer"] and label["mark"].strip().startswith(("is", "was")) and rest
    decides = _may_decide(label, question) and not is_said_of
    yield Statement(verdict, line.number, line.text, rest, line.is_own, decides)


def _may_decide(label: re.Match[str], question: Question) -> bool:
    """Return False for "Answer: 4": it may be the answer to the judged problem."""
    is_letter = all(len(label) == 1 and label.isascii() for label in question.labels)
    is_short = is_letter or question.numeric
    return not label["answer"] or not is_short or isinstance(question, Comparison)


def _is_plain_label(label: re.Match[str], question: Question) -> bool:
    """Return True if a label has no qualifier but its scale or its options: "Score (1-5):"."""
    qualifier = (label["qualifier"] or label["range"] or label["top"] or "").strip()
    top = scale_top(qualifier)
    if not qualifier or top is not None:
        return not qualifier or top == highest(question)
    return qualifier.casefold() in ("final", "overall") or is_placeholder(qualifier, question)


def read_headings(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``### Verdict`` with the option on the next line."""
    for line, following in pairwise(lines):
        label = _LABELLED.match(line.text)
        if label is None or label["said"].strip(_DECORATION):
            continue
        first_sentence, *more = sentences_of(following.text)
        is_item = question.numeric and _LIST_ITEM.match(first_sentence)
        if (verdict := match_value(first_sentence, question)) and not is_item:
            verdict = verdict if _is_plain_label(label, question) else None
            is_own, decides = line.is_own and following.is_own, _may_decide(label, question)
            note = " ".join(more)
            yield Statement(verdict, following.number, following.text, note, is_own, decides)


def read_polar(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``Pass: no``."""
    for line in lines:
        polar = _POLAR.fullmatch(line.text)
        polarity = as_pass(polar["said"].strip(" .!*_\"'`")) if polar else None
        if polarity in ("pass", "fail"):
            yield Statement(question.match(polarity), line.number, line.text, is_own=line.is_own)


def read_rows(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``| Verdict | PASS |``: a table row of two cells whose first is a label."""
    for line in lines:
        cells = _CELLS.fullmatch(line.text)
        label = _LABELLED.match(cells[1].strip()) if cells else None
        if cells is None or label is None or label["said"].strip(_DECORATION):
            continue
        verdict = match_value(cells[2], question)
        is_plain = not cells["more"] and _is_plain_label(label, question)
        if verdict or any(map(str.isdigit, cells[2])):
            verdict = verdict if is_plain else None
            yield Statement(verdict, line.number, line.text, is_own=line.is_own)


# -- lines that are an option --------------------------------------------------------


def read_bare(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read a line that is an option: the whole reply, its first line or its last line."""
    for place, line in enumerate(lines):
        option = _bare_option(place, line, lines, question)
        if option is None:
            continue
        is_item = isinstance(question, Comparison) and bool(option[1])  # "A. It is short."
        decides = len(lines) == 1 or _stands_apart(place, lines)
        decides = decides and not is_item
        if place == 0 and question.numeric and len(lines) > 1:
            decides = decides and lines[1].number > line.number + 1  # "3" and "errors" below it
        if decides or not _TITLE.match(line.text):  # else a section: "## Good"
            yield Statement(option[0], line.number, line.text, option[1], line.is_own, decides)


def _bare_option(
    place: int, line: Line, lines: Sequence[Line], question: Question
) -> tuple[Verdict, str] | None:
    """Return the option that a line is, and the explanation after its full stop; None if it is not
    an option.
    """
    is_only, is_comparison = len(lines) == 1, isinstance(question, Comparison)
    is_heading = not is_only and line.text.rstrip("*_` ").endswith((":", "："))
    is_item = question.numeric and _LIST_ITEM.match(line.text)  # "- 1" may be a sign
    if is_heading or is_item or _BOX.fullmatch(line.text) or len(line.text) > 4 * LONGEST:
        return None
    first_sentence, *more = sentences_of(line.text)
    verdict = match_value(first_sentence, question)
    if verdict is None or (_is_two_way(first_sentence, question) and not (is_only and not more)):
        return None
    if more:  # "1. It is short." and "A. It is short." are items of a list
        is_listed = bool(place) or question.numeric or (is_comparison and not is_only)
        is_set_off = first_sentence.rstrip("*_`\"' ").endswith((".", "。"))
        return (verdict, " ".join(more)) if is_set_off and not is_listed else None
    names_response = is_comparison and len(line.text.split()) > 1 and ">" not in line.text
    return None if names_response and not is_only else (verdict, "")


def _is_two_way(text: str, question: Question) -> bool:
    """Return True if a text says yes or no to options of other names.

    "No. Nothing is wrong with it." may mean either end.
    """
    word = _TWO_WAY.match(text) if isinstance(question, Choice) else None
    return word is not None and word[1].casefold() not in map(str.casefold, question.labels)


def _stands_apart(place: int, lines: Sequence[Line]) -> bool:
    """Return True if a line is the first or last, and does not belong to the lines around it."""
    if place == 0:
        following = lines[1].text
        is_section = _OPENS_SECTION.match(following) or following[:1].islower()
        has_headings = any(_HEADING.match(line.text) for line in lines[1:])
        return not (_TITLE.match(lines[0].text) or is_section or has_headings)
    previous = lines[place - 1].text.rstrip("*_\"' )”»`")
    is_led = previous.endswith((":", "：")) and is_own_lead(previous)
    is_last = place == len(lines) - 1 and not _COUNTS.search(previous)
    return is_last and (is_led or previous.endswith((".", "!", "。", "！", OBJECT)))


def read_marks(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``[[A]]`` and ``[RESULT] 4``: alone on a line, after a sentence, or at the very end."""
    for place, line in enumerate(lines):
        for mark in _MARK.finditer(line.text) if "[" in line.text else ():
            lead_text, note = line.text[: mark.start()].rstrip(), line.text[mark.end() :]
            if lead_text.endswith(('"', "'", "`", "“", "«", "„")):
                continue
            is_result = mark["inner"] is None
            value = (mark["rest"] if is_result else mark["inner"]).strip(" :=*_`")
            if not value and place + 1 < len(lines):
                value = lines[place + 1].text
            first_sentence, *more = sentences_of(value)
            is_reversed = is_result and "<" in first_sentence  # not a form of Prometheus
            verdict = None if is_reversed else match_value(first_sentence, question)
            tail, lead = note.strip(" \"'”»`*"), EMPHASIS.sub("", sentences_of(lead_text)[-1])
            note = " ".join((*more, note)).strip(" .\"'”»`*")
            is_apart = not lead_text or lead_text.endswith(_SENTENCE_ENDS)
            decides = (is_apart or not note) and (is_result or tail[:1] in ("", ".", "。", "["))
            if lead_text.endswith((":", "：")):
                decides = is_own_lead(lead) or bool(stated_winner(lead.rstrip(":： "), question))
            is_own = line.is_own and (is_apart or not _FOREIGN_LEAD.search(lead))
            yield Statement(verdict, line.number, mark.group().strip(), note, is_own, decides)


def read_boxes(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``- [x] FAIL``, if it is the only ticked box."""
    boxes = [(line, box) for line in lines if (box := _BOX.fullmatch(line.text))]
    ticked = [(line, box["option"]) for line, box in boxes if box["tick"] != " "]
    for line, option in ticked:
        if verdict := match_value(option, question):
            is_only = len(ticked) == 1
            yield Statement(
                verdict if is_only else None, line.number, line.text, is_own=line.is_own
            )


def read_ranking(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read a numbered list that names every response once, best first."""
    if not isinstance(question, Comparison):
        return
    count = len(question.letters)
    for start in range(len(lines) - count + 1):
        placed = [_PLACED.fullmatch(line.text) for line in lines[start : start + count]]
        if [item and item[1] for item in placed] != [str(rank) for rank in range(1, count + 1)]:
            continue
        is_announced = len(lines) == count or (start and _RANKS.search(lines[start - 1].text))
        decides = question.asks_for_ranking and bool(is_announced)
        order = " > ".join(EMPHASIS.sub("", item[2]) for item in placed if item)
        verdict = question.match(order, certain=True)
        for line in lines[start : start + count] if verdict else ():
            yield Statement(verdict, line.number, order, is_own=line.is_own, decides=decides)


# -- objects in other writing --------------------------------------------------------


def read_tags(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``<verdict>FAIL</verdict>`` and tool arguments in tags, outside any sentence."""
    enclosing: list[str] = []
    for place, line in enumerate(lines):
        text = line.text
        if text.endswith(">") and "</" not in text:  # the value is on the next lines
            text = "\n".join(next_line.text for next_line in lines[place : place + _FEW - 1])
        for pattern in (_TAG, _ARGUMENT) if "<" in text else ():
            for tag in pattern.finditer(text):
                lead = text[: tag.start()].rstrip()
                tail = text[text.find(">", tag.end()) + 1 :].split("\n", 1)[0].lstrip()
                is_outside = (not lead or lead.endswith(">")) and tail[:1] in ("", "<")
                open_tags = _open_tags(lead[-_LONGEST_LEAD:], enclosing)
                is_outside = is_outside and _WRAPPERS.issuperset(open_tags)
                verdict = match_value(tag["said"], question)
                is_unclear = is_placeholder(tag["said"], question) or tag["answer"]
                if verdict or not is_unclear:
                    is_own = line.is_own and is_outside
                    yield Statement(verdict, line.number, tag.group().strip(), is_own=is_own)
        if "<" in line.text:
            enclosing = _open_tags(line.text, enclosing)


def _open_tags(text: str, enclosing: Sequence[str]) -> list[str]:
    """Return the tags that are open at the end of a text: ``<wrong><verdict>`` is foreign."""
    opened = [*enclosing[:_FEW]]
    for tag in _XML_TAG.finditer(text):
        if tag["end"] and tag["name"] in opened:
            opened.remove(tag["name"])
        elif not tag["end"]:
            opened.append(tag["name"])
    return opened


def read_calls(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``submit(verdict="PASS")`` as a whole line; its arguments are read as an object."""
    for line in lines:
        call = _CALL.fullmatch(line.text) if line.text.endswith((")", ")]", ")`")) else None
        data = _plain_values(_KEYWORD.findall(call["arguments"])) if call else {}
        reading = reading_of(data, False, question) if data else None
        if call is None or reading is None:
            continue
        is_whole = not _KEYWORD.sub("", call["arguments"]).strip(" ,")
        is_clean = is_whole and "not" not in call["name"].split("_")
        yield Statement(
            reading.verdict if is_clean else None, line.number, line.text, is_own=line.is_own
        )


def read_yaml(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read ``verdict: FAIL`` among other keys, if every line is a key with its value."""
    pairs = [pair.groups() for line in lines if (pair := _YAML.fullmatch(line.text))]
    data = _plain_values(pairs)
    reading = reading_of(data, False, question) if len(data) == len(lines) > 1 else None
    if reading is not None:
        is_own = all(line.is_own for line in lines)
        yield Statement(reading.verdict, lines[0].number, lines[0].text, is_own=is_own)


def _plain_values(pairs: Sequence[Sequence[str]]) -> JsonDict:
    return {name: _PLAIN_VALUES.get(text.capitalize(), text.strip("\"'")) for name, text in pairs}


# -- sentences -----------------------------------------------------------------------


def read_closing(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """Read the last sentence, if it is a template: ``Overall, FAIL.``, ``B is better than A.``

    The same templates elsewhere can only contradict.
    """
    for line in lines:
        sentences = sentences_of(line.text) if OBJECT not in line.text else []
        for place, sentence in enumerate(sentences):
            is_last = line is lines[-1] and place == len(sentences) - 1
            for statement in _read_closing_sentence(sentence, place, line, question):
                yield statement._replace(decides=is_last)


def _read_closing_sentence(
    sentence: str, place: int, line: Line, question: Question
) -> Iterator[Statement]:
    sentence = _REASON_LABEL.sub("", EMPHASIS.sub("", sentence)).strip()
    closing = _CLOSING.fullmatch(sentence)
    is_word = closing is not None and closing["said"].strip(" .!\"'") in ("a", "i")
    verdict = match_value(closing["said"], question) if closing and not is_word else None
    top = scale_top(sentence) if question.numeric else None
    if verdict and top in (None, highest(question)):
        yield Statement(verdict, line.number, sentence, is_own=line.is_own)
    elif place and (label := _LABELLED.match(sentence)):
        yield from _read_label(label, line, "", question)
    elif winner := stated_winner(sentence, question):
        yield Statement(winner, line.number, sentence, is_own=line.is_own)


def stated_winner(sentence: str, question: Question) -> Verdict | None:
    """Return the winner if the sentence states it and nothing else: "B is better than A."."""
    stated = _ONLY_WINS.fullmatch(EMPHASIS.sub("", sentence).strip())
    if stated is None or not isinstance(question, Comparison):
        return None
    if stated["even"]:
        return question.match("tie")
    winner = question.match(stated["winner"] or stated["chosen"])
    if winner is None or not stated["loser"]:
        return winner
    loser = question.match(stated["loser"])
    is_other = loser is not None and loser.option != winner.option
    return (
        winner if is_other and not question.asks_for_ranking else None
    )  # of three, C may be better


Shape = Callable[[Sequence[Line], Question], Iterator[Statement]]
SHAPES: Final[Mapping[str, Shape]] = {
    "label": read_labels,
    "heading": read_headings,
    "pass or fail": read_polar,
    "line": read_bare,
    "mark": read_marks,
    "tag": read_tags,
    "call": read_calls,
    "yaml": read_yaml,
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
