"""The application: which address shows what."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from adjudge.errors import AdjudgeError
from adjudge.messages import Message
from adjudge.runs.folder import NoSuchRun
from adjudge.web.guard import LANGUAGE_COOKIE, Guard
from adjudge.web.names import LANGUAGES
from adjudge.web.pages import (
    assign,
    benchmarks,
    compare_row,
    compare_several,
    copies,
    criteria,
    jobs,
    label,
    own_criteria,
    pictures,
    playground,
    playground_files,
    playground_prompt,
    playground_runs,
    playground_writing,
    row,
    row_more,
    run,
    run_rows,
    runs,
    start,
    steps,
    these,
    trust,
    views,
    watch,
)
from adjudge.web.site import THEME_COOKIE, THEMES, Site, assets, site_of

_PAGES = (
    runs,
    run,
    run_rows,
    these,
    views,
    pictures,
    row,
    row_more,
    steps,
    label,
    assign,
    trust,
    watch,
    jobs,
    start,
    compare_row,
    compare_several,
    copies,
    benchmarks,
    criteria,
    own_criteria,
    playground,
    playground_files,
    playground_prompt,
    playground_runs,
    playground_writing,
)


def application(site: Site) -> ASGIApp:
    """The pages behind their guard."""
    app = Starlette(
        routes=[
            *(route for page in _PAGES for route in page.ROUTES),
            Route("/language", choose_language),
            Route("/theme", choose_theme),
            Route("/static/{name:path}", static),
        ],
        exception_handlers={
            AdjudgeError: _explain,
            HTTPException: _refuse,
            FileNotFoundError: _tell_gone,
            Exception: _admit,
        },
    )
    app.state.site = site
    return Guard(app, site.access)


def static(request: Request) -> Response:
    """A file of ours, by its name in a table: no path is looked up."""
    found = assets().get(request.path_params["name"])
    if found is None:
        return PlainTextResponse("there is no such file", 404)
    return Response(
        found.content,
        media_type=found.type,
        headers={"cache-control": "private, max-age=31536000, immutable"},
    )


def choose_language(request: Request) -> Response:
    """Remember the language and go back to where the reader was."""
    return _chosen(request, LANGUAGE_COOKIE, LANGUAGES)


def choose_theme(request: Request) -> Response:
    """The same of light and dark."""
    return _chosen(request, THEME_COOKIE, THEMES)


def _chosen(request: Request, cookie: str, known: Sequence[str]) -> Response:
    chosen, back = request.query_params.get("set", ""), request.query_params.get("back", "")
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable()
    answer = RedirectResponse(back if is_ours else f"{request.scope['root_path']}/", 303)
    if chosen in known:
        answer.set_cookie(cookie, chosen, samesite="strict", httponly=True, path="/")
    return answer


def _explain(request: Request, error: Exception) -> Response:
    site, status = site_of(request), 404 if isinstance(error, NoSuchRun) else 400
    return site.answer(request, _error_template(request), {"error": str(error)}, status)


def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    site = site_of(request)
    said = Message("there is no such page") if error.status_code == 404 else error.detail
    return site.answer(request, _error_template(request), {"error": said}, error.status_code)


# as handlers are called
def _tell_gone(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """A run, say, was deleted while its page was made."""
    said = Message("what this page shows was deleted meanwhile: see the list of runs")
    return site_of(request).answer(request, _error_template(request), {"error": said}, 404)


def _admit(request: Request, error: Exception) -> Response:
    """A fault of ours: the terminal has its place, the reader a way on."""
    said = Message(
        "the page failed at this: {kind}. The terminal where 'adjudge view' runs says where; "
        "please report it",
        kind=type(error).__name__,
    )
    return site_of(request).answer(request, _error_template(request), {"error": said}, 500)


def _error_template(request: Request) -> str:
    """Where a part of a page is asked for, the error takes its place."""
    return "error_part.html.jinja" if request.headers.get("hx-request") else "error.html.jinja"
