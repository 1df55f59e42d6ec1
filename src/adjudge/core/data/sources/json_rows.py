"""Rows of JSON: an object per line, or a list of objects that is read piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from adjudge.core.data.rendering import is_chat
from adjudge.core.data.sources.row import MOST_COLUMNS, BadRow, Origin, Row, Rows
from adjudge.core.data.sources.text import HEAD, LONGEST, PeekableText
from adjudge.core.data.sources.trace_pieces import refusal_of, trace_of
from adjudge.errors import WrongData
from adjudge.messages import Message

_SPACE = re.compile(r"[ \t\r\n]*")
_OPENS, _CLOSES = 1, 2
# A whole string, a bracket, or the start of an incomplete string.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([\[{])|([\]}])|"', re.DOTALL)
_DEEPEST = 1000
_decode = json.JSONDecoder().raw_decode


def line_rows(text: PeekableText) -> Rows:
    """Yield an object per line; empty lines are skipped."""
    for number, line in enumerate(text.lines(), 1):
        if line.isspace():
            continue
        if text.flaw:
            yield text.origin.bad(number, text.take_flaw() or "")
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield text.origin.bad(
                number, Message("is not JSON: {said}", said=_describe_error(error))
            )
            continue
        yield _row_of(text.origin, number, row)


def _row_of(origin: Origin, number: int, value: object, nth: int = 1) -> Row | BadRow:
    if not isinstance(value, dict):
        return origin.bad(number, Message("is not a JSON object"), nth)
    if len(value) > MOST_COLUMNS:
        return origin.bad(number, Message("has more than {most:,} keys", most=MOST_COLUMNS), nth)
    return Row(number, value, nth)


def is_lines(head: str) -> bool:
    """Return True if there is an object on each line, rather than one document."""
    first_line, _, more_lines = head.strip().partition("\n")
    if not first_line.startswith("{"):
        return False
    try:
        json.loads(first_line)
    except (ValueError, RecursionError):
        return False
    return bool(more_lines.strip()) or not _holds_list(first_line)


def document_rows(text: PeekableText) -> Rows:
    """Yield the objects of a list, or of the only list of objects inside an object."""
    document = JsonDocument(text)
    last_line = nth = 0
    for number, value in document.rows():
        last_line, nth = number, nth + 1 if number == last_line else 1
        flaw = text.flaw_in(document.last) if text.flaw else None
        if flaw:
            yield text.origin.bad(number, flaw, nth)
        else:
            yield _row_of(text.origin, number, value, nth)


class JsonDocument:
    """A JSON text that is read piece by piece. Only the current value is in memory."""

    def __init__(self, text: PeekableText) -> None:
        self._origin = text.origin
        self._chunks = text.chunks()
        self._buffer = next(self._chunks, "")
        self._at = 0
        self._began = 0
        self._line = 1
        self._counted = 0
        """Place in the buffer up to which line ends are counted in ``_line``."""
        self._gone = 0
        """Dropped characters of the buffer's first line."""

    @property
    def last(self) -> str:
        """Source text of the value that was read last."""
        return self._buffer[self._began : self._at]

    def rows(self) -> Iterator[tuple[int, object]]:
        """Yield (line, value) of each item."""
        opening = self.take("[{", Message("a list of rows"))
        yield from self.items() if opening == "[" else self._list_inside()
        if self.peek():
            raise self.wrong(
                "there is more text after the end of the JSON document; if every line is an "
                "object, use format='jsonl'"
            )

    def items(self) -> Iterator[tuple[int, object]]:
        """Yield the items of the list whose bracket was just taken."""
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            self.peek()
            yield self._here(), self.value()
            if self.take(",]", "',' or ']'") == "]":
                return

    def _list_inside(self) -> Iterator[tuple[int, object]]:
        """Yield the only list of objects in the object whose brace was just read. All other keys
        are skipped.
        """
        list_key: str | None = None
        keys: dict[str, object] = {}
        while self.peek() != "}":
            key = str(self.value())
            keys[key] = None
            self.take(":", "':'")
            if self.peek() != "[":
                self.value()
            else:
                self._at += 1
                if self.peek() == "{":
                    if list_key is not None:
                        raise self.wrong(
                            "{key!r} and {found!r} are both lists of rows: keep only one of them",
                            key=key,
                            found=list_key,
                        )
                    list_key = key
                    yield from self.items()
                else:
                    for _ in self.items():
                        pass
            if self.peek() != "}":
                self.take(",", "',' or '}'")
        self._at += 1
        if list_key is None and (trace := trace_of(keys)):
            raise WrongData(refusal_of(self._origin.name, trace))
        if list_key is None:
            raise WrongData(
                '{name} contains no list of rows, such as [{{…}}, {{…}}] or {{"data": [{{…}}]}}',
                name=self._origin.name,
            )

    def value(self) -> object:
        """Read the value that begins here."""
        size = HEAD
        while True:
            try:
                value, end = _decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                inside = error.pos - self._at
                if not self._is_cut(error) or not self._more(size):
                    raise self.wrong(error.msg, at=self._at + inside) from error
                # Doubled, so that a long value is parsed only a few times.
                size *= 2
                continue
            except RecursionError as error:
                raise self.wrong("is nested too deeply") from error
            # Only for numbers: Python refuses more than 4300 digits.
            except ValueError as error:
                raise self.wrong("contains a number with too many digits") from error
            length = end - self._at
            if (
                end >= len(self._buffer) - len("e+")
                and isinstance(value, int | float)
                and self._more(HEAD)
            ):
                continue  # a number may go on
            self._began, self._at = self._at, self._at + length
            return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Return True if the value may be valid and merely not complete yet."""
        at_end = error.pos >= len(self._buffer) - 12 or error.msg.startswith("Unterminated string")
        return at_end and len(self._buffer) - self._at < LONGEST

    def skip(self) -> None:
        """Skip the value that begins here, however long it is."""
        if self.peek() not in ("[", "{"):
            self.value()
            return
        depth, size = 0, HEAD
        while True:
            began = self._at
            for token in _TOKEN.finditer(self._buffer, self._at):
                if token.lastindex == _OPENS:
                    depth += 1
                    if depth > _DEEPEST:
                        raise self.wrong("is nested too deeply")
                elif token.lastindex == _CLOSES:
                    depth -= 1
                    if depth == 0:
                        self._at = token.end()
                        return
                elif len(token[0]) == 1:
                    break
                self._at = token.end()
            else:
                self._at = len(self._buffer)
            # Doubled, so that a long string is scanned only a few times.
            size = HEAD if self._at > began else 2 * size
            if len(self._buffer) - self._at >= LONGEST or not self._more(size):
                raise self.wrong("the document ends in the middle of a value")

    def peek(self) -> str:
        """Return the next character that is not a blank; empty at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._buffer) or not self._more(HEAD):
                return self._buffer[self._at : self._at + 1]

    def take(self, allowed: str, what: str) -> str:
        """Consume the next character that is not a blank; raise WrongData unless it is one of
        ``allowed``.
        """
        character = self.peek()
        if not character or character not in allowed:
            raise self.wrong(
                "expected {what}, not {found!r}",
                what=what,
                found=character or Message("the end"),
            )
        self._at += 1
        return character

    def _more(self, size: int) -> bool:
        """Read at least ``size`` more characters, and drop those already used; return False at the
        end.
        """
        self._here()
        newline = self._buffer.rfind("\n", 0, self._at)
        self._gone = self._at - newline - 1 if newline >= 0 else self._gone + self._at
        pieces = [self._buffer[self._at :]]
        while size > 0 and (chunk := next(self._chunks, "")):
            pieces.append(chunk)
            size -= len(chunk)
        self._buffer, self._at, self._counted = "".join(pieces), 0, 0
        return len(pieces) > 1

    def _here(self) -> int:
        """Return the number of the current line."""
        self._line += self._buffer.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def wrong(self, reason: str, /, *, at: int | None = None, **values: object) -> WrongData:
        """Return the error for this place."""
        self._here()
        at = self._at if at is None else at
        line = self._line + self._buffer.count("\n", self._at, at)
        newline = self._buffer.rfind("\n", 0, at)
        column = at - newline if newline >= 0 else self._gone + at + 1
        return self._origin.wrong(
            line,
            Message("column {column}: {reason}", column=column, reason=Message(reason, **values)),
        )


def _holds_list(line: str) -> bool:
    """Return True if the object holds a list of rows. The messages of a chat are one row."""
    lists = (value for value in json.loads(line).values() if isinstance(value, list) and value)
    return any(isinstance(value[0], dict) and not is_chat(value) for value in lists)


def _describe_error(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return Message("it is nested too deeply")
    if not isinstance(error, json.JSONDecodeError):  # Python refuses more than 4300 digits
        return Message("it contains a number with too many digits")
    return str(error).replace(": line 1 column", ": column")
