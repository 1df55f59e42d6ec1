"""``/run/ID/trust``: how far a run's numbers can be trusted, by what people said of its rows."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.ledger.criteria_notes import notes_in
from adjudge.ledger.labels import Conflict, LabelStore
from adjudge.messages import render
from adjudge.reports.calibrated import calibration_lines, people_lines
from adjudge.reports.trusted import trust_sentence
from adjudge.trust.calibration import Calibration, calibrate_run
from adjudge.web.library import RunPlace
from adjudge.web.site import our_words, site_of


def show(request: Request) -> Response:
    """The corrected number or why there is none, the label plan, and who agrees with whom."""
    site = site_of(request)
    place, language = site.library.find(request.path_params["run"]), site.language_of(request)
    found = site.library.kept(place, f"trust {language}", lambda: _report(place, language))
    data = {"run": {"id": place.id, "name": place.name}, **found}
    return site.answer(request, "trust.html.jinja", data)


def _report(place: RunPlace, language: str) -> dict[str, object]:
    conflicts = list(LabelStore(place.folder).conflicts())
    return {
        "calibrations": [_data(one, language) for one in calibrate_run(place.folder)],
        "conflicts": [_conflict(one) for one in conflicts[:100]],
        "conflict_count": len(conflicts),
        "notes": [asdict(one) for one in notes_in(place.folder)],
    }


def _conflict(one: Conflict) -> dict[str, object]:
    answers = {each.annotator: str(each.answer) for each in one.labels}
    return {"criteria": one.criteria, "id": one.labels[0].id or one.row, "said": answers}


def _data(one: Calibration, language: str) -> dict[str, object]:
    agreed = one.agreement if one.agreement and one.agreement.count else None
    estimates = [
        ("corrected", one.corrected),
        ("uncorrected", one.naive),
        ("labels alone", one.labels_only),
    ]
    return {
        "sentence": render(trust_sentence(one), language),
        "refused": one.refusal is not None,
        "lines": [our_words(line, language) for line in calibration_lines(one)],
        "people": [our_words(line, language) for line in people_lines(agreed)] if agreed else [],
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
                "name": our_words(name, language),
                "value": found.value,
                "lower": found.lower,
                "upper": found.upper,
            }
            for name, found in (agreed.figures.items() if agreed else ())
        ],
        "data": one.to_dict(),
    }


ROUTES = (Route("/run/{run}/trust", show),)
