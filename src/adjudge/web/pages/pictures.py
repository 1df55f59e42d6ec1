"""``/run/ID/pictures``: the same eval over time, scores by slice, and how the run itself went."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.engine.identity import judge_identity
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.ledger.course import Stretch, course_of
from adjudge.core.ledger.file import holds_labels, read_judge, read_judges, read_meta
from adjudge.core.ledger.record_browser import judges_in
from adjudge.core.ledger.records import records
from adjudge.errors import AdjudgeError
from adjudge.runs.folder import prices_of, reading
from adjudge.runs.results.cost import cost_of
from adjudge.runs.results.leaderboard import leaderboards
from adjudge.runs.results.order_rates import OrderRates, order_rates
from adjudge.runs.results.score_slices import score_slices, slice_columns
from adjudge.runs.view.order_effect import order_html
from adjudge.runs.view.slices import slice_title
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from adjudge.web.library import Library, RunPlace, is_large, mean_data
from adjudge.web.page import Page
from adjudge.web.pages.row import criteria_names
from adjudge.web.pages.run import judge_asked
from adjudge.web.site import place_of, site_of, wants_json

_MOST_RUNS = 40


class _Asked(NamedTuple):
    """What a judge of a run asks, and the hash over everything that decides its verdicts."""

    criteria: tuple[str, ...]
    identity: str | None


def show(request: Request) -> Response:
    """The pictures by themselves, or as a part of the run's page."""
    site, asked, place = site_of(request), request.query_params, place_of(request)
    with reading(place.folder) as connection:
        judge = judge_asked(asked, connection)
    large, by = is_large(place), asked.get("by", "").strip()
    columns = [] if large else _columns(site.library, place, judge)
    order = None if large else _order(site.library, place, judge)
    data = {
        "run": place.link,
        "judge": judge,
        "large": large,
        "trends": _trends(site.library, place, judge),
        "columns": columns,
        "by": by or (columns[0] if columns else ""),
        "slices": None,
        "course": [] if large else _course(site.library, place),
        "order": order.to_dict() if order else None,
        "order_drawn": Markup("")
        if order is None or wants_json(request)
        else order_html(order, site.language_of(request)),
        "leaderboards": [] if large else _leaderboards(site.library, place, judge),
    }
    if data["by"] and not large:
        data["slices"] = _slices(site.library, place, judge, str(data["by"]))
    template = "pictures_part.html.jinja" if asked.get("part") else "pictures.html.jinja"
    return site.answer(request, template, data)


def _asked_in(library: Library, place: RunPlace) -> dict[str, _Asked]:
    def find(run: sqlite3.Connection) -> dict[str, _Asked]:
        known = read_judges(run)
        return {judge: _of(run, judge, known.get(judge)) for judge in judges_in(run)}

    try:
        return library.read(place, "asked", find)
    except AdjudgeError:  # its line in the list of runs says what is wrong
        return {}


def _of(
    connection: sqlite3.Connection, judge: str, configuration: JudgeConfiguration | None
) -> _Asked:
    """A judge that keeps no criteria names its question in its judgments."""
    first = "SELECT criterion FROM judgments WHERE judge = ? ORDER BY number LIMIT 64"
    kept = criteria_names(configuration) if configuration else []
    names = kept or [str(name) for (name,) in connection.execute(first, (judge,))]
    identity = judge_identity(configuration) if configuration else None
    return _Asked(tuple(dict.fromkeys(names)), identity)


def _trends(library: Library, place: RunPlace, judge: str) -> list[JsonDict]:
    """The mean of each criterion in every run that asks it, the oldest first; none where this run
    is the only one.
    """
    own = _asked_in(library, place).get(judge, _Asked((), None))
    found: dict[str, list[tuple[float, JsonDict]]] = {name: [] for name in own.criteria}
    for other in library.scan()[:_MOST_RUNS]:
        known = _asked_in(library, other)
        for name in own.criteria:
            judges = [one for one, what in known.items() if name in what.criteria]
            same = judge if judge in judges else judges[0] if len(judges) == 1 else None
            if same is not None and (moment := _moment(library, other, same, name)):
                is_same = known[same].identity == own.identity
                at, shown = moment
                about = {"is_this": other == place, "same_judge": is_same}
                found[name].append((at, {**shown, **about}))
    return [
        {"criterion": name, "moments": [one for _, one in sorted(moments, key=itemgetter(0))]}
        for name, moments in found.items()
        if len(moments) > 1
    ]


def _moment(
    library: Library, place: RunPlace, judge: str, criterion: str
) -> tuple[float, JsonDict] | None:
    """When a run began, and what it found."""
    about, counts = library.about(place), library.counts(place).get(judge)
    mean = counts and (counts.means.get(criterion) or counts.means.get(""))
    if not mean:
        return None
    at = about.started or about.written
    named: JsonDict = {"run": place.id, "name": place.name, "at": at, "judge": judge}
    return at, {**named, **mean_data(mean)}


def _columns(library: Library, place: RunPlace, judge: str) -> list[str]:
    return library.read(
        place,
        f"columns {judge}",
        lambda run: slice_columns(records(run, judge=judge, trajectory=False)),
    )


def _slices(library: Library, place: RunPlace, judge: str, by: str) -> list[JsonDict]:
    """What the judge says of each slice, and beside it what labels make of that."""

    def find(run: sqlite3.Connection) -> list[JsonDict]:
        own = list(records(run, judge=judge, trajectory=False))
        corrected = _corrected(place, judge, by) if holds_labels(place.folder) else {}
        return [
            {
                **one.to_dict(),
                "title": slice_title(one),
                "corrected": corrected.get((one.criterion, one.system)),
            }
            for one in score_slices(own, by, read_judge(run, judge))
        ]

    return library.read(place, f"slices {judge} {by}", find)


def _corrected(place: RunPlace, judge: str, by: str) -> dict[tuple[str, str], JsonDict]:
    """Return what labels say: criterion, and the system that it is about if there are several →
    slice → corrected number.
    """
    try:
        found = calibrate_run(place.folder, settings=CalibrationSettings(agreement=None, by=by))
    except AdjudgeError:  # the page about trust says what is wrong
        return {}
    return {
        (one.criteria, one.measure.name if one.is_comparison else one.system): {
            part.name: part.corrected.to_dict() for part in one.slices.slices
        }
        for one in found
        if one.judge == judge and one.slices
    }


def _course(library: Library, place: RunPlace) -> list[JsonDict]:
    def find(run: sqlite3.Connection) -> list[JsonDict]:
        prices = prices_of(read_meta(run))
        return [_stretch(one, prices) for one in course_of(run)]

    return library.read(place, "course", find)


def _order(library: Library, place: RunPlace, judge: str) -> OrderRates | None:
    def find(run: sqlite3.Connection) -> OrderRates | None:
        own = records(run, judge=judge, trajectory=False)
        checks = [check for one in own if (check := one.positional_bias)]
        return order_rates([one.flip_rate for one in checks], [one.noise_rate for one in checks])

    return library.read(place, f"order {judge}", find)


def _leaderboards(library: Library, place: RunPlace, judge: str) -> list[JsonDict]:
    """Who is best by the comparisons of the run; nothing where it compares nothing."""

    def find(run: sqlite3.Connection) -> list[JsonDict]:
        one = next(records(run, judge=judge, trajectory=False), None)
        if one is None or not one.systems:
            return []
        return [found.to_dict() for found in leaderboards(place.folder) if found.judge == judge]

    return library.read(place, f"leaderboards {judge}", find)


def _stretch(one: Stretch, prices: PriceTable) -> JsonDict:
    return {
        "from": one.begins,
        **some_of(one, "votes", "failed", "tokens", "latency"),
        "usd": cost_of(one.used, prices).cost_usd if one.used else 0.0,
    }


PAGE = Page(name="pictures", routes=(Route("/run/{run}/pictures", show),))
