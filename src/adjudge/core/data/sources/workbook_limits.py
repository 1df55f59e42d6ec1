"""Limits on Excel workbooks from untrusted sources. A workbook is a ZIP archive of XML: a megabyte
can unpack to gigabytes, and its elements take a hundred times their bytes in memory.

Every part is unpacked and parsed once here, with nothing kept, before openpyxl sees it.
A formula whose value is not stored is found here too: openpyxl would read it as an empty cell.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from array import array
from collections.abc import Iterator
from typing import IO, BinaryIO
from xml.parsers.expat import ParserCreate

from adjudge.core.aio import event_loop
from adjudge.core.data.sources.row import MOST_COLUMNS
from adjudge.errors import WrongData
from adjudge.messages import Message

MOST_UNPACKED = 1_000_000_000
"""Bytes of all parts together."""
LARGEST_ROW = 30_000_000
"""Bytes of one row or shared text, and of everything between two of them: openpyxl holds that much
at once.
"""
LARGEST_TAG = 2_000_000
MOST_ELEMENTS = 1_000_000
"""XML elements of a row or shared text, and of a part outside its rows."""
MOST_ROWS = 1_048_576
"""Excel's limit: its last cell is XFD1048576."""
MOST_CELLS = 50_000_000
"""Cells of a sheet, including those that a row skips before its last one: each takes time."""
_CHUNK = 1 << 16
_COLUMN = re.compile("[A-Za-z]{1,4}")
_ROW, _CELL, _TEXT, _FORMULA, _VALUE = "row", "c", "si", "f", "v"


def check_workbook(file: BinaryIO, name: str) -> dict[str, str]:
    """Raise a WrongData if a workbook is too large, too dense or holds entities.

    Return the first cell of each part that is a formula without a stored value.
    """
    unpacked = 0
    formulas: dict[str, str] = {}
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refusal(
                    name, Message("a part is compressed with a method that Excel does not use")
                )
            # Other parts, such as images, are never read.
            must_be_xml = info.filename.lower().endswith((".xml", ".rels"))
            with archive.open(info) as part:
                check: _PartCheck | None = None
                for place, chunk in enumerate(_chunks(part)):
                    if place == 0 and (
                        must_be_xml or chunk.lstrip()[:1] in (b"<", b"\xff", b"\xfe", b"\xef")
                    ):
                        check = _PartCheck(name)
                    if check is None:
                        break
                    unpacked += len(chunk)
                    if unpacked > MOST_UNPACKED:
                        raise _refusal(
                            name,
                            Message("it unpacks to more than {most:,} bytes", most=MOST_UNPACKED),
                        )
                    check.feed(chunk)
                if check is not None and (cell := check.formula_without_value()):
                    formulas[info.filename] = cell
    return formulas


def _chunks(part: IO[bytes]) -> Iterator[bytes]:
    while chunk := part.read(_CHUNK):
        event_loop.raise_if_interrupted()
        yield chunk


def _refusal(name: str, reason: str) -> WrongData:
    return WrongData(
        "{name} is not read: {reason}. Save the table as CSV", name=name, reason=reason
    )


class _PartCheck:
    """Parses one part of a workbook and counts what openpyxl would keep in memory."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parser = ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._fed = self._began = self._elements = 0
        self._row = self._column = self._width = self._cells = 0
        self._formula = ""  # the last cell, while it is a formula whose value was not seen
        self._first_formula = self._reference = ""
        self._is_text = False

    def formula_without_value(self) -> str:
        """Return the first such cell, "" if there is none. An empty text is a value."""
        return self._first_formula or self._formula

    def feed(self, chunk: bytes) -> None:
        self._parser.Parse(chunk)
        self._fed += len(chunk)
        self._check_size()
        # The parser begins a tag or a comment again with every chunk until it has its end.
        if self._fed - self._parser.CurrentByteIndex > LARGEST_TAG:
            raise _refusal(
                self._name,
                Message("a tag or a comment has more than {most:,} bytes", most=LARGEST_TAG),
            )

    def _check_size(self) -> None:
        if self._parser.CurrentByteIndex - self._began > LARGEST_ROW:
            raise _refusal(
                self._name,
                Message("a row or a string has more than {most:,} bytes", most=LARGEST_ROW),
            )

    def _refuse_doctype(self, *_: object) -> None:
        raise _refusal(
            self._name, Message("it declares entities (a DTD), which no spreadsheet program writes")
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        local = tag.rpartition(" ")[2]
        if local == _CELL:
            self._first_formula = self.formula_without_value()
            self._formula = ""
            self._is_text = attributes.get("t") == "str"
            self._add_cell(attributes.get("r", ""))
        elif local == _FORMULA:
            self._formula = "" if self._is_text else self._reference
        elif local == _VALUE and self._formula:
            self._parser.CharacterDataHandler = self._add_value
        elif local in (_ROW, _TEXT):
            self._check_size()
            self._began, self._elements = self._parser.CurrentByteIndex, 0
            if local == _ROW:
                self._add_row(attributes.get("r", ""))
        if self._elements > MOST_ELEMENTS:
            raise _refusal(
                self._name, Message("a row has more than {most:,} XML elements", most=MOST_ELEMENTS)
            )

    def _add_value(self, _: str) -> None:
        self._formula = ""
        self._parser.CharacterDataHandler = None

    def _add_row(self, number: str) -> None:
        self._row = int(number) if number.isdecimal() and len(number) < 10 else self._row + 1
        self._column = self._width = 0
        if self._row > MOST_ROWS or len(number) >= 10:
            raise _refusal(self._name, Message("it has more than {most:,} rows", most=MOST_ROWS))

    def _add_cell(self, reference: str) -> None:
        letters = _COLUMN.match(reference)
        self._column = _column_number(letters[0]) if letters else self._column + 1
        self._reference = reference or f"R{self._row}C{self._column}"
        if self._column > MOST_COLUMNS:
            raise _refusal(
                self._name, Message("it has more than {most:,} columns", most=MOST_COLUMNS)
            )
        # A row is as wide as its last cell, whatever it skips.
        self._cells += max(1, self._column - self._width)
        self._width = max(self._width, self._column)
        if self._cells > MOST_CELLS:
            raise _refusal(
                self._name, Message("a sheet has more than {most:,} cells", most=MOST_CELLS)
            )


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


class SharedTexts:
    """The shared texts of a workbook, in a temporary file, so that memory does not grow
    with them.
    """

    def __init__(self, part: IO[bytes]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._ends = array("q", [0])
        self._pieces: list[str] = []
        self._inside: list[str] = []
        parser = ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        for chunk in _chunks(part):
            parser.Parse(chunk)

    def _start(self, tag: str, _: dict[str, str]) -> None:
        self._inside.append(tag.rpartition(" ")[2])

    def _end(self, _: str) -> None:
        if self._inside.pop() == _TEXT:
            # Excel escapes an underscore before an x as _x005F_.
            text = "".join(self._pieces).replace("x005F_", "")
            self._pieces.clear()
            self._file.write(text.encode())
            self._ends.append(self._file.tell())

    def _add(self, text: str) -> None:
        # rPh says how a text is pronounced: it is not part of it.
        if self._inside[-1] == "t" and _TEXT in self._inside and "rPh" not in self._inside:
            self._pieces.append(text)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self._ends) - 1:
            raise IndexError(number)
        began, ended = self._ends[number], self._ends[number + 1]
        self._file.seek(began)
        return self._file.read(ended - began).decode()

    def close(self) -> None:
        self._file.close()
