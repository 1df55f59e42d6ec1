"""``/run/ID/watch``: an attack on a judge, the looks at its anchors, or the traffic it follows."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.stress.attack_view import attack_document
from adjudge.features.stress.attacks.report import FACT as ATTACK
from adjudge.features.stress.attacks.report import attack_report
from adjudge.features.stress.drift.anchors import read_anchors
from adjudge.features.stress.drift.history import FACT as LOOK
from adjudge.features.stress.drift.history import anchors_of, drift_report
from adjudge.features.stress.drift_view import drift_document
from adjudge.features.traffic.history import is_followed, traffic_document
from adjudge.runs.folder import run_info
from adjudge.runs.view.document import Document
from adjudge.web.library import RunPlace
from adjudge.web.site import place_of, site_of

_NUMBER = re.compile(r"(?!\d{4}-)([-+−$]?\d|–$)")
"""How a cell begins that stands under others by its digits."""


def show(request: Request) -> Response:
    """What is known of the judge beside the numbers of the run; how to get it where nothing is."""
    site, place = site_of(request), place_of(request)
    data = {"run": place.link, **_shown(place, site.language_of(request))}
    return site.answer(request, "watch.html.jinja", data)


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
    facts = run_info(place.folder).facts
    if ATTACK in facts:
        return attack_document(attack_report(place.folder), language)
    if LOOK in facts and (anchors := anchors_of(place.folder)) is not None:
        report = drift_report(read_anchors(anchors), place.folder.parent)
        return drift_document(report, anchors.name, language)
    if is_followed(place.folder.parent):
        return traffic_document(place.folder.parent, language)
    return None


ROUTES = (Route("/run/{run}/watch", show),)
