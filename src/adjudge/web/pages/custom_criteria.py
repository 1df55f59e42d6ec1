"""``/criteria-file?name=…``: a file of the user's own criteria, read anew while
it is being edited.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.catalog.lint import Finding, lint_file
from adjudge.core.domain.criteria import Criteria, CriteriaExample
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.errors import AdjudgeError
from adjudge.messages import term
from adjudge.web.home import FoundFile, chosen
from adjudge.web.page import Page
from adjudge.web.plan import own_criteria
from adjudge.web.site import site_of


def show(request: Request) -> Response:
    """Each criterion of the file, with what the linter finds; ``part=1``: that alone, for a page
    that asks again and again.
    """
    site, asked = site_of(request), request.query_params
    file = chosen(own_criteria(site.home), asked.get("name", ""), term("page", "file of criteria"))
    data = {"file": {"name": file.name, "changed": file.path.stat().st_mtime}, **_read(file)}
    template = "own_criteria_part.html.jinja" if asked.get("part") else "own_criteria.html.jinja"
    return site.answer(request, template, data)


def findings_of(file: FoundFile) -> tuple[list[Finding], str]:
    """What the linter finds; and why it cannot read the file, where it cannot."""
    try:
        return lint_file(file.path), ""
    except AdjudgeError as error:
        return [], str(error)


def _read(file: FoundFile) -> JsonDict:
    findings, trouble = findings_of(file)
    try:
        entries = read_entries(file.path)
    except AdjudgeError as error:
        entries, trouble = [], trouble or str(error)
    return {
        "trouble": trouble,
        "findings": [some_of(one, "severity", "criteria", "field", "message") for one in findings],
        "entries": [_entry(one) for one in entries],
    }


def _entry(one: CatalogEntry) -> JsonDict:
    return {
        "name": one.criteria.name,
        "kind": one.kind,
        "version": one.version,
        "question": one.criteria.titled_definition,
        **question_data(one.criteria),
        **({} if one.kind == "direct" else {"options": []}),
        "golden": [_example(each) for each in one.golden],
    }


def question_data(criteria: Criteria) -> JsonDict:
    """What criteria ask about which fields, and what may be answered."""
    return {
        "judged": criteria.to_evaluate_field,
        "context": list(criteria.context_fields or ()),
        "options": [
            {"name": each.name, "about": each.description, "score": each.score}
            for each in criteria.options
        ],
        "examples": [_example(each) for each in criteria.examples],
    }


def _example(one: CriteriaExample) -> JsonDict:
    return {"fields": dict(one.fields), "option": one.option, "why": one.explanation}


PAGE = Page(name="own-criteria", routes=(Route("/criteria-file", show),))
