"""Files of JSON lines that others write to: they grow, are renamed, cut and replaced."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.domain.json_types import JsonObject, object_in
from adjudge.messages import Message, reason_of
from adjudge.traffic.otlp import holds_spans, spans_in
from adjudge.traffic.source import TrafficBatch, TrafficEvent

_PART = 4 << 20
"""Bytes that are read at once."""
_LONGEST = 64 << 20
"""Bytes of the longest line that is taken."""
_HEAD = 256
"""Bytes by whose hash a file is known again."""
_NAMES = ("id", "trace_id", "request_id")
_TIMES = ("timestamp", "time", "created_at", "start_time")
_ENDINGS = ("*.jsonl", "*.ndjson")


@dataclass(frozen=True, slots=True)
class _FilePlace:
    """How far a file was read."""

    offset: int = 0
    head: str = ""
    """The hash of its first bytes: another file in its place has other ones."""
    head_bytes: int = 0

    @classmethod
    def of(cls, value: JsonObject) -> _FilePlace:
        offset, size, head = value.get("offset"), value.get("head_bytes"), value.get("head")
        if isinstance(offset, int) and isinstance(size, int) and isinstance(head, str):
            return cls(offset, head, size)
        return cls()

    def to_dict(self) -> JsonObject:
        return {"offset": self.offset, "head": self.head, "head_bytes": self.head_bytes}


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
        being written waits for its end.
        """
        places = dict(cursor)
        for path in self._paths():
            try:
                status = path.stat()
                known = f"{status.st_dev}:{status.st_ino}"
                batch = self._read(path, _FilePlace.of(object_in(places.get(known))))
            except OSError as error:
                why = Message("{path}: {reason}", path=path, reason=reason_of(error))
                return TrafficBatch((), places, (why,))
            if batch is not None:
                place = object_in(batch.cursor)
                return replace(batch, cursor={**places, known: place}, more=True)
        return TrafficBatch((), places)

    def _paths(self) -> list[Path]:
        """The oldest first, so that what was renamed is read before what took its place."""
        given = Path(self.pattern)
        if given.is_dir():
            found = [path for ending in _ENDINGS for path in given.glob(ending)]
        else:
            found = [Path(name) for name in glob.glob(self.pattern)]  # noqa: PTH207
        return sorted((path for path in found if path.is_file()), key=_age)

    def _read(self, path: Path, place: _FilePlace) -> TrafficBatch | None:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < place.offset or _hash(file.read(place.head_bytes)) != (
                place.head or _hash(b"")
            ):
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
            file.seek(0)
            head = file.read(min(_HEAD, place.offset + (end or len(part))))
        lines = part[: end or len(part)]
        after = _FilePlace(place.offset + len(lines), _hash(head), len(head))
        return replace(self._events(lines, path, place.offset), cursor=after.to_dict())

    def _events(self, lines: bytes, path: Path, offset: int) -> TrafficBatch:
        events: list[TrafficEvent] = []
        bad: list[str] = []
        for place, line in _numbered(lines, offset):
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(Message("is not a JSON object"))
                events += spans_in(row) if holds_spans(row) else [self._event(row, line, place)]
            except (ValueError, RecursionError) as error:
                bad.append(
                    Message("{path}, byte {place}: {error}", path=path, place=place, error=error)
                )
        return TrafficBatch(events, {}, bad)

    def _event(self, row: JsonObject, line: bytes, place: int) -> TrafficEvent:
        own = _first_text(row, (self.id,) if self.id else _NAMES)
        if self.id and not own:
            raise ValueError(Message("has no {column}", column=self.id))
        at = _first_text(row, (self.time,) if self.time else _TIMES)
        return TrafficEvent(own or f"{place}:{_hash(line)}", row, at)


def _numbered(lines: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Each line that holds something, with its place in the file."""
    for line in lines.split(b"\n"):
        if line.strip():
            yield offset, line
        offset += len(line) + 1


def _first_text(row: JsonObject, names: Sequence[str]) -> str:
    found = (row.get(name) for name in names)
    return next((str(one) for one in found if isinstance(one, str | int | float) and one != ""), "")


def _age(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, str(path)
    except OSError:
        return 0.0, str(path)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
