"""The server behind the pages: on this machine alone, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from adjudge.web.app import application
from adjudge.web.guard import Access
from adjudge.web.library import Library
from adjudge.web.loopback import Listening
from adjudge.web.site import Site


class PageServer:
    """Listens from the moment it is made, so that its address is known before it serves."""

    def __init__(self, root: Path, *, port: int = 0, read_only: bool = False, language: str = "en") -> None:
        self._listening = Listening(port)
        self.access = Access(self._listening.port)
        self.site = Site(self.access, Library(root, read_only=read_only), language)

    def serve(self, ready: Callable[[str], None]) -> None:
        """Answer until somebody stops it; ``ready`` is told the address."""
        self._listening.serve(application(self.site), lambda: ready(self.access.url))

    def stop(self) -> None:
        """End ``serve``, from another thread."""
        self._listening.stop()
