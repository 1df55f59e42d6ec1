"""A foreign file: its beginning, which shows the format, and its records, read one by one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, cast

from adjudge.core.data.sources.delimited import delimited_rows
from adjudge.core.data.sources.json_rows import JsonDocument, is_lines, line_rows
from adjudge.core.data.sources.parquet import parquet_rows
from adjudge.core.data.sources.row import BadRow, Origin, Row, Rows
from adjudge.core.data.sources.text import PeekableText, open_text
from adjudge.core.domain.message import Usage
from adjudge.core.reading.archive import entry_names
from adjudge.errors import RunError
from adjudge.features.importers.documents import (
    frame_as_json,
    is_frame,
    is_yaml,
    without_trailing_commas,
    yaml_as_json,
)
from adjudge.features.importers.values import Json, JsonObject, is_empty, number, parse_cell, text
from adjudge.messages import Message, reason_of

Form = Literal["object", "list", "lines", "table", "archive"]
KeyPath = tuple[str, ...]
# Characters of a document in which its format must show.
_HEAD = 8_000_000
_DEEPEST_OF_HEAD = 6
_ARCHIVE, _PARQUET = b"PK\x03\x04", b"PAR1"


class ForeignRecord:
    """An object of a foreign file.

    Given several names, the first that has a value counts. A value of the wrong type reads as
    empty; only ``[]`` and ``texts`` require their keys.

    Example:
        record.text("judge", "reviewer")  # the first of both that is there, else ""
    """

    __slots__ = ("_path", "_where", "raw", "row")

    def __init__(
        self,
        raw: JsonObject,
        where: Callable[[], str] = str,
        row: int = 0,
        path: str = "",
    ) -> None:
        self.raw = raw
        self.row = row
        """The record's number in its file, from 1."""
        self._where = where
        """Says the file, and the line in it."""
        self._path = path
        """The keys that lead here, each with a dot behind it."""

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __getitem__(self, name: str) -> Json:
        if name in self.raw:
            return self.raw[name]
        raise RunError(
            "{where}: {reason}",
            where=self._where(),
            reason=Message("the key {name!r} is missing", name=self._path + name),
        )

    def has(self, *names: str) -> bool:
        return all(name in self.raw for name in names)

    def has_any(self, *names: str) -> bool:
        return any(name in self.raw for name in names)

    def value(self, *names: str) -> Json:
        """Return the first value that is not None, or None."""
        return next(
            (candidate for name in names if (candidate := self.raw.get(name)) is not None), None
        )

    def text(self, *names: str) -> str:
        return text(self.value(*names))

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts of all these keys; raise a RunError that names a missing one."""
        return tuple(text(self[name]) for name in names)

    def number(self, *names: str) -> float | None:
        return number(self.value(*names))

    def values(self, *names: str) -> Sequence[Json]:
        """Return the items of the list at the first of these names, or none if it is not a list."""
        value = self.value(*names)
        return value if isinstance(value, list | tuple) else ()

    def nested(self, *names: str) -> ForeignRecord:
        """Return the object at the first of these names as a record."""
        return self._inside(self.value(*names), *names)

    def parsed(self, *names: str) -> ForeignRecord:
        """Like ``nested``, but also parse an object written as JSON or Python in a cell."""
        return self._inside(parse_cell(self.value(*names)), *names)

    def objects(self, *names: str) -> list[ForeignRecord]:
        """Return the objects of a list; other items become empty records."""
        return [self._inside(item, *names) for item in self.values(*names)]

    def merge(self, values: JsonObject) -> ForeignRecord:
        """Return a copy with additional or replaced values."""
        return self.with_values({**self.raw, **values})

    def with_values(self, raw: JsonObject) -> ForeignRecord:
        """Return a copy with these values instead."""
        return ForeignRecord(raw, self._where, self.row, self._path)

    def rest(self, *names: str) -> dict[str, Json]:
        """Return the values under all other names, without empty ones."""
        return {
            name: value
            for name, value in self.raw.items()
            if name not in names and not is_empty(value)
        }

    def keep(self, *names: str) -> dict[str, Json]:
        """Return the values under these names, without empty ones."""
        return {name: value for name in names if not is_empty(value := self.value(name))}

    def name(self, *names: str) -> str:
        """Return the text at the first of these names, else ``row N``."""
        return self.text(*names) or f"row {self.row}"

    def _inside(self, value: Json, *names: str) -> ForeignRecord:
        """Return a nested value as a record, which is empty if it is not an object."""
        inner = value if isinstance(value, Mapping) else {}
        return ForeignRecord(inner, self._where, self.row, f"{self._path}{names[0]}.")


def named_objects(record: ForeignRecord) -> dict[str, ForeignRecord]:
    """Return the record's values as records, by their keys."""
    return {name: record.nested(name) for name in record}


def usage_in(record: ForeignRecord, prompt: str, completion: str) -> Usage:
    """Return the tokens of a reply, if the file records them."""
    prompt_tokens, completion_tokens = record.number(prompt), record.number(completion)
    if prompt_tokens is None and completion_tokens is None:
        return Usage()
    return Usage(1, int(prompt_tokens or 0), int(completion_tokens or 0))


EMPTY = ForeignRecord({})


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which its format is recognised."""

    form: Form
    document: ForeignRecord = EMPTY
    """The keys of a JSON object; of each list only the first item."""
    record: ForeignRecord = EMPTY
    """The first record of a list, of lines or of a table."""
    names: tuple[str, ...] = ()
    """The entries of an archive."""

    def has(self, *names: str) -> bool:
        """Return True if the first record has all these keys."""
        return self.record.has(*names)

    def at(self, *path: str) -> ForeignRecord:
        """Follow a path into the document, taking the first item of each list."""
        record = self.document
        for name in path:
            record = next(iter(record.objects(name)), record.nested(name))
        return record

    def first(self, *lists: str) -> ForeignRecord:
        """Return the file's first record, else the first one in these lists."""
        return self.record or next((record for name in lists if (record := self.at(name))), EMPTY)


@dataclass
class ForeignFile:
    """A file to import. Its records are streamed; none is kept in memory."""

    path: Path
    encoding: str | None = None
    skip_bad_rows: bool = False
    bad: list[str] = field(default_factory=list)
    """Errors of the records that were skipped."""
    chosen: Head | None = None
    """The head that the file is read by."""
    mended: bool = False
    """True if it is read without the commas before ``]`` and ``}`` that it should not have."""
    unreadable: str = ""
    """The reason why a file of a folder cannot be read at all."""
    _as_json: bytes | None = None
    """JSON to read instead of a document that cannot be streamed."""

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def head(self) -> Head:
        """The chosen interpretation of the file's beginning, else the likeliest."""
        if self.chosen is None:
            self.chosen = self.heads()[0]
        return self.chosen

    def heads(self) -> list[Head]:
        """Return the possible interpretations of the file's beginning.

        A single object may be a document, or the only line of JSONL. If the file is not JSON only
        because of trailing commas, they are removed.
        """
        try:
            return self._heads()
        except RunError:
            mended = None if self._as_json else without_trailing_commas(self.path)
            if mended is None:
                raise
            self._as_json, self.mended = mended, True
            return self._heads()

    def _heads(self) -> list[Head]:
        if self._begins_with(_ARCHIVE):
            return [Head("archive", names=entry_names(self.path))]
        if self._begins_with(_PARQUET):
            return [Head("list", record=_first_row(self._parquet()))]
        self._as_json = self._as_json or self._yaml()
        with self._text() as text:
            # The first character tells a list, an object and a table apart; Excel may add a byte-
            # order mark.
            start = text.head.lstrip()[:1]
            if start == "[":
                return [Head("list", record=_first_item(text))]
            is_jsonl = start == "{" and is_lines(text.head) and "\n" in text.head.strip()
            if start != "{" or is_jsonl:
                form: Form = "lines" if is_jsonl else "table"
                return [Head(form, record=_first_row(self._rows(text, form)))]
            keys, goes_on = _outline(text)
            if not self._as_json and is_frame(keys):
                self._as_json = frame_as_json(self.path)
                return self._heads()
            document = ForeignRecord(keys)
            line = Head("lines", record=document)
            return [line] if goes_on else [Head("object", document=document), line]

    def records(self, *paths: KeyPath) -> Iterator[ForeignRecord]:
        """Yield the records of a list, of lines or of a table, or of the lists at `paths`."""
        for place, (line, _, record) in enumerate(self._walk(paths, ()), 1):
            if not isinstance(record, Mapping):
                raise RunError(
                    "{name} contains {record_name}, but its records must be objects",
                    name=self.name,
                    record_name=type(record).__name__,
                )
            yield ForeignRecord(record, partial(self._origin.where, line), place)

    def document(self, *paths: KeyPath) -> ForeignRecord:
        """Return the values at these paths of the document, by each path's last key."""
        values = {path[-1]: value for _, path, value in self._walk((), paths)}
        return ForeignRecord(values, partial(str, self.name))

    def refuse(self, row: BadRow, *, counted: bool = True) -> None:
        """Raise a RunError for a bad row; if bad rows are skipped, record it instead.

        Without `counted`, it is skipped silently.
        """
        if not self.skip_bad_rows:
            raise RunError(
                "{row}; nothing was imported. Fix the file, or leave such rows out with "
                "--skip-bad-rows",
                row=row,
            )
        if counted:
            self.bad.append(str(row))

    def _walk(
        self, lists: tuple[KeyPath, ...], values: tuple[KeyPath, ...]
    ) -> Iterator[tuple[int, KeyPath, Json]]:
        """Yield (line, path, item) for the lists' items and (0, path, value) for the values.

        They come in document order, so one pass is enough.
        """
        form = self.head.form
        rows_wanted = bool(lists) or not values
        if self._begins_with(_PARQUET):
            yield from _cells(self._parquet() if rows_wanted else iter(()))
            return
        with self._text() as text:
            if form in ("list", "object"):
                document = JsonDocument(text)
                own_lists = {()} if form == "list" else set[KeyPath]()
                yield from _walk(document, (), own_lists.union(lists), frozenset(values))
                if document.peek():
                    raise document.wrong("the document continues after its end")
            elif rows_wanted:
                yield from _cells(self._rows(text, form))

    def _rows(self, text: PeekableText, form: Form) -> Rows:
        for row in line_rows(text) if form == "lines" else delimited_rows(text, _delimiter(text)):
            if isinstance(row, BadRow):
                self.refuse(row)
            else:
                yield row

    def _parquet(self) -> Rows:
        return parquet_rows(self.path, Origin(self.name, self.path.name, "row"))

    @property
    def _origin(self) -> Origin:
        return Origin(self.name, self.path.name, "line")

    @contextmanager
    def _text(self) -> Iterator[PeekableText]:
        with self._open_file(io.BytesIO(self._as_json) if self._as_json else None) as file:
            yield open_text(file, self._origin, self.encoding)

    @contextmanager
    def _open_file(self, instead: BinaryIO | None = None) -> Iterator[BinaryIO]:
        try:
            with instead or self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise RunError(
                "{path} cannot be read: {reason}", path=self.path, reason=reason_of(error)
            ) from error

    def _yaml(self) -> bytes | None:
        with self._text() as text:
            looks_like_yaml = is_yaml(text.head)
        return yaml_as_json(self.path) if looks_like_yaml else None

    def _begins_with(self, mark: bytes) -> bool:
        with self._open_file() as file:
            return file.read(len(mark)) == mark


class _HeadIsRead(Exception):
    """Raised to stop reading once the head of a document has been read."""


class _Head(PeekableText):
    """The beginning of a text."""

    def __init__(self, whole: PeekableText) -> None:
        self.origin = whole.origin
        self._whole = whole

    def chunks(self) -> Iterator[str]:
        characters_left = _HEAD
        for chunk in self._whole.chunks():
            yield chunk
            characters_left -= len(chunk)
            if characters_left < 0:
                raise _HeadIsRead


def _cells(rows: Rows) -> Iterator[tuple[int, KeyPath, JsonObject]]:
    for row in rows:
        if isinstance(row, Row):
            yield row.number, (), cast(JsonObject, row.cells)


def _first_row(rows: Rows) -> ForeignRecord:
    return next((ForeignRecord(cells) for _, _, cells in _cells(rows)), EMPTY)


def _first_item(text: PeekableText) -> ForeignRecord:
    document = JsonDocument(text)
    document.take("[", "a list")
    item = None if document.peek() == "]" else document.value()
    return ForeignRecord(item if isinstance(item, Mapping) else {})


def _outline(text: PeekableText) -> tuple[JsonObject, bool]:
    """Return the keys of a document as far as its head goes, and True if another object
    follows it.
    """
    documents: list[Json] = []
    document = JsonDocument(_Head(text))
    try:
        _fill(document, documents.append, _DEEPEST_OF_HEAD)
        goes_on = document.peek() == "{"
    # The values candidate so far are kept: _fill stores each before it is read completely.
    except _HeadIsRead:
        goes_on = False
    return cast(JsonObject, documents[0]), goes_on


def _fill(document: JsonDocument, keep: Callable[[Json], None], depth: int) -> None:
    """Pass the next value to `keep`, a container before it is complete.

    Of a list, only the first item is kept.
    """
    start = document.peek()
    if start == "{" and depth:
        inner: dict[str, Json] = {}
        keep(inner)
        for key in _keys(document):
            _fill(document, partial(inner.__setitem__, key), depth - 1)
    elif start == "[":
        items: list[Json] = []
        keep(items)
        for place in _members(document, "[", "]", "a list"):
            if place:
                document.skip()
            elif document.peek() == "{":
                _fill(document, items.append, depth)
            else:
                items.append(cast(Json, document.value()))
    else:
        keep(cast(Json, document.value()))


def _walk(
    document: JsonDocument, path: KeyPath, lists: set[KeyPath], values: frozenset[KeyPath]
) -> Iterator[tuple[int, KeyPath, Json]]:
    start = document.peek()
    if path in lists and start == "[":
        document.take("[", "a list")
        for line, item in document.items():
            yield line, path, cast(Json, item)
    elif path in values and path not in lists:
        yield 0, path, cast(Json, document.value())
    elif start == "{" and any(target[: len(path)] == path for target in lists | values):
        for key in _keys(document):
            yield from _walk(document, (*path, key), lists, values)
    else:
        document.skip()


def _keys(document: JsonDocument) -> Iterator[str]:
    """Yield each key of the object that begins here. The caller must read its value before the
    next.
    """
    for _ in _members(document, "{", "}", "an object"):
        if document.peek() != '"':
            raise document.wrong("expected a key in quotes")
        key = str(document.value())
        document.take(":", "':'")
        yield key


def _members(document: JsonDocument, opening: str, closing: str, what: str) -> Iterator[int]:
    """Yield each member's index. The caller must read the member before the next."""
    document.take(opening, what)
    place = 0
    if document.peek() != closing:
        while True:
            yield place
            place += 1
            if document.peek() == closing:
                break
            document.take(",", f"',' or '{closing}'")
    document.take(closing, f"'{closing}'")


def _delimiter(text: PeekableText) -> str:
    first_line = text.head.partition("\n")[0]
    return "\t" if first_line.count("\t") > first_line.count(",") else ","
