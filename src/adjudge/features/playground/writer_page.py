"""Pages of the playground's writer: better criteria, better texts, test data, rewording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.prompts.case_writing import DATA_LENGTHS, DATA_TASKS, TEXT_ACTIONS, DataStyle
from adjudge.errors import SetupError
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.form_page import Form, accept_form, find_model, models_of, trial_of
from adjudge.features.playground.trial import trials_of
from adjudge.features.playground.trial_view import places_in
from adjudge.features.playground.writer import (
    MOST_AT_ONCE,
    WritingDesk,
    data_kinds,
    improve_text,
    propose_criteria,
    rewrite_text,
    write_rows,
)
from adjudge.runs.case_file import TestCase, dump_yaml
from adjudge.web.forms import whole
from adjudge.web.roles import RoleRoute
from adjudge.web.site import Site, site_of
from adjudge.web.text_differences import line_difference, word_difference

_LONGEST_WAIT = 120
"""Seconds for which written instances are waited for to be judged."""


def improve_criteria(request: Request, form: Form) -> Response:
    """Propose better criteria and show what would change."""
    site = site_of(request)
    case = Draft.of_form(form).case_of()
    trial = trial_of(request)
    proposal = propose_criteria(_desk(site, form, case), trial, case)
    criteria_after = dump_yaml(as_file(replace(case.entry, criteria=proposal.criteria)))
    data = {
        "explanation": proposal.explanation,
        "proposed": criteria_after,
        "diff": line_difference(dump_yaml(as_file(case.entry)), criteria_after),
        "differing": len(trial.differing()),
    }
    return site.answer(request, "playground/playground_proposal.html.jinja", data)


def fix_text(request: Request, form: Form) -> Response:
    """Improve an instance's text by the feedback on it and show what would change."""
    site = site_of(request)
    trial = trial_of(request)
    row = whole(request.query_params.get("row", ""))
    place = places_in(trial, Draft.of_form(form)).get(-1 if row is None else row)
    if row is None or place is None:
        raise SetupError("that instance no longer exists: judge again")
    text_before, text_after = improve_text(_desk(site, form, trial.case), trial, row)
    data = {
        "parts": word_difference(text_before, text_after),
        "after": text_after,
        "at": place,
        "in_selection": False,
    }
    return site.answer(request, "playground/playground_rewritten.html.jinja", data)


def rewrite(request: Request, form: Form) -> Response:
    """Rewrite a selected piece of text."""
    site, values = site_of(request), dict(form)
    action = next(
        (candidate for candidate in TEXT_ACTIONS if candidate == values.get("action")), None
    )
    if action is None:
        raise SetupError(
            "a text can be changed by {actions}, not by {values!r}",
            actions=", ".join(TEXT_ACTIONS),
            values=values.get("action"),
        )
    text = values.get("text", "")
    if not text.strip():
        raise SetupError("select some text first")
    wish = values.get("wish", "").strip()
    if action == "custom" and not wish:
        raise SetupError("say what to do with the text")
    case = Draft.of_form(form).case_of()
    text_after = rewrite_text(_desk(site, form, case), action, text, case, wish)
    data = {
        "parts": word_difference(text, text_after),
        "after": text_after,
        "at": 0,
        "in_selection": True,
    }
    return site.answer(request, "playground/playground_rewritten.html.jinja", data)


def make_data(request: Request, form: Form) -> Response:
    """Generate instances for one option, or for every kind, and judge them at once."""
    site, values = site_of(request), dict(form)
    case = Draft.of_form(form).case_of()
    how_many = values.get("how_many", "3")
    count = whole(how_many) or 0
    if not 1 <= count <= MOST_AT_ONCE:
        raise SetupError(
            "the number of instances must be from 1 to {most_at_once}, not {typed!r}",
            most_at_once=MOST_AT_ONCE,
            typed=how_many,
        )
    data_kind, desk, style = values.get("data_kind", ""), _desk(site, form, case), _style(values)
    choices = Draft.of_form(form).choices()
    kinds = data_kinds(choices, compares=case.compares) if data_kind == "all" else [data_kind]
    rows = tuple(row for kind in kinds for row in write_rows(desk, case, kind, count, style))
    trial = trials_of(site).start(replace(case, rows=rows, beside=()), models_of(site, case))
    trial.wait(_LONGEST_WAIT)
    shown_rows = [
        {
            "expected": row.expected,
            "note": row.note,
            "verdict": trial.edited_trial.verdict(place),
            "texts": [
                (name, text)
                for name, value in row.fields.items()
                for text in ([value] if isinstance(value, str) else value)
            ],
        }
        for place, row in enumerate(rows)
    ]
    agreed = sum(shown_row["verdict"] == shown_row["expected"] for shown_row in shown_rows)
    data = {"made": shown_rows, "agreed": agreed, "error": trial.error}
    return site.answer(request, "playground/playground_made.html.jinja", data)


def _style(values: Mapping[str, str]) -> DataStyle:
    return DataStyle(
        task=next((name for name in DATA_TASKS if name == values.get("task")), None),
        length=next((name for name in DATA_LENGTHS if name == values.get("length")), None),
        domain=values.get("domain", "").strip(),
        persona=values.get("writer_persona", "").strip(),
    )


def _desk(site: Site, form: Form, case: TestCase) -> WritingDesk:
    """Return the writer's desk with the model that the form chose."""
    name = dict(form).get("writer") or site.known_models()[0]
    return WritingDesk(find_model(site, name), site.spending, case.settings.language)


ROUTES = (
    RoleRoute(
        "/playground/trial/{trial}/improve",
        accept_form(improve_criteria),
        methods=["POST"],
        role="spend",
    ),
    RoleRoute(
        "/playground/trial/{trial}/fix", accept_form(fix_text), methods=["POST"], role="spend"
    ),
    RoleRoute("/playground/rewrite", accept_form(rewrite), methods=["POST"], role="spend"),
    RoleRoute("/playground/data", accept_form(make_data), methods=["POST"], role="spend"),
)
