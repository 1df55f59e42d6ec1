"""A chat-completions server that speaks HTTP by hand, so that a test says which bytes come when: a
reply twice, half a reply, or none although it was produced.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Self

from adjudge.core.gateway.layers.retry import HAVE_ANSWERED

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_MARK = re.compile(rb"REC-(\d+)-([YN])")
PROMPT_TOKENS, ANSWER_TOKENS = 200, 100


@dataclass
class Exchange:
    """One request, and how its reply is sent."""

    number: int
    """Of the reply, over all connections."""
    record: int
    attempt: int
    """How often the record was asked before."""
    reply: bytes
    writer: asyncio.StreamWriter
    late: list[bytes]
    """What is sent on this connection once the next request was read, before its answer."""

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def send_later(self, data: bytes, seconds: float) -> None:
        """Send without holding up the next request on the connection."""
        asyncio.get_running_loop().call_later(seconds, self._write, data)

    def _write(self, data: bytes) -> None:
        if not self.writer.is_closing():
            self.writer.write(data)

    def cut(self) -> None:
        """Close the connection with a reset."""
        self.writer.transport.abort()


Sender = Callable[[Exchange], Awaitable[None]]
Body = Callable[[int, str], dict[str, object]]


def chat_completion(number: int, text: str) -> dict[str, object]:
    """A reply with an id of its own."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": ANSWER_TOKENS}
    return {"id": f"chatcmpl-{number}", "model": "m", "choices": [choice], "usage": usage}


def plain(body: bytes, headers: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunked(body: bytes, headers: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}"
    pieces = (body[:20], body[20:])
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"


async def send_once(exchange: Exchange) -> None:
    """Answer as a good server does."""
    await exchange.send(exchange.reply)


@dataclass
class WireServer:
    """Start it with ``with``. Tells the truth about marked texts, as the fake provider does."""

    sender: Sender = send_once
    body: Body = chat_completion
    frame: Callable[[bytes], bytes] = plain
    latency: float = 0.0
    connections: int = 0
    replies: int = 0
    """Replies that the model produced, whether or not they were sent."""
    asked: Counter[int] = field(default_factory=Counter)
    """Record → requests about it."""

    def __enter__(self) -> Self:
        HAVE_ANSWERED.clear()  # another server may have had the same port
        self._ready, self._numbers = threading.Event(), count(1)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        late: list[bytes] = []
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                asked = await reader.readexactly(int(length[1]) if length else 0)
                if not asked:  # a list of models: there is none
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                while late:
                    writer.write(late.pop(0))
                await asyncio.sleep(self.latency)
                await self.sender(self._exchange(asked, writer, late))
        writer.close()

    def _exchange(self, asked: bytes, writer: asyncio.StreamWriter, late: list[bytes]) -> Exchange:
        record, truth = _MARK.findall(asked)[-1]
        options = ("PASS", "FAIL") if b'"PASS"' in asked else ("Yes", "No")
        said = {
            "explanation": f"REC-{record.decode()} decides.",
            "selected_option": options[truth == b"N"],
        }
        number = next(self._numbers)
        body = self.body(number, json.dumps(said))
        reply = self.frame(json.dumps(body).encode())
        attempt, self.asked[int(record)] = self.asked[int(record)], self.asked[int(record)] + 1
        self.replies += 1
        return Exchange(number, int(record), attempt, reply, writer, late)
