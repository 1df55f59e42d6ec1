"""``/run/ID/trust``: how far a run's numbers can be trusted, by what people said of its rows."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.labels.criteria_notes import notes_in
from adjudge.labels.store import Conflict, LabelStore
from adjudge.results.russian import translate_report
from adjudge.results.trusted import trust_sentence
from adjudge.trust.calibration import Calibration, calibrate_run
from adjudge.view.calibrated import calibration_lines, people_lines
from adjudge.web.library import RunPlace
from adjudge.web.site import site_of


def show(request: Request) -> Response:
    """The corrected number or why there is none, the label plan, and who agrees with whom."""
    site = site_of(request)
    place = site.library.find(request.path_params["run"])
    found = site.library.kept(place, "trust", lambda: _report(place))
    data = {"run": {"id": place.id, "name": place.name}, **found}
    return site.answer(request, "trust.html.jinja", data)


def _report(place: RunPlace) -> dict[str, object]:
    conflicts = list(LabelStore(place.folder).conflicts())
    return {
        "calibrations": [_data(one) for one in calibrate_run(place.folder)],
        "conflicts": [_conflict(one) for one in conflicts[:100]],
        "conflict_count": len(conflicts),
        "notes": [asdict(one) for one in notes_in(place.folder)],
    }


def _conflict(one: Conflict) -> dict[str, object]:
    answers = {each.annotator: str(each.answer) for each in one.labels}
    return {"criteria": one.criteria, "id": one.labels[0].id or one.row, "said": answers}


def _data(one: Calibration) -> dict[str, object]:
    agreed = one.agreement if one.agreement and one.agreement.count else None
    estimates = [
        ("corrected", one.corrected),
        ("uncorrected", one.naive),
        ("labels alone", one.labels_only),
    ]
    return {
        "sentence": trust_sentence(one),
        "refused": one.refusal is not None,
        "lines": [translate_report(line) for line in calibration_lines(one)],
        "people": [translate_report(line) for line in people_lines(agreed)] if agreed else [],
        "estimates": [
            {
                "name": name,
                "value": found.value,
                "lower": found.lower,
                "upper": found.upper,
                "count": found.count,
            }
            for name, found in estimates
            if found is not None
        ],
        "confusion": {truth: dict(said) for truth, said in one.confusion.table.items()},
        "figures": [
            {
                "name": translate_report(name),
                "value": found.value,
                "lower": found.lower,
                "upper": found.upper,
            }
            for name, found in (agreed.figures.items() if agreed else ())
        ],
        "data": one.to_dict(),
    }


ROUTES = (Route("/run/{run}/trust", show),)
