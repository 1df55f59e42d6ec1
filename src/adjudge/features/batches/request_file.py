"""The file of requests that a batch sends; it stays in the run's folder until the batch is
collected.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from adjudge.core.aio.files import writing
from adjudge.core.domain.message import Request
from adjudge.core.gateway.layers.account import Spent
from adjudge.features.batches.ledger import BatchBallot, RequestState
from adjudge.features.batches.providers.api import BatchApi

DIGEST_BYTES = 9
# How long they are as text.
_KEY, _DIGEST = 22, 12


def digest_of(request: Request) -> bytes:
    """Return a digest that tells apart the requests of one ballot, from the prompt and the
    labels.
    """
    text = "\0".join((request.prompt.hash, *request.labels))
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def custom_id(ballot: bytes, request: bytes, attempt: int) -> str:
    """Return a request's id for the provider: at most 64 letters, digits, ``-`` and ``_``."""
    key, digest = (urlsafe_b64encode(part).decode().rstrip("=") for part in (ballot, request))
    return f"{key}-{digest}-a{attempt}"


def parsed_id(id: str) -> tuple[bytes, bytes] | None:
    """Return the ballot and request in an id; None if adjudge did not create it."""
    key, digest = id[:_KEY], id[_KEY + 1 : _KEY + 1 + _DIGEST]
    try:
        ballot, request = urlsafe_b64decode(f"{key}=="), urlsafe_b64decode(digest)
    except ValueError:
        return None
    is_ours = (
        len(request) == DIGEST_BYTES
        and id[_KEY : _KEY + 1] == "-"
        and id[_KEY + 1 + _DIGEST :].startswith("-a")
    )
    return (ballot, request) if is_ours else None


def is_id(name: str) -> bool:
    """Return True if a name has the form of a batch id.

    Files are named after these ids, and a ledger may come from an untrusted source.
    """
    return re.fullmatch(r"[0-9a-f]{16}", name) is not None


class RequestFile:
    """The request file of a batch while it is being written."""

    def __init__(self, folder: Path, api: BatchApi, most_requests: int) -> None:
        self.id = uuid4().hex[:16]
        self.path = folder / f"{self.id}.jsonl"
        self.reserved = Spent()
        self.ballots: list[BatchBallot] = []
        self._api = api
        self._most_requests = most_requests
        self._sha = sha256()
        self._size = 0
        with writing(self.path):
            folder.mkdir(exist_ok=True)
            self._file = self.path.open("wb")
        self._write(api.opening(self.id))

    def fits(self, line: bytes) -> bool:
        """Return True if this line fits into the file; the first one always does."""
        # leave room for separators and the closing bytes
        return self._size + len(line) + 100 <= self._api.most_bytes or not self.ballots

    @property
    def full(self) -> bool:
        """True if the file has as many requests as a batch may have."""
        return len(self.ballots) >= self._most_requests

    def add(
        self, ballot: bytes, request: bytes, attempt: int, line: bytes, reserved: Spent
    ) -> None:
        self._write(self._api.between + line if self.ballots else line)
        self.ballots.append(BatchBallot(ballot, request, self.id, attempt, RequestState.SENT))
        self.reserved += reserved

    def close(self) -> str:
        """Write everything to disk and close the file; return its SHA-256."""
        self._write(self._api.closing)
        with writing(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        return self._sha.hexdigest()

    def discard(self) -> None:
        with suppress(OSError):  # flushing fails if the disk is full
            self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        with writing(self.path):
            self._file.write(data)
        self._sha.update(data)
        self._size += len(data)


def is_whole(path: Path, sha: str) -> bool:
    """Return True if the file exists and has this SHA-256."""
    if not path.is_file():
        return False
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == sha


def remove_files(folder: Path, id: str) -> None:
    """Remove a batch's files from the folder."""
    for path in folder.glob(f"{id}*"):
        if path.is_dir():
            for inner in path.iterdir():
                inner.unlink()
            path.rmdir()
        else:
            path.unlink()
