"""``/criteria-file?name=…``: a file of the user's own criteria, read again on every request while
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
from adjudge.web.home import FoundFile, find_file
from adjudge.web.page import Page
from adjudge.web.plan import own_criteria
from adjudge.web.site import site_of


def show(request: Request) -> Response:
    """Show each criterion in the file with its linter findings. ``part=1``: only the part that a
    page polls.
    """
    site, query = site_of(request), request.query_params
    file = find_file(
        own_criteria(site.home), query.get("name", ""), term("page", "file of criteria")
    )
    data = {"file": {"name": file.name, "changed": file.path.stat().st_mtime}, **_read(file)}
    template = "own_criteria_part.html.jinja" if query.get("part") else "own_criteria.html.jinja"
    return site.answer(request, template, data)


def findings_of(file: FoundFile) -> tuple[list[Finding], str]:
    """Return the linter's findings, and an error message if the file cannot be read."""
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
        "findings": [
            some_of(finding, "severity", "criteria", "field", "message") for finding in findings
        ],
        "entries": [_entry(entry) for entry in entries],
    }


def _entry(entry: CatalogEntry) -> JsonDict:
    return {
        "name": entry.criteria.name,
        "kind": entry.kind,
        "version": entry.version,
        "question": entry.criteria.titled_definition,
        **question_data(entry.criteria),
        **({} if entry.kind == "direct" else {"options": []}),
        "golden": [_example(example) for example in entry.golden],
    }


def question_data(criteria: Criteria) -> JsonDict:
    """Return the fields, options and examples of a criterion."""
    return {
        "judged": criteria.to_evaluate_field,
        "context": list(criteria.context_fields or ()),
        "options": [
            {"name": option.name, "about": option.description, "score": option.score}
            for option in criteria.options
        ],
        "examples": [_example(option) for option in criteria.examples],
    }


def _example(example: CriteriaExample) -> JsonDict:
    return {"fields": dict(example.fields), "option": example.option, "why": example.explanation}


PAGE = Page(name="own-criteria", routes=(Route("/criteria-file", show),))
