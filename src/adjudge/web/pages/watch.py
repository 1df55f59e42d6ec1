"""``/run/ID/watch``: what features found out about the judge of a run, such as the result of an
attack.
"""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.page_registry import pages
from adjudge.web.site import place_of, site_of

_NUMBER = re.compile(r"(?!\d{4}-)([-+−$]?\d|–$)")
"""The beginning of a numeric cell, which is aligned by its digits."""


def show(request: Request) -> Response:
    """Show the document of a feature, or the commands that make one."""
    site, place = site_of(request), place_of(request)
    data = {"run": place.link, **_document_data(place, site.language_of(request))}
    commands = [line for page in pages() for line in page.watched_by]
    return site.answer(request, "watch.html.jinja", data, commands=commands)


def _document_data(place: RunPlace, language: str) -> JsonDict:
    documents = (page.document(place.folder, language) for page in pages() if page.document)
    document = next((document for document in documents if document), None)
    if document is None:
        return {"document": None}
    parts: list[JsonDict] = [
        {
            "title": part.title,
            "lines": list(part.lines),
            "plots": list(part.plots),
            "headings": list(part.headings),
            "rows": [list(row) for row in part.rows],
            "numeric": [all(map(_NUMBER.match, cells)) for cells in zip(*part.rows, strict=True)],
        }
        for part in document.parts
    ]
    document_data: JsonDict = {
        "title": document.title,
        "lines": list(document.lines),
        "parts": parts,
    }
    return {"document": {**document_data, "notes": list(document.notes)}}


PAGE = Page(name="watch", routes=(Route("/run/{run}/watch", show),))
