"""Agent rows on the web pages: steps instead of texts, filters in lists, and steps to label."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.instance import STEPS, GivenFields
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.agents.record import agent_detail
from adjudge.features.agents.report import KeptSteps, judged_row, steps_in, steps_of, trials_in
from adjudge.features.agents.step_list import (
    StepsFrame,
    StepsOfReport,
    cited_html,
    steps_html,
    steps_style,
)
from adjudge.features.agents.steps_page import (
    ROUTES,
    WINDOW,
    StepsPlace,
    facets,
    facts_by_row,
    is_long,
    rows_that_fit,
    step_filters,
    steps_data,
)
from adjudge.messages import Message
from adjudge.runs.folder import reading
from adjudge.web.forms import whole
from adjudge.web.library import Library, RunPlace
from adjudge.web.page import ListPart, Page, RowContext, RowPart
from adjudge.web.site import Site, site_of

_FIELDS = ("steps", "contexts", "tools", "trajectory")
"""Fields that the list of steps shows."""
_MOST_RUNS = 200
_ROOM = 20_000_000
"""Characters of steps in the copy of a judge; after them rows say how many they have."""


def _is_judged_agent(record: JudgmentRecord) -> bool:
    return agent_detail(record) is not None


def _has_steps(record: JudgmentRecord) -> bool:
    return _is_judged_agent(record) or STEPS in record.fields


def _hidden_fields(record: JudgmentRecord) -> Collection[str]:
    return _FIELDS if _has_steps(record) else ()


def _row_data(row: RowContext) -> JsonDict:
    """Return the other trials of the same task; none in large runs or for other kinds of
    judgments.
    """
    if not _is_judged_agent(row.record) or not row.is_small:
        return {"trials": []}
    this_row = next(entry for entry in row.group if entry.index == row.record.index)
    trials = trials_in(row.connection, row.group, this_row)
    return {"trials": [some_of(trial, "row", "id") for trial in trials]}


def _page_data(site: Site, request: Request, place: RunPlace, record: JudgmentRecord) -> JsonDict:
    """Return the first steps, or the address to fetch them from if they are long; None without
    steps.
    """
    if not _has_steps(record):
        return {"steps": None}
    with reading(place.folder) as connection:
        long = is_long(connection, record.judge, record.index)
        stored_steps = None if long else steps_of(connection, record.judge, record.index)
        row = judged_row(connection, record.judge, record.index)
    assert row is not None
    steps_place = StepsPlace(place, row, stored_steps or KeptSteps(()))
    runs = [other_run.link for other_run in site.library.scan()[:_MOST_RUNS]]
    if long:
        later: JsonDict = {
            "address": steps_place.address(request.scope["root_path"]),
            "later": True,
        }
        return {"steps": later, "runs_beside": runs}
    return (
        {**steps_data(site, request, steps_place), "runs_beside": runs}
        if stored_steps
        else {"steps": None}
    )


def _copier(
    language: str,
) -> Callable[[sqlite3.Connection, JudgmentRecord], Mapping[str, object]]:
    steps = StepsOfReport(language, _ROOM)

    def draw(connection: sqlite3.Connection, record: JudgmentRecord) -> Mapping[str, object]:
        stored_steps = steps_of(connection, record.judge, record.index)
        drawn = (
            steps.steps(record, stored_steps.window(0, len(stored_steps))) if stored_steps else None
        )
        why = steps.why(record, drawn or Markup(""))
        return {"why": why, "drawn": drawn, "step_count": len(stored_steps or ())}

    return draw


def _steps_to_label(request: Request, fields: GivenFields, identity: str) -> JsonDict | None:
    """Return a window of the row's step texts for labelling; None if the row has no steps."""
    query, stored_steps = request.query_params, steps_in(fields)
    if stored_steps is None:
        return None
    is_this = query.get("of", "") in ("", identity)
    start = (whole(query.get("from", "")) or 0) if is_this else 0
    steps = stored_steps.window(start, WINDOW)
    beyond = {**dict(query), "from": start + len(steps), "of": identity}
    root, path = request.scope["root_path"], str(request.url.path)
    address = f"{root}{path.removeprefix(root).removesuffix('/steps')}/steps"
    frame = StepsFrame(
        counts=stored_steps.counts,
        pick=True,
        more=f"{address}?{urlencode(beyond)}",
        left=max(0, len(stored_steps) - start - len(steps)),
    )
    return {
        "count": len(stored_steps),
        "first": start + 1,
        "failed": len(stored_steps.counts.errors),
        "drawn": steps_html(steps, frame, site_of(request).language_of(request)),
    }


def _filtered_rows(
    library: Library, place: RunPlace, judge: str, query: Mapping[str, str]
) -> frozenset[int] | None:
    picks = step_filters(query)
    if not picks.keys() - {"criteria"}:
        return None
    return rows_that_fit(facts_by_row(library, place, judge), picks)


def _filter_data(
    library: Library,
    place: RunPlace,
    judge: str,
    query: Mapping[str, str],
    remaining_rows: Callable[[], Collection[int] | None],
) -> JsonDict:
    """Count the rows that each filter would show; None if no row is a trajectory."""
    facts = facts_by_row(library, place, judge)
    if not facts:
        return {"of_steps": None}
    rows = remaining_rows()
    if rows is not None:
        facts = {row: row_facts for row, row_facts in facts.items() if row in rows}
    return {"of_steps": facets(facts, step_filters(query))}


PAGE = Page(
    name="agents",
    routes=ROUTES,
    package="adjudge.features.agents",
    scripts=("steps.js",),
    style=steps_style,
    row=RowPart(
        data=_row_data,
        page_data=_page_data,
        content="agents/row_steps.html.jinja",
        functions={"cited": cited_html},
        apart=("trajectory", "place"),
        hidden_fields=_hidden_fields,
        owns=_is_judged_agent,
        explanation="agents/row_why.html.jinja",
        # steps are shortened in a prompt, so it cannot be made again from the record
        prompt_note=Message("adjudge agent RUN --show ROW prints the steps as a judge sees them."),
        label=_steps_to_label,
        copier=_copier,
    ),
    rows=ListPart(
        queries=["tool", "errors", "steps"],
        rows=_filtered_rows,
        filters="agents/step_filters.html.jinja",
        filter_data=_filter_data,
    ),
)
