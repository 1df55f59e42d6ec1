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
    """Return a digest that distinguishes the requests of one ballot: by prompt and by the labels
    looked for.
    """
    text = "\0".join((request.prompt.hash, *request.labels))
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def custom_id(ballot: bytes, request: bytes, attempt: int) -> str:
    """Return the id of a request at the provider: at most 64 letters, digits, - and _."""
    key, digest = (urlsafe_b64encode(part).decode().rstrip("=") for part in (ballot, request))
    return f"{key}-{digest}-a{attempt}"


def parsed_id(id: str) -> tuple[bytes, bytes] | None:
    """Return ballot and request of an id; None if adjudge did not make it."""
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
    """Return True for the id of a batch.

    A ledger may come from anyone, and files are named after these ids.
    """
    return re.fullmatch(r"[0-9a-f]{16}", name) is not None


class RequestFile:
    """A batch whose requests are being written."""

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
        """Return True if there is room for one more."""
        # leave room for separators and the closing bytes
        return self._size + len(line) + 100 <= self._api.most_bytes or not self.ballots

    @property
    def full(self) -> bool:
        """True if there is no room left."""
        return len(self.ballots) >= self._most_requests

    def add(
        self, ballot: bytes, request: bytes, attempt: int, line: bytes, reserved: Spent
    ) -> None:
        self._write(self._api.between + line if self.ballots else line)
        self.ballots.append(BatchBallot(ballot, request, self.id, attempt, RequestState.SENT))
        self.reserved += reserved

    def close(self) -> str:
        """Write everything to the disk; return the SHA-256 of the file."""
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
    """Return True if a file has the expected content."""
    if not path.is_file():
        return False
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == sha


def remove_files(folder: Path, id: str) -> None:
    """Remove the files of a batch from the run's folder."""
    for path in folder.glob(f"{id}*"):
        if path.is_dir():
            for inner in path.iterdir():
                inner.unlink()
            path.rmdir()
        else:
            path.unlink()
