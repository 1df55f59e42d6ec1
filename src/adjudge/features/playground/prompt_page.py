"""What the playground would send for its first instance, before anything is paid for."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.vote import Ballot
from adjudge.core.engine.ask import prompt_for
from adjudge.errors import SetupError
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.form_page import Form, TextFile, models_of, posted, said
from adjudge.messages import Message
from adjudge.runs.case_file import TestCase
from adjudge.runs.plan import resolve
from adjudge.runs.project import ModelEntry
from adjudge.web.site import site_of

_NOTHING = Message("there is nothing to judge: write a text into an instance")


def preview(request: Request, form: Form) -> Response:
    """The first prompt by each criterion; nobody is asked."""
    case = Draft.of_form(form).case_of()
    if not case.rows:
        raise SetupError(_NOTHING)
    models = models_of(site_of(request), case)
    first = {label: _first_ballot(one, models) for label, one in case.by_criterion().items()}
    files = [
        TextFile(f"{label}.txt" if len(first) > 1 else "prompt.txt", _text(ballot))
        for label, ballot in first.items()
    ]
    model = next(iter(first.values())).model
    title = Message("What is sent to {model} for the first instance", model=model)
    return said(request, "", title=title, files=files)


def _first_ballot(case: TestCase, models: Sequence[ModelEntry]) -> Ballot:
    plan = resolve(case.eval_file(models), dry_run=True)
    instance, ready = plan.first_row(), plan.judges[0]
    for item in ready.items(instance) if instance else ():
        for ballot in ready.judge.plan_all(item):
            return ballot
    raise SetupError(_NOTHING)


def _text(ballot: Ballot) -> str:
    return "\n\n".join(f"{turn.role}:\n{turn.content}" for turn in prompt_for(ballot).messages)


ROUTES = (Route("/playground/prompt", posted(preview), methods=["POST"]),)
