"""``/run/ID/row/NUMBER/steps``: what the agent did, a stretch at a time; one step in full; and two
trajectories side by side from where they part.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import holds_labels
from adjudge.core.ledger.record_browser import find_row, judges_in
from adjudge.core.ledger.row_groups import RowJudgment, row_group
from adjudge.errors import RunError, SetupError
from adjudge.features.agents.report import (
    KeptSteps,
    RowMeasure,
    TrajectoryFacts,
    common_beginning,
    facts_in,
    judged_row,
    measures_of_row,
    steps_of,
)
from adjudge.features.agents.step_list import (
    StepMark,
    StepsFrame,
    marks_of,
    raw_json,
    steps_html,
    times_html,
)
from adjudge.messages import Message
from adjudge.runs.folder import reading
from adjudge.trust.labels.store import LabelStore
from adjudge.web.forms import whole
from adjudge.web.library import Library, RunPlace, run_version
from adjudge.web.site import Site, address_of, place_of, site_of, wants_json

WINDOW = 50
"""Steps that one request shows."""
LONGEST_STEP = 200_000
"""Characters of one text of a step that is shown in full."""
LONG = 300_000
"""Bytes of a row from which on its steps come in a request of their own."""
_AT_HAND = 2
"""Trajectories that are kept in memory until their run changes: who reads one asks for it often."""
_MOST_NAMED = 40
"""Steps with errors that are named above a list."""


class StepsPlace(NamedTuple):
    place: RunPlace
    record: RowJudgment
    steps: KeptSteps

    def address(self, root: str, step: int | None = None, **more: object) -> str:
        """Where the steps are; of one that may be far down, the stretch that holds it."""
        asked = {"judge": self.record.judge, **({"step": step} if step else {}), **more}
        at = f"#step-{step}" if step else ""
        return f"{root}/run/{self.place.id}/row/{self.record.row}/steps?{urlencode(asked)}{at}"


def is_long(connection: sqlite3.Connection, judge: str, index: int) -> bool:
    """Whether the steps of a row are so much text that its own page does not wait for them."""
    query = (
        "SELECT max(length(CAST(instance AS BLOB)) + length(CAST(result AS BLOB))) FROM judgments "
        "WHERE judge = ? AND number BETWEEN ? AND ?"
    )
    (most,) = connection.execute(query, (judge, max(0, index - 1), index)).fetchone()
    return bool((most or 0) > LONG)


def show(request: Request) -> Response:
    """A page of them, or a further stretch of the list."""
    site, asked = site_of(request), request.query_params
    found = _find(request)
    first = _first(found.steps, asked.get("from", ""), asked.get("step", ""))
    data = steps_data(site, request, found, first)
    if asked.get("part") == "more":
        return site.answer(request, "agents/steps_more.html.jinja", data)
    template = (
        "agents/steps_part.html.jinja" if asked.get("part") == "1" else "agents/steps.html.jinja"
    )
    return site.answer(request, template, {**data, **_head(found)})


def steps_data(site: Site, request: Request, found: StepsPlace, first: int = 0) -> JsonDict:
    """A stretch of the steps, drawn, and where the others are."""
    root, language = request.scope["root_path"], site.language_of(request)
    site.sessions.mark_seen(found.place, found.record.index)
    steps, counts = found.steps.window(first, WINDOW), found.steps.counts
    left = len(found.steps) - first - len(steps)
    frame = StepsFrame(
        marks=_marks(found),
        counts=counts,
        whole=lambda number: _of_one(root, found, number),
        more=found.address(root, **{"from": first + len(steps)}),
        left=left,
    )
    return {
        "run": found.place.link,
        "judge": found.record.judge,
        "steps": {
            "row": found.record.row,
            "count": counts.steps,
            "first": first + 1,
            "last": first + len(steps),
            "errors": [_named(root, found, number) for number in counts.errors[:_MOST_NAMED]],
            "failed": len(counts.errors),
            "tools": dict(counts.tools),
            "agents": list(counts.agents),
            "window": [plain(step) for step in steps] if wants_json(request) else [],
            "drawn": Markup("") if wants_json(request) else steps_html(steps, frame, language),
            "times": _times(request, found, language),
            "address": found.address(root),
            "before": found.address(root, **{"from": max(0, first - WINDOW)}) if first else None,
        },
    }


def _times(request: Request, found: StepsPlace, language: str) -> Markup | list[JsonDict]:
    if wants_json(request):
        return [one._asdict() for one in found.steps.times]
    root = request.scope["root_path"]
    return times_html(found.steps, lambda number: found.address(root, number), language)


def _named(root: str, found: StepsPlace, number: int) -> JsonDict:
    return {"number": number, "address": found.address(root, number)}


def _of_one(root: str, found: StepsPlace, number: int) -> str:
    query = urlencode({"judge": found.record.judge})
    return f"{root}/run/{found.place.id}/row/{found.record.row}/step/{number}?{query}"


def _marks(found: StepsPlace) -> dict[int, list[StepMark]]:
    own = found.record
    folder = found.place.folder
    measures = _read_measures(folder, run_version(folder), own.judge, own.index)
    marks = marks_of(measures, own.criterion)
    if not holds_labels(found.place.folder):
        return marks
    named = [
        one for one in LabelStore(found.place.folder).current(own.criterion) if one.step is not None
    ]
    if not named:
        return marks
    with reading(found.place.folder) as connection:
        query = "SELECT instance FROM judgments WHERE judge = ? AND number = ?"
        (kept,) = connection.execute(query, (own.judge, own.index)).fetchone()
    identity = Instance(json.loads(kept)).identity
    for one in named:
        if one.row == identity and one.step is not None:
            said = StepMark("person", f"{one.annotator}: {one.answer}", one.note)
            marks.setdefault(one.step, []).append(said)
    return marks


def show_step(request: Request) -> Response:
    """One step in full, as far as a page should hold it, and as JSON."""
    site, number = site_of(request), request.path_params["step"]
    found = _find(request)
    at = found.steps.place_of(number)
    if at is None:
        raise HTTPException(404, Message("there is no step {number}", number=number))
    step = found.steps.at(at)
    root, language = request.scope["root_path"], site.language_of(request)
    site.sessions.mark_seen(found.place, found.record.index)
    frame = StepsFrame(marks=_marks(found), counts=found.steps.counts, longest=LONGEST_STEP)
    raw = raw_json(step, LONGEST_STEP)
    data = {
        **_head(found),
        "step": number,
        "data": plain(step) if wants_json(request) else None,
        "drawn": Markup("") if wants_json(request) else steps_html([step], frame, language),
        "raw": [piece.text for piece in raw.pieces],
        "characters": raw.characters,
        "left_out": raw.left_out,
        "steps_address": found.address(root, number),
    }
    return site.answer(request, "agents/step.html.jinja", data)


def _head(found: StepsPlace) -> JsonDict:
    record = found.record
    return {
        "run": found.place.link,
        "judge": record.judge,
        "row": {
            "row": record.row,
            "id": record.id,
            "criteria": record.criterion,
            **some_of(record, "status", "verdict", "score"),
        },
    }


def _find(request: Request) -> StepsPlace:
    place = place_of(request)
    with reading(place.folder) as connection:
        judge = request.query_params.get("judge") or next(iter(judges_in(connection)), "")
    return find_steps(place, judge, request.path_params["row"])


def find_steps(place: RunPlace, judge: str, row: int) -> StepsPlace:
    """The steps behind a judgment; a RunError where there are none."""
    with reading(place.folder) as connection:
        record = judged_row(connection, judge, row - 1)
    folder = place.folder
    steps = None if record is None else _read_steps(folder, run_version(folder), judge, row - 1)
    if record is None or steps is None:
        raise RunError(
            "row {row} of judge {judge!r} in the run {name} holds no trajectory",
            row=row,
            judge=judge,
            name=place.name,
        )
    return StepsPlace(place, record, steps)


@lru_cache(maxsize=_AT_HAND)
def _read_steps(folder: Path, _version: Hashable, judge: str, index: int) -> KeptSteps | None:
    with reading(folder) as connection:
        return steps_of(connection, judge, index)


@lru_cache(maxsize=_AT_HAND)
def _read_measures(
    folder: Path, _version: Hashable, judge: str, index: int
) -> Sequence[RowMeasure]:
    with reading(folder) as connection:
        return measures_of_row(connection, judge, index)


def _first(steps: KeptSteps, begin: str, step: str) -> int:
    """Where a stretch begins, from 0: as asked, or so that it holds a step."""
    at = whole(begin) if begin else None
    if step and (number := whole(step)) is not None:
        place = steps.place_of(number)
        at = None if place is None else max(0, place - WINDOW // 5) if place >= WINDOW else 0
    return min(at or 0, max(0, len(steps) - 1))


# -- two of them ---------------------------------------------------------------


def show_beside(request: Request) -> Response:
    """Two trajectories from their common beginning on."""
    site, asked = site_of(request), request.query_params
    one = _find(request)
    other_place = site.library.find(asked.get("other") or one.place.id)
    wanted, number = asked.get("row2", "").strip(), whole(asked.get("number2", ""))
    other = (
        find_steps(other_place, asked.get("judge2") or one.record.judge, number)
        if number
        else _other(other_place, one.record, asked.get("judge2", ""), wanted)
    )
    same = common_beginning(one.steps, other.steps)
    first = whole(asked.get("from", "")) or same
    sides = [_side(request, one, "a-step-", first), _side(request, other, "b-step-", first)]
    results = [
        place + 1
        for place in range(min(same, 1000))
        if one.steps.kept[place] != other.steps.kept[place]
        and one.steps.at(place).body != other.steps.at(place).body
    ]
    path = f"/run/{one.place.id}/row/{one.record.row}/beside"
    longest = max(len(one.steps), len(other.steps))
    query = {**dict(asked), "judge": one.record.judge, "from": first + WINDOW}
    data = {
        **_head(one),
        "same": same,
        "is_same": same == len(one.steps) == len(other.steps),
        "other_results": results[:_MOST_NAMED],
        "sides": sides,
        "next": address_of(request, path, query) if first + WINDOW < longest else None,
    }
    return site.answer(request, "agents/beside.html.jinja", data)


def _side(request: Request, found: StepsPlace, prefix: str, first: int) -> JsonDict:
    site, root = site_of(request), request.scope["root_path"]
    site.sessions.mark_seen(found.place, found.record.index)
    steps = found.steps.window(first, WINDOW)
    frame = StepsFrame(
        marks=_marks(found),
        counts=found.steps.counts,
        prefix=prefix,
        whole=lambda number: _of_one(root, found, number),
        left=max(0, len(found.steps) - first - len(steps)),
    )
    return {
        **_head(found),
        "count": len(found.steps),
        "errors": len(found.steps.counts.errors),
        "numbers": [step.number for step in steps],
        "drawn": steps_html(steps, frame, site.language_of(request)),
    }


def _other(place: RunPlace, record: RowJudgment, judge: str, wanted: str) -> StepsPlace:
    """The row that is named, else the one of the same id; by the same criterion where the other
    judge asks several.
    """
    with reading(place.folder) as connection:
        judges = judges_in(connection)
        judge = judge or (record.judge if record.judge in judges else next(iter(judges), ""))
        found = find_row(connection, judge, wanted or record.id or str(record.row))
        if found is None:
            raise SetupError(
                "the run {name} has no row {wanted!r}: say which with its id or number",
                name=place.name,
                wanted=wanted or record.id or str(record.row),
            )
        measures = row_group(connection, judge, found - 1)
    by_number = bool(wanted) and all(one.id != wanted for one in measures)
    row = next((one.row for one in measures if one.criterion == record.criterion), found)
    return find_steps(place, judge, found if by_number else row)


# -- facts for lists -------------------------------------------------------------


def facts_by_row(library: Library, place: RunPlace, judge: str) -> dict[int, TrajectoryFacts]:
    """Row, from 1 → what it is filtered by; counted once, until the run changes."""
    return library.read(place, f"steps {judge}", lambda run: facts_in(run, judge))


Picks = Callable[[TrajectoryFacts], bool]
_RANGES = ((1, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, 500), (501, 1000))
_MOST_TOOLS = 12


def step_filters(asked: Mapping[str, str]) -> dict[str, Picks]:
    """What an address asks for of trajectories: filter → whether a row fits."""
    found: dict[str, Picks] = {}
    if tool := asked.get("tool"):
        found["tool"] = lambda one: tool in one.tools
    if errors := asked.get("errors"):
        if errors not in ("yes", "no"):
            raise SetupError("errors must be yes or no, not {given!r}", given=errors)
        found["errors"] = lambda one: (one.errors > 0) == (errors == "yes")
    if steps := asked.get("steps"):
        low, dash, high = steps.partition("-")
        least, most = whole(low), whole(high) if high else None
        if least is None or not dash or (high and most is None):
            raise SetupError("steps is a range such as 6-10 or 1001-, not {given!r}", given=steps)
        found["steps"] = lambda one: least <= one.steps and (most is None or one.steps <= most)
    if criterion := asked.get("criteria"):
        found["criteria"] = lambda one: one.criterion == criterion
    return found


def rows_that_fit(facts: dict[int, TrajectoryFacts], picks: dict[str, Picks]) -> frozenset[int]:
    """The rows that every filter takes."""
    return frozenset(row for row, one in facts.items() if all(fits(one) for fits in picks.values()))


def facets(facts: dict[int, TrajectoryFacts], picks: dict[str, Picks]) -> JsonDict:
    """How many rows each value of each filter would show, beside the other filters."""

    def others(name: str) -> list[TrajectoryFacts]:
        kept = [fits for other, fits in picks.items() if other != name]
        return [one for one in facts.values() if all(fits(one) for fits in kept)]

    tools = Counter(tool for one in others("tool") for tool in one.tools)
    most = sorted(tools.items(), key=lambda pair: (-pair[1], pair[0]))
    with_errors = [one.errors > 0 for one in others("errors")]
    lengths = [one.steps for one in others("steps")]
    ranges = {
        f"{low}-{high}": sum(low <= length <= high for length in lengths) for low, high in _RANGES
    } | {"1001-": sum(length > 1000 for length in lengths)}
    return {
        "tools": dict(most[:_MOST_TOOLS]),
        "more_tools": [name for name, _ in most[_MOST_TOOLS:]],
        "errors": {"yes": sum(with_errors), "no": len(with_errors) - sum(with_errors)},
        "steps": {name: count for name, count in ranges.items() if count},
    }


ROUTES = (
    Route("/run/{run}/row/{row:int}/steps", show),
    Route("/run/{run}/row/{row:int}/step/{step:int}", show_step),
    Route("/run/{run}/row/{row:int}/beside", show_beside),
)
