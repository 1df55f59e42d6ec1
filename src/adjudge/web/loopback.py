"""A server on a socket that is bound when it is created, so its address is known before it
serves.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
import threading
from collections.abc import Callable

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from adjudge.errors import SetupError
from adjudge.web.parsing import parse_one_at_a_time

LOOPBACK = "127.0.0.1"
_MOST_AT_ONCE = 500
"""Requests under way. Only who has the key gets that far: all others are answered at once."""
_MOST_SILENT = 200
"""Connections on which no request is under way."""
_HEAD_SECONDS = 10.0
"""Time limit for a request's first line and headers."""
_WAIT_AT_END = 1
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)
"""Needs no file descriptor of its own. If the platform has poll, takes any number of sockets."""


class Listening:
    """A bound socket, and the server that answers on it until it is stopped."""

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        parse_one_at_a_time()
        self._socket = _bind(port, host)
        self.port: int = self._socket.getsockname()[1]
        self._server: uvicorn.Server | None = None

    def serve(self, app: ASGIApp, ready: Callable[[], None]) -> None:
        """Serve until ``stop`` or Ctrl-C. ``ready`` is called once the server has started."""
        self._server = uvicorn.Server(_settings(app))
        threading.Thread(target=_call_when_started, args=(self._server, ready), daemon=True).start()
        asyncio.run(self._server.serve(sockets=[self._socket]))

    @property
    def is_stopping(self) -> bool:
        """True if the server was stopped but still awaits open responses."""
        return self._server is not None and self._server.should_exit

    def stop(self) -> None:
        """Make ``serve`` return; called from another thread."""
        if self._server is not None:
            self._server.should_exit = True


class _Connection(H11Protocol):
    """A connection with a deadline for each request's headers.

    Idle connections make way for new ones, so that they cannot lock anyone out.
    """

    _deadline: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._hear_request()

    def on_response_complete(self) -> None:
        """Expect the next request, which may already have arrived."""
        self._expect_request()
        super().on_response_complete()
        self._hear_request()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP, and tell a running handler that its client is gone."""
        if not self._is_silent:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            # an answer has not begun yet
            super().send_400_response(msg)
        else:
            self._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    @property
    def _is_silent(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_request(self) -> None:
        self._expect_nothing()
        self._since = self.loop.time()
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self._end_silence)

    def _hear_request(self) -> None:
        if not self._is_silent:
            self._expect_nothing()

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_silence(self) -> None:
        if self.transport.get_write_buffer_size():  # the last answer is still being read
            self._expect_request()
        else:
            self._leave()

    def _leave(self) -> None:
        self.connections.discard(self)
        self.transport.abort()

    def _make_room(self) -> None:
        silent = [
            connection
            for connection in self.connections
            if isinstance(connection, _Connection) and connection._is_silent
        ]
        # the longest silent first: after sorting, the newest _MOST_SILENT are kept
        for connection in _unheard(
            sorted(silent, key=lambda connection: connection._since)[:-_MOST_SILENT]
        ):
            connection._leave()


def _unheard(silent: list[_Connection]) -> list[_Connection]:
    """Return the connections with no unread data.

    If many arrive at once, some may have a request that was not read yet; these stay open.
    """
    with _Selector() as waiting:
        for connection in silent:
            waiting.register(
                connection.transport.get_extra_info("socket").fileno(),
                selectors.EVENT_READ,
                connection,
            )
        heard = {key.data for key, _ in waiting.select(0)} if silent else set()
    return [connection for connection in silent if connection not in heard]


def _settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        http=_Connection,
        loop="asyncio",
        # any client could forge the headers of a proxy
        proxy_headers=False,
        server_header=False,
        backlog=_MOST_SILENT,
        limit_concurrency=_MOST_AT_ONCE + _MOST_SILENT,
        timeout_graceful_shutdown=_WAIT_AT_END,
    )


def _call_when_started(server: uvicorn.Server, ready: Callable[[], None]) -> None:
    while not server.started:
        if server.should_exit:
            return
        threading.Event().wait(0.005)
    ready()


def _bind(port: int, host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # the protocol is named so that asyncio sends without delay
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # a server that was just stopped may have left the port waiting
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_MOST_SILENT)
    except OSError as error:
        listener.close()
        why = error.strerror or error
        if host != LOOPBACK:
            raise SetupError(
                "cannot listen on {address}, port {port}: {why}",
                address=host,
                port=port,
                why=why,
            ) from error
        raise SetupError(
            "port {port} cannot be used ({why}): choose another with --port, or leave it out",
            port=port,
            why=why,
        ) from error
    return listener
