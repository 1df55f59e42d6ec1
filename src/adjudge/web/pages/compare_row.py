"""``/compare/row?cell=RUN:ROW:JUDGE&cell=…``: one row in several runs, the base first: each
outcome, and the words that differ.
"""

from __future__ import annotations

from string import ascii_uppercase

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.errors import SetupError
from adjudge.web.forms import whole
from adjudge.web.library import Library, RunPlace
from adjudge.web.page import Page
from adjudge.web.pages.compare import TABS, labels_in, rows_around
from adjudge.web.pages.compare_several import MOST_RUNS
from adjudge.web.pages.row import row_number, row_record
from adjudge.web.pages.row_details import outcome_of, text_differences, text_of
from adjudge.web.site import Site, site_of


def show(request: Request) -> Response:
    site, cells = site_of(request), request.query_params.getlist("cell")
    if not 2 <= len(cells) <= MOST_RUNS:
        raise SetupError("there is no such row: follow a link in the comparison")
    judgments = [_find_judgment(site.library, cell) for cell in cells]
    site.sessions.mark_seen(*(record.identity for _, record in judgments))
    base, labels = judgments[0][1], labels_in(*(place for place, _ in judgments))
    data = {
        "neighbours": _neighbours(site, request.query_params, [place for place, _ in judgments]),
        "id": base.id or str(row_number(site.library, judgments[0][0], base.judge, base.row)),
        "criterion": base.criterion,
        "fields": [{"name": name, "text": text_of(base, name)} for name in base.fields],
        "runs": [
            {
                "letter": letter,
                "id": place.id,
                "name": place.name,
                **outcome_of(record),
                "label": labels.get((record.criterion, record.identity)),
                "texts": text_differences(base, record),
            }
            for letter, (place, record) in zip(ascii_uppercase, judgments, strict=False)
        ],
    }
    return site.answer(request, "compare_row.html.jinja", data)


def _neighbours(site: Site, query: QueryParams, places: list[RunPlace]) -> dict[str, JsonDict]:
    """Return the queries for the previous and next row in the list from which this row was opened.

    Empty if it was not opened from a list of two runs.
    """
    tab, at = query.get("tab"), whole(query.get("place", ""))
    if len(places) != 2 or tab not in TABS or at is None:
        return {}
    order = "size" if query.get("order") == "size" else "row"
    around = rows_around(site, *places, tab=tab, place=at, order=order)
    return {
        name: {
            "cells": [
                f"{place.id}:{row.row}:{row.judge}"
                for place, row in zip(places, (pair.a, pair.b), strict=True)
                if row
            ],
            "tab": tab,
            "place": at + step,
            "order": "size" if order == "size" else "",
        }
        for name, step, pair in around
        if pair.a and pair.b
    }


def _find_judgment(library: Library, cell: str) -> tuple[RunPlace, JudgmentRecord]:
    """Return the run and the judgment that a cell of the address names."""
    run, row, judge = (*cell.split(":", 2), "", "")[:3]
    place = library.find(run)
    return place, row_record(place, judge, whole(row) or 0)


PAGE = Page(name="compare-row", routes=(Route("/compare/row", show),))
