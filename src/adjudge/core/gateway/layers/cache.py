"""The first link: requests that were answered before are not sent again."""

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
    """A store of replies. Any object with these two methods will do.

    Example: ``open_model("openai/gpt-4o-mini", cache=MyCache())``
    """

    def get(self, model: str, request: Request) -> Reply | None:
        """Return the reply of ``model`` to exactly this request, or None."""
        ...

    def put(self, model: str, request: Request, reply: Reply) -> None: ...


@runtime_checkable
class Forgetting(Protocol):
    """A cache that can remove a reply."""

    def forget(self, model: str, request: Request) -> None:
        """Remove this reply."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A cache that knows its size."""

    def size(self) -> tuple[int, int]:
        """Return the number of replies and their bytes."""
        ...


class Cached(Layer):
    """Answers from the cache, and stores new replies unless they are empty, cut off or refused."""

    def __init__(self, inner: Model, cache: Cache) -> None:
        super().__init__(inner)
        self.cache = cache
        self._asked: dict[str, asyncio.Event] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(self, request: Request) -> Reply:
        """Return the stored reply. Without one, wait for an equal request that is under way, else
        ask.
        """
        loop = asyncio.get_running_loop()
        # A forked process starts empty: requests under way stayed with the parent.
        if loop is not self._loop:
            self._loop, self._asked = loop, {}
        reply = self.cache.get(self.identity, request)
        if reply is None and (pending := self._asked.get(request.key)) is not None:
            await pending.wait()
            # None if the pending request brought no usable answer: then ask again.
            reply = self.cache.get(self.identity, request)
        return reply or await self._ask(request)

    async def _ask(self, request: Request) -> Reply:
        answered = self._asked[request.key] = asyncio.Event()
        try:
            reply = await self.inner.complete(request)
            self.keep(request, reply)
        finally:
            # Also after a failure: the waiting requests then ask themselves.
            self._asked.pop(request.key, None)
            answered.set()
        return reply

    def keep(self, request: Request, reply: Reply) -> None:
        if reply.text and reply.finish == "stop":
            self.cache.put(self.identity, request, reply)

    def forget(self, request: Request) -> None:
        """Remove a reply that could not be read, if the cache can."""
        if isinstance(self.cache, Forgetting):
            self.cache.forget(self.identity, request)


class JsonlCache:
    """Replies in a JSONL file, one per line, which ``replay/PATH`` can read.

    Example: ``open_model("openai/gpt-4o-mini", cache="replies.jsonl")``
    """

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
        """Return the reply stored for this request, or None."""
        return self._kept.get((model, request.key))

    def put(self, model: str, request: Request, reply: Reply) -> None:
        """Append one line. It is in the file when this returns."""
        stored = reply_data(reply)
        data = {"model": model, "request": request.key, **stored}
        # "backslashreplace": half a surrogate pair has no UTF-8, but a JSON escape.
        with (
            self._lock,
            _turn(self.path),
            self.path.open("a", encoding="utf-8", errors="backslashreplace") as file,
        ):
            file.write(json.dumps(data, ensure_ascii=False) + "\n")
            self._kept[model, request.key] = reply_from(stored)


def _turn(path: Path) -> AbstractContextManager[bool]:
    """Lock the file against other processes, if its folder is writable.

    Without the lock, a line that another process is still writing would look like one cut by a
    crash.
    """
    if not os.access(path.parent, os.W_OK):
        return nullcontext(True)
    return locked(path.with_name(f".{path.name}.turn"), stays=False)


def _end_with_a_whole_line(path: Path) -> None:
    """Make the file end with a whole line: remove one cut by a crash, add a missing line break."""
    try:
        with _turn(path), path.open("ab+") as file:
            file.seek(0)
            complete_lines, newline, last = file.read().rpartition(b"\n")
            if _is_cut(last):
                file.truncate(len(complete_lines) + len(newline))
            elif last:
                file.write(b"\n")
    except OSError as error:
        raise SetupError(
            "replies cannot be stored in {path}: {reason}", path=path, reason=reason_of(error)
        ) from error


def read_replies(path: Path) -> list[tuple[str, str, Reply]]:
    """Return (model, request key, reply) per line.

    A last line cut by a crash is left out; any other bad line is an error.
    """
    try:
        lines = path.read_bytes().split(b"\n")  # splitlines() would also split inside a reply
    except OSError as error:
        raise SetupError(
            "the recorded replies in {path} cannot be read: {error}", path=path, error=error
        ) from error
    replies: list[tuple[str, str, Reply]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == len(lines) and _is_cut(line)):
            continue
        try:
            data = json.loads(line)
            replies.append((str(data["model"]), str(data["request"]), reply_from(data)))
        except (ValueError, KeyError, TypeError) as error:
            raise SetupError(
                "{path}, line {number} is not a recorded reply: {error}",
                path=path,
                number=number,
                error=error,
            ) from error
    return replies


def _is_cut(line: bytes) -> bool:
    """Return True if a line begins like a recorded reply and breaks off."""
    if line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:
        return False
    try:
        json.loads(line)
    except ValueError:
        return bool(line)
    return False


class ReplyData(TypedDict, total=False):
    """JSON form of a reply in the cache."""

    text: Required[str]
    finish: str
    usage: JsonValue
    latency: float
    logprobs: Sequence[Mapping[str, float]]


def reply_data(reply: Reply) -> ReplyData:
    """Return a reply as a JSON-ready dict."""
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
    """Read a stored reply. Its usage is zero: it cost nothing this time."""
    return Reply(
        text=str(data["text"]),
        finish=str(data.get("finish", "stop")),
        logprobs=tuple(FrozenDict(token) for token in data["logprobs"])
        if "logprobs" in data
        else None,
        usage=Usage(),
        details=FrozenDict({"from": "cache"}),
    )
