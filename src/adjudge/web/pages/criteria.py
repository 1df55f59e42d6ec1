"""``/criteria``: the ready-made criteria, each with its options and golden examples."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.catalog.lint import lint
from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.web.home import FoundFile
from adjudge.web.page import NavigationLink, Page
from adjudge.web.pages.custom_criteria import findings_of, question_data
from adjudge.web.plan import find_ready_made, own_criteria
from adjudge.web.site import site_of


def show_all(request: Request) -> Response:
    """List all criteria in the reader's language."""
    site = site_of(request)
    language, words = site.language_of(request), request.query_params.get("q", "").strip()
    entries = [catalog.entry(name, language) for name in catalog.all_names(language)]
    rows = [
        _brief(entry)
        for entry in entries
        if words.casefold()
        in f"{entry.criteria.name} {entry.criteria.titled_definition}".casefold()
    ]
    custom = [
        _own(file)
        for name, file in own_criteria(site.home).items()
        if words.casefold() in name.casefold()
    ]
    return site.answer(
        request, "catalogue.html.jinja", {"q": words, "criteria": rows, "own": custom}
    )


def show(request: Request) -> Response:
    """Show a criterion with its options, examples and linter findings."""
    site, name = site_of(request), request.path_params["name"]
    entry = find_ready_made(name, site.language_of(request))
    data = {
        **_brief(entry),
        **question_data(entry.criteria),
        "findings": [str(finding.message) for finding in lint(entry.criteria)],
        "yaml": catalog.source(name, entry.language),
    }
    return site.answer(request, "criterion.html.jinja", data)


def _own(file: FoundFile) -> JsonDict:
    findings, trouble = findings_of(file)
    return {"name": file.name, "findings": len(findings), "trouble": trouble}


def _brief(entry: CatalogEntry) -> JsonDict:
    return {
        "name": entry.criteria.name,
        "kind": entry.kind,
        "question": entry.criteria.definition,
        "option_names": list(entry.criteria.option_names) if entry.kind == "direct" else [],
    }


PAGE = Page(
    name="criteria",
    routes=(Route("/criteria", show_all), Route("/criteria/{name}", show)),
    link=NavigationLink("/criteria", Message("Criteria")),
)
