"""A reply taken apart: the objects in it, and the lines that are spoken; code, quotations and what
is quoted are neither.
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

OBJECT = "\ufffc"
"""Stands in a line for an object."""
_CODE = "\ufffb"
_MOST = 500
"""No answer has as many objects; reading on would only take time."""
_MOST_LINES, _LONGEST_LINE = 2_000, 20_000
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n`]*+$", re.MULTILINE)
_SPOKEN_TAGS = frozenset(
    (
        *("", "text", "txt", "plaintext", "markdown", "md", "output", "tool_code", "tool_call"),
        *("json", "json5", "jsonc", "yaml", "yml", "xml", "html"),
    )
)
"""What is in such a fence may be the answer, where it is the whole reply."""
_COMMENTS = re.compile(r"(?:\s*+(?://|#)[^\n]*+\n)*+\s*+")
_BLOCK_QUOTE = re.compile(r"\s*+>(?!=|\s*+\d)\s?")
_INDENTED = re.compile(r"(?: {4}|\t)")
_OPENS_BLOCK = re.compile(
    r"\s*+(?:async|def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b.*:\s*\Z"
)
"""What a program writes before lines that it indents."""
_LISTED = re.compile(r"\s*+(?:[-*+•]|\d{1,3}[.)])\s")
_QUOTES = re.compile(r'["“”„«»]')
_OPENS, _CLOSES = frozenset("“„«"), frozenset("”“»")
_CITES = phrase("cites")
_OWN = phrase("own")
_DOES = phrase("does")
"""Of what the judged text does."""
_SUPPOSES = phrase("supposes")
_SHOWS = phrase("shows")
_DATA = re.compile(
    r"<(data[-\w]*|quote|blockquote|document|submission|candidate|input|context"
    r"|material)\b[^<>\n]{0,200}+>(?:(?!</?\1\b).)*+</\1>",
    re.DOTALL | re.IGNORECASE,
)
"""What was shown to the judge, in marks as it was shown."""
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|br|li|ul|ol|tr|td|th|table|thead|tbody|h[1-6]|section)\b[^<>\n]{0,200}+>",
    re.IGNORECASE,
)
_INLINE_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|span|font|mark|small)(?:\s[^<>\n]{0,200}+)?>", re.IGNORECASE
)
_REPL = re.compile(r"\s*+(?:>>>|In \[\d+\]:|\$ )")
_REACH = 160


class Held(NamedTuple):
    """An object that a reply holds as its own, not as a quotation."""

    data: JsonDict | None
    """None where it cannot be read."""
    mended: bool
    line: int
    supposed: bool = False
    """Whether it is what the verdict would be, if."""


class Line(NamedTuple):
    number: int
    text: str
    written: str
    """As it stands in the reply."""


@dataclass(frozen=True)
class ReplyParts:
    """What a reply consists of, less what is not its own."""

    objects: Sequence[Held]
    lines: Sequence[Line]
    """Without those that hold nothing."""

    @property
    def broken(self) -> bool:
        """Whether there is an object that cannot be read: what stands in or behind it may be quoted
        there. Or more than any judge writes: reading on would only take time.
        """
        if len(self.lines) > _MOST_LINES or any(
            len(line.text) > _LONGEST_LINE for line in self.lines
        ):
            return True
        return any(one.data is None for one in self.objects)


def parts_of(text: str, *, cut: bool = False) -> ReplyParts:
    """The objects and the spoken lines of ``text``.

    What is the whole reply is spoken, though it be fenced or quoted.
    """
    text = _unfenced(_DATA.sub(" ", text.replace(OBJECT, " ").replace(_CODE, " ").strip()))
    written, objects = _without_objects(text, cut)
    lines = written.split("\n")
    return ReplyParts(objects, list(islice(_spoken(lines), _MOST_LINES + 1)))


def _unfenced(text: str) -> str:
    """The content of a fence that is the whole text, unless it is a program."""
    fence = _FENCE.match(text)
    if fence is None or fence[2].lower() not in _SPOKEN_TAGS:
        return text
    closing = _closing(text, fence)
    return text[fence.end() : closing[0]].strip() if not text[closing[1] :].strip() else text


def _closing(text: str, fence: re.Match[str]) -> tuple[int, int]:
    """Where the line that closes a fence begins and ends; the end of the text where none does."""
    mark = fence[1]
    found = re.compile(rf"^[ \t]*+{mark[0]}{{{len(mark)},}}+", re.MULTILINE).search(
        text, fence.end()
    )
    return (found.start(), found.end()) if found else (len(text), len(text))


def _without_objects(text: str, cut: bool) -> tuple[str, list[Held]]:
    """``text`` without its programs and with a mark for every object, and the objects that are not
    quoted.
    """
    kept: list[str] = []
    objects: list[Held] = []
    at = line = seen = tail = 0
    opened = ""
    start, fence = next_object(text, 0), _FENCE.search(text)
    while start >= 0 or fence:
        if fence and (start < 0 or fence.start() < start):
            end = fence.end() if opened and fence[1].startswith(opened) else _skipped(text, fence)
            opened = fence[1] if end is None else ""
            program = end is not None and end != fence.end()
            kept.append(text[at : fence.start()] + (_CODE if program else ""))
            at = fence.end() if end is None else end
            if at == len(text) and end is not None and was_inside(text[fence.start() :], cut):
                objects.append(Held(None, False, line))
        else:
            seen += 1
            kept.append(text[at:start])
            data, mended, at = (
                seen_at(text, start, cut) if seen <= _MOST else (None, False, len(text))
            )
            clause = _clause_before(text, start)
            supposed = (
                _is_supposed(clause)
                or _SUPPOSES.match(text[at : at + 20].lstrip(" ,`")) is not None
            )
            if supposed or not _is_cited(text, start, at, clause):
                objects.append(Held(data, mended, line + kept[-1].count("\n"), supposed))
            kept.append(OBJECT)
            tail = len(kept)
        line += kept[-1].count("\n") if kept[-1] != OBJECT else kept[-2].count("\n")
        start = next_object(text, at) if 0 <= start < at else start
        fence = _FENCE.search(text, at) if fence and fence.start() < at else fence
    kept.append(text[at:])
    if was_inside("".join(kept[tail:]), cut and bool(objects)):
        objects.append(Held(None, False, line))
    return "".join(kept), objects


def _skipped(text: str, fence: re.Match[str]) -> int | None:
    """Where a fence ends that holds something else than an object."""
    body = _COMMENTS.match(text, min(fence.end() + 1, len(text)))
    first = body.end() if body else fence.end()
    return None if text[first : first + 1] in ("{", "[") else _closing(text, fence)[1]


def _clause_before(text: str, start: int) -> str:
    """What leads to the object there, which may be fenced."""
    before = text[max(0, start - _REACH) : start]
    led = re.sub(r"\n[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t]*\n?\s*\Z", "\n", before).rstrip()
    return re.split(r"[.!?;}]\s|\n\s*\n", led)[-1].rsplit("\n", 1)[-1]


def _is_cited(text: str, start: int, end: int, clause: str) -> bool:
    """Whether what stands there is what the reply says that somebody else wrote."""
    before = text[max(0, start - _REACH) : start]
    if _BLOCK_QUOTE.match(before.rsplit("\n", 1)[-1]):
        return True
    in_quotes = bool(re.search(r"[“«„]\s*\Z|(?<=\s)[\"'`]\Z", before)) and text[end : end + 1] in (
        '"',
        "'",
        "`",
        "”",
        "“",
        "»",
    )
    return in_quotes or leads_to_quote(clause)


def leads_to_quote(clause: str) -> bool:
    """Whether what follows ``clause`` is what somebody else wrote: "The text says"."""
    if _has_ended(clause):
        return False
    if _is_supposed(clause) or _DOES.match(clause) or _SHOWS.search(clause):
        return True
    return bool(_CITES.search(clause)) and not _OWN.search(clause)


def _is_supposed(clause: str) -> bool:
    return not _has_ended(clause) and _SUPPOSES.search(clause) is not None


def _has_ended(clause: str) -> bool:
    """Whether it leads to nothing."""
    return clause.rstrip("*_ ").endswith((".", "!", "?")) and not clause.rstrip().endswith("e.g.")


def _spoken(lines: Sequence[str]) -> Iterator[Line]:
    """The lines that are nobody else's."""
    quoted = [bool(_BLOCK_QUOTE.match(line)) for line in lines]
    whole = all(
        is_quoted or not line.strip() for is_quoted, line in zip(quoted, lines, strict=True)
    )
    inside, before = "", ""
    several = sum(bool(line.strip()) for line in lines) > 1
    code = session = led = cited = False
    for number, line in enumerate(lines):
        opened = inside
        inside = _still_inside(line, inside)
        blank = not line.strip()
        if blank:
            before = ""
            continue
        cited = led or (cited and bool(before))
        led = line.rstrip("*_ ").endswith(":") and leads_to_quote(line.strip())
        session = bool(_REPL.match(line)) or (session and bool(before))
        begins = code or not before or bool(_OPENS_BLOCK.match(before))
        code = (
            bool(_INDENTED.match(line))
            and several
            and OBJECT not in line
            and begins
            and not _LISTED.match(line)
        )
        before = line
        if line.strip() == _CODE:
            led = cited = False
            continue
        if (
            opened
            or code
            or session
            or (cited and OBJECT not in line)
            or (quoted[number] and not whole)
            or _FENCE.match(line)
        ):
            continue
        shown = _BLOCK_QUOTE.sub("", line, count=1) if quoted[number] else line
        for piece in _BLOCK_TAG.split(shown) if "</" in shown else (shown,):
            text = plain(_INLINE_TAG.sub("", piece)).strip()
            if text:
                yield Line(number, text, piece.strip())


def _still_inside(line: str, inside: str) -> str:
    """In which quotation marks the text is behind ``line``, if in any."""
    for mark in _QUOTES.findall(line):
        if inside == '"':
            inside = "" if mark == '"' else inside
        elif inside:
            inside = "" if mark in _CLOSES else inside
        elif mark == '"' or mark in _OPENS:
            inside = mark
    return inside
