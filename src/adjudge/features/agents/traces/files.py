"""Read trajectories with their columns from files and folders of traces, one after the other."""

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
from adjudge.features.agents.traces.reader import (
    as_message,
    lack_of_texts,
    read_checked,
    unrecognised_text,
)
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
    """Yield the agent runs in a file, or in all files of a folder.

    ``format``: one of ``TRACE_FORMATS``; by default it is detected. ``on_bad_row``: called for each
    run that cannot be read, and reading continues; without it, the first problem raises a
    WrongData.
    """
    return (row for _, row in placed_traces(path, format, on_bad_row=on_bad_row))


def placed_traces(
    path: Path | str,
    format: str | None,
    *,
    on_bad_row: Callable[[BadRow], None] | None = None,
) -> Iterator[tuple[str, TraceRow]]:
    """Like ``read_traces``, but yield each run with its place: file name and number in the file."""
    formats = FORMATS if format is None else formats_named(format)

    def stop(bad: BadRow) -> None:
        raise WrongData(str(bad))

    tell = on_bad_row or stop
    for file in _files(Path(path)):
        for number, row in enumerate(_rows_of_file(file, formats, format), 1):
            if isinstance(row, BadRow):
                tell(row)
            else:
                yield f"{file.name}:{number}", row


def first_objects(path: Path) -> tuple[list[Object], bool]:
    """Return a file's first objects, and whether it is a single JSON document.

    Return no objects if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        head, others = _read_head(path)
        alone = begins == b"{" and len(head) == 1 and next(others, None) is None
        return _readable(head), alone and path.suffix.lower() == ".json"
    except (RunError, SetupError, OSError):
        return [], False


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    trace_files = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file()
        and Path(file.name.removesuffix(".gz")).suffix.lower() in TRACE_FILES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    if not trace_files:
        raise WrongData("{path} contains no trace files", path=path)
    logs = {logs_file for file in trace_files if (logs_file := _logs_file_of(file)) is not None}
    yield from (file for file in trace_files if file not in logs)


def _rows_of_file(
    path: Path, formats: Sequence[TraceFormat], name: str | None
) -> Iterator[TraceRow | BadRow]:
    """Yield the runs of one file. A problem with the file or with one of its runs yields a
    BadRow.
    """
    try:
        head, others = _read_head(path)
        first_parsed = _readable(head)
        format = format_of(first_parsed, formats)
        if format is None:
            bad = [entry for entry in head if isinstance(entry, BadRow)]
            yield bad[0] if bad else BadRow(str(path), unrecognised_text(name))
        elif format.document(first_parsed[0]) and not format.lines(first_parsed):
            for number, entry in enumerate(chain(head, others), 1):
                yield from _documents(format, entry, Origin(str(path)).where(number))
        else:
            log_objects = _objects(logs) if (logs := _logs_file_of(path)) is not None else None
            # only traces that are open at a time are held in memory
            last = _last_lines(path) if log_objects is None else None
            groups = None if last is None else _group_by_traces(chain(head, others), last)
            if groups is None:
                _check_size(_size(path))
            for group in groups or [[*head, *others, *(log_objects or ())]]:
                yield from (entry for entry in group if isinstance(entry, BadRow))
                if good := _readable(group):
                    yield from _with_texts(read_checked(format, good), str(path))
    except (RunError, SetupError) as error:
        yield BadRow(str(path), str(error))
    except OSError as error:
        yield BadRow(str(path), Message("cannot be read: {reason}", reason=reason_of(error)))


def _last_lines(path: Path) -> Sequence[int] | None:
    """Return, for each line that is not blank, the last line that shares a trace with it.

    Return None if the file is small or has a line without a trace id.
    """
    if _size(path) < _SMALL:
        return None
    ends: dict[bytes, int] = {}
    for number, (_, traces) in enumerate(_lines_of_spans(path)):
        if not traces:
            return None
        ends.update(dict.fromkeys(traces, number))
    last = array("Q")
    end = size_held = 0
    for number, (size, traces) in enumerate(_lines_of_spans(path)):
        last.append(max(ends.get(trace, number) for trace in traces))
        end, size_held = max(end, last[-1]), size_held + size
        if number >= end:
            _check_size(size_held)
            size_held = 0
    return last


def _lines_of_spans(path: Path) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Yield the size of each line that is not blank, and the trace ids in it."""
    with _open_unpacked(path) as file:
        while line := file.readline(LONGEST):
            if line.strip():
                yield len(line), _TRACE_ID.findall(line)


def _size(path: Path) -> int:
    """Return the size of a file in bytes; of an archive, its unpacked size."""
    return unpacked_size(path) if _is_packed(path) else path.stat().st_size


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def _open_unpacked(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if _is_packed(path) else path.open("rb"))


def _check_size(size: int) -> None:
    if size > LARGEST_TRACE:
        raise WrongData(
            "a trace of {size:,} MB is too large (limit {most:,} MB): leave out spans that do "
            "not belong to agents, models or tools",
            size=size // 1_000_000,
            most=LARGEST_TRACE // 1_000_000,
        )


def _group_by_traces(
    objects: Iterator[Object | BadRow], last: Sequence[int]
) -> Iterator[list[Object | BadRow]]:
    """Group objects that share traces. ``last``: for each line, the last one with one of its
    traces.
    """
    group: list[Object | BadRow] = []
    end = 0
    for number, entry in enumerate(objects):
        group.append(entry)
        end = max(end, last[number] if number < len(last) else number)
        if number >= end:
            yield group
            group = []
    if group:
        yield group


def _readable(objects: Sequence[Object | BadRow]) -> list[Object]:
    return [entry for entry in objects if not isinstance(entry, BadRow)]


def _documents(
    format: TraceFormat, entry: Object | BadRow, where: str
) -> Iterator[TraceRow | BadRow]:
    if isinstance(entry, BadRow):
        yield entry
        return
    try:
        yield from _with_texts(read_checked(format, [entry]), where)
    except WrongData as error:
        yield BadRow(where, str(error))


def _with_texts(rows: Iterator[TraceRow], where: str) -> Iterator[TraceRow | BadRow]:
    """Yield the rows, with a BadRow in place of each run without texts."""
    for row in rows:
        reason, id = lack_of_texts(row), row.columns.get("id")
        if reason is None:
            yield row
        else:
            yield BadRow(where if id is None else f"{where}, {id}", reason)


def _logs_file_of(path: Path) -> Path | None:
    """Return the log file that belongs to a file of OTLP spans, or None.

    The messages may be only in the logs.
    """
    for ending in _OTLP_ENDINGS:
        if path.name.endswith(ending) and not path.name.endswith(f".logs{ending}"):
            logs = path.with_name(f"{path.name.removesuffix(ending)}.logs{ending}")
            return logs if logs.is_file() else None
    return None


def _read_head(path: Path) -> tuple[list[Object | BadRow], Iterator[Object | BadRow]]:
    """Return the first objects of a file, and an iterator over the rest."""
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
    with _open_unpacked(path) as file:
        if kind in (".csv", ".tsv"):
            _check_size(size)
            yield from _table(file, "\t" if kind == ".tsv" else ",")
        else:
            yield from _json(open_text(file, Origin(str(path), path.name, "line"), None), size)


def _archive(path: Path) -> Iterator[Object]:
    """Yield the samples in an archived Inspect log."""
    if not {"header.json", "_journal/start.json"} & set(entry_names(path)):
        raise WrongData("is an archive, but not an Inspect log")

    def is_sample(name: str) -> bool:
        return name.startswith("samples/") and name.endswith(".json")

    for name, content in entries(path, is_sample):
        try:
            yield as_message(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise WrongData("{name} is not JSON: {said}", name=name, said=str(error)) from error


def _json(text: PeekableText, size: int) -> Iterator[Object | BadRow]:
    head = text.head.lstrip()
    if head.startswith(("data:", "event:")):
        _check_size(size)
        yield from streamed_events("".join(text.chunks()))
    elif is_lines(text.head) or _starts_with_object_line(head):
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
            raise document.wrong("the document continues after its end")
        yield inner_object(value)


def _starts_with_object_line(head: str) -> bool:
    """Return True if the text has several lines, and the first is a JSON object."""
    first_line, _, other_lines = head.partition("\n")
    if not first_line.startswith("{") or not other_lines.strip():
        return False
    try:
        json.loads(first_line)
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
    # the limit is global to the process, so restore it for readers of other tables
    old_limit = csv.field_size_limit(sys.maxsize)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        for row in csv.DictReader(text, delimiter=delimiter):
            yield {key: value for key, value in row.items() if key and value not in (None, "")}
    except (UnicodeDecodeError, csv.Error) as error:
        raise WrongData("cannot be read as a table in UTF-8: {error}", error=str(error)) from error
    finally:
        csv.field_size_limit(old_limit)
        text.detach()
