"""The extension point ``pages``: what a feature or an installed package adds to the page.

A part is a ``Page``. Its routes are served behind the same guard as ours, its templates escape
whatever they show, and it can add to the pages of runs and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from starlette.routing import BaseRoute, Route

from adjudge.messages import Message
from adjudge.runs.view.document import Document


@dataclass(frozen=True)
class NavigationLink:
    """An entry of the top bar."""

    path: str
    title: str
    writes: bool = False
    """The page is of no use with ``--read-only``: the entry is then left out."""

    @property
    def section(self) -> str:
        """The first word of the addresses that belong to this entry."""
        return self.path.strip("/").split("/")[0].split("-")[0] or "runs"


@dataclass(frozen=True, kw_only=True)
class Page:
    """Routes with their entry in the top bar, templates, scripts and help.

    Everything but the name may be left out: a feature without addresses of its own can still add
    to the pages of runs and rows.
    """

    name: str
    """As in the table of parts, and the folder under which templates are found: a page called
    ``acme`` renders ``acme/NAME.html.jinja``.
    """
    routes: Sequence[BaseRoute] = ()
    link: NavigationLink | None = None
    package: str = ""
    """The package that has the folders ``templates`` and ``static``, usually ``__package__``."""
    scripts: Sequence[str] = ()
    """Files of ``static`` that every page loads."""
    style: Callable[[], str] | None = None
    """Rules for the style sheet of all pages."""
    keys: Sequence[tuple[str, str]] = ()
    """Keys and what they do, for the help."""
    document: Callable[[Path, str], Document | None] | None = None
    """What there is to watch in a run folder, in a language; None if there is nothing."""
    watched_by: Sequence[str] = ()
    """Commands that make runs with something to watch, as sentences."""

    def problem_as_plugin(self) -> str:
        """Return why an installed package cannot bring this page; empty if it can."""
        wrong = [route for route in self.routes if not isinstance(route, Route)]
        if wrong:
            return Message("{route!r} is not a starlette Route", route=wrong[0])
        if self.link and not self.link.path.startswith("/"):
            return Message(
                "the path of its link must begin with a slash: {path!r}", path=self.link.path
            )
        if self.package and not (files(import_module(self.package)) / "templates").is_dir():
            return Message("the package {package} has no folder templates", package=self.package)
        return ""
