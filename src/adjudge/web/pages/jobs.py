"""``/jobs/ID``: the progress and cost of a run that the page started, and a way to stop it. Runs of
this folder are resumed here as well.
"""

from __future__ import annotations

from collections import Counter

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import holds_run
from adjudge.runs.folder import spent_in
from adjudge.web.audit import note
from adjudge.web.forms import with_form
from adjudge.web.gates import gates_data
from adjudge.web.jobs import Job
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.pages.start import JUDGES_NOTHING, dollars, lead_to_job
from adjudge.web.roles import RoleRoute
from adjudge.web.site import Site, place_of, site_of


def show(request: Request) -> Response:
    """Show a job's progress. ``part=1``: only the part that a page polls."""
    site = site_of(request)
    data = {"job": job_data(site, site.jobs.find(request.path_params["job"]))}
    template = "job_part.html.jinja" if request.query_params.get("part") else "job.html.jinja"
    return site.answer(request, template, data)


def stop(request: Request) -> Response:
    """Stop a job gently: nothing more is sent, but open requests are awaited."""
    site = site_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    job = site.jobs.find(request.path_params["job"])
    note(request, "a run was stopped", run=job.folder.name)
    job.stop()
    return site.answer(request, "job_part.html.jinja", {"job": job_data(site, job)})


def resume(request: Request, form: QueryParams) -> Response:
    """Resume a stopped run."""
    site, place = site_of(request), place_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    words, language = ["resume", str(place.folder), "--"], site.language_of(request)
    usd = dollars(form, site)
    note(request, "a run was resumed", run=place.name, max_usd=usd)
    job = site.jobs.start(words, place.folder, usd, language=language)
    return lead_to_job(request, job)


def job_data(site: Site, job: Job) -> JsonDict:
    """Return a job's state: progress, cost and budget."""
    is_running, place = job.is_running, _place(site, job)
    spent = (
        site.library.get_or_compute(
            place,
            "spent",
            lambda: spent_in(place.folder, by_votes=True).usd,
            at_once=(not is_running),
        )
        if place
        else 0.0
    )
    done = _done(site, place, at_once=not is_running) if place else Counter()
    return {
        "id": job.id,
        "name": job.folder.name,
        "run": place.id if place else None,
        "running": is_running,
        "stopping": is_running and job.is_stopping,
        "fine": not is_running and job.is_fine,
        "stopped": not is_running and job.is_stopping and not job.is_fine,
        "message": job.message,
        "done": done.total(),
        "unscored": sum(count for status, count in done.items() if status != "scored"),
        "total": job.total,
        "seconds_left": job.seconds_left(done.total()),
        "usd": max(0.0, spent - job.spent_before),
        "budget": job.share.usd,
        "left": site.spending.remaining,
        "gates": gates_data(site.library, place)
        if place and not is_running and job.is_fine
        else [],
    }


def _place(site: Site, job: Job) -> RunPlace | None:
    """Return the job's run; None until it exists."""
    if not holds_run(job.folder):
        return None
    return next((place for place in site.library.scan() if place.folder == job.folder), None)


def _done(site: Site, place: RunPlace, *, at_once: bool) -> Counter[str]:
    counts = site.library.counts(place, at_once=at_once)
    return sum((Counter(judge_counts.statuses) for judge_counts in counts.values()), Counter())


PAGE = Page(
    name="jobs",
    routes=(
        Route("/jobs/{job}", show),
        RoleRoute("/jobs/{job}/stop", stop, methods=["POST"], role="spend"),
        RoleRoute("/run/{run}/resume", with_form(resume), methods=["POST"], role="spend"),
    ),
)
