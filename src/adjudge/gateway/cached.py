"""The first link: what was answered is not asked again."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Protocol

from adjudge.domain.frozen import FrozenDict, plain
from adjudge.domain.message import Reply, Request, Usage
from adjudge.errors import SetupError
from adjudge.gateway.model import Layer, Model


class Cache(Protocol):
    """Where replies are kept. Anything with these two methods will do."""

    def get(self, model: str, request: Request) -> Reply | None:
        """The reply ``model`` gave to this very request, or None."""
        ...

    def put(self, model: str, request: Request, reply: Reply) -> None:
        """Keep a good reply."""
        ...


class Cached(Layer):
    """Answers from the cache; keeps what comes back, unless it was empty, cut off or a refusal."""

    def __init__(self, inner: Model, cache: Cache) -> None:
        super().__init__(inner)
        self.cache = cache

    async def complete(self, request: Request) -> Reply:
        """The kept reply, else a new one."""
        kept = self.cache.get(self.name, request)
        if kept is not None:
            return kept
        reply = await self.inner.complete(request)
        if reply.text and reply.finish == "stop":
            self.cache.put(self.name, request, reply)
        return reply


class JsonlCache:
    """Replies in a JSONL file, one a line, as ``replay/PATH`` reads them back."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._kept = {(model, key): reply for model, key, reply in read_replies(self.path)} if self.path.exists() else {}

    def get(self, model: str, request: Request) -> Reply | None:
        """The reply kept for this request."""
        return self._kept.get((model, request.key))

    def put(self, model: str, request: Request, reply: Reply) -> None:
        """Append one line; it is in the file when this returns."""
        line = json.dumps({"model": model, "request": request.key, **_reply_data(reply)}, ensure_ascii=False)
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            self._kept[model, request.key] = reply


def read_replies(path: Path) -> list[tuple[str, str, Reply]]:
    """(model, request key, reply) of each line. A last line cut by a crash is left out; any other bad line is an error."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"recorded replies {path} cannot be read: {error}") from error
    found: list[tuple[str, str, Reply]] = []
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            found.append((str(data["model"]), str(data["request"]), _reply_from(data)))
        except (ValueError, KeyError, TypeError) as error:
            if number < len(lines):
                raise SetupError(f"{path}, line {number} is no recorded reply: {error}") from error
    return found


def _reply_data(reply: Reply) -> dict[str, object]:
    return {"text": reply.text, "finish": reply.finish, "usage": plain(reply.usage), "latency": round(reply.latency, 4)}


def _reply_from(data: dict[str, object]) -> Reply:
    """A kept reply cost nothing this time: its usage has no calls and no tokens."""
    return Reply(
        text=str(data["text"]),
        finish=str(data.get("finish", "stop")),
        usage=Usage(),
        details=FrozenDict({"from": "cache"}),
    )
