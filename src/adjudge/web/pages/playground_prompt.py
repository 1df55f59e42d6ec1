"""What the playground would send for its first instance, before anything is paid for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.engine.ask import prompt_for
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.execute import EvalRun
from adjudge.web.pages.playground import Form, TextFile, models_of, posted, said
from adjudge.web.playground.draft import Draft
from adjudge.web.site import site_of

_NOTHING = Message("there is nothing to judge: write a text into an instance")


def preview(request: Request, form: Form) -> Response:
    """The first prompt; nobody is asked."""
    case = Draft.of_form(form).case_of()
    if not case.rows:
        raise SetupError(_NOTHING)
    run = EvalRun.of(case.eval_file(models_of(site_of(request), case)))
    instance, ready = run.first_row(), run.judges[0]
    ballots = (
        ballot
        for item in (ready.items(instance) if instance else ())
        for ballot in ready.judge.plan_all(item)
    )
    first = next(ballots, None)
    if first is None:
        raise SetupError(_NOTHING)
    turns = [f"{turn.role}:\n{turn.content}" for turn in prompt_for(first).messages]
    title = Message("What is sent to {model} for the first instance", model=first.model)
    return said(request, "", title=title, files=[TextFile("prompt.txt", "\n\n".join(turns))])


ROUTES = (Route("/playground/prompt", posted(preview), methods=["POST"]),)
