"""Judge rows of a run in the playground and compare with the run's verdicts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from adjudge.features.playground.draft import MOST_ROWS, Draft
from adjudge.features.playground.form_page import Form, accept_form, models_of, trial_answer
from adjudge.features.playground.run_rows import rows_to_try
from adjudge.features.playground.trial import trials_of
from adjudge.web.forms import row_count
from adjudge.web.roles import RoleRoute
from adjudge.web.site import site_of

_FEW = 0.1


def try_rows(request: Request, form: Form) -> Response:
    """Judge a sample of a run's rows by the form's criteria."""
    site, values = site_of(request), dict(form)
    place = site.library.find(values.get("run", ""))
    count = row_count(values.get("count", "20"), MOST_ROWS)
    case = Draft.of_form(form).case_of()
    sample = rows_to_try(place.folder, case, count)
    trial = trials_of(site).start(
        sample.case, models_of(site, case), before=sample.before, source=place.name
    )
    site.sessions.mark_seen(*sample.identities)
    trial.wait(_FEW)
    return trial_answer(request, trial)


ROUTES = (RoleRoute("/playground/try", accept_form(try_rows), methods=["POST"], role="spend"),)
