"""``/run/ID/these/…``: what is done with the rows of a list, or with those that are ticked in it:
labelled, opened in the playground, judged again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.instance import names_only
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.record_browser import Filters, page_of
from adjudge.core.ledger.records import records
from adjudge.errors import RunError, SetupError
from adjudge.runs.exporters.table import write_rows
from adjudge.runs.folder import reading
from adjudge.trust.labels.scales import label_scales
from adjudge.web.forms import rows_text, with_form
from adjudge.web.home import make_folder
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.page_registry import owner_of, row_parts
from adjudge.web.pages.run import filters_in, judge_from_query, order_of
from adjudge.web.pages.start import JUDGES_NOTHING
from adjudge.web.roles import RoleRoute
from adjudge.web.site import address_of, lead_to, place_of, site_of

MOST = 500
"""Rows that are taken from a list at once: what an address can name."""
_FOLDER = "judge-again"
_PATIENCE = 30.0


def label(request: Request) -> Response:
    """Redirect to labelling exactly these rows. The address names them, so it stays valid as rows
    are labelled.
    """
    place = place_of(request)
    filters, rows = _read_selection(request, request.query_params)
    by_criterion = {"criteria": filters.criteria} if filters.criteria else {}
    query = {"queue": "listed", "judge": filters.judge, "rows": rows_text(rows), **by_criterion}
    return RedirectResponse(address_of(request, f"/run/{place.id}/label", query), 303)


def try_out(request: Request) -> Response:
    """Redirect to the playground with these rows."""
    filters, rows = _read_selection(request, request.query_params)
    query = {"run": place_of(request).id, "judge": filters.judge, "rows": rows_text(rows)}
    return RedirectResponse(address_of(request, "/playground", query), 303)


def judge_again(request: Request, form: QueryParams) -> Response:
    """Redirect to the form for a new run with these rows and their criteria, each written to a
    file.

    The form estimates the cost before any model is asked.
    """
    site, place = site_of(request), place_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    filters, rows = _read_selection(request, form)
    with reading(place.folder) as connection:
        selected = [
            record
            for row in rows
            for record in records(connection, judge=filters.judge, index=row - 1)
            if filters.criteria in (None, record.criterion)
        ]
    folder = make_folder(site.home, _FOLDER)
    # two people may choose rows of one run in the same second
    name = f"{place.id}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    write_rows(folder / f"{name}.jsonl", _rows(place, selected))
    for part in row_parts():
        for record in selected if part.judge_again else ():
            if part.judge_again and (how := part.judge_again(record, f"{_FOLDER}/{name}.jsonl")):
                raise RunError(how)
    criteria = _write_criteria(place, selected, folder / f"{name}.yaml")
    systems = next((record.systems for record in selected), ())
    query = {
        "data": f"{_FOLDER}/{name}.jsonl",
        **({"criteria": f"{_FOLDER}/{name}.yaml"} if criteria else {}),
        **({"responses": ",".join(systems), "kind": "pairwise"} if systems else {}),
    }
    return lead_to(Response(status_code=202), address_of(request, "/start", query))


def _read_selection(request: Request, query: QueryParams) -> tuple[Filters, list[int]]:
    """Return the filters of a list, and its first judgments in list order."""
    site, place = site_of(request), place_of(request)
    with reading(place.folder) as connection:
        judge = judge_from_query(query, connection)
        filters = filters_in(site.library, place, query, judge)
        order = order_of(site.library, place, filters)
        page = page_of(connection, filters, size=MOST, patience=_PATIENCE, order=order)
    if not page.lines:
        raise SetupError("no row of the run matches: remove a filter")
    return filters, [line.row for line in page.lines]


def _rows(place: RunPlace, selected: Iterable[JudgmentRecord]) -> Iterator[JsonDict]:
    """Yield each row once, by field names. Compared responses get one column each."""
    identities: set[str] = set()
    for record in selected:
        if owner_of(record) or names_only(record.input):
            raise RunError(
                "the rows of {name} are not texts that can be judged from this page",
                name=place.name,
            )
        if record.identity in identities:
            continue
        identities.add(record.identity)
        fields: JsonDict = {}
        # compared responses get a column per system
        for field, value in record.fields.items():
            if not isinstance(value, str) and len(value) == len(record.systems):
                fields |= dict(zip(record.systems, value, strict=True))
            else:
                fields[field] = value if isinstance(value, str) else list(value)
        yield {**({"id": record.id} if record.id else {}), **fields}


def _write_criteria(place: RunPlace, selected: Iterable[JudgmentRecord], path: Path) -> bool:
    """Write the criteria of these rows to a file. Return False if there is none to write."""
    names = {scale.criterion for scale in selected}
    entries = [
        as_file(
            CatalogEntry(scale.scale.criteria, "pairwise" if scale.scale.compares else "direct")
        )
        for scale in label_scales(place.folder)
        if scale.name in names and (scale.scale.criteria.options or scale.scale.compares)
    ]
    if entries:
        path.write_text(
            yaml.safe_dump(entries, sort_keys=False, allow_unicode=True), encoding="utf-8"
        )
    return bool(entries)


PAGE = Page(
    name="these",
    routes=(
        RoleRoute("/run/{run}/these/label", label, role="label"),
        RoleRoute("/run/{run}/these/playground", try_out, role="spend"),
        RoleRoute("/run/{run}/these/again", with_form(judge_again), methods=["POST"], role="spend"),
    ),
)
