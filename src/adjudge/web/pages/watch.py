"""``/run/ID/watch``: what a feature knows of the judge of a run besides its numbers, such as an
attack on it or the traffic that it follows.
"""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.runs.view.document import Document
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.page_registry import pages
from adjudge.web.site import place_of, site_of

_NUMBER = re.compile(r"(?!\d{4}-)([-+−$]?\d|–$)")
"""How a cell begins that stands under others by its digits."""


def show(request: Request) -> Response:
    """What is known of the judge beside the numbers of the run; how to get it where nothing is."""
    site, place = site_of(request), place_of(request)
    data = {"run": place.link, **_shown(place, site.language_of(request))}
    commands = [line for page in pages() for line in page.watched_by]
    return site.answer(request, "watch.html.jinja", data, commands=commands)


def _shown(place: RunPlace, language: str) -> JsonDict:
    found = _document(place, language)
    if found is None:
        return {"document": None}
    parts: list[JsonDict] = [
        {
            "title": one.title,
            "lines": list(one.lines),
            "plots": list(one.plots),
            "headings": list(one.headings),
            "rows": [list(row) for row in one.rows],
            "numeric": [all(map(_NUMBER.match, cells)) for cells in zip(*one.rows, strict=True)],
        }
        for one in found.parts
    ]
    shown: JsonDict = {"title": found.title, "lines": list(found.lines), "parts": parts}
    return {"document": {**shown, "notes": list(found.notes)}}


def _document(place: RunPlace, language: str) -> Document | None:
    """Return the first document that a feature has of the run."""
    documents = (page.document(place.folder, language) for page in pages() if page.document)
    return next((one for one in documents if one), None)


PAGE = Page(name="watch", routes=(Route("/run/{run}/watch", show),))
