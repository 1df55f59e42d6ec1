"""``/run/ID``: a run's judgments, filtered, a page at a time, and one of them beside the list."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.domain.json_types import JsonDict, JsonObject
from adjudge.domain.judge_configuration import JudgeConfiguration, judges_of
from adjudge.domain.record import FLAGS, Flag
from adjudge.engine.identity import judge_identity
from adjudge.errors import SetupError
from adjudge.ledger.browse import (
    STATUSES,
    Figures,
    Filters,
    Sort,
    figures_of,
    judges_in,
    page_of,
)
from adjudge.ledger.file import read_meta
from adjudge.runs.folder import reading
from adjudge.web.library import RunPlace, is_large, mean_data
from adjudge.web.pages.jobs import job_data
from adjudge.web.pages.row import row_data, row_record
from adjudge.web.site import Site, site_of


def show(request: Request) -> Response:
    """The list, and the row that the address names."""
    site = site_of(request)
    place, asked = site.library.find(request.path_params["run"]), request.query_params
    large = is_large(place)
    with reading(place.folder) as connection:
        judges = judges_in(connection)
        judge = _judge(asked, judges)
        facts = read_meta(connection)
        filters = _in_good_order(filters_of(asked, judge), is_large=large)
        known = judges_of(facts.get("configuration"))
        configuration = known.get(judge, JudgeConfiguration())
        judged = _judged_field(configuration)
        page = page_of(connection, filters, asked.get("after", ""), judged=judged)
    chosen = _number(asked, "row")
    data: JsonDict = {
        "run": {
            "id": place.id,
            "name": place.name,
            "state": str(facts.get("ended") or "not finished"),
        },
        "job": job_data(site, job)
        if (job := site.jobs.of(place.folder)) and not job.is_fine
        else None,
        "live": site.library.is_live(place),
        "resumable": _is_resumable(facts) and not site.read_only,
        "judges": judges,
        "judge": judge,
        "criteria_names": [str(one.get("name")) for one in configuration.criteria],
        "asked": dict(asked),
        "statuses": STATUSES,
        "flags": list(FLAGS),
        "figures": None if large else figures_data(site, place, judge),
        "rows": [line._asdict() for line in page.lines],
        "next": page.next,
        "looked_at": page.looked_at,
        "sort": filters.sort,
        "filtered": filters != Filters(judge=judge, sort=filters.sort) or bool(asked.get("after")),
        "chosen": row_data(site, place, judge, int(chosen), whole=False)
        if chosen is not None
        else None,
    }
    record = row_record(place, judge, int(chosen)) if chosen is not None else None
    return site.answer(request, "run.html.jinja", data, record=record)


def show_figures(request: Request) -> Response:
    """The figures by themselves, for a list that did not wait for them."""
    site = site_of(request)
    place, asked = site.library.find(request.path_params["run"]), request.query_params
    with reading(place.folder) as connection:
        judge = _judge(asked, judges_in(connection))
    kept = {name: value for name, value in asked.items() if name != "judge"}
    data = {
        "run": {"id": place.id},
        "judge": judge,
        "asked": kept,
        "live": site.library.is_live(place),
        "figures": figures_data(site, place, judge),
    }
    return site.answer(request, "figures.html.jinja", data)


def _is_resumable(facts: JsonObject) -> bool:
    """Whether a command made it that did not come to its end."""
    return facts.get("ended") != "complete" and "imported" not in facts and "resume" in facts


def _in_good_order(filters: Filters, *, is_large: bool) -> Filters:
    """Where there are many rows, what no index holds is looked for as they lie: else each would be
    a jump on the disk.
    """
    looked_for = (
        filters.verdict is not None
        or filters.flag is not None
        or filters.criteria is not None
        or filters.words
    )
    return replace(filters, sort="row") if is_large and looked_for else filters


def filters_of(asked: QueryParams, judge: str) -> Filters:
    """What an address asks for."""
    return Filters(
        judge=judge,
        status=asked.get("status") or None,
        verdict=asked.get("verdict") or None,
        least=_number(asked, "min"),
        most=_number(asked, "max"),
        flag=cast("Flag | None", asked.get("flag") or None),
        criteria=asked.get("criteria") or None,
        words=asked.get("q", "").strip(),
        sort=cast("Sort", asked.get("sort") or "worst"),
    )


def figures_data(site: Site, place: RunPlace, judge: str) -> JsonDict:
    """Counted once, until the run changes."""
    found, identity = site.library.kept(place, f"figures {judge}", lambda: _figures(place, judge))
    most = max((count for *_, count in found.histogram), default=0)
    return {
        "statuses": dict(found.statuses),
        "attempted": sum(found.statuses.values()),
        "mean": mean_data(found.mean) if found.mean else None,
        "means": {name: mean_data(one) for name, one in found.means.items()},
        "order": found.order._asdict() if found.order else None,
        "usd": site.library.about(place).usd,
        "identity": identity,
        "verdicts": dict(found.verdicts),
        "histogram": [
            {
                "from": low,
                "to": high,
                "count": count,
                "height": math.ceil(60 * count / most) if most else 0,
            }
            for low, high, count in found.histogram
        ],
    }


def _figures(place: RunPlace, judge: str) -> tuple[Figures, str | None]:
    """With the judge's identity: one hash over everything that decides its verdicts."""
    with reading(place.folder) as connection:
        judges = judges_of(read_meta(connection).get("configuration"))
        configuration = judges.get(judge, JudgeConfiguration())
        several = len(configuration.criteria) > 1
        found = figures_of(connection, judge, whole=not is_large(place), several=several)
    return found, judge_identity(configuration)


def _judge(asked: QueryParams, judges: list[str]) -> str:
    wanted = asked.get("judge") or (judges[0] if judges else "")
    if judges and wanted not in judges:
        raise SetupError(
            "the run has no judge {wanted!r}; it has {judges}",
            wanted=wanted,
            judges=", ".join(judges),
        )
    return wanted


def _number(asked: QueryParams, name: str) -> float | None:
    text = asked.get(name)
    try:
        value = float(text) if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise SetupError("{name} must be a number, not {text!r}", name=name, text=text)
    return value


def _judged_field(configuration: JudgeConfiguration) -> str:
    """The field whose text the list shows: what the judge's criteria judge."""
    asked = configuration.criteria
    named = asked[0].get("to_evaluate_field") if asked else None
    return str(named or "response")


ROUTES = (Route("/run/{run}", show), Route("/run/{run}/figures", show_figures))
