"""``/run/ID/row/NUMBER/steps``: the steps of a trajectory in windows, one step in full, and two
trajectories side by side.
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
from adjudge.web.pages.row import row_number
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
        """Return the address of the steps, or of the window that shows one step."""
        query = {"judge": self.record.judge, **({"step": step} if step else {}), **more}
        at = f"#step-{step}" if step else ""
        return f"{root}/run/{self.place.id}/row/{self.record.row}/steps?{urlencode(query)}{at}"


def is_long(connection: sqlite3.Connection, judge: str, index: int) -> bool:
    """Return True if the steps of a row are so long that its page should not wait for them."""
    query = (
        "SELECT max(length(CAST(instance AS BLOB)) + length(CAST(result AS BLOB))) FROM judgments "
        "WHERE judge = ? AND number BETWEEN ? AND ?"
    )
    (most,) = connection.execute(query, (judge, max(0, index - 1), index)).fetchone()
    return bool((most or 0) > LONG)


def show(request: Request) -> Response:
    """Show the steps, or another window of the list."""
    site, query = site_of(request), request.query_params
    steps_place = _find(request)
    start = _window_start(steps_place.steps, query.get("from", ""), query.get("step", ""))
    data = steps_data(site, request, steps_place, start)
    if query.get("part") == "more":
        return site.answer(request, "agents/steps_more.html.jinja", data)
    template = (
        "agents/steps_part.html.jinja" if query.get("part") == "1" else "agents/steps.html.jinja"
    )
    return site.answer(request, template, {**data, **_head(site.library, steps_place)})


def steps_data(site: Site, request: Request, steps_place: StepsPlace, start: int = 0) -> JsonDict:
    """Return a rendered window of the steps, with links to the others."""
    root, language = request.scope["root_path"], site.language_of(request)
    site.sessions.mark_seen(_identity_of(steps_place))
    steps, counts = steps_place.steps.window(start, WINDOW), steps_place.steps.counts
    remaining = len(steps_place.steps) - start - len(steps)
    frame = StepsFrame(
        marks=_marks(steps_place),
        counts=counts,
        whole=lambda number: _step_address(root, steps_place, number),
        more=steps_place.address(root, **{"from": start + len(steps)}),
        left=remaining,
    )
    return {
        "run": steps_place.place.link,
        "judge": steps_place.record.judge,
        "steps": {
            "row": steps_place.record.row,
            "count": counts.steps,
            "first": start + 1,
            "last": start + len(steps),
            "errors": [
                {"number": number, "address": steps_place.address(root, number)}
                for number in counts.errors[:_MOST_NAMED]
            ],
            "failed": len(counts.errors),
            "tools": dict(counts.tools),
            "agents": list(counts.agents),
            "window": [plain(step) for step in steps] if wants_json(request) else [],
            "drawn": Markup("") if wants_json(request) else steps_html(steps, frame, language),
            "times": _times(request, steps_place, language),
            "address": steps_place.address(root),
            "before": steps_place.address(root, **{"from": max(0, start - WINDOW)})
            if start
            else None,
        },
    }


def _times(request: Request, steps_place: StepsPlace, language: str) -> Markup | list[JsonDict]:
    if wants_json(request):
        return [step_time._asdict() for step_time in steps_place.steps.times]
    root = request.scope["root_path"]
    return times_html(steps_place.steps, lambda number: steps_place.address(root, number), language)


def _step_address(root: str, steps_place: StepsPlace, number: int) -> str:
    query = urlencode({"judge": steps_place.record.judge})
    return f"{root}/run/{steps_place.place.id}/row/{steps_place.record.row}/step/{number}?{query}"


def _marks(steps_place: StepsPlace) -> dict[int, list[StepMark]]:
    judgment = steps_place.record
    folder = steps_place.place.folder
    measures = _read_measures(folder, run_version(folder), judgment.judge, judgment.index)
    marks = marks_of(measures, judgment.criterion)
    if not holds_labels(steps_place.place.folder):
        return marks
    labels = [
        label
        for label in LabelStore(steps_place.place.folder).current(judgment.criterion)
        if label.step is not None
    ]
    if not labels:
        return marks
    identity = _identity_of(steps_place)
    for label in labels:
        if label.row == identity and label.step is not None:
            mark = StepMark("person", f"{label.annotator}: {label.answer}", label.note)
            marks.setdefault(label.step, []).append(mark)
    return marks


def _identity_of(steps_place: StepsPlace) -> str:
    """Return the identity of the row, by which labels name it."""
    judgment = steps_place.record
    with reading(steps_place.place.folder) as connection:
        query = "SELECT instance FROM judgments WHERE judge = ? AND number = ?"
        (instance_json,) = connection.execute(query, (judgment.judge, judgment.index)).fetchone()
    return Instance(json.loads(instance_json)).identity


def show_step(request: Request) -> Response:
    """Show one step in full, as far as a page should hold it, and as JSON."""
    site, number = site_of(request), request.path_params["step"]
    steps_place = _find(request)
    at = steps_place.steps.place_of(number)
    if at is None:
        raise HTTPException(404, Message("there is no step {number}", number=number))
    step = steps_place.steps.at(at)
    root, language = request.scope["root_path"], site.language_of(request)
    site.sessions.mark_seen(_identity_of(steps_place))
    frame = StepsFrame(
        marks=_marks(steps_place), counts=steps_place.steps.counts, longest=LONGEST_STEP
    )
    raw = raw_json(step, LONGEST_STEP)
    data = {
        **_head(site.library, steps_place),
        "step": number,
        "data": plain(step) if wants_json(request) else None,
        "drawn": Markup("") if wants_json(request) else steps_html([step], frame, language),
        "raw": [piece.text for piece in raw.pieces],
        "characters": raw.characters,
        "left_out": raw.left_out,
        "steps_address": steps_place.address(root, number),
    }
    return site.answer(request, "agents/step.html.jinja", data)


def _head(library: Library, steps_place: StepsPlace) -> JsonDict:
    record = steps_place.record
    return {
        "run": steps_place.place.link,
        "judge": record.judge,
        "row": {
            "row": record.row,
            "number": row_number(library, steps_place.place, record.judge, record.row),
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
    """Return the steps of a judgment; raise a RunError if there are none."""
    with reading(place.folder) as connection:
        record = judged_row(connection, judge, row - 1)
    folder = place.folder
    steps = None if record is None else _read_steps(folder, run_version(folder), judge, row - 1)
    if record is None or steps is None:
        raise RunError(
            "row {row} of judge {judge!r} in the run {name} contains no trajectory",
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


def _window_start(steps: KeptSteps, begin: str, step: str) -> int:
    """Return the start index of a window: as requested, or so that the window contains a given
    step.
    """
    at = whole(begin) if begin else None
    if step and (number := whole(step)) is not None:
        place = steps.place_of(number)
        at = None if place is None else max(0, place - WINDOW // 5) if place >= WINDOW else 0
    return min(at or 0, max(0, len(steps) - 1))


# -- two of them ---------------------------------------------------------------


def show_beside(request: Request) -> Response:
    """Show two trajectories next to each other, from the end of their common beginning."""
    site, query_params = site_of(request), request.query_params
    left_steps = _find(request)
    other_place = site.library.find(query_params.get("other") or left_steps.place.id)
    row_name, number = query_params.get("row2", "").strip(), whole(query_params.get("number2", ""))
    right_steps = (
        find_steps(other_place, query_params.get("judge2") or left_steps.record.judge, number)
        if number
        else _find_counterpart(
            other_place, left_steps.record, query_params.get("judge2", ""), row_name
        )
    )
    same = common_beginning(left_steps.steps, right_steps.steps)
    start = whole(query_params.get("from", "")) or same
    sides = [
        _side(request, left_steps, "a-step-", start),
        _side(request, right_steps, "b-step-", start),
    ]
    results = [
        place + 1
        for place in range(min(same, 1000))
        if left_steps.steps.kept[place] != right_steps.steps.kept[place]
        and left_steps.steps.at(place).body != right_steps.steps.at(place).body
    ]
    path = f"/run/{left_steps.place.id}/row/{left_steps.record.row}/beside"
    longest = max(len(left_steps.steps), len(right_steps.steps))
    query = {**dict(query_params), "judge": left_steps.record.judge, "from": start + WINDOW}
    data = {
        **_head(site.library, left_steps),
        "same": same,
        "is_same": same == len(left_steps.steps) == len(right_steps.steps),
        "other_results": results[:_MOST_NAMED],
        "sides": sides,
        "next": address_of(request, path, query) if start + WINDOW < longest else None,
    }
    return site.answer(request, "agents/beside.html.jinja", data)


def _side(request: Request, steps_place: StepsPlace, prefix: str, start: int) -> JsonDict:
    site, root = site_of(request), request.scope["root_path"]
    site.sessions.mark_seen(_identity_of(steps_place))
    steps = steps_place.steps.window(start, WINDOW)
    frame = StepsFrame(
        marks=_marks(steps_place),
        counts=steps_place.steps.counts,
        prefix=prefix,
        whole=lambda number: _step_address(root, steps_place, number),
        left=max(0, len(steps_place.steps) - start - len(steps)),
    )
    return {
        **_head(site.library, steps_place),
        "count": len(steps_place.steps),
        "errors": len(steps_place.steps.counts.errors),
        "numbers": [step.number for step in steps],
        "drawn": steps_html(steps, frame, site.language_of(request)),
    }


def _find_counterpart(
    place: RunPlace, record: RowJudgment, judge: str, row_name: str
) -> StepsPlace:
    """Find the named row, else the row with the same id or number.

    If the other judge has several criteria, take the row's judgment by the same criterion.
    """
    with reading(place.folder) as connection:
        judges = judges_in(connection)
        judge = judge or (record.judge if record.judge in judges else next(iter(judges), ""))
        row_number = find_row(connection, judge, row_name or record.id or str(record.row))
        if row_number is None:
            raise SetupError(
                "the run {name} has no row {wanted!r}: name a row by its id or number",
                name=place.name,
                wanted=row_name or record.id or str(record.row),
            )
        measures = row_group(connection, judge, row_number - 1)
    by_number = bool(row_name) and all(measure.id != row_name for measure in measures)
    row = next(
        (measure.row for measure in measures if measure.criterion == record.criterion), row_number
    )
    return find_steps(place, judge, row_number if by_number else row)


# -- facts for lists -------------------------------------------------------------


def facts_by_row(library: Library, place: RunPlace, judge: str) -> dict[int, TrajectoryFacts]:
    """Return the filter facts of each row, from 1; cached until the run changes."""
    return library.read(place, f"steps {judge}", lambda run: facts_in(run, judge))


Picks = Callable[[TrajectoryFacts], bool]
_RANGES = ((1, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, 500), (501, 1000))
_MOST_TOOLS = 12


def step_filters(query: Mapping[str, str]) -> dict[str, Picks]:
    """Read the filters from a URL query: name → predicate."""
    filters: dict[str, Picks] = {}
    if tool := query.get("tool"):
        filters["tool"] = lambda facts: tool in facts.tools
    if errors := query.get("errors"):
        if errors not in ("yes", "no"):
            raise SetupError("errors must be yes or no, not {given!r}", given=errors)
        filters["errors"] = lambda facts: (facts.errors > 0) == (errors == "yes")
    if steps := query.get("steps"):
        low, dash, high = steps.partition("-")
        least, most = whole(low), whole(high) if high else None
        if least is None or not dash or (high and most is None):
            raise SetupError(
                "steps must be a range such as 6-10 or 1001-, not {given!r}", given=steps
            )
        filters["steps"] = lambda facts: (
            least <= facts.steps and (most is None or facts.steps <= most)
        )
    if criterion := query.get("criteria"):
        filters["criteria"] = lambda facts: facts.criterion == criterion
    return filters


def rows_that_fit(facts: dict[int, TrajectoryFacts], picks: dict[str, Picks]) -> frozenset[int]:
    """Return the rows that pass every filter."""
    return frozenset(
        row for row, row_facts in facts.items() if all(fits(row_facts) for fits in picks.values())
    )


def facets(facts: dict[int, TrajectoryFacts], picks: dict[str, Picks]) -> JsonDict:
    """Count the rows that each value of each filter would show, given the other filters."""

    def without_filter(name: str) -> list[TrajectoryFacts]:
        filters = [fits for filter_name, fits in picks.items() if filter_name != name]
        return [
            row_facts for row_facts in facts.values() if all(fits(row_facts) for fits in filters)
        ]

    tools = Counter(tool for row_facts in without_filter("tool") for tool in row_facts.tools)
    most = sorted(tools.items(), key=lambda pair: (-pair[1], pair[0]))
    with_errors = [row_facts.errors > 0 for row_facts in without_filter("errors")]
    lengths = [row_facts.steps for row_facts in without_filter("steps")]
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
