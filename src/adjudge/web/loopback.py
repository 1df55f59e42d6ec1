"""A server on a socket that listens from the moment it is made, so that its address is known before it serves."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from adjudge.errors import SetupError

LOOPBACK = "127.0.0.1"
_MOST_AT_ONCE = 500
_WAIT_AT_END = 1


class Listening:
    """A socket, and what answers there until somebody stops it."""

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        self._socket = _listening(port, host)
        self.port: int = self._socket.getsockname()[1]
        self._server: uvicorn.Server | None = None

    def serve(self, app: ASGIApp, ready: Callable[[], None]) -> None:
        """Answer until ``stop``, or Ctrl-C; ``ready`` is called when it does."""
        self._server = uvicorn.Server(_settings(app))
        threading.Thread(target=_tell, args=(self._server, ready), daemon=True).start()
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """End ``serve``, from another thread."""
        if self._server is not None:
            self._server.should_exit = True


def _settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_AT_ONCE,
        timeout_graceful_shutdown=_WAIT_AT_END,
    )


def _tell(server: uvicorn.Server, ready: Callable[[], None]) -> None:
    while not server.started:
        if server.should_exit:
            return
        threading.Event().wait(0.005)
    ready()


def _listening(port: int, host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio sends without delay
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(_MOST_AT_ONCE)
    except OSError as error:
        made.close()
        why = error.strerror or error
        raise SetupError(f"port {port} cannot be used: {why}; choose another with --port, or leave it out") from error
    return made
