"""The server behind the pages: on this machine alone, until Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from adjudge.gateway.prices import PriceTable
from adjudge.web.app import application
from adjudge.web.guard import Access
from adjudge.web.library import Library
from adjudge.web.loopback import Listening
from adjudge.web.site import Site, templates
from adjudge.web.spending import DEFAULT_USD, Spending

_OF_FIRST_PAGE = ("base", "runs")
"""How the names of its templates begin."""
_BETWEEN_TEMPLATES = 0.05
"""Seconds: templates are read before somebody needs them, and nobody waits meanwhile."""


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
        prices: PriceTable | None = None,
        home: Path | None = None,
    ) -> None:
        self._listening = Listening(port)
        self.access = Access(self._listening.port)
        self.site = Site(
            self.access,
            Library(root, read_only=read_only),
            language,
            spending=Spending(max_usd, prices),
            home=(home or Path.cwd()).resolve(),
            models=tuple(models),
            is_leaving=lambda: self._listening.is_stopping,
        )

    def serve(self, ready: Callable[[str], None]) -> None:
        """Answer until somebody stops it; ``ready`` is told the address."""
        try:
            self._listening.serve(application(self.site), lambda: self._tell(ready))
        finally:
            self.site.trials.stop_all()
            self.site.jobs.close()

    def stop(self) -> None:
        """End ``serve``, from another thread."""
        self._listening.stop()

    def _tell(self, ready: Callable[[str], None]) -> None:
        environment = templates(self.site.language)
        names = environment.list_templates()
        for name in (one for one in names if one.startswith(_OF_FIRST_PAGE)):
            environment.get_template(name)
        ready(self.access.url)
        for name in names:
            environment.get_template(name)
            threading.Event().wait(_BETWEEN_TEMPLATES)
