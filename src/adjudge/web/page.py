"""The extension point ``pages``: what a feature or an installed package adds to the page.

A part is a ``Page``. Its routes are served behind the same guard as ours, its templates escape
whatever they show, and it can add to the pages of runs and rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.row_groups import RowJudgment
from adjudge.messages import Message
from adjudge.runs.results.prompts import BallotsOf
from adjudge.runs.view.document import Document
from adjudge.web.library import Library, RunPlace

if TYPE_CHECKING:
    from adjudge.web.site import Site


@dataclass(frozen=True)
class NavigationLink:
    """An entry of the top bar."""

    path: str
    title: str
    writes: bool = False
    """The page is of no use with ``--read-only``: the entry is then left out."""

    @property
    def section(self) -> str:
        """The first path segment (up to a dash) that the addresses of this entry share."""
        return self.path.strip("/").split("/")[0].split("-")[0] or "runs"


@dataclass(frozen=True)
class RowContext:
    """A row shown on a page."""

    connection: sqlite3.Connection
    """To the ledger of its run."""
    record: JudgmentRecord
    """The judgment, with its votes."""
    data: JsonDict
    """The record as a dictionary, without the votes."""
    configuration: JudgeConfiguration
    group: Sequence[RowJudgment]
    """The judgments of the same row by all criteria of the judge."""
    is_small: bool
    """The ledger is small enough to be searched while a page waits."""


@dataclass(frozen=True, kw_only=True)
class RowPart:
    """Additions of a feature to the pages of single rows. Everything may be left out.

    Templates are named as ``Site.answer`` names them. They see what the page has (``chosen``,
    ``record``, ``run``, ``judge``) and this object as ``part``.
    """

    data: Callable[[RowContext], JsonDict] | None = None
    """Returns what is added to ``chosen``."""
    page_data: Callable[[Site, Request, RunPlace, JudgmentRecord], JsonDict] | None = None
    """Returns what is added to the data of a page that shows the row."""
    findings: str = ""
    """Template for the place between the explanation of a row and its texts."""
    content: str = ""
    """Template for the place after the texts."""
    functions: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    """Functions for these templates, as ``part.functions.NAME``."""
    apart: Collection[str] = ()
    """Names of the record's dictionary that "Everything else" leaves out."""
    hidden_fields: Callable[[JudgmentRecord], Collection[str]] | None = None
    """Returns the fields whose texts are not shown."""
    ballots: BallotsOf | None = None
    """Yields the ballots that may have brought a vote, so that its prompt can be shown."""
    owns: Callable[[JudgmentRecord], bool] | None = None
    """Returns True if ``content`` shows what was judged, in place of the row's texts and prompts.
    Such rows cannot be judged again from the page.
    """
    explanation: str = ""
    """Template that replaces the explanation of an owned row."""
    prompt_note: str = ""
    """Shown with votes on an owned row instead of their prompt."""
    judge_again: Callable[[JudgmentRecord, str], str] | None = None
    """Returns how the rows of a file are judged again if the page cannot; empty if it can."""
    label: Callable[[Request, GivenFields, str], JsonDict | None] | None = None
    """Returns the steps of a row that people label, by its fields and its identity: ``count``,
    ``first``, ``failed`` and ``drawn``. None if it has none. Nothing in it may come from a verdict.
    """
    copier: (
        Callable[[str], Callable[[sqlite3.Connection, JudgmentRecord], Mapping[str, object]] | None]
        | None
    ) = None
    """Begins a copy in a language. What it returns is called for each row of one judge and returns
    what ``explanation`` and ``content`` show of it.
    """


@dataclass(frozen=True, kw_only=True)
class ListPart:
    """Additions of a feature to the list of a run's rows. Everything may be left out."""

    dimensions: Callable[[JudgeConfiguration], list[JsonDict]] | None = None
    """Returns name, title, maximum and labels of each score that one judgment consists of."""
    queries: Sequence[str] = ()
    """The names that ``rows`` reads from an address."""
    rows: Callable[[Library, RunPlace, str, Mapping[str, str]], frozenset[int] | None] | None = None
    """Returns the rows of a judge, from 1, that an address asks for; None for all."""
    filters: str = ""
    """Template for the filters above the list."""
    filter_data: (
        Callable[
            [Library, RunPlace, str, Mapping[str, str], Callable[[], Collection[int] | None]],
            JsonDict,
        ]
        | None
    ) = None
    """Returns what ``filters`` shows. The last argument returns the rows that the other filters
    leave, None for all.
    """


@dataclass(frozen=True, kw_only=True)
class ComparisonPart:
    """Additions of a feature to the comparison of two runs.

    Its template stands below the differences of the criteria, and sees what the page has and this
    object as ``part``.
    """

    data: Callable[[Library, RunPlace, RunPlace], JsonDict]
    """Returns what is added to the data of the page. Not called for runs of different judges,
    unless the reader wants to see them anyway.
    """
    content: str
    """Template for the place between the differences and the rows."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Routes with their entry in the top bar, templates, scripts and help.

    Everything but the name may be left out: a feature without addresses of its own can still add to
    the pages of runs and rows.
    """

    name: str
    """The key in the table of parts, and the folder of its templates: a page called ``acme``
    renders ``acme/NAME.html.jinja``.
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
    """Returns what can be watched in a run folder, in a language; None if there is nothing."""
    has_document: Callable[[Path], bool] | None = None
    """Returns True if ``document`` has something about a run folder, without making it. If it is
    left out, the document itself is made to find out.
    """
    watched_by: Sequence[str] = ()
    """Commands that make runs with something to watch, as sentences."""
    row: RowPart | None = None
    rows: ListPart | None = None
    comparison: ComparisonPart | None = None

    def problem_as_plugin(self) -> str:
        """Return the error in this page as part of a plugin; empty if there is none."""
        wrong = [route for route in self.routes if not isinstance(route, Route)]
        if wrong:
            return Message("{route!r} is not a starlette Route", route=wrong[0])
        if self.link and not self.link.path.startswith("/"):
            return Message(
                "the path of its link must begin with a slash: {path!r}", path=self.link.path
            )
        if any(len(key) != 2 for key in self.keys):
            return Message("keys must be pairs of a key and what it does")
        if self.package and not self._has("templates"):
            return Message("the package {package} has no folder templates", package=self.package)
        if missing := [name for name in self.scripts if not self._has("static", name)]:
            return Message("the package has no file static/{name}", name=missing[0])
        return ""

    def _has(self, *path: str) -> bool:
        """Return True if the package has this folder or file."""
        try:
            resource = files(import_module(self.package)).joinpath(*path)
        except (ImportError, ValueError):  # there is no package, or its name is empty
            return False
        return resource.is_dir() or resource.is_file()
