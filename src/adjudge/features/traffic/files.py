"""Follow files of JSON lines that other programs write: they grow, are renamed, truncated and
replaced.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.errors import WrongData
from adjudge.features.traffic.otlp import holds_spans, spans_in
from adjudge.features.traffic.source import TrafficBatch, TrafficEvent
from adjudge.messages import Message, reason_of

_PART = 1 << 20
"""Bytes that are read at once."""
_LONGEST = 64 << 20
"""Bytes of the longest line that is taken."""
_BEFORE = 256
"""Bytes before a place, by whose hash it is known again."""
_NAMES = ("id", "trace_id", "request_id")
_TIMES = ("timestamp", "time", "created_at", "start_time")
_UNREADABLE = "unreadable"
"""The key in a cursor for files that could not be read, with their state then."""
_ENDINGS = ("*.jsonl", "*.ndjson")


@dataclass(frozen=True, slots=True)
class _FilePlace:
    """The place up to which a file was read."""

    offset: int = 0
    before: str = ""
    """The hash of the bytes before: in another file, or one that was cut, they are others."""

    @classmethod
    def of(cls, value: JsonObject) -> _FilePlace:
        offset, hash_before = value.get("offset"), value.get("before")
        is_place = isinstance(offset, int) and isinstance(hash_before, str)
        return cls(int(str(offset)), str(hash_before)) if is_place else cls()

    def to_dict(self) -> JsonObject:
        return {"offset": self.offset, "before": self.before}


@dataclass(frozen=True)
class GrowingFiles:
    """A file, the ``.jsonl`` and ``.ndjson`` files of a folder, or the files that match a
    pattern.
    """

    pattern: str
    id: str | None = None
    """Column with the event id; by default id, trace_id or request_id."""
    time: str | None = None
    """The column that says when it happened."""

    @property
    def name(self) -> str:
        return str(Path(self.pattern).absolute())

    def read(self, cursor: JsonObject) -> TrafficBatch:
        """Return the complete lines after ``cursor`` of the first file that has any.

        A line that is still being written is left for later. A file that cannot be read is reported
        once, and again if it has changed.
        """
        places, bad = dict(cursor), list[str]()
        unreadable = dict(object_in(places.pop(_UNREADABLE, None)))
        for path in self._paths(places):
            try:
                with path.open("rb") as file:
                    file_id = _file_id(os.fstat(file.fileno()))
                    place = _FilePlace.of(object_in(places.get(file_id)))
                    batch = self._read(file, path, file_id, place)
            except OSError as error:
                state = f"{reason_of(error)} {_age(path)[0]}"
                if unreadable.get(str(path)) != state:
                    bad.append(Message("{path}: {reason}", path=path, reason=reason_of(error)))
                unreadable[str(path)] = state
                continue
            unreadable.pop(str(path), None)
            if batch is not None:
                all_bad = (*bad, *batch.bad)
                next_cursor = _with_unreadable(
                    {**places, file_id: object_in(batch.cursor)}, unreadable
                )
                return replace(batch, cursor=next_cursor, bad=all_bad, more=True)
        return TrafficBatch((), _with_unreadable(places, unreadable), bad)

    def has_files(self) -> bool:
        """Return True if there is anything to read now."""
        return Path(self.pattern).is_dir() or bool(self._paths())

    def _paths(self, file_ids: Container[str] = ()) -> list[Path]:
        """Return the files, the oldest first."""
        followed = Path(self.pattern)
        if followed.is_dir():
            paths = [path for ending in _ENDINGS for path in followed.glob(ending)]
        else:
            paths = [Path(name) for name in glob.glob(self.pattern)]  # noqa: PTH207
            # A rotated file that was read before under the followed name is read to its end.
            renamed = followed.parent.glob(f"{glob.escape(followed.name)}.*")
            paths += [rotated for rotated in renamed if _is_among(rotated, file_ids)]
        return sorted((path for path in paths if path.is_file()), key=_age)

    def _read(
        self, file: BinaryIO, path: Path, file_id: str, place: _FilePlace
    ) -> TrafficBatch | None:
        if place.offset and _hash(_before(file, place.offset)) != place.before:
            place = _FilePlace()  # it was cut, or another file took its place
        file.seek(place.offset)
        part = file.read(_PART)
        while part and b"\n" not in part and len(part) < _LONGEST:
            further = file.read(_PART)
            if not further:
                return None
            part += further
        end = part.rfind(b"\n") + 1
        if not part or (not end and len(part) < _LONGEST):
            return None
        lines = part[: end or len(part)]
        offset = place.offset + len(lines)
        next_place = _FilePlace(offset, _hash(_before(file, offset)))
        return replace(
            self._events(lines, path, file_id, place.offset), cursor=next_place.to_dict()
        )

    def _events(self, lines: bytes, path: Path, file_id: str, offset: int) -> TrafficBatch:
        events: list[TrafficEvent] = []
        bad: list[str] = []
        for place, line in _lines_with_places(lines, offset):
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise WrongData("is not a JSON object")
                if not holds_spans(row):
                    events.append(self._event(row, line, place, file_id))
                    continue
                spans, wrong = spans_in(row)
                events += spans
                bad += [
                    Message("{path}, byte {place}: {error}", path=path, place=place, error=reason)
                    for reason in wrong
                ]
            except (ValueError, RecursionError) as error:
                bad.append(
                    Message("{path}, byte {place}: {error}", path=path, place=place, error=error)
                )
        return TrafficBatch(events, {}, bad)

    def _event(self, row: JsonObject, line: bytes, place: int, file_id: str) -> TrafficEvent:
        event_id = _first_text(row, (self.id,) if self.id else _NAMES)
        if self.id and not event_id:
            raise WrongData("has no {column}", column=self.id)
        at = _first_text(row, (self.time,) if self.time else _TIMES)
        # Without an id, the place in the file and the hash of the line identify the event.
        return TrafficEvent(event_id or f"{file_id}:{place}:{_hash(line)}", row, at)


def _with_unreadable(places: JsonObject, unreadable: JsonObject) -> JsonObject:
    return {**places, _UNREADABLE: unreadable} if unreadable else places


def _before(file: BinaryIO, offset: int) -> bytes:
    file.seek(max(0, offset - _BEFORE))
    return file.read(min(_BEFORE, offset))


def _lines_with_places(lines: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not empty, with its place in the file."""
    for line in lines.split(b"\n"):
        if line.strip():
            yield offset, line
        offset += len(line) + 1


def _first_text(row: JsonObject, names: Sequence[str]) -> str:
    values = (row.get(name) for name in names)
    return next(
        (str(value) for value in values if isinstance(value, str | int | float) and value != ""), ""
    )


def _file_id(status: os.stat_result) -> str:
    """Return an id that survives renaming of the file."""
    return f"{status.st_dev}:{status.st_ino}"


def _is_among(path: Path, file_ids: Container[str]) -> bool:
    try:
        return _file_id(path.stat()) in file_ids
    except FileNotFoundError:  # it is just being renamed again
        return False


def _age(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, str(path)
    except OSError:
        return 0.0, str(path)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
