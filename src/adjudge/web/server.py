"""The server of the pages: on this machine alone or behind a proxy, until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from adjudge.core.gateway.prices import PriceTable
from adjudge.web.app import application
from adjudge.web.audit import AuditLog
from adjudge.web.guard import Access
from adjudge.web.library import Library
from adjudge.web.loopback import LOOPBACK, Listening
from adjudge.web.proxy import Sharing
from adjudge.web.site import Site, compile_template, templates
from adjudge.web.spending import DEFAULT_USD, Spending

_OF_FIRST_PAGE = ("base", "runs")
"""First parts of the names of the first page's templates."""
_OF_NEXT_PAGES = ("run", "copy_line", "views", "agents/step_filters", "figures", "row")
"""Like _OF_FIRST_PAGE, but for the pages that it leads to, in the order in which they are
opened.
"""
_QUIET, _LONG_QUIET = 0.1, 1.0
"""Seconds without a request, after which the templates of these pages are compiled, and then all
others: before they are needed, and not while a reader waits.
"""


class SharingOptions(TypedDict, total=False):
    """The settings of a shared page, in addition to those of every page."""

    sharing: Sharing
    address: str
    audit: AuditLog


class PageServer:
    """Serves the pages for a folder of runs. The port is bound on creation, so the address is known
    early.
    """

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
        sharing: Sharing | None = None,
        address: str = LOOPBACK,
        audit: AuditLog | None = None,
    ) -> None:
        self._listening = Listening(port, address)
        self.access = Access(self._listening.port, sharing=sharing)
        self.site = Site(
            self.access,
            Library(root, read_only=read_only),
            language,
            spending=Spending(max_usd, prices),
            home=(home or Path.cwd()).resolve(),
            models=tuple(models),
            audit=audit,
            is_leaving=lambda: self._listening.is_stopping,
        )

    def serve(self, ready: Callable[[str], None]) -> None:
        """Serve until stopped. ``ready`` is called with the address."""
        try:
            self._listening.serve(application(self.site), lambda: self._announce(ready))
        finally:
            self.site.close()

    def stop(self) -> None:
        """Make ``serve`` return; called from another thread."""
        self._listening.stop()

    def _announce(self, ready: Callable[[str], None]) -> None:
        environment = templates(self.site.language)
        names = environment.list_templates()
        for name in (template for template in names if template.startswith(_OF_FIRST_PAGE)):
            compile_template(environment, name)
        self.site.answered = time.monotonic() + _LONG_QUIET  # the first answer comes by then
        ready(self.access.url)
        soon = [name for start in _OF_NEXT_PAGES for name in names if name.startswith(start)]
        for group, quiet in ((soon, _QUIET), (names, _LONG_QUIET)):
            for name in group:
                # not while a reader waits for an answer
                while time.monotonic() - self.site.answered < quiet:
                    time.sleep(_QUIET / 2)
                compile_template(environment, name)
