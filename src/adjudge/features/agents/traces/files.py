"""Files and folders of traces → trajectories with their columns, one after the other."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast

from adjudge.core.data.sources.json_rows import JsonDocument, is_lines
from adjudge.core.data.sources.row import BadRow, Origin
from adjudge.core.data.sources.text import LONGEST, PeekableText, open_text
from adjudge.core.reading.archive import entries, entry_names, unpacked_size
from adjudge.core.reading.foreign_values import Object, inner_object
from adjudge.errors import RunError, SetupError, WrongData
from adjudge.features.agents.traces.chunks import streamed_events
from adjudge.features.agents.traces.format_table import FORMATS, format_of, formats_named
from adjudge.features.agents.traces.names import TRACE_FILES
from adjudge.features.agents.traces.reader import as_message, checked, lack_of_texts, unknown
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.messages import Message, reason_of

_LOOKED_AT = 50
"""Lines that are looked at to find out the format."""
_OTLP_ENDINGS = (".otlp.json", ".otlp.jsonl")
_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"


_SMALL = 4_000_000
"""Bytes of a file that is read as a whole, whatever is in it."""
LARGEST_TRACE = 400_000_000
"""Bytes of one trace, or of a file that is not lines of spans: reading takes ten times that."""
_TRACE_ID = re.compile(rb'"trace_?[iI]d"\s*:\s*"([^"]{1,64})"')


def read_traces(
    path: Path | str,
    format: str | None = None,
    *,
    on_bad_row: Callable[[BadRow], None] | None = None,
) -> Iterator[TraceRow]:
    """The runs of agents in a file, or in all files of a folder.

    ``format``: one of ``TRACE_FORMATS``; without it the structure tells. ``on_bad_row`` is called
    with what cannot be read, and reading goes on; without it the first one raises a WrongData.
    """
    return (row for _, row in placed_traces(path, format, on_bad_row=on_bad_row))


def placed_traces(
    path: Path | str,
    format: str | None,
    *,
    on_bad_row: Callable[[BadRow], None] | None = None,
) -> Iterator[tuple[str, TraceRow]]:
    """As ``read_traces``, with where each stands: the name of its file, and its number there."""
    among = FORMATS if format is None else formats_named(format)
    tell = on_bad_row or _stop
    for file in _files(Path(path)):
        for number, found in enumerate(_rows(file, among, format), 1):
            if isinstance(found, BadRow):
                tell(found)
            else:
                yield f"{file.name}:{number}", found


def first_objects(path: Path) -> tuple[list[Object], bool]:
    """The first objects of a file, and whether it is one document by itself; none where it cannot
    be read.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        head, rest = _opened(path)
        alone = begins == b"{" and len(head) == 1 and next(rest, None) is None
        return _good(head), alone and path.suffix.lower() == ".json"
    except (RunError, SetupError, OSError):
        return [], False


def _stop(bad: BadRow) -> None:
    raise WrongData(str(bad))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file()
        and Path(file.name.removesuffix(".gz")).suffix.lower() in TRACE_FILES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    if not found:
        raise WrongData("{path} holds no files of traces", path=path)
    logs = {beside for file in found if (beside := _logs_beside(file)) is not None}
    yield from (file for file in found if file not in logs)


def _rows(
    path: Path, among: Sequence[TraceFormat], name: str | None
) -> Iterator[TraceRow | BadRow]:
    """Those of one file. What is wrong with the file, or with one run in it, is a bad row."""
    try:
        head, rest = _opened(path)
        first = _good(head)
        format = format_of(first, among)
        if format is None:
            bad = [one for one in head if isinstance(one, BadRow)]
            yield bad[0] if bad else BadRow(str(path), unknown(name))
        elif format.document(first[0]) and not format.lines(first):
            for number, one in enumerate(chain(head, rest), 1):
                yield from _documents(format, one, Origin(str(path)).where(number))
        else:
            beside = _objects(logs) if (logs := _logs_beside(path)) is not None else None
            groups = _whole_traces(path, chain(head, rest)) if beside is None else None
            if groups is None:
                _check_size(_size(path))
            for given in groups or [[*head, *rest, *(beside or ())]]:
                yield from (one for one in given if isinstance(one, BadRow))
                if good := _good(given):
                    yield from _with_texts(checked(format, good), str(path))
    except (RunError, SetupError) as error:
        yield BadRow(str(path), str(error))
    except OSError as error:
        yield BadRow(str(path), Message("cannot be read: {reason}", reason=reason_of(error)))


def _whole_traces(
    path: Path, objects: Iterator[Object | BadRow]
) -> Iterator[list[Object | BadRow]] | None:
    """The lines of a file of spans, those together that share traces: so only the traces that are
    open at a time are held. None where the file is not lines of spans.
    """
    last = _last_lines(path)
    return None if last is None else _until_closed(objects, last)


def _last_lines(path: Path) -> Sequence[int] | None:
    """Of each line that is not blank, the last one that a trace in it is in."""
    if _size(path) < _SMALL:
        return None
    ends: dict[bytes, int] = {}
    for number, (_, traces) in enumerate(_lines_of_spans(path)):
        if not traces:
            return None
        ends.update(dict.fromkeys(traces, number))
    last = array("Q")
    end = held = 0
    for number, (size, traces) in enumerate(_lines_of_spans(path)):
        last.append(max(ends.get(one, number) for one in traces))
        end, held = max(end, last[-1]), held + size
        if number >= end:
            _check_size(held)
            held = 0
    return last


def _lines_of_spans(path: Path) -> Iterator[tuple[int, Sequence[bytes]]]:
    """The size of each line that is not blank, and the traces that it names."""
    with _unpacked(path) as file:
        while line := file.readline(LONGEST):
            if line.strip():
                yield len(line), _TRACE_ID.findall(line)


def _size(path: Path) -> int:
    """Bytes that it holds, those of a packed file unpacked."""
    return unpacked_size(path) if _is_packed(path) else path.stat().st_size


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def _unpacked(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if _is_packed(path) else path.open("rb"))


def _check_size(size: int) -> None:
    if size > LARGEST_TRACE:
        raise WrongData(
            "a trace of {size:,} MB is too large: up to {most:,} MB are read; leave out the spans "
            "that are not of agents, models and tools",
            size=size // 1_000_000,
            most=LARGEST_TRACE // 1_000_000,
        )


def _until_closed(
    objects: Iterator[Object | BadRow], last: Sequence[int]
) -> Iterator[list[Object | BadRow]]:
    held: list[Object | BadRow] = []
    end = 0
    for number, one in enumerate(objects):
        held.append(one)
        end = max(end, last[number] if number < len(last) else number)
        if number >= end:
            yield held
            held = []
    if held:
        yield held


def _good(given: Sequence[Object | BadRow]) -> list[Object]:
    return [one for one in given if not isinstance(one, BadRow)]


def _documents(
    format: TraceFormat, one: Object | BadRow, where: str
) -> Iterator[TraceRow | BadRow]:
    if isinstance(one, BadRow):
        yield one
        return
    try:
        yield from _with_texts(checked(format, [one]), where)
    except WrongData as error:
        yield BadRow(where, str(error))


def _with_texts(rows: Iterator[TraceRow], where: str) -> Iterator[TraceRow | BadRow]:
    """One run without texts is a bad row, and those behind it are read."""
    for row in rows:
        reason, id = lack_of_texts(row), row.columns.get("id")
        if reason is None:
            yield row
        else:
            yield BadRow(where if id is None else f"{where}, {id}", reason)


def _logs_beside(path: Path) -> Path | None:
    """The file of logs that belongs to a file of OTLP spans: messages may stand there alone."""
    for ending in _OTLP_ENDINGS:
        if path.name.endswith(ending) and not path.name.endswith(f".logs{ending}"):
            found = path.with_name(f"{path.name.removesuffix(ending)}.logs{ending}")
            return found if found.is_file() else None
    return None


def _opened(path: Path) -> tuple[list[Object | BadRow], Iterator[Object | BadRow]]:
    """The first objects of a file, and the rest as they are asked for."""
    objects = _objects(path)
    return list(islice(objects, _LOOKED_AT)), objects


def _objects(path: Path) -> Iterator[Object | BadRow]:
    with path.open("rb") as raw:
        archived = raw.read(4) == _ZIP
    if archived:
        yield from _archive(path)
        return
    size = _size(path)
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    with _unpacked(path) as file:
        if kind in (".csv", ".tsv"):
            _check_size(size)
            yield from _table(file, "\t" if kind == ".tsv" else ",")
        else:
            yield from _json(open_text(file, Origin(str(path), path.name, "line"), None), size)


def _archive(path: Path) -> Iterator[Object]:
    """The samples of an Inspect log that is an archive, one after the other."""
    if not {"header.json", "_journal/start.json"} & set(entry_names(path)):
        raise WrongData("is an archive, but not an Inspect log")
    for name, content in entries(path, _is_sample):
        try:
            yield as_message(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise WrongData("{name} is not JSON: {said}", name=name, said=str(error)) from error


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _json(text: PeekableText, size: int) -> Iterator[Object | BadRow]:
    head = text.head.lstrip()
    if head.startswith(("data:", "event:")):
        _check_size(size)
        yield from streamed_events("".join(text.chunks()))
    elif is_lines(text.head) or _is_line(head):
        for number, line in enumerate(text.lines(), 1):
            if line.strip():
                yield _line(line, number, text.origin)
    elif head.startswith("["):
        document = JsonDocument(text)
        document.take("[", "[")
        for _, value in document.items():
            yield as_message(value)
    else:
        _check_size(size)
        document = JsonDocument(text)
        document.peek()
        value = document.value()
        if document.peek():
            raise document.wrong("the document goes on after its end")
        yield inner_object(value)


def _is_line(head: str) -> bool:
    """Whether there is more than one line, the first an object by itself."""
    first, _, rest = head.partition("\n")
    if not first.startswith("{") or not rest.strip():
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def _line(line: str, number: int, origin: Origin) -> Object | BadRow:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return origin.bad(number, Message("is not JSON: {said}", said=str(error)))
    return as_message(value)


def _table(file: BinaryIO, delimiter: str) -> Iterator[Object]:
    before = csv.field_size_limit(sys.maxsize)  # of the process: tables of rows have their own
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        for row in csv.DictReader(text, delimiter=delimiter):
            yield {key: value for key, value in row.items() if key and value not in (None, "")}
    except (UnicodeDecodeError, csv.Error) as error:
        raise WrongData("cannot be read as a table in UTF-8: {error}", error=str(error)) from error
    finally:
        csv.field_size_limit(before)
        text.detach()
