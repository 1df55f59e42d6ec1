"""Show the prompt for the first instance before anything is paid for."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.ask import prompt_for
from adjudge.errors import SetupError
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.form_page import (
    Form,
    TextFile,
    accept_form,
    models_of,
    show_message,
)
from adjudge.messages import Message
from adjudge.runs.case_file import TestCase
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.web.roles import RoleRoute
from adjudge.web.site import site_of

_NOTHING = Message("there is nothing to judge: write a text into an instance")


def preview(request: Request, form: Form) -> Response:
    """Show the first prompt of each criterion, without any request."""
    case = Draft.of_form(form).case_of()
    if not case.rows:
        raise SetupError(_NOTHING)
    models = models_of(site_of(request), case)
    ballots = {
        label: _first_ballot(criterion_case, models)
        for label, criterion_case in case.by_criterion().items()
    }
    files = [
        TextFile(
            f"{label}.txt" if len(ballots) > 1 else "prompt.txt",
            "\n\n".join(f"{turn.role}:\n{turn.content}" for turn in prompt_for(ballot).messages),
        )
        for label, ballot in ballots.items()
    ]
    model = next(iter(ballots.values())).model
    title = Message("What is sent to {model} for the first instance", model=model)
    return show_message(request, "", title=title, files=files)


def _first_ballot(case: TestCase, models: Sequence[ModelEntry]) -> Ballot:
    plan = resolve(case.eval_file(models), dry_run=True)
    instance, ready = plan.first_row(), plan.judges[0]
    for item in ready.items(instance) if instance else ():
        for ballot in ready.judge.plan_all(item):
            return ballot
    raise SetupError(_NOTHING)


ROUTES = (
    RoleRoute(
        "/playground/prompt", accept_form(preview), methods=["POST"], role="spend", changes=False
    ),
)
