"""``/copy``: download a read-only copy of some runs; its size is shown first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from adjudge.web.audit import note
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.run_copy import CopySettings, choose_runs, expected_size, size_text, zip_copy
from adjudge.web.site import Site, site_of

_CHUNK = 1 << 16


def show(request: Request) -> Response:
    """Show which runs will be copied, and how large the copy will be."""
    site, places = site_of(request), _places(request)
    settings = _settings(site, request)
    expected = expected_size(site.library, places, settings)
    data = {
        "runs": [place.link for place in site.library.scan()],
        "chosen_runs": [place.id for place in places],
        "prompts": settings.prompts,
        "expected": expected._asdict(),
        "size": size_text(expected.size),
        "most_rows": settings.most_rows,
    }
    return site.answer(request, "copy.html.jinja", data)


def download(request: Request) -> Response:
    """Send the copy as a .zip file."""
    site, places = site_of(request), _places(request)
    note(request, "a copy was downloaded", runs=[place.name for place in places])
    file = zip_copy(site.library, places, _settings(site, request))
    return StreamingResponse(
        _chunks(file),
        media_type="application/zip",
        headers={"content-disposition": 'attachment; filename="adjudge-runs.zip"'},
    )


def _places(request: Request) -> list[RunPlace]:
    query = request.query_params
    # the list of runs calls what is ticked in it "runs"
    return choose_runs(site_of(request).library, query.getlist("run") or query.getlist("runs"))


def _settings(site: Site, request: Request) -> CopySettings:
    return CopySettings(
        site.language_of(request), prompts=request.query_params.get("prompts") == "1"
    )


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


PAGE = Page(name="copies", routes=(Route("/copy", show), Route("/copy.zip", download)))
