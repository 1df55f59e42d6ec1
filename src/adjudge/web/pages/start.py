"""``/start``: choose rows, criteria and models, estimate the cost, and start a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.catalog import criteria as catalog
from adjudge.core.data.columns import column_for
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.gateway.opener import default_model
from adjudge.core.ledger.file import holds_run
from adjudge.errors import SetupError
from adjudge.messages import Message, term
from adjudge.runs.project import find_project
from adjudge.runs.trusted_folders import trusted_project
from adjudge.web.audit import note
from adjudge.web.forms import whole, with_form
from adjudge.web.home import FoundFile, data_files, find_file, make_folder, preview
from adjudge.web.jobs import Job
from adjudge.web.page import NavigationLink, Page
from adjudge.web.plan import (
    EVAL_FILE,
    FIELDS,
    JobPlan,
    find_ready_made,
    new_folder,
    own_criteria,
    plan_of,
    suggested_name,
    trouble_in,
)
from adjudge.web.roles import RoleRoute
from adjudge.web.site import Site, address_of, lead_to, site_of

EXAMPLE = "example"
STARTED = "a run was started"
"""For the audit log."""
JUDGES_NOTHING = Message("the page was started with --read-only: nothing can be judged")
_TOO_LONG = Message("it takes too long: give the command in a terminal")
_MOST_CARDS = 8
_READ_ROW_BY_ROW = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Endings of files whose first rows are read without the rest."""
_ESTIMATED_BY_ITSELF = 5_000_000
"""Bytes of a data file up to which the cost is estimated after each change of the form."""
_ROOM = 1.2
"""The suggested budget, as a multiple of the estimate."""


def show(request: Request) -> Response:
    """Show the files, a preview of the chosen one, the available criteria, and the estimate if
    requested. ``part=estimate``: only that.
    """
    site, query = site_of(request), request.query_params
    _check(site)
    files = data_files(site.home)
    data: JsonDict = {
        "folder": site.home.name,
        "files": [
            {"name": file_found.name, "size": file_found.size} for file_found in files.values()
        ],
        "recent": [],
        "asked": {
            **dict(query),
            "criteria": query.getlist("criteria"),
            "model": query.getlist("model"),
            "compared": [*query.getlist("compared"), "", ""][:2],
        },
        "chosen": None,
        "estimate": None,
    }
    if query.get("data"):
        file = find_file(files, query["data"], term("page", "data file"))
        data |= _estimate_choices(site, request)
        if query.get("part") != "estimate":
            shown = preview(file)
            data |= {
                "chosen": {"name": file.name, **shown._asdict()},
                "fields": [
                    {"name": name, "guess": column_for(name, shown.columns) or ""}
                    for name in FIELDS
                ],
                "by_itself": file.size <= _ESTIMATED_BY_ITSELF,
                **_choices(site, request),
            }
    elif query.get("part") != "estimate":
        data["recent"] = [_file_card(file) for file in _recent(files.values())]
    if query.get("do") == "estimate":
        plan = plan_of(site, query)
        # the version before the estimate: what changes meanwhile is another one
        data["estimate"] = {"version": plan.version, **_estimate(site, plan)}
    part = "start_estimate" if query.get("part") == "estimate" else "start"
    return site.answer(request, f"{part}.html.jinja", data)


def begin(request: Request, form: QueryParams) -> Response:
    site = site_of(request)
    _check(site)
    plan = plan_of(site, form)
    site.spending.refuse_unpriced(plan.models)
    usd = dollars(form, site)
    _refuse_changed(plan, form.get("version", ""))
    name = form.get("name", "").strip() or suggested_name(plan.data.name)
    note(request, STARTED, run=name, data=plan.data.name, models=list(plan.models), max_usd=usd)
    with new_folder(site.library.root, name) as folder:
        (folder / EVAL_FILE).write_text(plan.to_eval(), encoding="utf-8")
        words = [*_run_own(site, folder / EVAL_FILE), "--run", str(folder), "--quiet"]
        total, language = whole(form.get("total", "")), site.language_of(request)
        job = site.jobs.start(words, folder, usd, total, language=language)
    return lead_to_job(request, job)


def begin_example(request: Request) -> Response:
    """Start a run with the embedded model on example rows and criteria, written to a new folder."""
    site = site_of(request)
    _check(site)
    language, place = site.language_of(request), make_folder(site.home, EXAMPLE)
    with new_folder(site.library.root, EXAMPLE) as folder:
        words = ["init", "chat", "--folder", str(place), "--force", "--language", language]
        site.jobs.answer_of(words, _TOO_LONG)
        model = default_model()
        note(request, STARTED, run=EXAMPLE, models=[model], max_usd=0.0)
        words = ["run", str(place / EVAL_FILE), "-m", model, "--run", str(folder), "--quiet"]
        job = site.jobs.start(words, folder, 0.0, language=language)
    return lead_to_job(request, job)


def bring_in(request: Request, form: QueryParams) -> Response:
    """Import another tool's judgments as a run."""
    site = site_of(request)
    _check(site)
    file = find_file(data_files(site.home), form.get("data", ""), term("page", "data file"))
    folder = site.library.root / suggested_name(file.name)
    words = ["import", str(file.path), "--run", str(folder)]
    note(request, "a file was imported", data=file.name, run=folder.name)
    site.jobs.answer_of([*words, "--language", site.language_of(request)], _TOO_LONG)
    answer = site.answer(request, "started.html.jinja", {"job": ""})
    return lead_to(answer, address_of(request, "/"))


def lead_to_job(request: Request, job: Job) -> Response:
    """Redirect to the page of a run that was just started."""
    answer = site_of(request).answer(request, "started.html.jinja", {"job": job.id}, 202)
    return lead_to(answer, address_of(request, f"/jobs/{job.id}"))


def _refuse_changed(plan: JobPlan, version: str) -> None:
    """Raise a SetupError if the plan differs from the estimated one. Without an estimate, accept
    any.
    """
    if version and version != plan.version:
        raise SetupError(
            "the form or one of its files has changed since the cost was estimated: "
            "estimate it again"
        )


def dollars(form: QueryParams, site: Site) -> float:
    """Return the budget given in a form, by default everything that is left."""
    text = form.get("usd", "").strip().replace(",", ".")
    try:
        usd = float(text) if text else site.spending.remaining
    except ValueError:
        usd = math.nan
    if not math.isfinite(usd) or usd < 0:
        raise SetupError("the budget must be a number of dollars, not {text!r}", text=text)
    return usd


def _check(site: Site) -> None:
    site.refuse_read_only(JUDGES_NOTHING)
    if holds_run(site.library.root):
        raise HTTPException(
            400,
            Message(
                "the page was started for one run: start it for a folder of runs to judge more"
            ),
        )


def _choices(site: Site, request: Request) -> JsonDict:
    language, custom = site.language_of(request), own_criteria(site.home)
    ready = sorted(
        (find_ready_made(name, language) for name in catalog.all_names()),
        key=lambda entry: entry.language != language,
    )
    return {
        "own": [{"name": name, "trouble": trouble_in(file)} for name, file in custom.items()],
        "ready": [
            {
                "name": entry.criteria.name,
                "kind": entry.kind,
                "question": entry.criteria.definition,
                "language": entry.language,
            }
            for entry in ready
        ],
        "models": site.known_models(),
    }


def _estimate_choices(site: Site, request: Request) -> JsonDict:
    """Return the form fields below an estimate."""
    return {
        "left": site.spending.remaining,
        "max_usd": site.spending.max_usd,
        "name": suggested_name(request.query_params["data"]),
    }


def _recent(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Return the files that were changed last."""
    return sorted(files, key=lambda file: file.changed, reverse=True)[:_MOST_CARDS]


def _file_card(file: FoundFile) -> JsonDict:
    """Return a file's name, size, age and, if its rows can be read one by one, its columns."""
    is_quick = file.path.suffix.lower() in _READ_ROW_BY_ROW
    return {
        "name": file.name,
        "size": file.size,
        "changed": file.changed / 1e9,
        "columns": preview(file).columns if is_quick else [],
    }


def _run_own(site: Site, file: Path) -> list[str]:
    """Return the arguments that run an eval file just written by this page."""
    trusted_project(find_project(site.home))
    # trusted: the page wrote it, and it names by whole paths only files that were chosen here
    return ["run", str(file), "--trust"]


def _estimate(site: Site, plan: JobPlan) -> JsonDict:
    with TemporaryDirectory() as folder:
        draft = Path(folder) / EVAL_FILE
        draft.write_text(plan.to_eval(), encoding="utf-8")
        estimate = site.jobs.estimate(_run_own(site, draft))
    cost, remaining = estimate["cost_usd"], site.spending.remaining
    high = float(cost["upper"] or 0.0) if isinstance(cost, dict) else 0.0
    return {
        **estimate,
        "suggested": min(remaining, math.ceil(100 * high * _ROOM) / 100),
        "fits": high <= remaining,
    }


PAGE = Page(
    name="start",
    routes=(
        RoleRoute("/start", show, role="spend"),
        RoleRoute("/start", with_form(begin), methods=["POST"], role="spend"),
        RoleRoute("/start/example", begin_example, methods=["POST"], role="spend"),
        RoleRoute("/start/import", with_form(bring_in), methods=["POST"], role="spend"),
    ),
    link=NavigationLink("/start", term("nav", "New run"), writes=True),
)
