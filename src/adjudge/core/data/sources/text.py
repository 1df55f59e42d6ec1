"""Texts of files: their encoding, and their lines."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

from adjudge.core.data.sources.row import Origin
from adjudge.errors import SetupError, WrongData
from adjudge.messages import Message

HEAD = 65_536
LONGEST = 100_000_000
"""Characters per row: a file without line ends must not fill the memory."""
# Byte order mark → names of its encoding. The first one is used for reading.
_MARKS = (
    (codecs.BOM_UTF8, ("utf-8", "utf-8-sig")),
    # UTF-32 first: its mark begins with the one of UTF-16.
    (codecs.BOM_UTF32_LE, ("utf-32", "utf-32-le")),
    (codecs.BOM_UTF32_BE, ("utf-32", "utf-32-be")),
    (codecs.BOM_UTF16_LE, ("utf-16", "utf-16-le")),
    (codecs.BOM_UTF16_BE, ("utf-16", "utf-16-be")),
)
_NO_TEXT = (
    (
        b"PK\x03\x04",
        (
            Message(
                "an Excel workbook or a ZIP archive: a workbook needs a name that ends in .xlsx, "
                "or save the table as CSV in UTF-8"
            )
        ),
    ),
    (
        b"\xd0\xcf\x11\xe0",
        Message("an old Excel workbook: save the table as .xlsx, or as CSV in UTF-8"),
    ),
    (b"\x1f\x8b", Message("compressed with gzip: unpack it first")),
    (b"\x28\xb5\x2f\xfd", Message("compressed with zstd: unpack it first")),
    (b"%PDF", Message("a PDF document: save its text as .txt, or its table as CSV in UTF-8")),
    (b"PAR1", Message("a Parquet file: its name must end in .parquet")),
)
# A word in cp1251, which Windows and its Excel use for Russian.
_CYRILLIC_WORD = re.compile(rb"[\xc0-\xff\xa8\xb8]{3,}")


class PeekableText:
    """A text whose head can be inspected before it is read. Only the head is kept."""

    def __init__(self, file: TextIO, origin: Origin, encoding: str) -> None:
        self.origin = origin
        self.flaw: str | None = None
        """The first decoding error since ``take_flaw`` was called."""
        self._encoding = encoding
        self._file = file
        self.head = self._read(HEAD).removeprefix("\ufeff")
        while self.head.endswith("\r"):  # else \r\n split here would count as two line ends
            self.head += self._read(1) or "\n"

    @property
    def is_cut(self) -> bool:
        """True if there may be more than the head."""
        return len(self.head) >= HEAD - 1

    def take_flaw(self) -> str | None:
        """Return the first decoding error since the last call; None if there was none."""
        flaw, self.flaw = self.flaw, None
        return flaw

    def flaw_in(self, text: str) -> str | None:
        """Return the decoding error in a text, or None.

        Invalid bytes are decoded as lone surrogates, so that they cost one row and not the file.
        """
        if text.isascii():
            return None
        try:
            text.encode()
        except UnicodeEncodeError as error:
            byte = ord(text[error.start]) - 0xDC00
            return Message(
                "byte 0x{byte:02x} (character {start}) is not valid {encoding}: {hint}",
                byte=byte,
                start=error.start + 1,
                encoding=self._encoding.upper(),
                hint=likely_encoding(text.encode(errors="surrogateescape")),
            )
        return None

    def lines(self) -> Iterator[str]:
        """Yield lines with their line endings; raise WrongData if one is too long."""
        for number, line in enumerate(self._lines(), 1):
            if len(line) >= LONGEST and not line.endswith(("\n", "\r")):
                long = Message(
                    "the line is longer than {most:,} characters: is this file a table?",
                    most=LONGEST,
                )
                raise self.origin.wrong(number, long)
            self.flaw = self.flaw or self.flaw_in(line)
            yield line

    def chunks(self) -> Iterator[str]:
        chunk = self.head
        while chunk:
            self.flaw = self.flaw or self.flaw_in(chunk)
            yield chunk
            chunk = self._read(HEAD)

    def _lines(self) -> Iterator[str]:
        for line in io.StringIO(self.head, newline=""):
            yield line if line.endswith(("\n", "\r")) else line + self._readline()
        while line := self._readline():
            yield line

    def _read(self, size: int) -> str:
        try:
            return self._file.read(size)
        except UnicodeError as error:
            raise self._decoding_error(error) from error

    def _readline(self) -> str:
        try:
            return self._file.readline(LONGEST)
        except UnicodeError as error:
            raise self._decoding_error(error) from error

    def _decoding_error(self, error: UnicodeError) -> WrongData:
        return WrongData(
            "{name} is not {encoding}: {error}",
            name=self.origin.name,
            encoding=self._encoding.upper(),
            error=error,
        )


def likely_encoding(raw: bytes) -> str:
    """Return advice for bytes that are not UTF-8, with the likely encoding."""
    # Whole words above ASCII are Cyrillic; single letters are accents.
    high, words = sum(byte >= 0x80 for byte in raw), sum(map(len, _CYRILLIC_WORD.findall(raw)))
    if words * 2 >= high:
        return Message(
            "save the file as UTF-8, or name its encoding, probably cp1251: --encoding cp1251, "
            "or encoding='cp1251'"
        )
    return Message(
        "save the file as UTF-8, or name its encoding: --encoding cp1252, or encoding='cp1252'"
    )


class _Rest(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest: Any = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        data, self._first = self._first[:size], self._first[size:]
        data = data or (
            self._rest.read1(size) if hasattr(self._rest, "read1") else self._rest.read(size)
        )
        buffer[: len(data)] = data
        return len(data)


def open_text(file: BinaryIO, origin: Origin, encoding: str | None) -> PeekableText:
    """Open ``file`` in the encoding that ``encoding_of`` finds."""
    start = file.read(4)
    encoding_name = encoding_of(start, origin, encoding)
    stream = io.BufferedReader(_Rest(start, file), HEAD)
    return PeekableText(
        io.TextIOWrapper(stream, encoding_name, "surrogateescape", newline=""),
        origin,
        encoding_name,
    )


def check_encoding(name: str) -> str:
    """Return the name; SetupError if no text has such an encoding."""
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise SetupError(
            "unknown encoding {name!r}; common ones are utf-8, utf-16, cp1252, cp1251, latin-1",
            name=name,
        ) from error
    return name


def encoding_of(first: bytes, origin: Origin, given: str | None) -> str:
    """Return the encoding: UTF-8 unless a byte order mark or the caller says otherwise.

    Raises WrongData if mark and caller disagree, or if the bytes are those of a binary file or
    unmarked UTF-16.
    """
    marked = next((names for mark, names in _MARKS if first.startswith(mark)), None)
    if given is not None:
        if marked and codecs.lookup(check_encoding(given)).name not in marked:
            raise WrongData(
                "{name} begins with the byte order mark of {encoding}, so it is not {given}: "
                "leave the encoding out",
                name=origin.name,
                encoding=marked[0].upper(),
                given=given.upper(),
            )
        return check_encoding(given)
    if marked:
        return marked[0]
    for magic, what in _NO_TEXT:
        if first.startswith(magic):
            raise WrongData("{name} is {what}", name=origin.name, what=what)
    if b"\0" in first:
        utf_16 = "utf-16-le" if first[1:2] == b"\0" else "utf-16-be"
        raise WrongData(
            "{name} is not UTF-8: it contains zero bytes. If it is UTF-16, use encoding={known!r}",
            name=origin.name,
            known=utf_16,
        )
    return "utf-8"
