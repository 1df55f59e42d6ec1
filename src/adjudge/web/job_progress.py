"""The progress of a run that the page started: judgments so far, cost, budget and outcome."""

from __future__ import annotations

from collections import Counter

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import holds_run
from adjudge.runs.folder import spent_in
from adjudge.web.gates import gates_data
from adjudge.web.jobs import Job
from adjudge.web.library import RunPlace
from adjudge.web.site import Site


def job_data(site: Site, job: Job) -> JsonDict:
    """Return a job's state: progress, cost and budget."""
    is_running, place = job.is_running, run_of(site, job)
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


def run_of(site: Site, job: Job) -> RunPlace | None:
    """Return the job's run; None until it exists."""
    if not holds_run(job.folder):
        return None
    return next((place for place in site.library.scan() if place.folder == job.folder), None)


def _done(site: Site, place: RunPlace, *, at_once: bool) -> Counter[str]:
    counts = site.library.counts(place, at_once=at_once)
    return sum((Counter(judge_counts.statuses) for judge_counts in counts.values()), Counter())
