"""``/jobs/ID``: the progress and cost of a run that the page started, and a way to stop it. Runs of
this folder are resumed here as well.
"""

from __future__ import annotations

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.record_browser import judges_in
from adjudge.runs.folder import reading
from adjudge.web.audit import note
from adjudge.web.forms import with_form
from adjudge.web.job_progress import job_data, run_of
from adjudge.web.jobs import Job
from adjudge.web.page import Page
from adjudge.web.page_registry import dimensions_of
from adjudge.web.pages.failures import again_words
from adjudge.web.pages.row import criteria_names
from adjudge.web.pages.run import figures_data
from adjudge.web.pages.start import JUDGES_NOTHING, dollars, lead_to_job
from adjudge.web.roles import RoleRoute
from adjudge.web.site import Site, place_of, site_of


def show(request: Request) -> Response:
    """Show a job's progress and the figures so far. ``part``: only the part that a page polls."""
    site = site_of(request)
    job, part = site.jobs.find(request.path_params["job"]), request.query_params.get("part")
    data = {"job": job_data(site, job)}
    if part == "progress":
        return site.answer(request, "job_part.html.jinja", data)
    template = "job_figures.html.jinja" if part == "figures" else "job.html.jinja"
    return site.answer(request, template, {**data, **_figures(site, job)})


def stop(request: Request) -> Response:
    """Stop a job gently: nothing more is sent, but open requests are awaited."""
    site = site_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    job = site.jobs.find(request.path_params["job"])
    note(request, "a run was stopped", run=job.folder.name)
    job.stop()
    return site.answer(request, "job_part.html.jinja", {"job": job_data(site, job)})


def resume(request: Request, form: QueryParams) -> Response:
    """Resume a stopped run, or ask again where answers had no verdict (``failed``): for all rows,
    or for those that failed for one ``reason``.
    """
    site, place = site_of(request), place_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    language = site.language_of(request)
    words = ["resume", str(place.folder), "--"]
    if form.get("failed"):
        words += again_words(form.get("reason"))
    usd = dollars(form, site)
    note(request, "a run was resumed", run=place.name, max_usd=usd)
    job = site.jobs.start(words, place.folder, usd, language=language)
    return lead_to_job(request, job)


def _figures(site: Site, job: Job) -> JsonDict:
    """Return the figures of each of the run's judges, as its own page shows them, and the reasons
    of its failures.
    """
    place = run_of(site, job)
    if place is None:
        return {"judges": []}
    with reading(place.folder) as connection:
        configurations = {judge: read_judge(connection, judge) for judge in judges_in(connection)}
    return {
        "judges": [
            {
                "judge": judge,
                "criteria_names": criteria_names(configuration),
                "dimensions": dimensions_of(configuration),
                "figures": _so_far(figures_data(site.library, place, judge), job),
            }
            for judge, configuration in configurations.items()
        ]
    }


def _so_far(figures: JsonDict, job: Job) -> JsonDict:
    """Leave out gates until the run is complete: they are about all rows. Failed rows are asked
    again from the page of the run.
    """
    gates = figures["gates"] if not job.is_running and job.is_fine else []
    return {**figures, "gates": gates, "can_ask_again": False}


PAGE = Page(
    name="jobs",
    routes=(
        Route("/jobs/{job}", show),
        RoleRoute("/jobs/{job}/stop", stop, methods=["POST"], role="spend"),
        RoleRoute("/run/{run}/resume", with_form(resume), methods=["POST"], role="spend"),
    ),
)
