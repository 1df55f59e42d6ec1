"""``/run/ID/rows.csv``: the rows that a list shows, all of them, as a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.record_browser import Filters, page_of
from adjudge.core.ledger.records import records
from adjudge.core.reading.reiterable import Reiterable
from adjudge.errors import SetupError
from adjudge.runs.exporters.table import flat, write_rows
from adjudge.runs.folder import reading
from adjudge.web.audit import note
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.pages.run import filters_in, judge_from_query, order_of
from adjudge.web.site import place_of, site_of

_AT_A_TIME = 500
_PATIENCE = 3600.0
_CHUNK = 1 << 16
_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def download(request: Request) -> Response:
    """Send every row that passes the filters, in the order of the list."""
    site, ending = site_of(request), request.path_params["ending"]
    if ending not in _TYPES:
        raise SetupError(
            "rows can be downloaded as {known}, not as {ending!r}",
            known=", ".join(_TYPES),
            ending=ending,
        )
    place, query = place_of(request), request.query_params
    with reading(place.folder) as connection:
        judge = judge_from_query(query, connection)
    filters = filters_in(site.library, place, query, judge)
    note(request, "rows were downloaded", run=place.name, judge=judge, query=str(query))
    order = order_of(site.library, place, filters)
    with ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory()), f"rows.{ending}")
        write_rows(
            path, Reiterable(lambda: (flat(record) for record in _rows(place, filters, order)))
        )
        # the temporary folder lives until the answer was sent
        folder = stack.pop_all()
    return StreamingResponse(
        _chunks(path, folder),
        media_type=_TYPES[ending],
        headers={"content-disposition": f'attachment; filename="{place.id}.{ending}"'},
    )


def _rows(place: RunPlace, filters: Filters, order: Sequence[int]) -> Iterator[JudgmentRecord]:
    position: str | None = ""
    with reading(place.folder) as connection:
        while position is not None:
            page = page_of(
                connection, filters, position, size=_AT_A_TIME, patience=_PATIENCE, order=order
            )
            for line in page.lines:
                yield from records(connection, judge=filters.judge, index=line.row - 1)
            position = page.next


def _chunks(path: Path, folder: ExitStack) -> Iterator[bytes]:
    with folder, path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


PAGE = Page(name="run-rows", routes=(Route("/run/{run}/rows.{ending}", download),))
