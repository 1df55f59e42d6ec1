"""The application: its routes and how it answers errors."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Sent

from adjudge.errors import AdjudgeError
from adjudge.messages import Message
from adjudge.runs.folder import NoSuchRun
from adjudge.web.audit import deed_of
from adjudge.web.guard import LANGUAGE_COOKIE, Guard
from adjudge.web.names import LANGUAGES
from adjudge.web.page_registry import pages
from adjudge.web.roles import changes_something, person_of, refusal, role_of
from adjudge.web.server_access import SAFE
from adjudge.web.site import (
    HEIGHT_COOKIE,
    HEIGHTS,
    THEME_COOKIE,
    THEMES,
    Site,
    address_of,
    assets,
    site_of,
)

_REMEMBERED = 365 * 24 * 3600
"""Seconds for which a choice is remembered."""


def application(site: Site) -> ASGIApp:
    """Build the pages behind their guard."""
    app = Starlette(
        routes=[_guard_route(route, site) for route in all_routes()],
        exception_handlers={
            AdjudgeError: _explain,
            HTTPException: _refuse,
            FileNotFoundError: _tell_gone,
            Exception: _admit,
        },
    )
    app.state.site = site
    return Guard(app, site.access)


def all_routes() -> list[BaseRoute]:
    """Return every route, in the order in which they are tried."""
    return [
        Route("/language", partial(_choose, LANGUAGE_COOKIE, LANGUAGES)),
        Route("/theme", partial(_choose, THEME_COOKIE, THEMES)),
        Route("/row-height", partial(_choose, HEIGHT_COOKIE, HEIGHTS)),
        Route("/static/{name:path}", static),
        # the first that matches answers: ours come before those of installed packages
        *(route for page in pages() for route in page.routes),
    ]


def _guard_route(route: BaseRoute, site: Site) -> BaseRoute:
    """Return a copy of the route that checks the role, and writes the audit log."""
    # plugins are checked for it when they are loaded
    assert isinstance(route, Route)
    role, answer, guarded = role_of(route), route.app, copy(route)

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        person = person_of(request)
        if not person.may(role):
            raise HTTPException(403, refusal(person, role))
        if site.audit is None:
            await answer(scope, receive, send)
            return
        is_change = scope["method"] not in SAFE and changes_something(route)
        if is_change:
            site.audit.check()
        status = 0

        async def watch(sent: Sent) -> None:
            nonlocal status
            status = sent.get("status", status)
            await send(sent)

        try:
            await answer(scope, receive, watch)
        finally:
            what, details = deed_of(request) or (f"{scope['method']} {scope['path']}", {})
            if is_change or details:
                site.audit.write(what, {**details, "status": status}, person)

    guarded.app = check
    return guarded


def static(request: Request) -> Response:
    """Serve one of our files, looked up by name in a table, so that path traversal is
    impossible.
    """
    asset = assets().get(request.path_params["name"])
    if asset is None:
        return PlainTextResponse("there is no such file", 404)
    return Response(
        asset.content,
        media_type=asset.type,
        headers={"cache-control": "private, max-age=31536000, immutable"},
    )


def _choose(cookie: str, choices: Sequence[str], request: Request) -> Response:
    """Store a choice in a cookie, and redirect to the page where it was made."""
    choice, back = request.query_params.get("set", ""), request.query_params.get("back", "")
    # never to another site: "//host" and "/\host" are addresses of hosts for browsers
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = RedirectResponse(back if is_ours else address_of(request, "/"), 303)
    if choice in choices:
        answer.set_cookie(cookie, choice, _REMEMBERED, samesite="strict", httponly=True, path="/")
    return answer


def _explain(request: Request, error: Exception) -> Response:
    return _answer(request, str(error), 404 if isinstance(error, NoSuchRun) else 400)


def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = Message("there is no such page") if error.status_code == 404 else error.detail
    return _answer(request, message, error.status_code)


# as handlers are called
def _tell_gone(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """Answer 404 if a file vanished, e.g. because a run was deleted while its page was rendered."""
    message = Message("the contents of this page have been deleted: see the list of runs")
    return _answer(request, message, 404)


def _admit(request: Request, error: Exception) -> Response:
    """Respond with 500 for an internal error. The terminal has the traceback; the page says what to
    do.
    """
    message = Message(
        "the page failed with an internal error ({kind}). The terminal that runs 'adjudge view' "
        "shows the details; please report it",
        kind=type(error).__name__,
    )
    return _answer(request, message, 500)


def _answer(request: Request, message: str, status: int) -> Response:
    """Render the error as a page, or as a fragment if only a part of a page was requested."""
    is_part = bool(request.headers.get("hx-request"))
    template = "error_part" if is_part else "error"
    answer = site_of(request).answer(request, f"{template}.html.jinja", {"error": message}, status)
    # a page of which the browser takes a part: the error goes on top of that part
    if is_part and request.headers.get("hx-request-type") == "full":
        answer.headers["hx-reselect"], answer.headers["hx-reswap"] = ".note", "afterbegin"
    return answer
