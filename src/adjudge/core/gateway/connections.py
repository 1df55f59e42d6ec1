"""Connections to servers, and which of them may carry another request.

HTTP/1.1 does not number its replies: the next bytes on a connection are the answer to the next
request, whatever they are. A server or proxy that sends a reply twice would so answer one row with
the verdict of another. A connection is therefore used again only after a reply that would be
recognised if it came a second time, that is one with an id, from a server whose ids differ.

A proxy may also give the copy a new id. Then the reply that was asked for comes after it: a reply
on a used connection that is followed by another one is not believed. The first such replies of a
server are held back for as long as its replies take, so that a server that does this always is
found out before one of its replies is believed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import select
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.messages import Message

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy

_LOG = logging.getLogger("adjudge.gateway")

# Ids that are remembered per server. A copy comes within seconds of the reply.
_MOST_IDS = 4096
# Replies on used connections that are held back before a server's connections are shared.
_TRIALS = 2
_LONGEST_HOLD = 1.0
_SHORTEST_HOLD = 0.005
# A request that timed out here was not sent, so that it does not count as paid.
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30)
_INFORMATION = frozenset(range(100, 200)) - {101}
_LINE_BREAK = re.compile("[\r\n\0]")
_ID_HEADERS = ("x-request-id", "request-id", "x-amzn-requestid")
# Seconds after which an idle connection is closed.
_KEPT = 15.0
# Connections whose end was waited for.
_watched: WeakSet[ResponseHandler] = WeakSet()


class Carrier:
    """An open connection that may carry several requests, one after the other."""

    def __init__(self, connection: Connection, place: str) -> None:
        assert connection.protocol is not None
        self.protocol = connection.protocol
        self.place = place
        """Where it leads to, and how."""
        self.is_new = True
        """Nothing was asked on it yet, so the next reply cannot be a late copy."""
        self.is_idle = False
        """It is kept for another request."""
        self.idle_since = 0.0
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    def release(self) -> None:
        """Close the connection unless it is kept for another request."""
        if not self.is_idle:
            self.close()

    @property
    def is_readable(self) -> bool:
        """Return True if bytes wait that the event loop has not read yet."""
        transport = self.protocol.transport
        socket = transport.get_extra_info("socket") if transport else None
        if socket is None:
            return False
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(socket.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([socket], [], [], 0)[0])  # Windows: no limit on the number


@light_dataclass(frozen=True)
class ReplyOrigin:
    """The connection that a reply came on. It holds no headers, which may contain secrets."""

    carrier: Carrier
    is_first: bool
    """Nothing else was asked on this connection before, so the reply cannot be a late copy."""
    header_id: int | None = None
    """Hash of the id in the reply's headers."""


class PostHead:
    """The part of POST requests to one address that is the same for every body: how to connect, and
    the headers.

    aiohttp's session prepares both for each request, which takes longer than to send it and to
    read its reply.
    """

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None) -> None:
        try:
            address = URL(url)
        except ValueError as error:
            raise aiohttp.InvalidURL(url) from error
        if address.scheme not in ("http", "https") or not address.raw_host:
            raise aiohttp.InvalidURL(url)
        self.request = aiohttp.ClientRequest(
            "POST",
            address,  # a login in it becomes a header
            headers=dict(headers),
            proxy=URL(proxy) if proxy else None,
            loop=asyncio.get_running_loop(),
        )
        """Tells the connector where to, and through which proxy; it is never sent itself."""
        if self.request.auth and any(name.lower() == "authorization" for name in headers):
            raise ValueError("there is a login in the address and one in the headers")
        self.request.url = self.request.url.with_user(None)
        self.place = f"{self.request.url.origin()} through {proxy}"
        """Requests to one place may share connections."""
        del self.request.headers["Content-Length"]
        self._lines: dict[bool, bytes] = {}

    def lines(self, *, closes: bool) -> bytes:
        """Return everything up to the length of the body.

        ``closes``: the server is to close the connection after its reply. Only called with a
        connection: the connector adds the login of a proxy to the headers.
        """
        if closes not in self._lines:
            request = self.request
            is_whole = request.proxy is not None and not request.is_ssl()
            target = str(request.url) if is_whole else request.url.raw_path_qs
            headers = [f"{name}: {value}" for name, value in request.headers.items()]
            if closes and "Connection" not in request.headers:
                headers.append("Connection: close")
            if any(map(_LINE_BREAK.search, headers)):
                raise ValueError("a header has a line break")
            lines = "\r\n".join((f"POST {target} HTTP/1.1", *headers, "Content-Length: "))
            self._lines[closes] = lines.encode()
        return self._lines[closes]


class Post:
    """A POST request that is written in one piece, and its response.

    Example: ``async with Post(connector, head, body, None, closes=True) as response: …``
    """

    status: int
    headers: CIMultiDictProxy[str]
    content: aiohttp.StreamReader

    def __init__(
        self,
        connector: aiohttp.TCPConnector,
        head: PostHead,
        body: bytes,
        carrier: Carrier | None,
        *,
        closes: bool,
    ) -> None:
        """``carrier``: a connection that is open already. ``closes``: False if the connection stays
        open for whoever takes the ``origin``.
        """
        self._connector, self._head, self._body = connector, head, body
        self._carrier, self._closes, self._is_first = carrier, closes, True

    async def __aenter__(self) -> Post:
        """Send the request, and wait for the headers of its reply."""
        carrier = self._carrier = self._carrier or await self._connect()
        self._is_first, carrier.is_new = carrier.is_new, False
        try:
            protocol = self._write(carrier.protocol)
            message, self.content = await protocol.read()
            while message.code in _INFORMATION:
                message, self.content = await protocol.read()
        except BaseException:
            carrier.close()
            raise
        self.status, self.headers = message.code, message.headers
        return self

    async def _connect(self) -> Carrier:
        try:
            connection = await self._connector.connect(self._head.request, [], TIMEOUT)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError from error
        return Carrier(connection, self._head.place)

    def _write(self, protocol: ResponseHandler) -> ResponseHandler:
        transport, body = protocol.transport, self._body
        protocol.set_response_params(read_until_eof=True)
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("the connection is closing")
        lines = self._head.lines(closes=self._closes)
        transport.write(b"%b%d\r\n\r\n%b" % (lines, len(body), body))
        return protocol

    async def __aexit__(self, kind: object, *_: object) -> None:
        if self._closes or kind is not None:
            self.close()

    def close(self) -> None:
        if self._carrier:
            self._carrier.close()

    @property
    def protocol(self) -> ResponseHandler | None:
        return self._carrier.protocol if self._carrier else None

    @property
    def origin(self) -> ReplyOrigin | None:
        """The origin of the reply, with the id from its headers; None if its connection is
        closed.
        """
        if self._carrier is None or self._closes:
            return None
        header_id = _hash_of(map(self.headers.get, _ID_HEADERS))
        return ReplyOrigin(self._carrier, self._is_first, header_id)


@contextmanager
def ends_with_connection(
    content: aiohttp.StreamReader, protocol: ResponseHandler | None
) -> Iterator[None]:
    """End a wait for the rest of a reply with an error if its connection closes.

    aiohttp closes a connection whose chunks cannot be read, and does not tell the reader.
    """
    if protocol is None:  # the reply is complete
        yield
        return

    def end(_: object = None) -> None:
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the reply has no end"))

    closed = protocol.closed
    if closed is None:
        end()
        yield
        return
    if protocol not in _watched:
        _watched.add(protocol)
        closed.add_done_callback(asyncio.Future.exception)  # or it is logged as never retrieved
    closed.add_done_callback(end)
    try:
        yield
    finally:
        closed.remove_done_callback(end)


class Peer:
    """A server: its idle connections, and a record of its replies, by their ids, that decides if
    connections carry several requests.
    """

    def __init__(self, host: str) -> None:
        self.is_reused = True
        """Whether its connections may carry several requests."""
        self._host = host
        self._idle: defaultdict[str, deque[Carrier]] = defaultdict(deque)
        """Place → its idle connections, the newest last."""
        self._timer: asyncio.TimerHandle | None = None
        self._ids: dict[int, tuple[int, int]] = {}
        """Hashes of the latest ids, the newest last → hashes of the request and of the reply."""
        self._has_mixed_up = False
        self._trials_left = _TRIALS
        self._is_on_trial = False
        self._slowest = 0.0
        """Seconds that its slowest reply so far took."""

    def enter(self) -> bool:
        """Return True if a request may use a shared connection; the caller must then call
        ``leave``.

        During the trials only one request at a time may.
        """
        if not self.is_reused or self._is_on_trial:
            return False
        self._is_on_trial = self._trials_left > 0
        return True

    def leave(self) -> None:
        self._is_on_trial = False

    def take(self, place: str) -> Carrier | None:
        """Return an idle connection on which nothing can arrive but the answer to the next request;
        None if there is none.
        """
        idle, oldest = self._idle[place], monotonic() - _KEPT
        while idle:
            carrier = idle.pop()
            carrier.is_idle = False
            if carrier.protocol.is_connected() and carrier.idle_since > oldest:
                if carrier.protocol.should_close:
                    # The server sent a message, or a part of one, without being asked.
                    self.is_reused = False
                    self.close_idle()
                # Bytes that wait in the kernel may also be the server's goodbye.
                elif not carrier.is_readable:
                    return carrier
            carrier.close()
        return None

    def keep(self, carrier: Carrier) -> None:
        """Keep a connection for the next request for a while, if its reply leaves it open."""
        if carrier.protocol.should_close or not carrier.protocol.is_connected():
            carrier.close()
            return
        carrier.is_idle, carrier.idle_since = True, monotonic()
        self._idle[carrier.place].append(carrier)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_KEPT, self._close_old)

    def _close_old(self) -> None:
        self.close_idle(before=monotonic() - _KEPT)
        if any(self._idle.values()):
            self._timer = asyncio.get_running_loop().call_later(_KEPT, self._close_old)

    def close_idle(self, before: float = math.inf) -> None:
        """Close the connections that have been idle since ``before``."""
        for idle in self._idle.values():
            while idle and idle[0].idle_since <= before:
                idle.popleft().close()
        if self._timer:
            self._timer.cancel()
            self._timer = None

    async def is_followed(self, origin: ReplyOrigin, sent_at: float) -> bool:
        """Return True if more data follows a reply on a shared connection, and stop sharing the
        server's connections.

        One of the replies then belongs to another request, and nothing tells which.
        """
        taken = monotonic() - sent_at
        if origin.is_first:
            self._slowest = max(self._slowest, taken)
            return False
        if self._trials_left:
            # By then the answer to this request has come, too.
            remaining = 2 * self._slowest - taken + _SHORTEST_HOLD
            await asyncio.sleep(min(max(remaining, _SHORTEST_HOLD), _LONGEST_HOLD))
            self._trials_left -= 1
        elif origin.carrier.is_readable:
            # two rounds of the event loop read what waits in the kernel
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        self._slowest = max(self._slowest, taken)
        protocol = origin.carrier.protocol
        is_followed = len(protocol) > 0 or isinstance(protocol.exception(), HttpProcessingError)
        if is_followed:
            self.is_reused = False
        return is_followed

    def is_answer(
        self, origin: ReplyOrigin | None, data: JsonObject, asked: int, answer: int
    ) -> bool:
        """Return False if this reply may be a copy of an earlier one.

        A repeated id on a fresh connection is not a copy: such a server gives the same id to
        several replies, as mock servers and caching proxies do. Then an id proves nothing, and
        every further request gets a connection of its own. ``asked`` and ``answer`` are hashes of
        the request and of the reply.
        """
        header_id = origin.header_id if origin else None
        id = _hash_of((data.get("id"), data.get("responseId"))) or header_id
        if id is None:
            return True
        earlier = self._ids.pop(id, None)
        self._ids[id] = asked, answer
        if len(self._ids) > _MOST_IDS:
            del self._ids[next(iter(self._ids))]
        if earlier:
            self.is_reused = False
            if origin and not origin.is_first:
                return False
            if earlier[0] != asked and earlier[1] == answer:
                self._warn_of_mix_up()
            return True
        # One id alone does not show that they differ.
        if origin and self.is_reused and len(self._ids) > 1:
            self.keep(origin.carrier)
        return True

    def _warn_of_mix_up(self) -> None:
        """Warn once: a mock server does this always, a proxy that mixes replies up now and then."""
        if not self._has_mixed_up:
            self._has_mixed_up = True
            _LOG.warning(
                Message(
                    "{host} sent the same reply, with the same id, to different requests. Unless "
                    "it is a mock server, a proxy is mixing up replies, and verdicts may belong "
                    "to other rows",
                    host=self._host,
                )
            )


def _hash_of(ids: Iterable[object]) -> int | None:
    """Return the hash of the first id that is a number or a text and not empty; None if there is
    none.
    """
    return next((hash(str(id)) for id in ids if isinstance(id, str | int) and id), None)
