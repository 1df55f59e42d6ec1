"""``/run/ID/views``: save, rename and delete views of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.record_browser import judges_in
from adjudge.errors import AdjudgeError, RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.folder import reading
from adjudge.web.forms import with_form
from adjudge.web.page import Page
from adjudge.web.roles import RoleRoute
from adjudge.web.site import place_of, site_of
from adjudge.web.views import delete_view, read_views, rename_view, save_view, view_query


def change(request: Request, form: QueryParams) -> Response:
    site, place = site_of(request), place_of(request)
    site.refuse_read_only(Message("the page was started with --read-only: no view can be saved"))
    query, wrong = view_query(form.items()), None
    try:
        _apply(site.library.root, form, query)
    except AdjudgeError as error:
        wrong = error.message
    with reading(place.folder) as connection:
        judges = judges_in(connection)
    views = views_data(site.library.root, judges, query)
    data = {
        "run": {"id": place.id},
        "asked": dict(form),
        **views,
        **({"views_wrong": wrong} if wrong else {}),
    }
    return site.answer(request, "views_part.html.jinja", data, 400 if wrong else 200)


def _apply(root: Path, form: Mapping[str, str], query: str) -> None:
    name = form.get("name", "")
    match form.get("do"):
        case "save":
            save_view(root, name, query)
        case "rename":
            rename_view(root, name, form.get("new", ""))
        case "delete":
            delete_view(root, name)
        case other:
            raise SetupError("a view can be saved, renamed or deleted, not {other!r}", other=other)


def views_data(root: Path, judges: Sequence[str], query: str) -> JsonDict:
    """Return the saved views that fit a run. ``query``: the current view of the list."""
    try:
        views = [view for view in read_views(root) if view.judge in ("", *judges)]
    except RunError as error:
        return {"views": [], "view_query": query, "views_wrong": error.message}
    return {"views": [view._asdict() for view in views], "view_query": query, "views_wrong": None}


PAGE = Page(
    name="views",
    routes=(RoleRoute("/run/{run}/views", with_form(change), methods=["POST"], role="label"),),
)
