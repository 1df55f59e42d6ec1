"""``/``: the runs under the folder."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.runs.folder import NoSuchRun
from adjudge.web.gates import gates_data, line_with_gates, with_win_bars
from adjudge.web.home import data_files
from adjudge.web.library import Library, RunPlace, is_large
from adjudge.web.page import NavigationLink, Page
from adjudge.web.site import place_of, site_of
from adjudge.web.win_rates import win_rates, would_wait

_MOST_NAMES = 50


def show(request: Request) -> Response:
    """List all runs, newest first."""
    site = site_of(request)
    words = request.query_params.get("q", "").strip()
    places = [place for place in site.library.scan() if words.casefold() in place.name.casefold()]
    if request.query_params.get("part") == "names":
        links = [place.link for place in places[:_MOST_NAMES]]
        return site.answer(request, "run_names.html.jinja", {"runs": links})
    lines: list[JsonDict] = []
    for place in places:
        with suppress(FileNotFoundError, NoSuchRun):  # it was deleted just now
            lines.append(_line(site.library, place))
    is_first = not (lines or words) and site.may(request, "spend")
    data = {
        "folder": site.library.root.name,
        "q": words,
        "runs": lines,
        "live": any(line["live"] for line in lines),
        "files": list(data_files(site.home)) if is_first else [],
    }
    template = "runs_part.html.jinja" if request.query_params.get("part") else "runs.html.jinja"
    return site.answer(request, template, data)


def show_one(request: Request) -> Response:
    """Show one line, for a list that did not wait for it."""
    site = site_of(request)
    data = {"run": _line(site.library, place_of(request), wait=True)}
    return site.answer(request, "runs_row.html.jinja", data)


def _line(library: Library, place: RunPlace, *, wait: bool = False) -> JsonDict:
    line = line_with_gates(library, place, library.glance(place, wait=wait), wait=wait)
    return {**_with_wins(library, place, line, wait=wait), "live": library.is_live(place)}


def _with_wins(library: Library, place: RunPlace, line: JsonDict, *, wait: bool) -> JsonDict:
    """Add win rates to judges that compare: their judgments have no score and so no mean."""
    judges = cast("list[JsonDict]", line.get("judges") or [])
    comparing = [judge for judge in judges if not judge["means"] and _scored(judge)]
    if not comparing or is_large(place):
        return line
    if not wait and would_wait(library, place):
        return {**line, "complete": False}
    rates, gates = win_rates(library, place), gates_data(library, place)
    names = [str(judge["judge"]) for judge in judges]
    with_rates = [
        {**judge, "wins": with_win_bars(rates.get(name, {}), gates, name)}
        for name, judge in zip(names, judges, strict=True)
    ]
    return {**line, "judges": with_rates}


def _scored(judge: JsonDict) -> object:
    return cast(JsonDict, judge["statuses"]).get("scored")


PAGE = Page(
    name="runs",
    routes=(Route("/", show), Route("/run/{run}/line", show_one)),
    link=NavigationLink("/", Message("Runs")),
)
