"""The HTTP client of one event loop: its connections, and what it notes about the servers.

A module of its own because aiohttp, which it needs, is loaded with the first request.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from adjudge.core.gateway import redaction as redact
from adjudge.core.gateway.connections import (
    TIMEOUT,
    Peer,
    Post,
    PostHead,
    ReplyOrigin,
    ends_with_connection,
)
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.replies import GOOD, LARGE, MAX_REPLY, Unread, wait_in
from adjudge.messages import Message

if TYPE_CHECKING:
    from adjudge.core.gateway.http import Content, Endpoint

# Large replies that are read at once from one host, so that many together do not fill the memory.
_LARGE_AT_ONCE = 2
_ACCOUNT_HEADERS = ("openai-organization", "openai-project", "anthropic-organization-id")


class Answer(NamedTuple):
    """The parts of an HTTP answer that are needed. No other header is kept."""

    status: int
    wait: float | None
    """Seconds that the server asks for."""
    raw: bytes
    """The body without secrets."""
    origin: ReplyOrigin | None
    """The connection, if it may carry more requests."""
    asked: int
    """Hash of the request's body."""


class Client:
    """The connections and notes of one event loop."""

    def __init__(self) -> None:
        # It opens connections; ``Peer`` keeps those that may carry another request.
        self._connector = aiohttp.TCPConnector(limit=0, force_close=True)
        self.session = aiohttp.ClientSession(
            connector=self._connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=TIMEOUT
        )
        """For requests that are no short POST. Each gets a new connection."""
        self.dates: dict[str, tuple[str, float]] = {}
        """Host → its last ``Date`` header, and our time when it came."""
        self.accounts: dict[tuple[str, str], str] = {}
        """Host and key → the account that the host last named."""
        self._peers: dict[str, Peer] = {}
        self._large: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_LARGE_AT_ONCE)
        )

    @property
    def closed(self) -> bool:
        return self.session.closed

    async def close(self) -> None:
        await self.session.close()  # with its connector, which waits until all are closed
        for peer in self._peers.values():
            peer.close_idle()

    def peer(self, host: str) -> Peer:
        """Return the record of a server's replies."""
        if host not in self._peers:
            self._peers[host] = Peer(host)
        return self._peers[host]

    async def ask(
        self,
        method: str,
        endpoint: Endpoint,
        body: Callable[[], Content] | None,
        permits: list[asyncio.Semaphore],
        peer: Peer | None,
        *,
        may_share: bool,
    ) -> Answer:
        """Send a request and read its answer.

        ``permits``: takes those that the answer needs, which the caller releases.
        """
        # Made here and not by the caller, in whose frame errors are raised: it may hold a key.
        proxy, content = proxy_for(endpoint.url), body and body()
        # Redirects are not followed: a key goes to the host it was meant for.
        pending = (
            self._post(endpoint.post_head, content.encode(), peer if may_share else None)
            if isinstance(content, str)
            else self.session.request(
                method,
                endpoint.url,
                data=content,
                headers=endpoint.headers,
                proxy=proxy,
                allow_redirects=False,
            )
        )
        try:
            async with pending as response:
                raw = await _body(response, self._large[endpoint.host], permits)
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, HttpProcessingError):
            if peer:  # perhaps a reply with pieces of a copy in it
                peer.is_reused = False
            raise
        headers, status = response.headers, response.status
        if date := headers.get("Date"):
            self.dates[endpoint.host] = date, time.time()
        if account := " ".join(filter(None, map(headers.get, _ACCOUNT_HEADERS))):
            self.accounts[endpoint.host, endpoint.secret.reveal()] = account
        secrets = endpoint.secrets | set(redact.secrets_in(proxy)) if proxy else endpoint.secrets
        return Answer(
            status,
            None if status in GOOD else wait_in(headers),
            redact.strike_out(raw, secrets),
            response.origin if isinstance(response, Post) else None,
            hash(content),
        )

    def _post(self, head: PostHead, body: bytes, peer: Peer | None) -> Post:
        """Return a request over one of a server's connections, or over a new one.

        A server that ever mixed up two replies gets a new connection for each request.
        """
        carrier = peer.take(head.place) if peer and peer.is_reused else None
        closes = peer is None or not peer.is_reused
        return Post(self._connector, head, body, carrier, closes=closes)


def _protocol_of(response: aiohttp.ClientResponse) -> ResponseHandler | None:
    return response.connection.protocol if response.connection else None


async def _body(
    response: aiohttp.ClientResponse | Post,
    large: asyncio.Semaphore,
    permits: list[asyncio.Semaphore],
) -> bytes:
    """Read the decompressed body piece by piece; raise Unread if it is longer than MAX_REPLY bytes
    or compressed twice.
    """
    encodings = response.headers.getall("Content-Encoding", ())
    # Each layer multiplies the size, so that a few kilobytes could fill the memory.
    if encodings and (len(encodings) > 1 or "," in encodings[0]):
        raise Unread(Message("the server's answer is compressed more than once and was not read"))
    body, content = bytearray(), response.content
    while not content.at_eof():
        if content.is_eof():  # all of it has come already, as nearly always
            piece = content.read_nowait()
        else:
            protocol = response.protocol if isinstance(response, Post) else _protocol_of(response)
            with ends_with_connection(content, protocol):
                piece = await content.readany()
        # Small replies need no permit. Only a few large ones may be in memory at once.
        if len(body) <= LARGE < len(body) + len(piece):
            await large.acquire()
            permits.append(large)
        body += piece
        if len(body) > MAX_REPLY:
            response.close()
            raise Unread(
                Message(
                    "the reply is longer than {most} MB and was not read to the end",
                    most=MAX_REPLY // 1_000_000,
                )
            )
    return bytes(body)
