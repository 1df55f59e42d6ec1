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
import select
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from weakref import WeakKeyDictionary, WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge.gateway")

# Ids that are remembered per server. A copy comes within seconds of the reply.
_MOST_IDS = 4096
# Replies on used connections that are held back before a server's connections are shared.
_TRIALS = 2
_LONGEST_HOLD = 1.0
_SHORTEST_HOLD = 0.005
_CONNECT_SECONDS = 30
_ID_HEADERS = ("x-request-id", "request-id", "x-amzn-requestid")
# Connections that have carried a request.
_may_carry_another: WeakKeyDictionary[ResponseHandler, bool] = WeakKeyDictionary()
# Connections whose end was waited for.
_watched: WeakSet[ResponseHandler] = WeakSet()


class StaleConnection(aiohttp.ClientError):
    """Raised if an idle connection must not be used. Nothing was sent, so the request can use
    another one.
    """


class UnsolicitedReply(StaleConnection):
    """Raised if the server sent data on an idle connection without being asked."""


@light_dataclass(frozen=True)
class ReplyOrigin:
    """The connection that a reply came on. It holds no headers, which may contain secrets."""

    carrier: ResponseHandler
    is_first: bool
    """Nothing else was asked on this connection before, so the reply cannot be a late copy."""
    header_id: int | None = None
    """Hash of the id in the reply's headers."""


class Response(aiohttp.ClientResponse):
    """A response that knows its connection even after that has returned to the pool."""

    origin: ReplyOrigin


class QuietRequest(aiohttp.ClientRequest):
    """A request that is only written to a connection on which nothing else can arrive."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        carrier = conn.protocol
        assert carrier is not None
        is_first = carrier not in _may_carry_another
        if not is_first:
            if carrier.should_close:  # a message, or a part of one, is in its buffer
                raise UnsolicitedReply
            # The pool hands out connections that were not released for another request, too.
            # Bytes that wait in the kernel may also be the server's goodbye.
            if not _may_carry_another[carrier] or _is_readable(carrier.transport):
                raise StaleConnection
        _may_carry_another[carrier] = False
        response = await super().send(conn)
        assert isinstance(response, Response)
        response.origin = ReplyOrigin(carrier, is_first)
        return response


def origin_of(response: aiohttp.ClientResponse) -> ReplyOrigin | None:
    """Return the origin of a reply, with the id from its headers; None for a single-use
    connection.
    """
    if not isinstance(response, Response):
        return None
    header_id = _hash_of(map(response.headers.get, _ID_HEADERS))
    return ReplyOrigin(response.origin.carrier, response.origin.is_first, header_id)


@contextmanager
def ends_with_connection(response: aiohttp.ClientResponse) -> Iterator[None]:
    """End a wait for the rest of a reply with an error if its connection closes.

    aiohttp closes a connection whose chunks cannot be read, and does not tell the reader.
    """
    content, connection = response.content, response.connection
    if connection is None or connection.protocol is None:  # the reply is complete
        yield
        return

    def end(_: object = None) -> None:
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the reply has no end"))

    carrier = connection.protocol
    closed = carrier.closed
    if closed is None:
        end()
        yield
        return
    if carrier not in _watched:
        _watched.add(carrier)
        closed.add_done_callback(asyncio.Future.exception)  # or it is logged as never retrieved
    closed.add_done_callback(end)
    try:
        yield
    finally:
        closed.remove_done_callback(end)


def _is_readable(transport: asyncio.BaseTransport | None) -> bool:
    """Return True if bytes wait that the event loop has not read yet."""
    socket = transport.get_extra_info("socket") if transport else None
    if socket is None:
        return False
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([socket], [], [], 0)[0])  # Windows: no limit on the number


class Peer:
    """A record of a server's replies, by their ids, that decides if its connections are shared."""

    def __init__(self, host: str) -> None:
        self.is_reused = True
        """Whether its connections may carry several requests."""
        self._host = host
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
        elif _is_readable(origin.carrier.transport):
            # two rounds of the event loop read what waits in the kernel
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        self._slowest = max(self._slowest, taken)
        carrier = origin.carrier
        is_followed = len(carrier) > 0 or isinstance(carrier.exception(), HttpProcessingError)
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
            _may_carry_another[origin.carrier] = True
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


def open_session(*, reuses: bool) -> aiohttp.ClientSession:
    """Open a session of the running loop, with or without reusable connections."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=not reuses),
        cookie_jar=aiohttp.DummyCookieJar(),
        # A request that timed out here was not sent, so that it does not count as paid.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
        request_class=QuietRequest if reuses else aiohttp.ClientRequest,
        response_class=Response if reuses else aiohttp.ClientResponse,
    )
