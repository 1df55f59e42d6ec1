"""``/run/ID/trust``: how far a run's numbers can be trusted, by what people said of its rows."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.domain.json_types import JsonDict
from adjudge.labels.criteria_notes import notes_in
from adjudge.labels.store import Conflict, LabelStore
from adjudge.results.trusted import trust_sentence
from adjudge.stats.estimate import Estimate
from adjudge.trust.calibration import Calibration, calibrate_run
from adjudge.view.calibrated import (
    calibration_lines,
    confusion_table,
    estimates_of,
    limits_text,
    people_lines,
    value_text,
)
from adjudge.view.terms import figure_title
from adjudge.web.library import RunPlace
from adjudge.web.site import site_of


def show(request: Request) -> Response:
    """The corrected number or why there is none, the label plan, and who agrees with whom."""
    site = site_of(request)
    place = site.library.find(request.path_params["run"])
    found = site.library.kept(place, "trust", lambda: _report(place))
    data = {"run": {"id": place.id, "name": place.name}, **found}
    return site.answer(request, "trust.html.jinja", data)


def _report(place: RunPlace) -> JsonDict:
    conflicts = list(LabelStore(place.folder).conflicts())
    return {
        "calibrations": [_data(one) for one in calibrate_run(place.folder)],
        "conflicts": [_conflict(one) for one in conflicts[:100]],
        "conflict_count": len(conflicts),
        "notes": [asdict(one) for one in notes_in(place.folder)],
    }


def _conflict(one: Conflict) -> JsonDict:
    answers = {each.annotator: str(each.answer) for each in one.labels}
    return {"criteria": one.criteria, "id": one.labels[0].id or one.row, "said": answers}


def _data(one: Calibration) -> JsonDict:
    agreed = one.agreement if one.agreement and one.agreement.count else None
    return {
        "sentence": trust_sentence(one),
        "refused": one.refusal is not None,
        "lines": list(calibration_lines(one)),
        "people": list(people_lines(agreed)) if agreed else [],
        "estimates": [_figure(name, found) for name, found in estimates_of(one)],
        "confusion": confusion_table(one) if one.confusion.table else None,
        "figures": [
            _figure(figure_title(name), found)
            for name, found in (agreed.figures.items() if agreed else ())
        ],
        "data": one.to_dict(),
    }


def _figure(name: str, found: Estimate) -> JsonDict:
    return {
        "name": name,
        "value": value_text(found),
        "limits": limits_text(found),
        "count": found.count,
    }


ROUTES = (Route("/run/{run}/trust", show),)
