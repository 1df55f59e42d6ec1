"""A store in a folder: append-only segments that are whole or absent.

Many processes, on one machine or on several that mount the folder, write at once and never wait for each other. A segment is
written under another name, put on the disk, then renamed; its name says which rows it is about and what its bytes hash to.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from adjudge.aio.files import PART, written_whole
from adjudge.errors import RunError
from adjudge.ledger.file import refuse_other
from adjudge.ledger.stores.lines import line_of, record_of
from adjudge.ledger.stores.store import Record, Session, Span, Values, VoteRecord

_LOG = logging.getLogger("adjudge")
BEGUN = "store.json"
_FORMAT = 1
"""Of the store: one with a higher number was made by an adjudge that is newer than this one."""
_SEGMENTS = "segments"
_NAME = re.compile(r"(\d{12})-(\d{12})-(\d{15})-([0-9a-f]+)-(\d{6})-([0-9a-f]{16})\.jsonl\.gz")
_WRITER = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class _Segment(NamedTuple):
    """A segment by its name."""

    path: Path
    span: Span
    order: tuple[int, str, int]
    """When it was written, by whom, and which of theirs it is."""
    digest: str


class SegmentStore:
    """Segments in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._numbers = count(1)

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    def begin(self, configuration: Mapping[str, object]) -> Mapping[str, object]:
        """The first of all processes writes down what the store is for; the others compare."""
        path = self.folder / BEGUN
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                _make_once(path, json.dumps({"format": _FORMAT, "configuration": configuration, "started": time.time()}).encode())
        except OSError as error:
            raise self._trouble(error) from error
        known, _ = self.begun_with()
        refuse_other(self.name, known, configuration)
        return known

    def begun_with(self) -> tuple[Mapping[str, object], float]:
        """The configuration, and when the store was made."""
        path = self.folder / BEGUN
        try:
            found = json.loads(path.read_bytes())
            if found.get("format", _FORMAT) > _FORMAT:
                raise RunError(f"{path} was written by a newer adjudge: update this one")
            return found["configuration"], float(found["started"])
        except FileNotFoundError:
            raise RunError(f"{self.folder} holds no partitions: there is no {BEGUN} in it") from None
        except OSError as error:
            raise self._trouble(error) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{path} is not what adjudge writes: {error!r}") from error

    def append(self, session: Session, span: Span, records: Sequence[Record]) -> None:
        """One more segment; it is on the disk when this returns."""
        if not _WRITER.fullmatch(session.writer):
            raise RunError(
                f"a writer is called by up to 64 letters, digits, dots, hyphens and underscores, not {session.writer!r}"
            )
        content = gzip.compress("\n".join(map(line_of, records)).encode(), compresslevel=1, mtime=0)
        digest = hashlib.sha256(content).hexdigest()[:16]
        rows = f"{span.first:012d}-{span.last:012d}"
        name = f"{rows}-{time.time_ns() // 1_000_000:015d}-{session.id}-{next(self._numbers):06d}-{digest}.jsonl.gz"
        folder = self.folder / _SEGMENTS / session.writer
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with written_whole(folder / name) as file:
                file.write(content)
            _sync(folder)
        except OSError as error:
            raise self._trouble(error) from error

    def votes(self, span: Span, writer: str, seen: set[str]) -> Iterator[Values]:
        """Those of segments about these rows, and of all segments of ``writer``."""
        for segment in self._segments():
            own = segment.path.parent.name == writer
            if segment.path.name not in seen and (own or segment.span.meets(span)):
                seen.add(segment.path.name)
                yield from (record.values for record in self._read(segment) if isinstance(record, VoteRecord))

    def records(self) -> Iterator[Record]:
        """Everything, the oldest segment first."""
        for segment in self._segments():
            yield from self._read(segment)

    def clear(self) -> None:
        """Delete the segments: their records are in a ledger."""
        for segment in self._segments():
            segment.path.unlink(missing_ok=True)
        for left in (self.folder / _SEGMENTS).glob(f"*/*{PART}"):
            left.unlink(missing_ok=True)
        (self.folder / BEGUN).unlink(missing_ok=True)
        for folder in (*(self.folder / _SEGMENTS).glob("*"), self.folder / _SEGMENTS, self.folder):
            with suppress(OSError):  # somebody else's file is in it
                folder.rmdir()

    def _segments(self) -> list[_Segment]:
        found = []
        for path in (self.folder / _SEGMENTS).glob("*/*.jsonl.gz"):
            if match := _NAME.fullmatch(path.name):
                first, last, at, session, number, digest = match.groups()
                found.append(_Segment(path, Span(int(first), int(last)), (int(at), session, int(number)), digest))
        return sorted(found, key=lambda one: one.order)

    def _read(self, segment: _Segment) -> Iterator[Record]:
        """One that is not what was written is taken as absent: what it held is asked again."""
        try:
            content = segment.path.read_bytes()
        except OSError as error:
            raise self._trouble(error) from error
        if hashlib.sha256(content).hexdigest()[:16] != segment.digest:
            _LOG.warning("%s is damaged: what it held is asked again", segment.path)
            return
        for line in gzip.decompress(content).decode().splitlines():
            yield record_of(line)

    def _trouble(self, error: OSError) -> RunError:
        return RunError(f"the store {self.folder} cannot be used: {error.strerror or error}")


def _make_once(path: Path, content: bytes) -> None:
    """The file with ``content``, unless somebody was quicker."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{time.time_ns()}{PART}")
    with written_whole(new) as file:
        file.write(content)
    with suppress(FileExistsError):
        os.link(new, path)
    new.unlink()
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """A renamed file is there after a power cut when its folder is on the disk, too. Windows cannot, and need not."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
