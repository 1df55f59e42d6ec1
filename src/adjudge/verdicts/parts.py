"""Split a reply into its own objects and lines.

Code, block quotes, quotations and the material that was judged are not the judge's words. An object
or a line that another line announces ("The response ends with:") is kept, but marked as foreign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from adjudge.domain.json_types import JsonDict
from adjudge.domain.plain import plain
from adjudge.verdicts.lenient import next_object, seen_at, was_inside
from adjudge.verdicts.phrases import phrase
from adjudge.verdicts.sentences import sentences_of

OBJECT = "\ufffc"
"""Stands for an object in a line."""
EMPHASIS = re.compile(r"\*++|`++|__++")
_CODE = "\ufffb"
_MOST_OBJECTS = 500
_MOST_LINES, _LONGEST_LINE = 2_000, 20_000
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n`]*+$", re.MULTILINE)
_ANSWER_FENCES = frozenset(
    (
        *("", "text", "txt", "plaintext", "markdown", "md", "output", "tool_code", "tool_call"),
        *("json", "json5", "jsonc", "yaml", "yml", "xml", "html"),
    )
)
"""Fence tags whose content may be the answer if the fence is the whole reply."""
_COMMENTS = re.compile(r"(?:\s*+(?://|#)[^\n]*+\n)*+\s*+")
_BLOCK_QUOTE = re.compile(r"\s*+>(?!=|\s*+\d)\s?")
_INDENTED = re.compile(r"(?: {4}|\t)")
_OPENS_BLOCK = re.compile(
    r"\s*+(?:async|def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b.*:\s*\Z"
)
_LIST_ITEM = re.compile(r"\s*+(?:[-*+•]|\d{1,3}[.)])\s")
_QUOTES = re.compile(r'["“”„«»]')
_OPENS, _CLOSES = frozenset("“„«"), frozenset("”“»")
_MATERIAL = re.compile(
    r"<!--.*?-->|<(data[-\w]*|quote|example|draft|sample|response|blockquote|document|submission|candidate|input|context"
    r"|material)\b[^<>\n]{0,200}+>(?:(?!</?\1\b).)*+</\1>",
    re.DOTALL | re.IGNORECASE,
)
"""What was shown to the judge, in the marks of the prompt."""
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|br|li|ul|ol|tr|td|th|table|thead|tbody|h[1-6]|section)\b[^<>\n]{0,200}+>",
    re.IGNORECASE,
)
_INLINE_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|span|font|mark|small)(?:\s[^<>\n]{0,200}+)?>", re.IGNORECASE
)
_REPL = re.compile(r"\s*+(?:>>>|In \[\d+\]:|\$ )")
_CALL_MARK = re.compile(
    r"(?:</?[\w|:=\-\"' .]{1,60}>|\[/?[A-Z_]{3,20}\]|[-*•#>\[(]|\d{1,2}[.)]|\s)*"
    r"(?:[\w.]{1,40}\s*[=(]?)?",
)
"""What may stand before an object without being a sentence: tags, a tool's name, a bullet."""
_AFTER_OBJECT = re.compile(rf"(?:</?[\w|:=]{{1,40}}>|[\]}})`.,;*\s{OBJECT}]|</?s>)*")
_FIELD = re.compile(
    r"\W*(?:question|q|claim|statement|input|user|human|prompt|premise|hypothesis|вопрос|утверждение)"
    r"\s*:\s*\S",
    re.IGNORECASE,
)
_PROSE = re.compile(r"(?![-*+•#|>\d])(?=[^\W\d_])[^:：|]*\Z")
"""A line that is neither a heading, a list item, a table row nor a label with its value."""
_ANNOUNCES = re.compile(r"\A#|\bfollow(?:s|ing)\b", re.IGNORECASE)
_COMPLETE = (".", "!", "?", "。", "！", "？", "”", '"', "»", ")", "]", ">", "`", "}", ";")
_OWN_LEAD = phrase("own_lead")
_FOREIGN_LEAD = phrase("foreign_lead")
_LONGEST_LEAD = 160


class Held(NamedTuple):
    """An object in a reply."""

    data: JsonDict | None
    """None if it cannot be read."""
    mended: bool
    line: int
    own: bool = True
    """False if the reply quotes it, or supposes it."""


class Line(NamedTuple):
    """A line that the judge wrote."""

    number: int
    text: str
    written: str
    """As it is in the reply."""
    own: bool = True
    """False if another line announces it as a quotation."""
    apart: bool = True
    """False if the line before goes on in it, so that it cannot state a verdict."""


@dataclass(frozen=True)
class ReplyParts:
    """The objects and lines of a reply."""

    objects: Sequence[Held]
    lines: Sequence[Line]

    @property
    def broken(self) -> bool:
        """Return True if an object cannot be read, or if the reply is longer than any judge's.

        Text in or after a broken object may be a quotation inside it.
        """
        if len(self.lines) > _MOST_LINES or any(
            len(line.text) > _LONGEST_LINE for line in self.lines
        ):
            return True
        return any(held.data is None for held in self.objects)


def parts_of(text: str, *, cut: bool = False) -> ReplyParts:
    """Return the objects and lines of ``text``; a fence around the whole reply is opened."""
    text = _unfenced(_MATERIAL.sub(" ", text.replace(OBJECT, " ").replace(_CODE, " ").strip()))
    written, objects = _take_objects(text, cut)
    lines = written.split("\n")
    parted = list(islice(_spoken(lines), _MOST_LINES + 1))
    return ReplyParts(_mark_foreign(objects, lines), parted)


def is_own_lead(text: str) -> bool:
    """Return True if a lead such as "Here is my verdict:" announces the judge's own words."""
    last = sentences_of(text)[-1]
    if len(last) > _LONGEST_LEAD or is_foreign_lead(last):
        return False
    return _OWN_LEAD.search(last) is not None


def is_foreign_lead(text: str) -> bool:
    """Return True if a lead such as "The text says" announces a quotation or a supposition."""
    return _FOREIGN_LEAD.search(text) is not None


def _unfenced(text: str) -> str:
    """Return the content of a fence that is the whole text, unless it holds a program."""
    fence = _FENCE.match(text)
    if fence is None or fence[2].lower() not in _ANSWER_FENCES:
        return text
    closing = _closing(text, fence)
    return text[fence.end() : closing[0]].strip() if not text[closing[1] :].strip() else text


def _closing(text: str, fence: re.Match[str]) -> tuple[int, int]:
    """Return where the line that closes a fence begins and ends, or the end of the text."""
    mark = fence[1]
    closing = re.compile(rf"^[ \t]*+{mark[0]}{{{len(mark)},}}+", re.MULTILINE).search(
        text, fence.end()
    )
    return (closing.start(), closing.end()) if closing else (len(text), len(text))


def _take_objects(text: str, cut: bool) -> tuple[str, list[Held]]:
    """Return ``text`` without programs and with a mark for every object, and the objects."""
    kept: list[str] = []
    objects: list[Held] = []
    at = line = seen = tail = 0
    opened = ""
    start, fence = next_object(text, 0), _FENCE.search(text)
    while start >= 0 or fence:
        if fence and (start < 0 or fence.start() < start):
            end = fence.end() if opened and fence[1].startswith(opened) else _skipped(text, fence)
            opened = fence[1] if end is None else ""
            is_program = end is not None and end != fence.end()
            kept.append(text[at : fence.start()] + (_CODE if is_program else ""))
            if is_program and fence[2].lower() in _ANSWER_FENCES:
                kept[-1] += _quote_lines(text[fence.end() : end])
            at = fence.end() if end is None else end
            if at == len(text) and end is not None and was_inside(text[fence.start() :], cut):
                objects.append(Held(None, False, line))
        else:
            seen += 1
            kept.append(text[at:start])
            data, mended, at = (
                seen_at(text, start, cut) if seen <= _MOST_OBJECTS else (None, False, len(text))
            )
            objects.append(Held(data, mended, line + kept[-1].count("\n")))
            kept.append(OBJECT)
            tail = len(kept)
        line += kept[-1].count("\n") if kept[-1] != OBJECT else kept[-2].count("\n")
        start = next_object(text, at) if 0 <= start < at else start
        fence = _FENCE.search(text, at) if fence and fence.start() < at else fence
    kept.append(text[at:])
    if was_inside("".join(kept[tail:]), cut and bool(objects)):
        objects.append(Held(None, False, line))
    return "".join(kept), objects


def _quote_lines(body: str) -> str:
    """Return the lines of a fence as a block quote, so that they can contradict a verdict."""
    lines = [line for line in body.strip("\n").split("\n")[:-1] if line.strip()]
    return "".join(f"\n> {line}" for line in lines)


def _skipped(text: str, fence: re.Match[str]) -> int | None:
    """Return where a fence ends that holds something other than an object."""
    body = _COMMENTS.match(text, min(fence.end() + 1, len(text)))
    first = body.end() if body else fence.end()
    return None if text[first : first + 1] in ("{", "[") else _closing(text, fence)[1]


def _mark_foreign(objects: Sequence[Held], lines: Sequence[str]) -> list[Held]:
    """Mark objects inside a sentence or a quotation, or after a lead that is not the judge's."""
    places: dict[int, int] = {}
    marked: list[Held] = []
    for held in objects:
        if held.data is None or held.line >= len(lines):
            marked.append(held)
            continue
        place = places[held.line] = places.get(held.line, 0) + 1
        if _BLOCK_QUOTE.match(lines[held.line]):
            continue
        pieces = lines[held.line].split(OBJECT)
        before, after = OBJECT.join(pieces[:place]), OBJECT.join(pieces[place:])
        own = _AFTER_OBJECT.fullmatch(after) is not None and _introduces(
            before.replace(OBJECT, "").strip(), lines[: held.line]
        )
        marked.append(held._replace(own=own))
    return marked


def _introduces(before: str, earlier: Sequence[str]) -> bool:
    """Return True if an object after ``before`` on its line is the judge's own."""
    if before.endswith(('"', "'", "“", "«", "„")):
        return False
    before = before.rstrip("`[{ ").rstrip()
    if before.endswith((":", "：")):
        return is_own_lead(EMPHASIS.sub("", before))
    if before and not _CALL_MARK.fullmatch(before):
        return False
    lead = next((line for line in reversed(earlier) if line.strip() not in ("", _CODE)), "")
    lead = EMPHASIS.sub("", lead).strip()
    return not (lead.endswith((":", "：")) or _is_open(lead) or _is_field(lead)) or is_own_lead(
        lead
    )


def _spoken(lines: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of a reply without its programs; quotations are marked as foreign."""
    quoted = [bool(_BLOCK_QUOTE.match(line)) for line in lines]
    is_all_quoted = all(
        is_quoted or not line.strip() for is_quoted, line in zip(quoted, lines, strict=True)
    )
    several = sum(bool(line.strip()) for line in lines) > 1
    marks = _paired_marks(lines)
    inside, before, lead, previous = "", "", "", ""
    code = session = foreign = False
    for number, line in enumerate(lines):
        opened = inside
        inside = _still_inside(line, inside, marks)
        if not line.strip():
            foreign = foreign and bool(lead)
            before = ""
            continue
        is_apart = not _is_open(previous) or is_own_lead(previous)
        if _is_field(previous):  # "Question: …" and then "Answer: No" repeat what was judged
            foreign = True
        elif lead:  # the paragraph after a lead belongs to the speaker that the lead names
            foreign = not is_own_lead(lead)
        elif not before:
            foreign = False
        previous = EMPHASIS.sub("", line).strip()
        lead = previous if previous.endswith((":", "：")) else ""
        session = bool(_REPL.match(line)) or (session and bool(before))
        begins = code or not before or bool(_OPENS_BLOCK.match(before))
        code = (
            bool(_INDENTED.match(line))
            and several
            and OBJECT not in line
            and begins
            and not _LIST_ITEM.match(line)
        )
        before = line
        if line.strip() == _CODE:
            foreign = False
            continue
        if session or _FENCE.match(line):
            continue
        is_quoted = quoted[number] and not is_all_quoted
        own = not (foreign or is_quoted or code or opened)
        shown = _BLOCK_QUOTE.sub("", line, count=1) if quoted[number] else line
        for piece in _BLOCK_TAG.split(shown) if "</" in shown else (shown,):
            text = plain(_INLINE_TAG.sub("", piece)).strip()
            if text:
                yield Line(number, text, piece.strip(), own, is_apart)


def _is_field(line: str) -> bool:
    """Return True if a line shows a part of what was judged: "Question: Is it open?"."""
    return _FIELD.match(line) is not None


def _is_open(line: str) -> bool:
    """Return True if the next line belongs to this one: "The author writes that"."""
    if OBJECT in line or _CODE in line:
        return False
    is_unfinished = _PROSE.match(line) is not None and not line.endswith(_COMPLETE)
    return is_unfinished or (_ANNOUNCES.search(line) is not None and is_foreign_lead(line))


def _paired_marks(lines: Sequence[str]) -> frozenset[str]:
    """Return the quotation marks that can enclose lines: 5" is no quotation."""
    text = "\n".join(lines)
    straight = '"' if text.count('"') % 2 == 0 else ""
    curly = "".join(_OPENS) if any(mark in text for mark in "”»") else ""
    return frozenset(straight + curly)


def _still_inside(line: str, inside: str, marks: frozenset[str]) -> str:
    """Return the quotation mark that is still open after ``line``, if any."""
    for mark in _QUOTES.findall(line):
        if inside == '"':
            inside = "" if mark == '"' else inside
        elif inside:
            inside = "" if mark in _CLOSES else inside
        elif mark in marks:
            inside = mark
    return inside
