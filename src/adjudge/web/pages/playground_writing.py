"""The playground's writer: better criteria by what differs, better texts by feedback, test data,
other words.
"""

from __future__ import annotations

import difflib
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.catalog.criteria_file import as_file
from adjudge.errors import SetupError
from adjudge.prompts.case_writing import TEXT_ACTIONS
from adjudge.runs.case_file import TestCase, dumped
from adjudge.runs.project import ModelEntry
from adjudge.web.forms import whole
from adjudge.web.pages.playground import Form, models_of, posted
from adjudge.web.playground.draft import Draft
from adjudge.web.playground.trial import Trial
from adjudge.web.playground.writing import (
    MOST_AT_ONCE,
    WritingDesk,
    improved_criteria,
    improved_text,
    made_rows,
    rewritten,
    word_difference,
)
from adjudge.web.site import Site, site_of

_LONGEST_WAIT = 120
"""Seconds for which written instances are waited for to be judged."""


def improve_criteria(request: Request, form: Form) -> Response:
    """Better criteria, and what would change."""
    site = site_of(request)
    case = Draft.of_form(form).case_of()
    trial = site.trials.find(request.path_params["trial"])
    proposal = improved_criteria(_desk(site, form, case), trial, case)
    before, after = (
        dumped(as_file(case.entry)),
        dumped(as_file(replace(case.entry, criteria=proposal.criteria))),
    )
    lines = list(
        difflib.unified_diff(before.splitlines(), after.splitlines(), "", "", lineterm="", n=2)
    )[2:]
    data = {
        "explanation": proposal.explanation,
        "proposed": after,
        "diff": lines,
        "differing": len(trial.differing()),
    }
    return site.answer(request, "playground_proposal.html.jinja", data)


def fix_text(request: Request, form: Form) -> Response:
    """An instance's text by the feedback on it, and what would change."""
    site = site_of(request)
    trial, number = (
        site.trials.find(request.path_params["trial"]),
        request.query_params.get("row", ""),
    )
    row = _row_of(trial, number)
    before, after = improved_text(_desk(site, form, trial.case), trial, row)
    data = {
        "parts": word_difference(before, after),
        "after": after,
        "at": int(number) - 1,
        "in_selection": False,
    }
    return site.answer(request, "playground_rewritten.html.jinja", data)


def _row_of(trial: Trial, number: str) -> int:
    """The row that stands at a place of the form."""
    places = list(trial.places) or list(range(len(trial.case.rows)))
    at = (whole(number) or 0) - 1
    if at not in places:
        raise SetupError("that instance is gone: judge again")
    return places.index(at)


def rewrite(request: Request, form: Form) -> Response:
    """A selected piece of text after an action."""
    site, values = site_of(request), dict(form)
    action = next((one for one in TEXT_ACTIONS if one == values.get("action")), None)
    if action is None:
        raise SetupError(
            "a text can be changed by {actions}, not by {values!r}",
            actions=", ".join(TEXT_ACTIONS),
            values=values.get("action"),
        )
    text = values.get("text", "")
    if not text.strip():
        raise SetupError("select a piece of text first")
    case = Draft.of_form(form).case_of()
    after = rewritten(_desk(site, form, case), action, text, case)
    data = {"parts": word_difference(text, after), "after": after, "at": 0, "in_selection": True}
    return site.answer(request, "playground_rewritten.html.jinja", data)


def make_data(request: Request, form: Form) -> Response:
    """Instances for an option, each with what the judge says of it."""
    site, values = site_of(request), dict(form)
    case = Draft.of_form(form).case_of()
    typed = values.get("how_many", "3")
    count = whole(typed) or 0
    if not 1 <= count <= MOST_AT_ONCE:
        raise SetupError(
            "the number of instances must be from 1 to {most_at_once}, not {typed!r}",
            most_at_once=MOST_AT_ONCE,
            typed=typed,
        )
    rows = made_rows(
        _desk(site, form, case), case, values.get("data_kind", ""), count, values.get("about", "")
    )
    trial = site.trials.start(replace(case, rows=rows), models_of(site, case))
    trial.wait(_LONGEST_WAIT)
    made = [
        {
            "expected": row.expected,
            "note": row.note,
            "verdict": trial.verdict(place),
            "texts": [
                (name, each)
                for name, value in row.fields.items()
                for each in ([value] if isinstance(value, str) else value)
            ],
        }
        for place, row in enumerate(rows)
    ]
    agreed = sum(one["verdict"] == one["expected"] for one in made)
    data = {"made": made, "agreed": agreed, "error": trial.error}
    return site.answer(request, "playground_made.html.jinja", data)


def _desk(site: Site, form: Form, case: TestCase) -> WritingDesk:
    """Who writes: the model that was chosen for it, of those that may be asked."""
    known = site.known_models()
    name = dict(form).get("writer") or known[0]
    if name not in known:
        raise SetupError(
            (
                "{name} is not a model that the page may ask: it may ask {known}; start it with "
                "-m {name}"
            ),
            name=name,
            known=", ".join(known),
        )
    return WritingDesk(
        site.project.with_defaults(ModelEntry(model=name)), site.spending, case.settings.language
    )


ROUTES = (
    Route("/playground/trial/{trial}/improve", posted(improve_criteria), methods=["POST"]),
    Route("/playground/trial/{trial}/fix", posted(fix_text), methods=["POST"]),
    Route("/playground/rewrite", posted(rewrite), methods=["POST"]),
    Route("/playground/data", posted(make_data), methods=["POST"]),
)
