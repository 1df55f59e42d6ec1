"""``/jobs/ID``: a run that the page started: how far it is, what it costs, stop. A run of this
folder is resumed here as well.
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
from adjudge.web.forms import with_form
from adjudge.web.jobs import Job
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.pages.start import JUDGES_NOTHING, dollars, lead_to_job
from adjudge.web.site import Site, place_of, site_of


def show(request: Request) -> Response:
    """How far it is; ``part=1``: that alone, for a page that asks again and again."""
    site = site_of(request)
    data = {"job": job_data(site, site.jobs.find(request.path_params["job"]))}
    template = "job_part.html.jinja" if request.query_params.get("part") else "job.html.jinja"
    return site.answer(request, template, data)


def stop(request: Request) -> Response:
    """Nothing more is sent; what is under way is waited for."""
    site = site_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    job = site.jobs.find(request.path_params["job"])
    job.stop()
    return site.answer(request, "job_part.html.jinja", {"job": job_data(site, job)})


def resume(request: Request, given: QueryParams) -> Response:
    """Go on with a run that was stopped."""
    site, place = site_of(request), place_of(request)
    site.refuse_read_only(JUDGES_NOTHING)
    words, language = ["resume", str(place.folder), "--"], site.language_of(request)
    job = site.jobs.start(words, place.folder, dollars(given, site), language=language)
    return lead_to_job(request, job)


def job_data(site: Site, job: Job) -> JsonDict:
    """What is known of a job now."""
    is_running, place = job.is_running, _place(site, job)
    spent = _spent(site, place, at_once=not is_running) if place else 0.0
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
        "left": site.spending.left,
    }


def _place(site: Site, job: Job) -> RunPlace | None:
    """The run, as soon as there is one."""
    if not holds_run(job.folder):
        return None
    return next((one for one in site.library.scan() if one.folder == job.folder), None)


def _spent(site: Site, place: RunPlace, *, at_once: bool) -> float:
    return site.library.kept(
        place, "spent", lambda: spent_in(place.folder, by_votes=True).usd, at_once=at_once
    )


def _done(site: Site, place: RunPlace, *, at_once: bool) -> Counter[str]:
    counts = site.library.counts(place, at_once=at_once)
    return sum((Counter(one.statuses) for one in counts.values()), Counter())


PAGE = Page(
    name="jobs",
    routes=(
        Route("/jobs/{job}", show),
        Route("/jobs/{job}/stop", stop, methods=["POST"]),
        Route("/run/{run}/resume", with_form(resume), methods=["POST"]),
    ),
)
