"""Rows of a CSV file, with any separator and any quoting."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from adjudge.core.data.sources.row import MOST_COLUMNS, Row, Rows, is_blank, unique_names
from adjudge.core.data.sources.text import PeekableText
from adjudge.messages import Message, plural

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = (",", ";", "\t", "|")
_SAID = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_LONGEST_CELL = 10_000_000
_SAMPLE = 50


@dataclass(frozen=True)
class Dialect:
    """Separator, quotes and escapes of a CSV file."""

    delimiter: str
    quote: str = '"'
    escaped: bool = False
    """A quote inside quotes is written ``\\"``, not ``""``."""
    spaced: bool = False
    """A blank after the delimiter does not belong to the cell."""

    def cells(self, lines: Iterator[str], *, strict: bool) -> Reader:
        csv.field_size_limit(_LONGEST_CELL)  # one for the process, and others change it
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            doublequote=not self.escaped,
            escapechar="\\" if self.escaped else None,
            skipinitialspace=self.spaced,
            strict=strict,
        )


def delimited_rows(text: PeekableText, default: str = ",") -> Rows:
    """Yield rows with the names from the first line.

    ``default``: the separator if the header does not show one.
    """
    lines = text.lines()
    declared = _SAID.match(text.head)
    skipped = len(list(islice(lines, 1))) if declared else 0
    dialect = find_dialect(
        text.head[declared.end() :] if declared else text.head,
        (declared[1],) if declared else (default, *DELIMITERS),
        text,
    )
    reader = dialect.cells(lines, strict=True)
    header = _header(reader, text, skipped)
    return _rows(reader, header, text, skipped) if header else iter(())


def find_dialect(head: str, delimiters: tuple[str, ...], text: PeekableText) -> Dialect:
    """Return the dialect in which the header has several cells and most rows have as many.

    On a tie, the dialect with the most cells wins.
    """
    header = head.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    quote = "'" if header[:1] == header[-1:] == "'" and len(header) > 1 else '"'
    styles = (False, True) if f"\\{quote}" in head else (False,)
    best, best_rank, is_cut = Dialect(delimiters[0], quote), (-1.0, 0), text.is_cut
    for delimiter in dict.fromkeys(delimiters):
        spaced = f"{delimiter} " in header and all(
            cell.startswith(" ") for cell in header.split(delimiter)[1:]
        )
        for escaped in styles:
            dialect = Dialect(delimiter, quote, escaped, spaced)
            rank = _rank(dialect, head, is_cut)
            if rank > best_rank:
                best, best_rank = dialect, rank
    return best


def _rank(dialect: Dialect, head: str, is_cut: bool) -> tuple[float, int]:
    """Return the share of rows as wide as the header, and the header's width."""
    widths: list[int] = []
    reader = dialect.cells(iter(io.StringIO(head, newline="")), strict=True)
    while len(widths) < _SAMPLE:
        try:
            cells = next(reader, None)
        except csv.Error:
            cells = []
            widths.append(-1)
        if cells is None:
            break
        if cells:
            widths.append(len(cells))
    # The head may end in the middle of a row.
    if is_cut and 2 < len(widths) < _SAMPLE:
        widths.pop()
    header, *rows = widths or [0]
    if header < 2:  # nothing is separated: better than nothing, worse than a table
        return -0.5, -widths.count(-1)
    return sum(width == header for width in rows) / len(rows) if rows else 0.0, header


def _header(reader: Reader, text: PeekableText, skipped: int) -> list[str]:
    """Return the column names; a repeated name gets a number, so that no value hides another."""
    line = skipped + 1
    try:
        names = next((cells for cells in reader if not _are_blank(cells)), [])
    except csv.Error as error:
        raise text.origin.wrong(
            line, Message("the header cannot be read: {reason}", reason=_describe_error(error))
        ) from error
    if flaw := text.take_flaw():
        raise text.origin.wrong(line, flaw)
    if len(names) > MOST_COLUMNS:
        raise text.origin.wrong(
            line,
            Message("it has more than {most:,} columns: is this file a table?", most=MOST_COLUMNS),
        )
    return unique_names(name.strip() or f"column {place}" for place, name in enumerate(names, 1))


def _rows(reader: Reader, header: list[str], text: PeekableText, skipped: int) -> Rows:
    origin, width = text.origin, len(header)
    while True:
        line = reader.line_num + skipped + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "field larger" in str(error):
                # What follows is the rest of the cell: its lines would be taken for rows.
                raise origin.wrong(line, _describe_error(error)) from error
            last = reader.line_num + skipped
            if "unexpected end" in str(error) and last > line:
                # Rows may be in these lines, and nobody knows how many.
                reason = Message(
                    "a quote is opened here and never closed, so that lines {line} to {last} are "
                    "one cell: close it, or double it if it belongs to the text",
                    line=line,
                    last=last,
                )
                raise origin.wrong(line, reason) from error
            text.take_flaw()
            yield origin.bad(line, _describe_error(error))
            continue
        if text.flaw:
            yield origin.bad(line, text.take_flaw() or "")
        elif len(cells) == width:
            yield Row(line, dict(zip(header, cells, strict=True)))
        else:
            yield (
                Row(line, {})
                if _are_blank(cells)
                else origin.bad(line, _wrong_width(cells, header))
            )


def _are_blank(cells: list[str]) -> bool:
    return all(map(is_blank, cells))


def _wrong_width(cells: list[str], header: list[str]) -> str:
    problem = Message(
        "the row has {cells}; expected {columns}",
        cells=plural("{count} cell", "{count} cells", len(cells)),
        columns=plural("{count} column", "{count} columns", len(header)),
    )
    return (
        Message("{said}: no value for column {column!r}", said=problem, column=header[len(cells)])
        if len(cells) < len(header)
        else problem
    )


def _describe_error(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text:
        return Message("unexpected end of file: the quote opened here is never closed")
    if "field larger" in text:
        return Message(
            "a cell is longer than {most:,} characters: is a closing quote missing?",
            most=_LONGEST_CELL,
        )
    return text
