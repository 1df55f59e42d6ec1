"""``/rubrics``: accept, edit or drop rubrics that a model proposed."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import AdjudgeError
from adjudge.features.rubrics.layouts import parse_rubric
from adjudge.features.rubrics.lint import lint_rubric
from adjudge.features.rubrics.review import (
    SUFFIX,
    ReviewLine,
    ReviewRow,
    decide,
    review_lines,
)
from adjudge.messages import Message
from adjudge.web.forms import LARGEST, MOST_FIELDS, with_form
from adjudge.web.home import FoundFile, data_files, find_file
from adjudge.web.page import NavigationLink, Page
from adjudge.web.roles import RoleRoute
from adjudge.web.site import Site, site_of

_MOST_ROWS = 200
_FIELDS = ("do", "text", "points", "category")
"""Fields of the form per point."""
_OTHER_FIELDS = 3
_ROOM = 2
"""A form may grow by this factor while it is edited."""


def show_files(request: Request) -> Response:
    """Show the files of proposals below the page's folder."""
    site = site_of(request)
    return site.answer(
        request,
        "rubric-review/files.html.jinja",
        {"files": [_file(file) for file in _files(site).values()], "suffix": SUFFIX},
    )


def show_rows(request: Request) -> Response:
    """Show the rows of a file, and the points of one of them."""
    site, query = site_of(request), request.query_params
    file = find_file(_files(site), query.get("name", ""), Message("file of rubrics"))
    lines = review_lines(file.path)
    shown = _line(lines, query.get("row")) or next(
        (line for line in lines if line.waiting), lines[0] if lines else None
    )
    data = {
        "file": file.name,
        "rows": [{"row": line.row, "waiting": line.waiting} for line in lines[:_MOST_ROWS]],
        "count": len(lines),
        "wrong": None,
        "kept": False,
        **_row(shown.read() if shown else None),
    }
    return site.answer(request, "rubric-review/rows.html.jinja", data)


def keep(request: Request, given: QueryParams) -> Response:
    """Store the decisions about the points of a row."""
    site = site_of(request)
    site.refuse_read_only(Message("the page was started with --read-only: nothing can be saved"))
    file = find_file(_files(site), given.get("name", ""), Message("file of rubrics"))
    count = sum(name.startswith("text-") for name in given)
    decisions = [
        {name: given.get(f"{name}-{place}", "") for name in _FIELDS} for place in range(count)
    ]
    row, wrong = given.get("row", ""), None
    try:
        review_row: ReviewRow | None = decide(file.path, row, decisions, given.get("version", ""))
    except AdjudgeError as error:
        wrong = error.message
        line = _line(review_lines(file.path), row)
        review_row = line.read() if line else None
    data = {"file": file.name, "wrong": wrong, "kept": wrong is None, **_row(review_row)}
    return site.answer(request, "rubric-review/row_part.html.jinja", data, 400 if wrong else 200)


def _line(lines: Sequence[ReviewLine], row: str | None) -> ReviewLine | None:
    return next((line for line in lines if line.row == row), None)


def _files(site: Site) -> dict[str, FoundFile]:
    return {name: file for name, file in data_files(site.home).items() if name.endswith(SUFFIX)}


def _file(file: FoundFile) -> JsonDict:
    try:
        lines = review_lines(file.path)
        points, waiting = (
            sum(line.points for line in lines),
            sum(line.waiting for line in lines),
        )
    except AdjudgeError as error:
        return {"name": file.name, "trouble": str(error)}
    return {
        "name": file.name,
        "trouble": "",
        "rows": len(lines),
        "points": points,
        "waiting": waiting,
    }


def _row(row: ReviewRow | None) -> JsonDict:
    if row is None:
        return {"row": None}
    findings: list[JsonDict] = []
    if row.points:
        try:
            lint_findings = lint_rubric(parse_rubric(list(row.points)))
            findings = [
                {"point": finding.point, "message": finding.message} for finding in lint_findings
            ]
        except AdjudgeError as error:
            findings = [{"point": "", "message": error.message}]
    return {
        "row": row.row,
        "version": row.version,
        "user_input": row.user_input,
        "reference": row.reference,
        "points": [
            {
                "id": point.get("id"),
                "text": point.get("text", ""),
                "points": point.get("points", 1),
                "category": next(iter(tags), "")
                if isinstance(tags := point.get("tags"), list)
                else "",
                "proposed": bool(point.get("proposed")),
                "is_group": "text" not in point,
            }
            for point in row.points
        ],
        "findings": findings,
        "is_too_large": _is_too_large(row),
    }


def _is_too_large(row: ReviewRow) -> bool:
    """Return True if the form of a row could be larger than the page accepts."""
    size = len(urlencode([("text", str(point.get("text", ""))) for point in row.points]))
    fields = len(_FIELDS) * len(row.points) + _OTHER_FIELDS
    return _ROOM * size > LARGEST or fields > MOST_FIELDS


PAGE = Page(
    name="rubric-review",
    routes=(
        Route("/rubrics", show_files),
        Route("/rubrics-file", show_rows),
        RoleRoute("/rubrics-file", with_form(keep), methods=["POST"], role="label"),
    ),
    link=NavigationLink("/rubrics", Message("Rubrics")),
    package="adjudge.features.rubrics",
)
