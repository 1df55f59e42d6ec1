"""The interface of batch APIs: write requests, send them, poll their state, and read the
results.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, TypedDict

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.http import Endpoint, error_for
from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.core.gateway.redaction import strike_out
from adjudge.core.gateway.replies import MAX_REPLY
from adjudge.errors import ModelError, RateLimited, Refused, Unavailable
from adjudge.features.batches.transfer import fetch
from adjudge.messages import Message, StoredMessage, pack

Json = JsonDict
EXPIRED = Message("the batch ended without an answer to this request")
MARK = "adjudge"
"""Under which a batch carries our name for it."""
_WRONG_KEY = 401
# Bytes of results that stand in one JSON object.
_LARGEST_OBJECT = 400_000_000
# The names that providers give to requests with a known result.
_DONE = (
    *("completed", "failed", "succeeded", "errored", "canceled", "expired"),
    *("succeeded_requests", "failed_requests", "successfulRequestCount", "failedRequestCount"),
)
# The names that they give to requests that were answered.
_ANSWERED = ("completed", "succeeded", "succeeded_requests", "successfulRequestCount")
_KINDS: Mapping[str, type[ModelError]] = {
    kind.__name__: kind for kind in (ModelError, RateLimited, Refused, Unavailable)
}


class Phase(StrEnum):
    """Phase of a batch, independent of the provider's terms."""

    WAITING = "waiting"
    ENDED = "ended"
    """The answers can be fetched; there will be no more."""
    REJECTED = "rejected"
    """None of it was or will be answered."""


@dataclass(frozen=True)
class Remote:
    """A batch as its provider reports it."""

    id: str
    phase: Phase
    said: str
    """The provider's own word."""
    counts: Mapping[str, int] = field(default_factory=dict)
    requests: int | None = None
    """Number of requests; None if the provider does not say it."""
    mark: str = ""
    """adjudge's name for it, if the provider stores it."""
    created: float | None = None
    expires: float | None = None
    results: tuple[str, ...] = ()
    """Paths of the result files, below the base URL."""
    reason: str = ""
    too_many: bool = False
    """True if it was rejected because too much is waiting already."""

    @property
    def done(self) -> int:
        """Number of requests with a known outcome."""
        return sum(self.counts.get(name, 0) for name in _DONE)

    @property
    def answered(self) -> int:
        """Number of requests that the provider reports as answered."""
        return sum(self.counts.get(name, 0) for name in _ANSWERED)


@dataclass(frozen=True)
class BatchAnswer:
    """The outcome of one request."""

    id: str
    reply: Reply | None = None
    error: ModelError | None = None
    asked: bool = True
    """True if the request reached a server, whatever the outcome."""


class BatchApi(ABC):
    """A provider's batch API, for one model."""

    provider_name: ClassVar[str]
    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 100_000_000
    marks: ClassVar[bool] = True
    """True if a batch can be found again by adjudge's name for it."""
    lists_late: ClassVar[bool] = True
    """True if a new batch may be missing from the provider's list for a while."""
    note: ClassVar[str] = ""
    """A notice for users before they use it."""
    between: ClassVar[bytes] = b""
    closing: ClassVar[bytes] = b""

    def __init__(self, provider: HttpProvider) -> None:
        self.provider = provider

    @property
    def account(self) -> str:
        """A digest of key and server, because only the account that sent a batch can read it."""
        return self.provider.connection.digest("adjudge batch account", self.provider_name)

    async def has_batch(self, id: str) -> bool:
        """Return True if the current key can read this batch at the provider.

        That may be another key of the account that sent it.
        """
        try:
            await self.look(id)
        except ModelError as error:
            if error.retryable or error.status == _WRONG_KEY:
                raise
            return False
        return True

    # providers that keep the name of a batch in its body override this
    def opening(self, mark: str) -> bytes:  # noqa: ARG002
        """Return the bytes before the first request."""
        return b""

    @abstractmethod
    def line(self, id: str, request: Request) -> bytes:
        """Return a request as one line of the file."""

    # most providers take the requests in the call that creates the batch
    async def upload(self, path: Path) -> str:  # noqa: ARG002
        """Upload the request file in advance, if the provider requires it; return its id there.

        This costs nothing yet.
        """
        return ""

    @abstractmethod
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:
        """Create the batch; from here on its requests are billed."""

    @abstractmethod
    async def look(self, id: str) -> Remote:
        pass

    @abstractmethod
    async def page(self, after: str) -> tuple[list[Remote], str]:
        """Return some of the account's batches, the newest first, and the cursor of the next page;
        "" on the last page.
        """

    async def listed(self, since: float) -> list[Remote]:
        """Return the account's batches created since then, reading pages until they are older."""
        remotes, cursor = await self.page("")
        while (
            cursor
            and min(
                (remote.created for remote in remotes if remote.created is not None), default=since
            )
            >= since
        ):
            more, cursor = await self.page(cursor)
            remotes += more
        return [remote for remote in remotes if remote.created is None or remote.created >= since]

    # the file of requests is for providers that are identified by it
    async def sent(self, mark: str, path: Path, since: float) -> list[Remote]:  # noqa: ARG002
        """Return the batches since then that may be the one named ``mark``.

        If the provider stores our names, return only that one.
        """
        remotes = await self.listed(since)
        return [remote for remote in remotes if remote.mark == mark] if self.marks else remotes

    @abstractmethod
    async def cancel(self, id: str) -> None:
        """Cancel a batch; replies given so far are kept."""

    @abstractmethod
    def read(self, record: Json) -> BatchAnswer:
        """Parse one result record; raise KeyError or a similar error if it is not one."""

    async def fetch(self, remote: Remote, folder: Path) -> list[Path]:
        """Download the result files.

        Files are named after a hash of their address, so that a download never continues another
        candidate batch's file.
        """
        files = []
        for path in remote.results:
            target = folder / f"{sha256(path.encode()).hexdigest()}.results"
            if not target.exists():
                await fetch(await self.provider.at(path), target)
            files.append(target)
        return files

    def lines(self, path: Path) -> Iterator[BatchAnswer]:
        """Yield the outcomes in a results file, in any order. Malformed records are skipped."""
        for record in self.records(path):
            line = None
            with suppress(KeyError, TypeError, AttributeError, ValueError):
                line = self.read(record)
            if line is not None:
                yield line

    def records(self, path: Path) -> Iterator[Json]:
        """Yield the records in a results file, one per line. Truncated lines are skipped."""
        secrets = self.endpoint.secrets
        with path.open("rb") as file:
            while raw := file.readline(MAX_REPLY):
                record = None
                with suppress(ValueError, RecursionError):
                    record = json.loads(strike_out(raw, secrets))
                if isinstance(record, dict):
                    yield record

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint named in errors."""
        return self.provider.endpoint

    def answered(self, id: str, body: JsonValue) -> BatchAnswer:
        """Parse a reply in the provider's usual format; return an error if it is not one."""
        try:
            return BatchAnswer(id, self.provider.reply_in(dict(object_in(body))))
        except ModelError as error:
            return BatchAnswer(id, error=error)

    def failed(self, id: str, status: int, body: JsonValue) -> BatchAnswer:
        """Parse an error in the provider's usual format."""
        return BatchAnswer(
            id, error=error_for(self.endpoint, status, None, json.dumps(body).encode())
        )

    def unanswered(self, id: str, why: str = EXPIRED) -> BatchAnswer:
        """Return the outcome of a request that was neither answered nor paid for."""
        return BatchAnswer(id, error=self.endpoint.error(Unavailable, why), asked=False)


def as_json(path: Path, secrets: Iterable[str]) -> Json:
    """Read a results file that is one JSON object; return {} if it is not, or is too large."""
    if path.stat().st_size > _LARGEST_OBJECT:
        return {}
    try:
        data = json.loads(strike_out(path.read_bytes(), secrets))
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def seconds(value: object) -> float | None:
    """Convert a timestamp or an ISO date to seconds since 1970; None if it is neither."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def listed_in(data: JsonObject, name: str) -> list[Json]:
    """Return the objects in a list within a provider's response."""
    entries = data.get(name)
    return (
        [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )


def counts_of(data: JsonValue) -> dict[str, int]:
    """Return the integer entries in a provider's response."""
    return {
        name: value
        for name, value in object_in(data).items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


class ErrorData(TypedDict, total=False):
    """A ModelError as a ledger stores it."""

    kind: str
    message: str
    hint: str
    status: int | None
    parts: Sequence[object]
    """The two texts as messages."""


def error_data(error: ModelError) -> ErrorData:
    """Return an error as a JSON-ready dict."""
    kind = (
        type(error).__name__
        if type(error).__name__ in _KINDS
        else "Unavailable"
        if error.retryable
        else "ModelError"
    )
    return {
        "kind": kind,
        "message": error.message,
        "hint": error.hint,
        "status": error.status,
        "parts": [pack(error.message), pack(error.hint)],
    }


def error_from(data: ErrorData, endpoint: Endpoint) -> ModelError:
    """Rebuild an error from ``error_data``."""
    kind = _KINDS.get(str(data.get("kind")), ModelError)
    texts = str(data.get("message", "")), str(data.get("hint", ""))
    message, hint = map(StoredMessage, texts, data.get("parts", texts))
    error = endpoint.error(kind, message, hint)
    error.status = data.get("status")
    return error


def status_in(response: JsonObject) -> int:
    """Return the HTTP status of one request; 200 if there is none."""
    return int(str(response.get("status_code", 200)))
