"""Files of JSON lines that others write to: they grow, are renamed, cut and replaced."""

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
"""Under which a place tells which files could not be read, and how they were then."""
_ENDINGS = ("*.jsonl", "*.ndjson")


@dataclass(frozen=True, slots=True)
class _FilePlace:
    """How far a file was read."""

    offset: int = 0
    before: str = ""
    """The hash of the bytes before: in another file, or one that was cut, they are others."""

    @classmethod
    def of(cls, value: JsonObject) -> _FilePlace:
        offset, before = value.get("offset"), value.get("before")
        known = isinstance(offset, int) and isinstance(before, str)
        return cls(int(str(offset)), str(before)) if known else cls()

    def to_dict(self) -> JsonObject:
        return {"offset": self.offset, "before": self.before}


@dataclass(frozen=True)
class GrowingFiles:
    """A file, the ``.jsonl`` and ``.ndjson`` files of a folder, or what a pattern matches."""

    pattern: str
    id: str | None = None
    """The column that names an event; by default id, trace_id or request_id."""
    time: str | None = None
    """The column that says when it happened."""

    @property
    def name(self) -> str:
        return str(Path(self.pattern).absolute())

    def read(self, cursor: JsonObject) -> TrafficBatch:
        """The whole lines behind ``cursor`` of the first file that has some. A line that is still
        being written waits for its end. A file that cannot be read is named once, and again when
        it has changed.
        """
        places, bad = dict(cursor), list[str]()
        unreadable = dict(object_in(places.pop(_UNREADABLE, None)))
        for path in self._paths(places):
            try:
                with path.open("rb") as file:
                    known = _known_by(os.fstat(file.fileno()))
                    place = _FilePlace.of(object_in(places.get(known)))
                    batch = self._read(file, path, known, place)
            except OSError as error:
                state = f"{reason_of(error)} {_age(path)[0]}"
                if unreadable.get(str(path)) != state:
                    bad.append(Message("{path}: {reason}", path=path, reason=reason_of(error)))
                unreadable[str(path)] = state
                continue
            unreadable.pop(str(path), None)
            if batch is not None:
                told = (*bad, *batch.bad)
                after = _kept({**places, known: object_in(batch.cursor)}, unreadable)
                return replace(batch, cursor=after, bad=told, more=True)
        return TrafficBatch((), _kept(places, unreadable), bad)

    def found(self) -> bool:
        """Whether there is anything to read, now."""
        return Path(self.pattern).is_dir() or bool(self._paths())

    def _paths(self, known: Container[str] = ()) -> list[Path]:
        """The oldest first, so that what was renamed is read before what took its place. A file
        that was ``known`` under the name that is followed is read to its end.
        """
        given = Path(self.pattern)
        if given.is_dir():
            found = [path for ending in _ENDINGS for path in given.glob(ending)]
        else:
            found = [Path(name) for name in glob.glob(self.pattern)]  # noqa: PTH207
            renamed = given.parent.glob(f"{glob.escape(given.name)}.*")
            found += [one for one in renamed if _is_among(one, known)]
        return sorted((path for path in found if path.is_file()), key=_age)

    def _read(
        self, file: BinaryIO, path: Path, known: str, place: _FilePlace
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
        after = _FilePlace(offset, _hash(_before(file, offset)))
        return replace(self._events(lines, path, known, place.offset), cursor=after.to_dict())

    def _events(self, lines: bytes, path: Path, known: str, offset: int) -> TrafficBatch:
        events: list[TrafficEvent] = []
        bad: list[str] = []
        for place, line in _numbered(lines, offset):
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise WrongData("is not a JSON object")
                if not holds_spans(row):
                    events.append(self._event(row, line, place, known))
                    continue
                spans, wrong = spans_in(row)
                events += spans
                bad += [
                    Message("{path}, byte {place}: {error}", path=path, place=place, error=one)
                    for one in wrong
                ]
            except (ValueError, RecursionError) as error:
                bad.append(
                    Message("{path}, byte {place}: {error}", path=path, place=place, error=error)
                )
        return TrafficBatch(events, {}, bad)

    def _event(self, row: JsonObject, line: bytes, place: int, known: str) -> TrafficEvent:
        own = _first_text(row, (self.id,) if self.id else _NAMES)
        if self.id and not own:
            raise WrongData("has no {column}", column=self.id)
        at = _first_text(row, (self.time,) if self.time else _TIMES)
        return TrafficEvent(own or f"{known}:{place}:{_hash(line)}", row, at)


def _kept(places: JsonObject, unreadable: JsonObject) -> JsonObject:
    return {**places, _UNREADABLE: unreadable} if unreadable else places


def _before(file: BinaryIO, offset: int) -> bytes:
    file.seek(max(0, offset - _BEFORE))
    return file.read(min(_BEFORE, offset))


def _numbered(lines: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Each line that holds something, with its place in the file."""
    for line in lines.split(b"\n"):
        if line.strip():
            yield offset, line
        offset += len(line) + 1


def _first_text(row: JsonObject, names: Sequence[str]) -> str:
    found = (row.get(name) for name in names)
    return next((str(one) for one in found if isinstance(one, str | int | float) and one != ""), "")


def _known_by(status: os.stat_result) -> str:
    """What stays the same when a file is renamed."""
    return f"{status.st_dev}:{status.st_ino}"


def _is_among(path: Path, known: Container[str]) -> bool:
    try:
        return _known_by(path.stat()) in known
    except FileNotFoundError:  # it is just being renamed again
        return False


def _age(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, str(path)
    except OSError:
        return 0.0, str(path)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
