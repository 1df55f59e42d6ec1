"""The playground's writer: better criteria by what differs, better texts by feedback, test data,
other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.prompts.case_writing import DATA_LENGTHS, DATA_TASKS, TEXT_ACTIONS, DataStyle
from adjudge.errors import SetupError
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.form_page import Form, model_named, models_of, posted, trial_of
from adjudge.features.playground.trial import trials_of
from adjudge.features.playground.trial_view import places_in
from adjudge.features.playground.writer import (
    MOST_AT_ONCE,
    WritingDesk,
    data_kinds,
    improved_criteria,
    improved_text,
    made_rows,
    rewritten,
)
from adjudge.runs.case_file import TestCase, dumped
from adjudge.web.forms import whole
from adjudge.web.site import Site, site_of
from adjudge.web.text_differences import line_difference, word_difference

_LONGEST_WAIT = 120
"""Seconds for which written instances are waited for to be judged."""


def improve_criteria(request: Request, form: Form) -> Response:
    """Better criteria, and what would change."""
    site = site_of(request)
    case = Draft.of_form(form).case_of()
    trial = trial_of(request)
    proposal = improved_criteria(_desk(site, form, case), trial, case)
    after = dumped(as_file(replace(case.entry, criteria=proposal.criteria)))
    data = {
        "explanation": proposal.explanation,
        "proposed": after,
        "diff": line_difference(dumped(as_file(case.entry)), after),
        "differing": len(trial.differing()),
    }
    return site.answer(request, "playground/playground_proposal.html.jinja", data)


def fix_text(request: Request, form: Form) -> Response:
    """An instance's text by the feedback on it, and what would change."""
    site = site_of(request)
    trial = trial_of(request)
    row = whole(request.query_params.get("row", ""))
    place = places_in(trial, Draft.of_form(form)).get(-1 if row is None else row)
    if row is None or place is None:
        raise SetupError("that instance is gone: judge again")
    before, after = improved_text(_desk(site, form, trial.case), trial, row)
    data = {
        "parts": word_difference(before, after),
        "after": after,
        "at": place,
        "in_selection": False,
    }
    return site.answer(request, "playground/playground_rewritten.html.jinja", data)


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
    wish = values.get("wish", "").strip()
    if action == "custom" and not wish:
        raise SetupError("say what is to be done with the text")
    case = Draft.of_form(form).case_of()
    after = rewritten(_desk(site, form, case), action, text, case, wish)
    data = {"parts": word_difference(text, after), "after": after, "at": 0, "in_selection": True}
    return site.answer(request, "playground/playground_rewritten.html.jinja", data)


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
    wanted, desk, style = values.get("data_kind", ""), _desk(site, form, case), _style(values)
    choices = Draft.of_form(form).choices()
    kinds = data_kinds(choices, compares=case.compares) if wanted == "all" else [wanted]
    rows = tuple(row for kind in kinds for row in made_rows(desk, case, kind, count, style))
    trial = trials_of(site).start(replace(case, rows=rows, beside=()), models_of(site, case))
    trial.wait(_LONGEST_WAIT)
    made = [
        {
            "expected": row.expected,
            "note": row.note,
            "verdict": trial.edited.verdict(place),
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
    return site.answer(request, "playground/playground_made.html.jinja", data)


def _style(values: Mapping[str, str]) -> DataStyle:
    return DataStyle(
        task=next((one for one in DATA_TASKS if one == values.get("task")), None),
        length=next((one for one in DATA_LENGTHS if one == values.get("length")), None),
        domain=values.get("domain", "").strip(),
        persona=values.get("writer_persona", "").strip(),
    )


def _desk(site: Site, form: Form, case: TestCase) -> WritingDesk:
    """Who writes: the model that was chosen for it, of those that may be asked."""
    name = dict(form).get("writer") or site.known_models()[0]
    return WritingDesk(model_named(site, name), site.spending, case.settings.language)


ROUTES = (
    Route("/playground/trial/{trial}/improve", posted(improve_criteria), methods=["POST"]),
    Route("/playground/trial/{trial}/fix", posted(fix_text), methods=["POST"]),
    Route("/playground/rewrite", posted(rewrite), methods=["POST"]),
    Route("/playground/data", posted(make_data), methods=["POST"]),
)
