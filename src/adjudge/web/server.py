"""The server behind the pages: on this machine alone, until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from adjudge.errors import SetupError
from adjudge.web.app import application
from adjudge.web.guard import Access
from adjudge.web.library import Library
from adjudge.web.site import Site
from adjudge.web.spending import DEFAULT_USD, Spending

_LOOPBACK = "127.0.0.1"
_MOST_AT_ONCE = 500
_WAIT_AT_END = 1


class PageServer:
    """Listens from the moment it is made, so that its address is known before it serves."""

    def __init__(
        self,
        root: Path,
        *,
        port: int = 0,
        read_only: bool = False,
        language: str = "en",
        max_usd: float = DEFAULT_USD,
        models: Sequence[str] = (),
        home: Path | None = None,
    ) -> None:
        self._socket = _listening(port)
        self.access = Access(self._socket.getsockname()[1])
        self.site = Site(
            self.access,
            Library(root, read_only=read_only),
            language,
            spending=Spending(max_usd),
            home=(home or Path.cwd()).resolve(),
            models=tuple(models),
        )
        settings = uvicorn.Config(
            application(self.site),
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
        self._server = uvicorn.Server(settings)

    def serve(self, ready: Callable[[str], None]) -> None:
        """Answer until somebody stops it; ``ready`` is told the address."""
        threading.Thread(target=self._tell, args=(ready,), daemon=True).start()
        try:
            asyncio.run(self._server.serve(sockets=[self._socket]))
        finally:
            self.site.trials.stop_all()
            self.site.jobs.close()

    def stop(self) -> None:
        """End ``serve``, from another thread."""
        self._server.should_exit = True

    def _tell(self, ready: Callable[[str], None]) -> None:
        while not self._server.started:
            if self._server.should_exit:
                return
            threading.Event().wait(0.005)
        ready(self.access.url)


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio sends without delay
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((_LOOPBACK, port))
        made.listen(_MOST_AT_ONCE)
    except OSError as error:
        made.close()
        why = error.strerror or error
        raise SetupError(f"port {port} cannot be used: {why}; choose another with --port, or leave it out") from error
    return made
