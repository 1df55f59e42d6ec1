"""The site: state, templates and files that all pages share. Every page is also served as JSON to
scripts that ask for it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup, escape
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.gateway.opener import default_model
from adjudge.errors import AdjudgeError, SetupError
from adjudge.messages import Message, plural, render, term
from adjudge.runs.counts import count_labels, count_rows, count_unread, grouped
from adjudge.runs.numbers import figure, mean_text, percent
from adjudge.runs.project import Project, find_project
from adjudge.runs.terms import field_title, rule_title
from adjudge.runs.trusted_folders import trusted_project
from adjudge.runs.view.clean_text import visible
from adjudge.runs.view.plane import PlotPoint, axis, plane
from adjudge.runs.view.plots import (
    Move,
    Range,
    distribution,
    flow,
    histogram,
    interval,
    plot_script,
    plot_style,
    step_class,
)
from adjudge.runs.view.timeline import Moment, timeline
from adjudge.trust.labels.scales import scales_in
from adjudge.web.audit import AuditLog
from adjudge.web.forms import counted_rows
from adjudge.web.guard import LANGUAGE_COOKIE, Access
from adjudge.web.jobs import Jobs
from adjudge.web.label_sessions import LabelSessions
from adjudge.web.library import Library, RunPlace
from adjudge.web.names import LANGUAGES, name_of, state_of
from adjudge.web.page_registry import (
    comparison_parts,
    fragment,
    has_document,
    is_foreign,
    links,
    list_parts,
    owner_of,
    pages,
    row_parts,
)
from adjudge.web.roles import ROLE_TITLES, Role, person_of
from adjudge.web.spending import Share, Spending

_LOG = logging.getLogger("adjudge.web")
T = TypeVar("T")
THEME_COOKIE = "adjudge_theme"
THEMES = ("light", "dark")
HEIGHT_COOKIE = "adjudge_row_height"
HEIGHTS = ("low", "middle", "high", "whole")
"""How much of a text each row of a grid shows."""
_HOME = Path(__file__).parent
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file that browsers load."""

    content: bytes
    type: str
    version: str
    """Changes with the content, so that browsers may keep it."""

    @classmethod
    def of(cls, name: str, content: bytes) -> Asset:
        """Build an asset. Its media type follows from the file extension."""
        return cls(
            content, _TYPES[name[name.rindex(".") :]], hashlib.sha256(content).hexdigest()[:12]
        )


@cache
def assets() -> Mapping[str, Asset]:
    """Return name → file for everything that is served as a static file."""
    static = _HOME / "static"
    names = (
        "copy.js",
        "icon.svg",
        "page.css",
        "page.js",
        "label.js",
        "vendor/htmx.min.js",
        "vendor/hx-csp.min.js",
    )
    contents = {
        **_assets_of_pages(),
        **{name: (static / name).read_bytes() for name in names},
        "drawing.js": plot_script().encode(),
        "drawing.css": "".join(
            [plot_style(), *(page.style() or "" for page in pages() if page.style)]
        ).encode(),
    }
    return {name: Asset.of(name, content) for name, content in contents.items()}


def _assets_of_pages() -> dict[str, bytes]:
    """Return the contents of the pages' ``static`` folders, by name."""
    contents: dict[str, bytes] = {}
    # ours come first among the pages, so they are added last: of two files of one name ours counts
    for page in reversed([registered for registered in pages() if registered.package]):
        folder = files(import_module(page.package)) / "static"
        for file in folder.iterdir() if folder.is_dir() else ():
            if Path(file.name).suffix in _TYPES:
                contents[file.name] = file.read_bytes()
    return contents


@dataclass
class Site:
    """The state of one server: its runs, label sessions, jobs and budget."""

    access: Access
    library: Library
    language: str = "en"
    sessions: LabelSessions = field(default_factory=LabelSessions)
    spending: Spending = field(default_factory=Spending)
    home: Path = field(default_factory=Path.cwd)
    """The folder in which the page was started. Data and criteria are looked for only below it."""
    models: tuple[str, ...] = ()
    """Models that were named on the command line."""
    answered: float = 0.0
    """Time of the last answer, by the monotonic clock."""
    audit: AuditLog | None = None
    """Of a shared page."""
    is_leaving: Callable[[], bool] = lambda: False
    """Returns True if the server is about to end: pages that follow something stop then."""

    def __post_init__(self) -> None:
        if self.audit:
            self.spending.tell = self._tell_spent
        self.jobs = Jobs(self.spending, self.home)
        """The runs that were started here."""
        self._singletons: dict[type, object] = {}
        # first in, so that jobs are stopped last
        self._endings: list[Callable[[], object]] = [self.jobs.close]
        # reentrant: creating one of these objects may ask for another
        self._lock = threading.RLock()

    def get_or_create(self, kind: type[T], create: Callable[[], T]) -> T:
        """Return the server-wide object of this kind, created on first use."""
        with self._lock:
            if kind not in self._singletons:
                self._singletons[kind] = create()
        return cast(T, self._singletons[kind])

    def at_end(self, end: Callable[[], object]) -> None:
        """Register ``end`` to be called when the server ends, in reverse order."""
        self._endings.append(end)

    def close(self) -> None:
        """Stop everything that pages have started."""
        while self._endings:
            self._endings.pop()()

    @property
    def read_only(self) -> bool:
        """True if nothing may be written."""
        return self.library.read_only

    @cached_property
    def project(self) -> Project:
        """Defaults of the project where the page was started, if the user trusts it."""
        return trusted_project(find_project(self.home))

    def known_models(self) -> list[str]:
        """Return the models that pages may ask: those named at start, the project's, and the
        default one.
        """
        names = [*self.models, *([self.project.model] if self.project.model else [])]
        # without the embedded model, the others are enough
        with suppress(SetupError):
            names.append(default_model())
        return list(dict.fromkeys(names))

    def language_of(self, request: Request) -> str:
        """Return the language chosen in the page, else the one the server was started with."""
        choice = request.cookies.get(LANGUAGE_COOKIE)
        return choice if choice in LANGUAGES else self.language

    def may(self, request: Request, role: Role) -> bool:
        """Return True if the sender of a request has this role on this page."""
        return person_of(request).may(role) and (role == "read" or not self.read_only)

    def _tell_spent(self, share: Share, usd: float) -> None:
        if self.audit:
            details: dict[str, JsonValue] = {"usd": round(usd, 6), "for": share.purpose}
            self.audit.write("money was spent", details, share.person)

    def refuse_read_only(self, why: Message) -> None:
        """Raise an HTTPException if the server is read-only."""
        if self.read_only:
            raise HTTPException(403, why)

    def is_shown_first(self, request: Request) -> bool:
        """Return True if the page may be sent before its figures, i.e. to a browser not yet waiting
        for them.
        """
        return not wants_json(request) and "wait" not in request.query_params

    def must_wait(self, request: Request, place: RunPlace, what: str) -> bool:
        """Return True if the page must be sent first because computing ``what`` takes too long."""
        return self.is_shown_first(request) and self.library.would_wait(place, what)

    def answer_first(self, request: Request, data: Mapping[str, object]) -> Response:
        """Respond with a page without figures, which then requests them."""
        address = request.url.include_query_params(wait="1")
        return self.answer(
            request, "waiting.html.jinja", {**data, "rest": f"{address.path}?{address.query}"}
        )

    def _is_watched(self, run: str) -> bool:
        """Return True if there is something to watch in a run."""
        try:
            place = self.library.find(run)
            return self.library.get_or_compute(
                place, "is watched", lambda: has_document(place.folder)
            )
        except AdjudgeError:  # the page itself says what is wrong
            return False

    def _has_questions(self, run: str) -> bool:
        """Return True if people can label the rows of a run."""
        try:
            place = self.library.find(run)
            return self.library.get_or_compute(
                place, "has questions", lambda: bool(scales_in(place.folder))
            )
        except AdjudgeError:  # the page itself says what is wrong
            return False

    def answer(
        self,
        request: Request,
        template: str,
        data: Mapping[str, object],
        status: int = 200,
        **drawn: object,
    ) -> Response:
        """Render the page, or return its data if JSON was requested.

        ``drawn``: variables for the template only, such as charts and the record shown.
        """
        self.answered = time.monotonic()
        language, person = self.language_of(request), person_of(request)
        if wants_json(request):
            text = json.dumps(_render_messages(data, language), ensure_ascii=False, default=str)
            return Response(_bytes(text), status, media_type="application/json")
        text = (
            templates(language)
            .get_template(template)
            .render(
                **data,
                **drawn,
                here=str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
                root=request.scope["root_path"],
                nonce=request.state.nonce,
                form_token=self.access.form_token_of(person),
                person=person if person.user else None,
                role_title=ROLE_TITLES[person.role],
                read_only=self.read_only,
                may_label=self.may(request, "label"),
                may_spend=self.may(request, "spend"),
                is_watched=self._is_watched,
                has_questions=self._has_questions,
                theme=theme_of(request),
                here_is=_section(request),
            )
        )
        return HTMLResponse(_bytes(text), status)


@cache
def templates(language: str) -> jinja2.Environment:
    """Return the template environment for a language. It escapes all values, and translates
    messages.
    """

    def say(value: object) -> object:
        return render(value, language) if isinstance(value, Message) else value

    environment = jinja2.Environment(
        loader=_loader(),
        # texts of rows may come from anybody
        autoescape=True,
        finalize=say,
        # a misspelt variable is an error, not an empty place on the page
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": lambda text: visible(str(say(text))),
        "grouped": grouped,
        "marked": _mark_words,
    }
    environment.globals.update(
        _=Message,
        plural=plural,
        term=term,
        say=say,
        name_of=name_of,
        state_of=state_of,
        language=language,
        number=lambda value, digits=2: say(figure(value, digits)),
        signed=lambda value: f"{'+' if value > 0 else ''}{say(figure(value, 3))}",
        mean_text=lambda *values, **named: say(mean_text(*values, **named)),
        share=lambda value, digits=0: say(percent(float(value), digits)),
        asset=lambda name: f"/static/{name}?v={assets()[name].version}",
        step_link=_step_link,
        query=_query,
        day=_day,
        distribution=partial(distribution, language=language),
        comparison_parts=comparison_parts(),
        count_labels=count_labels,
        count_rows=count_rows,
        count_unread=count_unread,
        counted_rows=counted_rows,
        field_title=field_title,
        keys=tuple(key for page in pages() for key in page.keys),
        links=links(),
        flow=flow,
        fragment=fragment,
        list_parts=list_parts(),
        list_queries=[name for part in list_parts() for name in part.queries],
        owner_of=owner_of,
        row_parts=row_parts(),
        scripts=[name for page in pages() for name in page.scripts],
        histogram=histogram,
        interval=interval,
        means_first=_means_first,
        move_of=Move,
        range_of=Range,
        rule_title=rule_title,
        step_class=step_class,
        moment_of=Moment,
        plane=plane,
        point_of=PlotPoint,
        axis_of=partial(axis, language=language),
        timeline=partial(timeline, language=language),
        clock=lambda seconds: say(_clock(seconds)),
    )
    return environment


def _means_first(means: Mapping[str, Mapping[str, object]], most: int) -> list[str]:
    """Return the criteria that are shown of many: those with a gate, then the first ones."""
    return sorted(means, key=lambda name: "bar" not in means[name])[:most]


def _mark_words(text: str, words: str) -> Markup:
    """Mark the words that were searched for, ignoring case. Everything is escaped."""
    if not words.strip():
        return escape(text)
    parts = re.split(f"({re.escape(words.strip())})", text, flags=re.IGNORECASE)
    marked = Markup("<mark>{}</mark>")
    return Markup("").join(
        marked.format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _loader() -> jinja2.BaseLoader:
    """Return a loader for our templates by name, and for other pages' templates under the page's
    name.
    """
    loaders = {page.name: jinja2.PackageLoader(page.package) for page in pages() if page.package}
    return jinja2.ChoiceLoader([jinja2.PackageLoader("adjudge.web"), jinja2.PrefixLoader(loaders)])


def compile_template(environment: jinja2.Environment, name: str) -> None:
    """Compile a template ahead of time. A broken template from a package only causes a warning
    here.
    """
    try:
        environment.get_template(name)
    except jinja2.TemplateError as error:
        if not is_foreign(name.partition("/")[0]):
            raise
        _LOG.warning(Message("the template {name} is broken: {error}", name=name, error=str(error)))


def _step_link(steps: JsonObject | None) -> Callable[[int], str]:
    """Return a function that links to a step, on this page or in the range of steps that includes
    it.
    """

    def link(number: int) -> str:
        low, high = (int(str((steps or {}).get(name, 0))) for name in ("first", "last"))
        if not steps or low <= number <= high:
            return f"#step-{number}"
        return f"{steps['address']}&step={number}#step-{number}"

    return link


def _section(request: Request) -> str:
    """Return the top-bar entry that a page belongs to."""
    section = str(request.url.path).removeprefix(request.scope["root_path"]).split("/")[1:2]
    return "runs" if section in ([""], ["run"], ["compare"]) else "".join(section).split("-")[0]


def theme_of(request: Request) -> str:
    """Return the chosen theme, light or dark; empty if the browser decides."""
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""


def row_height_of(request: Request) -> str:
    """Return the chosen height of the rows of a grid."""
    height = request.cookies.get(HEIGHT_COOKIE, "")
    return height if height in HEIGHTS else HEIGHTS[1]


def site_of(request: Request) -> Site:
    """Return the site that serves this request."""
    site: Site = request.app.state.site
    return site


def place_of(request: Request) -> RunPlace:
    """Return the run named by the address."""
    return site_of(request).library.find(request.path_params["run"])


def asked_for(request: Request) -> dict[str, str]:
    """Return the query without ``wait``, which only affects how it is answered."""
    return {name: value for name, value in request.query_params.items() if name != "wait"}


def address_of(request: Request, path: str, query: Mapping[str, object] | None = None) -> str:
    """Build the address of a page as the browser knows it."""
    return f"{request.scope['root_path']}{path}{'?' if query else ''}{urlencode(query or {})}"


def lead_to(answer: Response, address: str) -> Response:
    """Make the browser go to ``address`` after this response."""
    answer.headers["hx-redirect"] = address
    return answer


def wants_json(request: Request) -> bool:
    """Return True if the client accepts JSON but not HTML."""
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def _render_messages(data: object, language: str) -> object:
    """Return ``data`` with its messages translated."""
    match data:
        case Message():
            return data.render(language)
        case Mapping():
            return {name: _render_messages(value, language) for name, value in data.items()}
        case list() | tuple():
            return [_render_messages(value, language) for value in data]
    return data


def _bytes(text: str) -> bytes:
    """Encode text as UTF-8, replacing lone surrogates with question marks."""
    # texts of models may hold half a surrogate pair, which UTF-8 cannot express
    return text.encode("utf-8", "replace")


def _query(
    values: QueryParams | Mapping[str, object], changed: Mapping[str, object] | None = None
) -> str:
    """Encode a query with some values changed; empty values are left out."""
    query = {**dict(values), **(changed or {})}
    return urlencode({name: part for name, part in query.items() if part not in (None, "")})


def _clock(seconds: float) -> str | Message:
    """Format a duration as h:mm:ss or m:ss, below ten seconds as seconds with a fraction."""
    hours, within_hour = divmod(int(seconds), 3600)
    if hours:
        return f"{hours}:{within_hour // 60:02}:{within_hour % 60:02}"
    return (
        f"{within_hour // 60}:{within_hour % 60:02}"
        if seconds >= 10
        else Message("{seconds} s", seconds=figure(seconds))
    )


def _day(seconds: float | None) -> str:
    return "–" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
