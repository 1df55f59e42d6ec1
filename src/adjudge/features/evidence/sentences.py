"""Split text into sentences with their places, by rule, for English and Russian.

Not covered: sentences without white space between them (Cyrillic ones aside), languages that write
no full stop, and abbreviations that also are words if a name follows ("He works at the dept. Smith
leads it.").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from adjudge.core.domain.span import Span
from adjudge.features.evidence.citation_marks import NOTE
from adjudge.features.evidence.sentence_words import sentence_words

SentenceKind = Literal["claim", "courtesy", "question", "refusal", "heading", "footnote", "code"]


@dataclass(frozen=True, slots=True)
class Sentence(Span):
    """One sentence and its position in the text."""

    text: str
    kind: SentenceKind = "claim"

    @property
    def is_claim(self) -> bool:
        """True if a source could support the sentence.

        Greetings, questions, refusals, headings, footnotes and code make no claim.
        """
        return self.kind == "claim"


@dataclass(frozen=True, slots=True)
class _Block(Span):
    """A part of the text whose borders no sentence crosses."""

    kind: Literal["prose", "heading", "footnote", "code"] = "prose"


_FENCE: Final = re.compile(r"```+|~~~+")
# The beginning of a tool's call or result, as it is shown in texts.
_TOOL: Final = re.compile(r"\[tool (?:call|result): ")
# Lines in which the end of it is looked for; keeps hostile texts linear.
_TOOL_LINES: Final = 200
_HEADING: Final = re.compile(r"#{1,6}[ \t]+")
_BOLD_LINE: Final = re.compile(r"(\*\*|__)(?!\s)[^*_]+\1:?$")
_ITEM: Final = re.compile(r"(?:[-*+•‣▪●–—]|\(?\d{1,3}[.)]|\(?[a-zа-яё][)]|\[[ xX]\])[ \t]+(?=\S)")
_QUOTED_LINE: Final = re.compile(r">+[ \t]?")
# A line at least this long that ends in no full stop was wrapped: the next one goes on with it.
_WRAPPED: Final = 55

_CLOSERS: Final = "\"'”’»)]}*_`¹²³⁴⁵⁶⁷⁸⁹⁰"
_QUOTE_STARTS: Final = "\"'“„«‘"
_QUOTE_ENDS: Final = "\"'”’»“"
_END: Final = re.compile(
    r"(?<![.!?…])[.!?…]+(?:(?:[\"'”’»)\]}*_`¹²³⁴⁵⁶⁷⁸⁹⁰]|\[\^?[\w, –-]{1,12}\])*)"
    r"(?:[ ]?[\U0001F300-\U0001FAFF\u2600-\u27BF]\uFE0F?)*(?=\s)|[。！？]+[”’」』）]*"
)
_GLUED: Final = re.compile(
    r"(?<=[а-яё]{2})[.!?…]+(?=[А-ЯЁ][а-яё])|(?<=[a-z]{2})[!?]+(?=[A-Z][a-z])"
)
_WORD_BEFORE: Final = re.compile(r"[^\s(\[{«“\"'„]*$")
# The next word, an initial with its full stop, or another sign.
_WORD_AFTER: Final = re.compile(
    r"\s*(?:[-–—]\s+)?[\"'“”«„(\[*_‘¿¡]*([^\W_]\.(?=\s|[^\W_])|[^\W_][\w'’-]*|\S)?"
)
_INITIAL: Final = re.compile(r"^(?:[A-ZА-ЯЁ]\.?-?)+$|^(?:Дж|Ю|Ч)$")
# «т. д», «н. э»: two words of one abbreviation.
_SPACED: Final = re.compile(r"\b([тн])\. (\w)$")
_REFERENCES: Final = re.compile(r"(?:\[\^?[\w, –-]{1,12}\]?)+$")
_OPENERS: Final = {"(": ")", "«": "»", "“": "”", "„": "“", '"': '"'}
_LONGEST_QUOTE: Final = 400
# Characters of a sentence that are read backwards from its end; keeps hostile texts linear.
_TAIL: Final = 200


def sentences(text: str) -> tuple[Sentence, ...]:
    """Split a text into sentences, in order.

    List markers, table rules and surrounding white space do not belong to any sentence.
    """
    return _with_lone_headings(
        [_classify(text, span) for block in _blocks(text) for span in _split(text, block)]
    )


def _with_lone_headings(split: list[Sentence]) -> tuple[Sentence, ...]:
    """Treat headings with nothing below them as prose: "**42 euros**" may be a whole answer."""
    followed = False
    for at in range(len(split) - 1, -1, -1):
        sentence = split[at]
        if sentence.kind == "heading" and not followed:
            split[at] = replace(sentence, kind=_kind(sentence.text))
        followed = followed or split[at].kind not in ("courtesy", "footnote")
    return tuple(split)


def _classify(text: str, span: _Block) -> Sentence:
    text_of_span = text[span.start : span.end]
    return Sentence(
        span.start,
        span.end,
        text_of_span,
        _kind(text_of_span) if span.kind == "prose" else span.kind,
    )


def _kind(sentence: str) -> SentenceKind:
    plain = sentence.strip().strip("*_ ")
    if _is_question(plain):
        return "question"
    if sentence_words().is_courtesy(plain):
        return "courtesy"
    if sentence_words().is_refusal(plain):
        return "refusal"
    return "claim"


def _is_question(plain: str) -> bool:
    """Return True if a sentence ends in a question mark, unless it only reports a question:
    «She asked: "Why?"».
    """
    asks = plain.rstrip(_CLOSERS + " ").endswith(("?", "?!", "？"))
    return asks and (plain[-1] not in _QUOTE_ENDS or plain[0] in _QUOTE_STARTS)


# --- blocks: what the lines say
# -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line(Span):
    """One line without surrounding white space."""

    text: str

    @property
    def is_rule(self) -> bool:
        """True if it has no letters or digits: a blank line, or a drawn rule."""
        return not any(character.isalnum() for character in self.text)

    @property
    def is_table_row(self) -> bool:
        return len(self.text) > 2 and self.text[0] == self.text[-1] == "|"

    @property
    def is_table_rule(self) -> bool:
        return "--" in self.text and not self.text.strip("|:- \t")

    @property
    def is_bold(self) -> bool:
        """True if the whole line is bold, as a heading is.

        "**Price: 5 euros**" states a figure, so it is not a heading.
        """
        bare = self.text.rstrip("*_ :")
        tells_figure = any(map(str.isdecimal, bare.partition(":")[2]))
        return (
            bool(_BOLD_LINE.match(self.text))
            and not bare.endswith((".", "!", "?"))
            and not tells_figure
        )

    @property
    def starts_block(self) -> bool:
        starts = (_FENCE, _TOOL, _HEADING, _ITEM, _QUOTED_LINE, NOTE)
        return (
            self.is_rule
            or self.is_table_row
            or self.is_bold
            or any(start.match(self.text) for start in starts)
        )

    @property
    def marker(self) -> int:
        """The length of the markers of a block quote and a list item at the beginning."""
        quoted = _QUOTED_LINE.match(self.text)
        end = quoted.end() if quoted else 0
        item = _ITEM.match(self.text, end)
        return item.end() if item else end

    def goes_on(self, following: _Line) -> bool:
        """Return True if the sentence continues on the next line, so that the break only wraps
        it.
        """
        if following.starts_block or self.text.rstrip(_CLOSERS).endswith(
            (".", "!", "?", "…", ":", ";", "。")
        ):
            return False
        return (
            following.text[0].islower()
            or self.text.endswith((",", "-", "–", "—"))
            or len(self.text) >= _WRAPPED
        )


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for raw in text.splitlines(keepends=True):
        bare = raw.strip()
        begin = start + len(raw) - len(raw.lstrip())
        lines.append(_Line(begin, begin + len(bare), bare))
        start += len(raw)
    return lines


def _blocks(text: str) -> Iterator[_Block]:
    lines = _lines(text)
    at = 0
    while at < len(lines):
        at, block = _next_block(lines, at)
        if block is not None:
            yield from _without_white_space(text, block)


def _next_block(lines: list[_Line], at: int) -> tuple[int, _Block | None]:
    line = lines[at]
    if _FENCE.match(line.text) or _TOOL.match(line.text):
        return _code(lines, at)
    if line.is_rule:
        return at + 1, None
    if line.is_table_row:
        header = at + 1 < len(lines) and lines[at + 1].is_table_rule
        return at + 1, _Block(line.start, line.end, "heading" if header else "prose")
    heading = _HEADING.match(line.text)
    if heading:
        return at + 1, _Block(line.start + heading.end(), line.end, "heading")
    if line.is_bold or NOTE.match(line.text):
        return at + 1, _Block(line.start, line.end, "heading" if line.is_bold else "footnote")
    return _paragraph(lines, at)


def _code(lines: list[_Line], at: int) -> tuple[int, _Block]:
    """Return a code block, and the number of the line after it.

    A fence extends to its end, or to the last line if it is never closed. A tool call extends to
    its closing bracket, or is this line alone.
    """
    fence = _FENCE.match(lines[at].text)
    if fence:
        end_line = next(
            (n for n in range(at + 1, len(lines)) if lines[n].text.startswith(fence[0])),
            len(lines) - 1,
        )
    else:
        end_line = next(
            (
                n
                for n in range(at, min(at + _TOOL_LINES, len(lines)))
                if lines[n].text.endswith("]")
            ),
            at,
        )
    return end_line + 1, _Block(lines[at].start, lines[end_line].end, "code")


def _paragraph(lines: list[_Line], at: int) -> tuple[int, _Block]:
    last = at
    while last + 1 < len(lines) and lines[last].goes_on(lines[last + 1]):
        last += 1
    kind: Literal["heading", "prose"] = (
        "heading" if last == at and _is_lead_in(lines[at]) else "prose"
    )
    return last + 1, _Block(lines[at].start + lines[at].marker, lines[last].end, kind)


def _is_lead_in(line: _Line) -> bool:
    """Return True if the line only introduces the following ones: "The steps are:"."""
    return line.text.rstrip(" *_").endswith(":") and not re.search(
        r"[.!?]\s", line.text[line.marker :]
    )


def _without_white_space(text: str, span: _Block) -> Iterator[_Block]:
    content = text[span.start : span.end]
    start = span.start + len(content) - len(content.lstrip())
    end = span.start + len(content.rstrip())
    if end > start:
        yield _Block(start, end, span.kind)


# --- sentences: where a full stop ends one
# --------------------------------------------------------------------------


def _split(text: str, block: _Block) -> Iterator[_Block]:
    if block.kind != "prose":
        yield block
        return
    block_text = text[block.start : block.end]
    start, marks = 0, _OpenMarks(block_text, 0)
    # marks after the last word belong to the last sentence
    last_word = max(at for at, character in enumerate(block_text) if character.isalnum())
    for end in _ends(block_text):
        if end > last_word:
            break
        marks.advance(end)
        if marks.has_words and not marks.close_soon() and _may_end(block_text, start, end):
            yield from _without_white_space(text, _Block(block.start + start, block.start + end))
            start = end
            marks = _OpenMarks(block_text, end)
    yield from _without_white_space(text, _Block(block.start + start, block.end))


def _ends(text: str) -> list[int]:
    """Return the positions where a sentence may end."""
    regular, glued = _END.finditer(text), _GLUED.finditer(text)
    return sorted({match.end() for match in regular} | {match.end() for match in glued})


@dataclass(slots=True)
class _OpenMarks:
    """The state of a growing sentence: whether it has words, and which marks are open.

    Marks are brackets and quotation marks.
    """

    text: str
    at: int
    closing: list[str] = field(default_factory=list)
    has_words: bool = False
    previous: str = ""

    def advance(self, end: int) -> None:
        for character in self.text[self.at : end]:
            self.has_words = self.has_words or character.isalnum()
            self.previous, previous = character, self.previous
            if self.closing and character == self.closing[-1]:
                self.closing.pop()
            # 5" is a size in inches, not the start of a quotation
            elif character in _OPENERS and not (character == '"' and previous.isdigit()):
                self.closing.append(_OPENERS[character])
        self.at = end

    def close_soon(self) -> bool:
        """Return True if the innermost open mark is closed within reach."""
        return (
            # an opening mark that nothing closes is only a slip
            bool(self.closing)
            and self.text.find(self.closing[-1], self.at, self.at + _LONGEST_QUOTE) != -1
        )


def _may_end(text: str, start: int, end: int) -> bool:
    if text[end - 1] in "。！？”’」』）" and not text[end : end + 1].isspace():
        return True
    match = _WORD_AFTER.match(text, end)
    following = match[1] if match else None
    if following is None:
        return True
    if following[0].islower() and not following[1:2].isupper():
        return False
    body = text[max(start, end - _TAIL) : end].rstrip(_CLOSERS)
    body = _REFERENCES.sub("", body).rstrip(_CLOSERS)
    return not body.endswith(".") or body.endswith("..") or _full_stop(body[:-1], following)


def _full_stop(beginning: str, following: str) -> bool:
    """Return True if the full stop after ``beginning`` ends the sentence.

    ``following`` starts with a capital letter, a digit or a symbol.
    """
    beginning = _SPACED.sub(r"\1.\2", beginning)
    match = _WORD_BEFORE.search(beginning)
    word = match[0].strip("*_") if match else ""
    preceding = beginning.strip(" *_").removesuffix(word)
    if not preceding.strip() and (word.isdigit() or len(word) == 1):
        return False
    if word.casefold() in {"г", "гг", "в", "вв"}:
        return _year(preceding, following)
    return not _is_abbreviation(word, preceding, following)


def _is_abbreviation(word: str, preceding: str, following: str) -> bool:
    """Return True if the full stop only marks an abbreviation, so that the sentence goes on."""
    words, short = sentence_words(), word.casefold()
    starts = following.casefold() in words.starters
    if short in words.units and re.search(r"\d\s?$", preceding):
        return following[0].isdigit()
    if following[0].isdigit() and short in words.before_numbers:
        return True
    if short in words.trailing:
        return not starts and short not in {"etc", "т.д", "т.п", "др", "проч"}
    if short in words.leading or (short in words.before_numbers and not starts and len(short) < 3):
        return True
    return bool(_INITIAL.match(word)) and not (starts and following != "I")


def _year(preceding: str, following: str) -> bool:
    """Return True if «г.» or «в.» ends the sentence.

    It does in «в 1999 г. Он…», but not in «В 1999 г. Пушкин…» or «г. Москва».
    """
    words = preceding.split()
    if not words or not re.search(r"\d|^[IVXLC]+$", words[-1]):
        return False
    sentence = re.split(r"[.!?]\s+(?=[А-ЯЁ])", preceding)[-1].split()
    return following.casefold() in sentence_words().starters or len(sentence) > 4
