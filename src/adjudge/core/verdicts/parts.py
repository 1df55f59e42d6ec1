"""Split a reply into its own objects, lines and sentences.

Code, block quotes, quotations and the material that was judged are not the judge's words. An object
or a line that another line announces ("The response ends with:") is kept, but marked as foreign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.plain_text import plain
from adjudge.core.verdicts.lenient import (
    MOST_OBJECTS,
    FoundObject,
    next_object,
    object_at,
    was_inside,
)
from adjudge.core.verdicts.phrases import phrase, words

OBJECT = "\ufffc"
"""Stands for an object in a line."""
EMPHASIS = re.compile(r"\*++|`++|__++")
# Stands for a program.
_CODE = "\ufffb"
_MOST_LINES, _LONGEST_LINE = 2_000, 20_000
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n`]*+$", re.MULTILINE)
# Fence tags whose content may be the answer if the fence is the whole reply.
_ANSWER_FENCES = frozenset(("", *words("answer_fences")))
_COMMENTS = re.compile(r"(?:\s*+(?://|#)[^\n]*+\n)*+\s*+")
_BLOCK_QUOTE = re.compile(r"\s*+>(?!=|\s*+\d)\s?")
_INDENTED = re.compile(r"(?: {4}|\t)(?!\s*(?:[-*+•]|\d{1,3}[.)])\s)")
# Material that was shown to the judge, in the marks of the prompt.
_MATERIAL = phrase("shown_material", re.DOTALL | re.IGNORECASE)
_BLOCK_TAG, _INLINE_TAG = phrase("block_tag"), phrase("inline_tag")
# Text before an object that is not a sentence: tags, a tool's name, a bullet.
_CALL_MARK = re.compile(
    r"(?:</?[\w|:=\-\"' .]{1,60}>|\[/?[A-Z_]{3,20}\]|[-*•#>\[(]|\d{1,2}[.)]|\s)*"
    r"(?:[\w.]{1,40}\s*[=(]?)?",
)
_DENIES = phrase("denies")
_AFTER_OBJECT = re.compile(rf"(?:</?[\w|:=]{{1,40}}>|[\]}})`.,;*\s{OBJECT}]|</?s>)*")
# A part of what was judged: "Question: Is it open?".
_FIELD = phrase("field")
# A line that is neither a heading, a list item, a table row nor a label with its value.
_PROSE = re.compile(r"(?![-*+•#|>\d])(?=[^\W\d_])[^:：|]*\Z")
_ANNOUNCES = re.compile(r"\A#|\bfollow(?:s|ing)\b", re.IGNORECASE)
_COMPLETE = (".", "!", "?", "。", "！", "？", "”", '"', "»", ")", "]", ">", "`", "}", ";")
_COLONS = (":", "：")
_OWN_LEAD, _FOREIGN_LEAD = phrase("own_lead"), phrase("foreign_lead")
_LONGEST_LEAD = 160
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[*_\"'”»)]*\s+(?=\S)|(?<=[。！？])(?=\S)")
_QUOTATION = re.compile(r'"[^"\n]{0,2000}"|“[^“”\n]{0,2000}”|«[^«»\n]{0,2000}»|`[^`\n]{0,2000}`')
_LONG_QUOTATION = re.compile(r'"[^"]*+"|[“„][^“”„]*+[”“]|«[^«»]*+»')


CJK = "\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words."""
_WORD = re.compile(rf"[{CJK}]{{1,2}}|[^\W{CJK}]+")


class ReplyObject(NamedTuple):
    """An object in a reply."""

    data: JsonDict | None
    """None if it cannot be read."""
    mended: bool
    line: int
    is_own: bool
    """False if the reply quotes it, or supposes it."""


class Line(NamedTuple):
    """A line that the judge wrote."""

    number: int
    text: str
    written: str
    """As it is in the reply."""
    is_own: bool = True
    """False if another line announces it as a quotation."""
    apart: bool = True
    """False if the line before goes on in it, so that it cannot state a verdict."""


class ReplyParts(NamedTuple):
    """The objects and lines of a reply."""

    objects: Sequence[ReplyObject]
    lines: Sequence[Line]
    broken: bool
    """True if an object cannot be read, or if the reply is longer than any judge's.

    Text in or after a broken object may be a quotation inside it.
    """


def parts_of(text: str, *, cut: bool = False) -> ReplyParts:
    """Return the objects and lines of ``text``; a fence around the whole reply is opened."""
    # The reply itself must not contain our marks.
    text = _open_fence(_MATERIAL.sub(" ", text.replace(OBJECT, " ").replace(_CODE, " ").strip()))
    marked, objects = _take_objects(text, cut)
    raw = marked.split("\n")
    lines = list(islice(_judge_lines(raw), _MOST_LINES + 1))
    is_long = len(lines) > _MOST_LINES or any(len(line.text) > _LONGEST_LINE for line in lines)
    is_broken = is_long or any(reply_object.data is None for reply_object in objects)
    return ReplyParts([] if is_broken else list(_place_objects(objects, raw)), lines, is_broken)


def is_own_lead(text: str) -> bool:
    """Return True if a lead such as "Here is my verdict:" announces the judge's own words."""
    last = sentences_of(text)[-1]
    if len(last) > _LONGEST_LEAD or _FOREIGN_LEAD.search(last):
        return False
    return _OWN_LEAD.search(last) is not None


# -- objects -------------------------------------------------------------------------


def _open_fence(text: str) -> str:
    """Return the content of a fence that is the whole text, unless it holds a program."""
    fence = _FENCE.match(text)
    if fence is None or fence[2].lower() not in _ANSWER_FENCES:
        return text
    body_end, end = _fence_end(text, fence)
    return text[fence.end() : body_end].strip() if not text[end:].strip() else text


def _fence_end(text: str, fence: re.Match[str]) -> tuple[int, int]:
    """Return where the line that closes a fence begins and ends, or the end of the text."""
    mark = fence[1]
    closing = re.compile(rf"^[ \t]*+{mark[0]}{{{len(mark)},}}+", re.MULTILINE)
    line = closing.search(text, fence.end())
    return line.span() if line else (len(text), len(text))


def _take_objects(text: str, cut: bool) -> tuple[str, list[FoundObject]]:
    """Return ``text`` with marks for programs and objects, and the objects.

    A fence around an object is dropped. Lines of other fences can only contradict a verdict.
    """
    pieces: list[str] = []
    objects: list[FoundObject] = []
    at = tail = 0
    opened = ""
    start, fence = next_object(text, 0), _FENCE.search(text)
    while start >= 0 or fence:
        if fence and (start < 0 or fence.start() < start):
            pieces.append(text[at : fence.start()])
            at = fence.end()
            if opened and fence[1].startswith(opened):
                opened = ""
            elif _holds_object(text, fence):
                opened = fence[1]
            else:
                body_end, at = _fence_end(text, fence)
                body = text[fence.end() : body_end] if fence[2].lower() in _ANSWER_FENCES else ""
                pieces += [_CODE, *(f"\n> {line}" for line in body.split("\n") if line.strip())]
        else:
            pieces += [text[at:start], OBJECT]
            tail, is_one_more = len(pieces), len(objects) < MOST_OBJECTS
            unread = FoundObject(None, False, start, len(text))
            objects.append(object_at(text, start, cut) if is_one_more else unread)
            at = objects[-1].end
        # search again only from a match that was consumed
        start = next_object(text, at) if 0 <= start < at else start
        fence = _FENCE.search(text, at) if fence and fence.start() < at else fence
    pieces.append(text[at:])
    if was_inside("".join(pieces[tail:]), cut and bool(objects)):
        objects.append(FoundObject(None, False, at, len(text)))
    return "".join(pieces), objects


def _holds_object(text: str, fence: re.Match[str]) -> bool:
    """Return True if a fence begins with an object, perhaps after comments."""
    comments = _COMMENTS.match(text, min(fence.end() + 1, len(text)))
    start = comments.end() if comments else fence.end()
    return text[start : start + 1] in ("{", "[")


def _place_objects(objects: Sequence[FoundObject], lines: Sequence[str]) -> Iterator[ReplyObject]:
    """Yield the objects with their lines; those inside a sentence or a quotation are foreign."""
    remaining_objects = iter(objects)
    for number, line in enumerate(lines):
        pieces = line.split(OBJECT)
        for place in range(1, len(pieces)):
            data, mended, *_ = next(remaining_objects)
            lead, tail = "".join(pieces[:place]).strip(), OBJECT.join(pieces[place:])
            is_last = _AFTER_OBJECT.fullmatch(tail) is not None
            if not _BLOCK_QUOTE.match(line):
                is_own = is_last and _introduces(lead, lines[:number])
                yield ReplyObject(data, mended, number, is_own)


def _introduces(lead_text: str, earlier: Sequence[str]) -> bool:
    """Return True if an object after this text on its line is the judge's own."""
    if lead_text.endswith(('"', "'", "“", "«", "„")):
        return False
    lead_text = lead_text.rstrip("`[{ ")
    if lead_text.endswith(_COLONS):
        return is_own_lead(EMPHASIS.sub("", lead_text))
    if lead_text and (not _CALL_MARK.fullmatch(lead_text) or _DENIES.search(lead_text)):
        return False  # in a sentence, or denied: "NOT {…}"
    lead = next((line for line in reversed(earlier) if line.strip() not in ("", _CODE)), "")
    lead = EMPHASIS.sub("", lead).strip()
    is_announced = lead.endswith(_COLONS) or _is_open(lead) or _FIELD.match(lead)
    return not is_announced or is_own_lead(lead)


# -- lines ---------------------------------------------------------------------------


def _judge_lines(lines: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of a reply without its programs; quotations are marked as foreign."""
    several = sum(bool(line.strip()) for line in lines) > 1
    quoted = _quoted_lines("\n".join(lines))
    lead = previous = ""
    foreign, code, begins = False, False, True
    for number, line in enumerate(lines):
        if not line.strip():
            foreign, begins = foreign and bool(lead), True
            continue
        is_apart = not _is_open(previous) or is_own_lead(previous)
        if _FIELD.match(previous):  # "Question: …" and then "Answer: No" repeat what was judged
            foreign = True
        elif lead:  # the paragraph after a lead belongs to the speaker that the lead names
            foreign = not is_own_lead(lead)
        elif begins:
            foreign = False
        code = (begins or code) and several and _INDENTED.match(line) is not None
        begins, previous = False, EMPHASIS.sub("", line).strip()
        lead = previous if previous.endswith(_COLONS) else ""
        if previous == _CODE:
            foreign = False
            continue
        is_quote = _BLOCK_QUOTE.match(line) is not None
        is_own = not (foreign or code or number in quoted or is_quote)
        text_shown = _BLOCK_QUOTE.sub("", line, count=1) if is_quote else line
        for piece in _BLOCK_TAG.split(text_shown) if "</" in text_shown else (text_shown,):
            if text := plain(_INLINE_TAG.sub("", piece)).strip():
                yield Line(number, text, piece.strip(), is_own, is_apart)


def _is_open(line: str) -> bool:
    """Return True if the next line belongs to this one: "The author writes that"."""
    if OBJECT in line or _CODE in line:
        return False
    is_unfinished = _PROSE.match(line) is not None and not line.endswith(_COMPLETE)
    return is_unfinished or (_ANNOUNCES.search(line) and _FOREIGN_LEAD.search(line)) is not None


def _quoted_lines(text: str) -> set[int]:
    """Return the lines that begin inside a quotation; 5" is not a quotation."""
    straight = text.count('"') % 2 == 0
    quoted: set[int] = set()
    at = number = 0
    for quotation in _LONG_QUOTATION.finditer(text):
        if quotation[0][0] != '"' or straight:
            number += text.count("\n", at, quotation.start())
            at = quotation.start()
            quoted.update(range(number + 1, number + 1 + quotation[0].count("\n")))
    return quoted


# -- sentences -----------------------------------------------------------------------


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a line; a number before the first is part of it."""
    quoted = [quotation.span() for quotation in _QUOTATION.finditer(text)]
    first_sentence, *more = _split(text, quoted) if quoted else _SENTENCE_END.split(text)
    if more and re.fullmatch(r"\W*\d{1,3}\.\W*", first_sentence):
        return [f"{first_sentence} {more[0]}", *more[1:]]
    return [first_sentence, *more]


def _split(text: str, quoted: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the sentences of a text; none ends inside a quotation."""
    at, spans = 0, iter(quoted)
    start, end = next(spans)
    for boundary in _SENTENCE_END.finditer(text):
        while end < boundary.end() and (span := next(spans, None)):
            start, end = span
        if not start < boundary.start() < end:
            yield text[at : boundary.start()]
            at = boundary.end()
    yield text[at:]


def count_words(text: str) -> int:
    """Return how many words a text has; two characters of Chinese or Japanese count as one."""
    return len(_WORD.findall(text))


def without_quotations(text: str) -> str:
    """Return ``text`` with its quotations cut out; a single quoted word stays."""
    return _QUOTATION.sub(
        lambda quoted: quoted[0] if re.fullmatch(r"[^ \[]{1,14}", quoted[0]) else " … ", text
    )
