"""What every batch API has: a way to write requests, to send them, to ask how far they are, and to
read what came of each.
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
from adjudge.core.gateway.http import MAX_REPLY, Endpoint, error_for
from adjudge.core.gateway.providers.base import HttpProvider
from adjudge.core.gateway.redaction import strike_out
from adjudge.errors import ModelError, RateLimited, Refused, Unavailable
from adjudge.features.batches.transfer import fetch
from adjudge.messages import Message, StoredMessage, pack

Json = JsonDict
EXPIRED = Message("the batch ended before this request was answered")
MARK = "adjudge"
"""Under which a batch carries our name for it."""
_WRONG_KEY = 401
_LARGEST_OBJECT = 400_000_000
"""Bytes of results that stand in one JSON object."""
_DONE = (
    *("completed", "failed", "succeeded", "errored", "canceled", "expired"),
    *("succeeded_requests", "failed_requests", "successfulRequestCount", "failedRequestCount"),
)
"""What providers call the requests of which it is known what came of them."""
_ANSWERED = ("completed", "succeeded", "succeeded_requests", "successfulRequestCount")
"""What providers call the requests that were answered."""
_KINDS: Mapping[str, type[ModelError]] = {
    one.__name__: one for one in (ModelError, RateLimited, Refused, Unavailable)
}


class Phase(StrEnum):
    """How far a batch is, whatever its provider calls that."""

    WAITING = "waiting"
    ENDED = "ended"
    """What was answered can be fetched; what was not answered will not be."""
    REJECTED = "rejected"
    """None of it was or will be answered."""


@dataclass(frozen=True)
class Remote:
    """A batch as its provider tells of it."""

    id: str
    phase: Phase
    said: str
    """The provider's own word."""
    counts: Mapping[str, int] = field(default_factory=dict)
    requests: int | None = None
    """How many it has; None where that is not said."""
    mark: str = ""
    """Our name for it, where the provider keeps that."""
    created: float | None = None
    expires: float | None = None
    results: tuple[str, ...] = ()
    """Where what came of the requests is fetched, below the base URL."""
    reason: str = ""
    too_many: bool = False
    """Whether it was rejected because too much waits already."""

    @property
    def done(self) -> int:
        """Requests of which it is known what came of them."""
        return sum(self.counts.get(name, 0) for name in _DONE)

    @property
    def answered(self) -> int:
        """Requests that the provider says it has answered."""
        return sum(self.counts.get(name, 0) for name in _ANSWERED)


@dataclass(frozen=True)
class BatchAnswer:
    """What came of one request."""

    id: str
    reply: Reply | None = None
    error: ModelError | None = None
    asked: bool = True
    """Whether a server has seen the request, whatever came of it."""


class BatchApi(ABC):
    """A provider's batch API, for one model."""

    provider_name: ClassVar[str]
    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 100_000_000
    marks: ClassVar[bool] = True
    """Whether a batch can be found again by our name for it."""
    lists_late: ClassVar[bool] = True
    """Whether a batch may be there that is not listed yet."""
    note: ClassVar[str] = ""
    """What a user must know before using it."""
    between: ClassVar[bytes] = b""
    closing: ClassVar[bytes] = b""

    def __init__(self, provider: HttpProvider) -> None:
        self.provider = provider

    @property
    def account(self) -> str:
        """A digest of who asks where: a batch can be read only by the account that sent it."""
        return self.provider.connection.digest("adjudge batch account", self.provider_name)

    async def gives(self, id: str) -> bool:
        """Whether the provider has this batch for the key that asks: another key of the account
        that sent it is as good.
        """
        try:
            await self.look(id)
        except ModelError as error:
            if error.retryable or error.status == _WRONG_KEY:
                raise
            return False
        return True

    # where the name of a batch stands in its body
    def opening(self, mark: str) -> bytes:  # noqa: ARG002
        """What comes before the first request."""
        return b""

    @abstractmethod
    def line(self, id: str, request: Request) -> bytes:
        """A request as it stands among the others."""

    # most take the requests with what creates the batch
    async def upload(self, path: Path) -> str:  # noqa: ARG002
        """Send the file with the requests ahead, where that is done, which costs nothing yet: what
        the provider calls it.
        """
        return ""

    @abstractmethod
    async def create(self, mark: str, path: Path, uploaded: str) -> Remote:
        """Have the requests in a file answered: from now on they are paid for."""

    @abstractmethod
    async def look(self, id: str) -> Remote:
        pass

    @abstractmethod
    async def page(self, after: str) -> tuple[list[Remote], str]:
        """Some of the account's batches, the newest first, and what the next page comes ``after``:
        "" where there is none.
        """

    async def listed(self, since: float) -> list[Remote]:
        """The account's batches since then, page by page until they are older."""
        found, after = await self.page("")
        while (
            after
            and min((one.created for one in found if one.created is not None), default=since)
            >= since
        ):
            more, after = await self.page(after)
            found += more
        return [one for one in found if one.created is None or one.created >= since]

    # where the requests tell
    async def sent(self, mark: str, path: Path, since: float) -> list[Remote]:  # noqa: ARG002
        """The batches that may be the one of this name, which was sent since then; with names of
        ours, no others.
        """
        found = await self.listed(since)
        return [one for one in found if one.mark == mark] if self.marks else found

    @abstractmethod
    async def cancel(self, id: str) -> None:
        """Have no more of a batch answered; what was answered stays."""

    @abstractmethod
    def read(self, record: Json) -> BatchAnswer:
        """What one record of the results says; KeyError and the like when it is none."""

    async def fetch(self, remote: Remote, folder: Path) -> list[Path]:
        """The files with what came of the requests, named after where they are fetched: of several
        batches that may be ours, none is fetched on behind half of another.
        """
        found = []
        for path in remote.results:
            target = folder / f"{sha256(path.encode()).hexdigest()}.results"
            if not target.exists():
                await fetch(await self.provider.at(path), target)
            found.append(target)
        return found

    def lines(self, path: Path) -> Iterator[BatchAnswer]:
        """What came of each request, in any order. What cannot be read says nothing."""
        for record in self.records(path):
            line = None
            with suppress(KeyError, TypeError, AttributeError, ValueError):
                line = self.read(record)
            if line is not None:
                yield line

    def records(self, path: Path) -> Iterator[Json]:
        """The records of a results file, one a line; a last line that was cut off is none."""
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
        """In whose name errors speak."""
        return self.provider.endpoint

    def answered(self, id: str, body: JsonValue) -> BatchAnswer:
        """A request with the provider's usual answer."""
        try:
            return BatchAnswer(id, self.provider.reply_in(dict(object_in(body))))
        except ModelError as error:
            return BatchAnswer(id, error=error)

    def failed(self, id: str, status: int, body: JsonValue) -> BatchAnswer:
        """A request with the provider's usual error."""
        return BatchAnswer(
            id, error=error_for(self.endpoint, status, None, json.dumps(body).encode())
        )

    def unanswered(self, id: str, why: str = EXPIRED) -> BatchAnswer:
        """A request that was not answered, nor paid for."""
        return BatchAnswer(id, error=self.endpoint.error(Unavailable, why), asked=False)


def as_json(path: Path, secrets: Iterable[str]) -> Json:
    """A results file that is one JSON object; an empty one where it is none, or too large to be
    ours.
    """
    if path.stat().st_size > _LARGEST_OBJECT:
        return {}
    try:
        data = json.loads(strike_out(path.read_bytes(), secrets))
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def seconds(value: object) -> float | None:
    """A moment as a number, whether it came as one or as a date."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def listed_in(data: JsonObject, name: str) -> list[Json]:
    """The objects in a list among what a provider tells."""
    found = data.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def counts_of(data: JsonValue) -> dict[str, int]:
    """The counts among what a provider tells."""
    return {
        name: value
        for name, value in object_in(data).items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


class ErrorData(TypedDict, total=False):
    """A ModelError as a ledger keeps it."""

    kind: str
    message: str
    hint: str
    status: int | None
    parts: Sequence[object]
    """The two texts as messages."""


def error_data(error: ModelError) -> ErrorData:
    """An error as a JSON-ready dict."""
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
    """As ``error_data`` has it."""
    kind = _KINDS.get(str(data.get("kind")), ModelError)
    texts = str(data.get("message", "")), str(data.get("hint", ""))
    message, hint = map(StoredMessage, texts, data.get("parts", texts))
    error = endpoint.error(kind, message, hint)
    error.status = data.get("status")
    return error


def status_in(response: JsonObject) -> int:
    """The HTTP status of one request; most of those that were answered have none."""
    return int(str(response.get("status_code", 200)))
