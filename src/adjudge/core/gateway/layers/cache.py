"""The first link: what was answered is not asked again."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol, Required, TypedDict, runtime_checkable

from adjudge.core.aio.files import locked
from adjudge.core.domain.frozen_mapping import FrozenDict, plain
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.message import Reply, Request, Usage
from adjudge.core.gateway.model import Layer, Model
from adjudge.errors import SetupError
from adjudge.messages import reason_of

_BEGINNING = b'{"model": '


class Cache(Protocol):
    """Where replies are kept. Anything with these two methods will do."""

    def get(self, model: str, request: Request) -> Reply | None:
        """The reply ``model`` gave to this very request, or None."""
        ...

    def put(self, model: str, request: Request, reply: Reply) -> None: ...


@runtime_checkable
class Forgetting(Protocol):
    """A cache that can let go of a reply."""

    def forget(self, model: str, request: Request) -> None:
        """Do not give this reply again."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A cache that knows how much it holds."""

    def size(self) -> tuple[int, int]:
        """How many replies there are, and how many bytes they take."""
        ...


class Cached(Layer):
    """Answers from the cache; keeps what comes back, unless it was empty, cut off or a refusal."""

    def __init__(self, inner: Model, cache: Cache) -> None:
        super().__init__(inner)
        self.cache = cache
        self._asked: dict[str, asyncio.Event] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(self, request: Request) -> Reply:
        """The kept reply, else a new one; what is being asked at this moment is waited for."""
        loop = asyncio.get_running_loop()
        if (
            loop is not self._loop
        ):  # a forked process starts empty: what was under way stayed with the parent
            self._loop, self._asked = loop, {}
        kept = self.cache.get(self.identity, request)
        if kept is None and (other := self._asked.get(request.key)) is not None:
            await other.wait()
            kept = self.cache.get(self.identity, request)  # nothing, where that was no good answer
        return kept or await self._ask(request)

    async def _ask(self, request: Request) -> Reply:
        answered = self._asked[request.key] = asyncio.Event()
        try:
            reply = await self.inner.complete(request)
            self.keep(request, reply)
        finally:
            self._asked.pop(request.key, None)
            answered.set()
        return reply

    def keep(self, request: Request, reply: Reply) -> None:
        if reply.text and reply.finish == "stop":
            self.cache.put(self.identity, request, reply)

    def forget(self, request: Request) -> None:
        """Let go of a reply that turned out to be none; a cache that only records keeps it."""
        if isinstance(self.cache, Forgetting):
            self.cache.forget(self.identity, request)


class JsonlCache:
    """Replies in a JSONL file, one a line, as ``replay/PATH`` reads them back."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._kept = (
            {(model, key): reply for model, key, reply in read_replies(self.path)}
            if self.path.exists()
            else {}
        )
        _end_with_a_whole_line(self.path)

    def get(self, model: str, request: Request) -> Reply | None:
        """The reply kept for this request."""
        return self._kept.get((model, request.key))

    def put(self, model: str, request: Request, reply: Reply) -> None:
        """Append one line; it is in the file when this returns."""
        kept = reply_data(reply)
        data = {"model": model, "request": request.key, **kept}
        # "backslashreplace": half a surrogate pair has no UTF-8, but a JSON escape.
        with (
            self._lock,
            _turn(self.path),
            self.path.open("a", encoding="utf-8", errors="backslashreplace") as file,
        ):
            file.write(json.dumps(data, ensure_ascii=False) + "\n")
            self._kept[model, request.key] = reply_from(kept)


def _turn(path: Path) -> AbstractContextManager[bool]:
    """Between processes that record into one file: what one is writing another takes for cut. A
    folder that is closed to us has no room for it.
    """
    if not os.access(path.parent, os.W_OK):
        return nullcontext(True)
    return locked(path.with_name(f".{path.name}.turn"), stays=False)


def _end_with_a_whole_line(path: Path) -> None:
    """What a crash cut off must not run into the next reply."""
    try:
        with _turn(path), path.open("ab+") as file:
            file.seek(0)
            before, newline, last = file.read().rpartition(b"\n")
            if _is_cut(last):
                file.truncate(len(before) + len(newline))
            elif last:
                file.write(b"\n")
    except OSError as error:
        raise SetupError(
            "replies cannot be kept in {path}: {reason}", path=path, reason=reason_of(error)
        ) from error


def read_replies(path: Path) -> list[tuple[str, str, Reply]]:
    """(model, request key, reply) of each line.

    A last line cut by a crash is left out; any other bad line is an error.
    """
    try:
        lines = path.read_bytes().split(b"\n")  # splitlines() would also split inside a reply
    except OSError as error:
        raise SetupError(
            "recorded replies {path} cannot be read: {error}", path=path, error=error
        ) from error
    found: list[tuple[str, str, Reply]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == len(lines) and _is_cut(line)):
            continue
        try:
            data = json.loads(line)
            found.append((str(data["model"]), str(data["request"]), reply_from(data)))
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(
                "{path}, line {number} is not a recorded reply: {error}",
                path=path,
                number=number,
                error=error,
            ) from error
    return found


def _is_cut(line: bytes) -> bool:
    """Whether this begins like a reply of ours and breaks off."""
    if line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:
        return False
    try:
        json.loads(line)
    except ValueError:
        return bool(line)
    return False


class ReplyData(TypedDict, total=False):
    """A reply as the cache keeps it, in JSON."""

    text: Required[str]
    finish: str
    usage: JsonValue
    latency: float
    logprobs: Sequence[Mapping[str, float]]


def reply_data(reply: Reply) -> ReplyData:
    """A reply as a JSON-ready dict."""
    data: ReplyData = {
        "text": reply.text,
        "finish": reply.finish,
        "usage": plain(reply.usage),
        "latency": round(reply.latency, 4),
    }
    if reply.logprobs:
        data["logprobs"] = [dict(token) for token in reply.logprobs]
    return data


def reply_from(data: ReplyData) -> Reply:
    """A kept reply cost nothing this time: its usage has no calls and no tokens."""
    return Reply(
        text=str(data["text"]),
        finish=str(data.get("finish", "stop")),
        logprobs=tuple(FrozenDict(token) for token in data["logprobs"])
        if "logprobs" in data
        else None,
        usage=Usage(),
        details=FrozenDict({"from": "cache"}),
    )
