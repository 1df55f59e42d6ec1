"""A store in a folder or an object store: append-only segments that are complete or absent.

Many processes, on one machine or several, write at once and never wait for each other. A segment's
name has its rows and the hash of its bytes; its folder has its rough place, so that a reader of
some rows lists only a few folders, however many segments there are.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import RunError
from adjudge.features.scale.stores.lines import line_of, record_of
from adjudge.features.scale.stores.places import FilePlace, place_of
from adjudge.features.scale.stores.store import (
    Record,
    RowRange,
    StoredVote,
    Values,
    WriterSession,
    is_new,
    refuse_other_judges,
)
from adjudge.messages import Message, reason_of

_LOG = logging.getLogger("adjudge")
BEGUN = "store.json"
# Version of the store; a higher one was made by a newer adjudge.
_FORMAT = 2
# Folder of all segments in format 1, by writer.
_FLAT = "segments"
# Folders in format 2: ``rows/SIZE/N/WRITER`` has segments of at most about SIZE rows that begin at
# row N × SIZE or later.
_ROWS = "rows"
_SIZE, _GROWTH = 1024, 8
# Most folders that are listed one by one.
_MOST_FOLDERS = 64
_EVERYWHERE = (_FLAT, _ROWS)
_NAME = re.compile(
    r"(\d{12,19})-(\d{12,19})-(\d{15})-([0-9a-f]+)-(\d{6,})-([0-9a-f]{16})\.jsonl\.gz"
)
_WRITER = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class _Segment(NamedTuple):
    path: str
    writer: str
    span: RowRange
    order: tuple[int, str, int]
    """When it was written, by whom, and which of theirs it is."""
    digest: str


class SegmentStore:
    """Segments in a folder, or at an address such as ``s3://bucket/prefix``."""

    def __init__(self, location: str | Path | FilePlace) -> None:
        self._place = place_of(location) if isinstance(location, str | Path) else location
        self._numbers = count(1)

    @property
    def name(self) -> str:
        """The folder or the address."""
        return self._place.name

    @property
    def is_begun(self) -> bool:
        """True if a process has begun to write here."""
        try:
            self._place.read(BEGUN)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._trouble(error) from error
        return True

    def begin(self, configuration: JsonObject) -> JsonObject:
        """Register the configuration, unless there is one; return the registered one.

        Raise OtherConfiguration if they differ.
        """
        if not self.is_begun:
            document = {"format": _FORMAT, "configuration": configuration, "started": time.time()}
            try:
                self._place.make(BEGUN, json.dumps(document).encode())
            except OSError as error:
                raise self._trouble(error) from error
        configuration_stored, _ = self.begun_with()
        refuse_other_judges(
            self.name, configuration_stored, configuration, Message("or use another store")
        )
        return configuration_stored

    def begun_with(self) -> tuple[JsonObject, float]:
        """Return the configuration, and when the store was made."""
        try:
            document = json.loads(self._place.read(BEGUN))
            if document.get("format", _FORMAT) > _FORMAT:
                raise RunError(
                    "{name}/{begun} was written by a newer version of adjudge: upgrade adjudge",
                    name=self.name,
                    begun=BEGUN,
                )
            return document["configuration"], float(document["started"])
        except FileNotFoundError:
            raise RunError(
                "{name} contains no partitions (no {begun} in it)", name=self.name, begun=BEGUN
            ) from None
        except OSError as error:
            raise self._trouble(error) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(
                "{name}/{begun} is damaged or was not written by adjudge: {error!r}",
                name=self.name,
                begun=BEGUN,
                error=error,
            ) from error

    def append(self, session: WriterSession, span: RowRange, records: Sequence[Record]) -> None:
        """Add a segment; it is stored when this returns."""
        if not _WRITER.fullmatch(session.writer):
            raise RunError(
                "the name of a writer may have up to 64 letters, digits, dots, hyphens and "
                "underscores, not {writer!r}",
                writer=session.writer,
            )
        content = gzip.compress("\n".join(map(line_of, records)).encode(), compresslevel=1, mtime=0)
        digest = hashlib.sha256(content).hexdigest()[:16]
        rows = f"{span.first:012d}-{span.last:012d}"
        at, number = time.time_ns() // 1_000_000, next(self._numbers)
        name = f"{rows}-{at:015d}-{session.id}-{number:06d}-{digest}.jsonl.gz"
        try:
            size = _SIZE
            while size <= span.last - span.first:
                size *= _GROWTH
            self._place.put(
                f"{f'{_ROWS}/{size}/{span.first // size}'}/{session.writer}/{name}", content
            )
        except OSError as error:
            raise self._trouble(error) from error

    def votes(self, span: RowRange, writer: str, seen: set[str]) -> Iterator[Values]:
        """Yield votes about these rows and, the first time, also all votes by ``writer``."""
        is_first_time = is_new(writer, seen)
        for segment in self._segments(_EVERYWHERE if is_first_time else self._near(span)):
            if segment.path not in seen and (
                segment.span.meets(span) or (is_first_time and segment.writer == writer)
            ):
                seen.add(segment.path)
                yield from (
                    record.values
                    for record in self._read(segment)
                    if isinstance(record, StoredVote)
                )

    def records(self) -> Iterator[Record]:
        """Yield all records, the oldest segment first."""
        for segment in self._segments(_EVERYWHERE):
            yield from self._read(segment)

    def clear(self) -> None:
        """Delete the segments, since their records are in a ledger."""
        paths = [segment.path for segment in self._segments(_EVERYWHERE)]
        try:
            self._place.delete([*paths, BEGUN])
        except OSError as error:
            raise self._trouble(error) from error

    def _near(self, span: RowRange) -> list[str]:
        """Return the folders that may have segments about these rows."""
        try:
            sizes = [
                int(name) for name in self._place.folders(_ROWS) if name.isdecimal() and int(name)
            ]
        except OSError as error:
            raise self._trouble(error) from error
        folders = [_FLAT]
        for size in sizes:
            # A range may begin in the folder before the first row's.
            numbers = range(max(0, span.first // size - 1), span.last // size + 1)
            many = len(numbers) > _MOST_FOLDERS
            folders += (
                [f"{_ROWS}/{size}"] if many else [f"{_ROWS}/{size}/{number}" for number in numbers]
            )
        return folders

    def _segments(self, folders: Iterable[str]) -> list[_Segment]:
        segments = []
        try:
            paths = [path for folder in folders for path in self._place.paths(folder)]
        except OSError as error:
            raise self._trouble(error) from error
        for path in paths:
            folder, _, name = path.rpartition("/")
            if match := _NAME.fullmatch(name):
                first_row, last_row, at, session, number, digest = match.groups()
                writer, order = folder.rpartition("/")[2], (int(at), session, int(number))
                segments.append(
                    _Segment(path, writer, RowRange(int(first_row), int(last_row)), order, digest)
                )
        return sorted(segments, key=lambda segment: segment.order)

    def _read(self, segment: _Segment) -> Iterator[Record]:
        """Yield the records of a segment.

        A damaged segment counts as absent, so its questions are asked again.
        """
        try:
            content = self._place.read(segment.path)
        except OSError as error:
            raise self._trouble(error) from error
        if hashlib.sha256(content).hexdigest()[:16] != segment.digest:
            _LOG.warning(
                Message(
                    "{name}/{path} is damaged: its contents are asked again",
                    name=self.name,
                    path=segment.path,
                )
            )
            return
        for line in gzip.decompress(content).decode().splitlines():
            yield record_of(line)

    def _trouble(self, error: OSError) -> RunError:
        return RunError(
            "the store {name} cannot be used: {reason}", name=self.name, reason=reason_of(error)
        )
