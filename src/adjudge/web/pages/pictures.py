"""``/run/ID/pictures``: charts of the same eval over time, of scores by slice, and of the run's
progress.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.slices import MISSING, OTHERS
from adjudge.core.engine.identity import judge_identity
from adjudge.core.ledger.columns import COLUMN, FIELD
from adjudge.core.ledger.conditions import equals, written_name
from adjudge.core.ledger.course import course_of
from adjudge.core.ledger.file import holds_labels, read_judge, read_judges, read_meta
from adjudge.core.ledger.record_browser import judges_in
from adjudge.core.ledger.records import records
from adjudge.errors import AdjudgeError
from adjudge.messages import Message
from adjudge.runs.folder import prices_of, reading
from adjudge.runs.results.cost import cost_of
from adjudge.runs.results.leaderboard import leaderboards
from adjudge.runs.results.order_rates import OrderRates, order_rates
from adjudge.runs.results.score_slices import (
    ScoreSlices,
    crossed_slices,
    score_slices,
    slice_columns,
)
from adjudge.runs.view.order_effect import order_html
from adjudge.runs.view.slices import crossed_title, slice_title
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from adjudge.web.library import Library, RunPlace, is_large, mean_data
from adjudge.web.page import Page
from adjudge.web.pages.row import criteria_names
from adjudge.web.pages.run import judge_from_query, known_columns
from adjudge.web.site import place_of, site_of, wants_json

_MOST_RUNS = 40
_SYSTEM = "system"
"""The column that is crossed with the others unasked."""


class _Asked(NamedTuple):
    """A judge's criteria, and a hash of everything that affects its verdicts."""

    criteria: tuple[str, ...]
    identity: str | None


def show(request: Request) -> Response:
    """Show the charts as a page, or as a part of the run's page."""
    site, query, place = site_of(request), request.query_params, place_of(request)
    with reading(place.folder) as connection:
        judge = judge_from_query(query, connection)
    large, by = is_large(place), query.get("by", "").strip()
    columns = (
        []
        if large
        else site.library.read(
            place,
            f"columns {judge}",
            lambda run: slice_columns(records(run, judge=judge, trajectory=False)),
        )
    )
    across = query.get("across", _SYSTEM if _SYSTEM in columns else "").strip()
    order = None if large else _order(site.library, place, judge)
    data = {
        "run": place.link,
        "judge": judge,
        "large": large,
        "trends": _trends(site.library, place, judge),
        "columns": columns,
        "by": by or next((name for name in columns if name != across), across),
        "across": across,
        "slices": None,
        "crossed": [],
        "course": [] if large else _course(site.library, place),
        "order": order.to_dict() if order else None,
        "order_drawn": Markup("")
        if order is None or wants_json(request)
        else order_html(order, site.language_of(request)),
        "leaderboards": [] if large else _leaderboards(site.library, place, judge),
    }
    if data["by"] and not large:
        data["slices"] = _slices(site.library, place, judge, str(data["by"]))
        if across and across != data["by"]:
            data["crossed"] = _crossed(site.library, place, judge, str(data["by"]), across)
    template = "pictures_part.html.jinja" if query.get("part") else "pictures.html.jinja"
    return site.answer(request, template, data)


def _asked_in(library: Library, place: RunPlace) -> dict[str, _Asked]:
    def find(run: sqlite3.Connection) -> dict[str, _Asked]:
        configurations = read_judges(run)
        return {judge: _of(run, judge, configurations.get(judge)) for judge in judges_in(run)}

    try:
        return library.read(place, "asked", find)
    except AdjudgeError:  # its line in the list of runs says what is wrong
        return {}


def _of(
    connection: sqlite3.Connection, judge: str, configuration: JudgeConfiguration | None
) -> _Asked:
    """Return the questions of a judge. Without stored criteria, its first judgments reveal them."""
    sample = "SELECT criterion FROM judgments WHERE judge = ? ORDER BY number LIMIT 64"
    configured = criteria_names(configuration) if configuration else []
    names = configured or [str(name) for (name,) in connection.execute(sample, (judge,))]
    identity = judge_identity(configuration) if configuration else None
    return _Asked(tuple(dict.fromkeys(names)), identity)


def _trends(library: Library, place: RunPlace, judge: str) -> list[JsonDict]:
    """Return the mean by each criterion, of each system if several answered, in every run that has
    one, oldest first; empty if this run is the only one.
    """
    own_judge = _asked_in(library, place).get(judge, _Asked((), None))
    moments_by_part: dict[str, list[tuple[float, JsonDict]]] = {}
    runs = library.scan()[:_MOST_RUNS]
    for name, run in product(own_judge.criteria, runs):
        asked_by_judge = _asked_in(library, run)
        judges = [
            name_of_judge
            for name_of_judge, question_set in asked_by_judge.items()
            if name in question_set.criteria
        ]
        judge_there = judge if judge in judges else judges[0] if len(judges) == 1 else None
        if judge_there is None:
            continue
        same_judge = asked_by_judge[judge_there].identity == own_judge.identity
        about: JsonDict = {"is_this": run == place, "same_judge": same_judge}
        for part, at, values in _moments(library, run, judge_there, name):
            moments_by_part.setdefault(part, []).append((at, {**values, **about}))
    return [
        {
            "criterion": name,
            "moments": [moment for _, moment in sorted(moments, key=itemgetter(0))],
        }
        for name, moments in moments_by_part.items()
        if len(moments) > 1 and any(moment["is_this"] for _, moment in moments)
    ]


def _moments(
    library: Library, place: RunPlace, judge: str, criterion: str
) -> Iterator[tuple[str, float, JsonDict]]:
    """Yield a criterion's name, with the system if several answered, when the run started, and the
    mean.
    """
    about, counts = library.about(place), library.counts(place).get(judge)
    if counts is None:
        return
    at = about.started or about.written
    run: JsonDict = {"run": place.id, "name": place.name, "at": at, "judge": judge}
    for name, mean in counts.means.items():
        part = counts.parts.get(name, (criterion, ""))
        if part[0] == criterion and (mean.value is not None or mean.between):
            yield of_system(*part), at, {**run, **mean_data(mean)}


def _slices(library: Library, place: RunPlace, judge: str, by: str) -> list[JsonDict]:
    """Return the judge's scores per slice, plus the rates corrected by labels."""

    def find(run: sqlite3.Connection) -> list[JsonDict]:
        judgments = list(records(run, judge=judge, trajectory=False))
        corrected = _correct_slices(place, judge, by) if holds_labels(place.folder) else {}
        configuration = read_judge(run, judge)
        known = known_columns(run, library, place, judge, configuration, {})
        name = known.written(FIELD if by in known.fields else COLUMN, by)
        return [
            {
                **slice_score.to_dict(),
                "title": slice_title(slice_score),
                "queries": _slice_queries(
                    slice_score, name, several=len(configuration.criteria) > 1
                )
                if by in (*known.fields, *known.columns)
                else {},
                "corrected": corrected.get((slice_score.criterion, slice_score.system)),
            }
            for slice_score in score_slices(judgments, by, configuration)
        ]

    return library.read(place, f"slices {judge} {by}", find)


def _crossed(library: Library, place: RunPlace, judge: str, by: str, across: str) -> list[JsonDict]:
    """Return the judge's scores by two columns."""

    def find(run: sqlite3.Connection) -> list[JsonDict]:
        judgments = list(records(run, judge=judge, trajectory=False))
        crossed = crossed_slices(judgments, by, across, read_judge(run, judge))
        return [
            {**slices.to_dict(), "title": crossed_title(slices, by, across)} for slices in crossed
        ]

    return library.read(place, f"crossed {judge} {by!r} {across!r}", find)


def _slice_queries(slices: ScoreSlices, name: str, *, several: bool) -> dict[str, JsonDict]:
    """Return slice → query for the list of its rows. ``name``: the column as users write it.

    The slice of rare values is left out because no expression names it.
    """
    queries: dict[str, JsonDict] = {}
    for part in slices.slices:
        if part.name == OTHERS:
            continue
        where = slice_condition(part.name, name)
        if slices.answered_by:
            where = f"{where} and {equals(f'{COLUMN}system', slices.answered_by)}"
        queries[part.name] = {
            "where": where,
            **({"criteria": slices.criterion} if several else {}),
        }
    return queries


def slice_condition(slice_name: str, column: str) -> str:
    """Return the expression for the rows of a slice; ``column``: as users write it."""
    written = written_name(column)
    if slice_name == MISSING:
        return f"not {written}"
    if isinstance(slice_name, Message) and {"low", "high"} <= slice_name.values.keys():
        low, high = slice_name.values["low"], slice_name.values["high"]
        return f"{written} >= {low!r} and {written} <= {high!r}"
    if slice_name in ("True", "False"):  # of a JSON file: lists show them in lower case
        return f"{written} = {slice_name}"
    return equals(column, slice_name)


def _correct_slices(place: RunPlace, judge: str, by: str) -> dict[tuple[str, str], JsonDict]:
    """Return (criterion, system if there are several) → slice → corrected rate."""
    try:
        calibrations = calibrate_run(
            place.folder, settings=CalibrationSettings(agreement=None, by=by)
        )
    except AdjudgeError:  # the page about trust says what is wrong
        return {}
    return {
        (
            calibration.criteria,
            calibration.measure.name if calibration.is_comparison else calibration.system,
        ): {part.name: part.corrected.to_dict() for part in calibration.slices.slices}
        for calibration in calibrations
        if calibration.judge == judge and calibration.slices
    }


def _course(library: Library, place: RunPlace) -> list[JsonDict]:
    def find(run: sqlite3.Connection) -> list[JsonDict]:
        prices = prices_of(read_meta(run))
        return [
            {
                "from": stretch.begins,
                **some_of(stretch, "votes", "failed", "tokens", "latency"),
                "usd": cost_of(stretch.used, prices).cost_usd if stretch.used else 0.0,
            }
            for stretch in course_of(run)
        ]

    return library.read(place, "course", find)


def _order(library: Library, place: RunPlace, judge: str) -> OrderRates | None:
    def find(run: sqlite3.Connection) -> OrderRates | None:
        judgments = records(run, judge=judge, trajectory=False)
        checks = [bias for record in judgments if (bias := record.positional_bias)]
        return order_rates(
            [record.flip_rate for record in checks], [record.noise_rate for record in checks]
        )

    return library.read(place, f"order {judge}", find)


def _leaderboards(library: Library, place: RunPlace, judge: str) -> list[JsonDict]:
    """Rank the systems that the run compares; empty if it compares nothing."""

    def find(run: sqlite3.Connection) -> list[JsonDict]:
        record = next(records(run, judge=judge, trajectory=False), None)
        if record is None or not record.systems:
            return []
        return [board.to_dict() for board in leaderboards(place.folder) if board.judge == judge]

    return library.read(place, f"leaderboards {judge}", find)


PAGE = Page(name="pictures", routes=(Route("/run/{run}/pictures", show),))
