"""A foreign file: how it begins, by which its format is known, and its records, one after the
other.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from adjudge.data.sources.delimited import delimited_rows
from adjudge.data.sources.json_rows import JsonDocument, is_lines, line_rows
from adjudge.data.sources.parquet import parquet_rows
from adjudge.data.sources.row import BadRow, Origin, Row
from adjudge.data.sources.text import PeekableText, open_text
from adjudge.domain.frozen import NOTHING
from adjudge.errors import RunError
from adjudge.importers.whole import frame_as_json, is_frame, is_yaml, yaml_as_json
from adjudge.messages import reason_of

Form = Literal["object", "list", "lines", "table", "archive"]
KeyPath = tuple[str, ...]
_HEAD = 8_000_000
"""Characters of a document in which its format must show."""
_DEEPEST_OF_HEAD = 5
_ARCHIVE, _PARQUET = b"PK\x03\x04", b"PAR1"


@dataclass(frozen=True)
class Head:
    form: Form
    document: Mapping[str, object] = NOTHING
    """Of a JSON object: its keys; of each list only the first item."""
    record: Mapping[str, object] = NOTHING
    """The first record of a list, of lines or of a table."""
    names: tuple[str, ...] = ()
    """Of an archive: its entries."""

    def has(self, *names: str) -> bool:
        """Whether the first record has all these keys."""
        return all(name in self.record for name in names)

    def at(self, *path: str) -> object:
        """What stands in the document at a path; of a list its first item."""
        found: object = self.document
        for name in path:
            found = found[0] if isinstance(found, list) and found else found
            found = found.get(name) if isinstance(found, Mapping) else None
        return found[0] if isinstance(found, list) and found else found


@dataclass
class ForeignFile:
    """A file to import. Its records pass; none is kept."""

    path: Path
    encoding: str | None = None
    skip_bad_rows: bool = False
    bad: list[str] = field(default_factory=list)
    """What was wrong with the records that were skipped."""
    chosen: Head | None = None
    """Which of its heads the file is read by."""
    _as_json: bytes | None = None
    """What is read instead of a document that has to be read whole."""

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def head(self) -> Head:
        """How the file begins: as it was chosen to be read, else the likeliest way."""
        if self.chosen is None:
            self.chosen = self.heads()[0]
        return self.chosen

    def heads(self) -> list[Head]:
        """The ways to read how the file begins: one object may be a document or the only line."""
        if self._begins_with(_ARCHIVE):
            from adjudge.importers.archive import entry_names

            return [Head("archive", names=entry_names(self.path))]
        if self._begins_with(_PARQUET):
            cells = next(self._parquet(), None)
            return [Head("list", record=cells if isinstance(cells, Mapping) else NOTHING)]
        self._as_json = self._as_json or self._yaml()
        with self._text() as text:
            start = text.head.lstrip()[:1]
            if start == "[":
                return [Head("list", record=_first_item(text))]
            if start == "{" and not (lines := is_lines(text.head) and _several_lines(text)):
                keys, goes_on = _skeleton(text)
                if not self._as_json and is_frame(keys):
                    self._as_json = frame_as_json(self.path)
                    return self.heads()
                line = Head("lines", record=keys)
                return [line] if goes_on else [Head("object", document=keys), line]
            form: Form = "lines" if start == "{" and lines else "table"
            row = next(self._rows(text, form), None)
            return [
                Head(form, record=row.cells if row and isinstance(row.cells, Mapping) else NOTHING)
            ]

    def records(self, *paths: KeyPath) -> Iterator[Mapping[str, object]]:
        """The objects of the lists at ``paths``; of a file that is a list, lines or a table, its
        records.
        """
        for _, record in self.walk(paths):
            if isinstance(record, Mapping):
                yield record
            else:
                raise RunError(
                    "{name} holds {record_name} where its records are objects",
                    name=self.name,
                    record_name=type(record).__name__,
                )

    def value(self, *path: str) -> object:
        """What stands at a path of the document; None where nothing does."""
        return next((value for _, value in self.walk((), (path,))), None)

    def walk(
        self, lists: tuple[KeyPath, ...], values: tuple[KeyPath, ...] = ()
    ) -> Iterator[tuple[KeyPath, object]]:
        """(path, item) of every item of these lists, and (path, value) of these values, as they
        stand in the document.
        """
        form = self.head.form
        if self._begins_with(_PARQUET):
            yield from (((), cells) for cells in self._parquet() if lists or not values)
            return
        with self._text() as text:
            if form in ("list", "object"):
                document = JsonDocument(text)
                yield from _walk(
                    document,
                    (),
                    frozenset(lists) | ({()} if form == "list" else set()),
                    frozenset(values),
                )
                if document.peek():
                    raise document.wrong("the document goes on after its end")
            elif lists or not values:
                for row in self._rows(text, form):
                    yield (), row.cells

    def _rows(self, text: PeekableText, form: Form) -> Iterator[Row]:
        found = line_rows(text) if form == "lines" else delimited_rows(text, _delimiter(text))
        for row in found:
            if not isinstance(row, BadRow):
                yield row
            elif not self.skip_bad_rows:
                raise RunError(
                    "{row}; nothing was imported. Mend the file, or leave such rows out "
                    "with --skip-bad-rows",
                    row=row,
                )
            else:
                self.bad.append(str(row))

    @contextmanager
    def _text(self) -> Iterator[PeekableText]:
        try:
            with io.BytesIO(self._as_json) if self._as_json else self.path.open("rb") as file:
                yield open_text(file, Origin(self.name, self.path.name, "line"), self.encoding)
        except OSError as error:
            raise RunError(
                "{path} cannot be read: {reason}", path=self.path, reason=reason_of(error)
            ) from error

    def _yaml(self) -> bytes | None:
        with self._text() as text:
            found = is_yaml(text.head)
        return yaml_as_json(self.path) if found else None

    def _parquet(self) -> Iterator[object]:
        for row in parquet_rows(self.path, Origin(self.name, self.path.name, "row")):
            yield row.cells if isinstance(row, Row) else NOTHING

    def _begins_with(self, mark: bytes) -> bool:
        try:
            with self.path.open("rb") as file:
                return file.read(len(mark)) == mark
        except OSError as error:
            raise RunError(
                "{path} cannot be read: {reason}", path=self.path, reason=reason_of(error)
            ) from error


class _HeadIsRead(Exception):
    """Enough was seen of a document."""


class _Head(PeekableText):
    """The beginning of a text."""

    def __init__(self, whole: PeekableText) -> None:
        self.origin = whole.origin
        self._whole = whole

    def chunks(self) -> Iterator[str]:
        left = _HEAD
        for chunk in self._whole.chunks():
            yield chunk
            left -= len(chunk)
            if left < 0:
                raise _HeadIsRead


def _skeleton(text: PeekableText) -> tuple[Mapping[str, object], bool]:
    """The keys of a document, as far as its head goes; and whether another
    object stands behind it.
    """
    found: dict[str, object] = {}
    document = JsonDocument(_Head(text))
    try:
        document.take("{", "an object")
        _fill(document, found, _DEEPEST_OF_HEAD)
        return found, document.peek() == "{"
    except _HeadIsRead:
        return found, False


def _several_lines(text: PeekableText) -> bool:
    return "\n" in text.head.strip()


def _fill(document: JsonDocument, found: dict[str, object], depth: int) -> None:
    for key in _keys(document):
        if document.peek() == "{" and depth:
            inner: dict[str, object] = {}
            found[key] = inner
            document.take("{", "an object")
            _fill(document, inner, depth - 1)
        elif document.peek() == "[":
            found[key] = items = []  # type: ignore[var-annotated]
            document.take("[", "a list")
            _fill_list(document, items, depth)
        else:
            found[key] = document.value()


def _fill_list(document: JsonDocument, items: list[object], depth: int) -> None:
    for place in _places(document):
        if place:
            document.skip()
        elif document.peek() == "{" and depth:
            inner: dict[str, object] = {}
            items.append(inner)
            document.take("{", "an object")
            _fill(document, inner, depth - 1)
        else:
            items.append(document.value())


def _first_item(text: PeekableText) -> Mapping[str, object]:
    document = JsonDocument(text)
    document.take("[", "a list")
    item = {} if document.peek() == "]" else document.value()
    return item if isinstance(item, Mapping) else {}


def _walk(
    document: JsonDocument, path: KeyPath, lists: frozenset[KeyPath], values: frozenset[KeyPath]
) -> Iterator[tuple[KeyPath, object]]:
    start = document.peek()
    if path in lists and start == "[":
        document.take("[", "a list")
        for _, item in document.items():
            yield path, item
    elif path in values and path not in lists:
        yield path, document.value()
    elif start == "{" and any(one[: len(path)] == path for one in lists | values):
        document.take("{", "an object")
        for key in _keys(document):
            yield from _walk(document, (*path, key), lists, values)
    else:
        document.skip()


def _keys(document: JsonDocument) -> Iterator[str]:
    """Each key of the object whose brace was taken; whoever asks reads the
    value before the next.
    """
    if document.peek() != "}":
        while True:
            if document.peek() != '"':
                raise document.wrong("a key in quotes should stand here")
            key = str(document.value())
            document.take(":", "':'")
            yield key
            if document.peek() == "}":
                break
            document.take(",", "',' or '}'")
    document.take("}", "'}'")


def _places(document: JsonDocument) -> Iterator[int]:
    """The same for the items of a list."""
    place = 0
    if document.peek() != "]":
        while True:
            yield place
            place += 1
            if document.peek() == "]":
                break
            document.take(",", "',' or ']'")
    document.take("]", "']'")


def _delimiter(text: PeekableText) -> str:
    first = text.head.partition("\n")[0]
    return "\t" if first.count("\t") > first.count(",") else ","
