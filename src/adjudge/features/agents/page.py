"""What the pages of other rows show of an agent's row: its steps in place of its texts, filters by
them in the list, and steps to label.
"""

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
    """Return the other trials of the same task."""
    if not _is_judged_agent(row.record) or not row.is_small:
        return {"trials": []}
    own = next(one for one in row.group if one.index == row.record.index)
    trials = trials_in(row.connection, row.group, own)
    return {"trials": [some_of(one, "row", "id") for one in trials]}


def _page_data(site: Site, request: Request, place: RunPlace, found: JudgmentRecord) -> JsonDict:
    """Return the first steps; of many, the address from which the browser fetches them."""
    if not _has_steps(found):
        return {"steps": None}
    with reading(place.folder) as connection:
        long = is_long(connection, found.judge, found.index)
        kept = None if long else steps_of(connection, found.judge, found.index)
        own = judged_row(connection, found.judge, found.index)
    assert own is not None
    shown = StepsPlace(place, own, kept or KeptSteps(()))
    runs = [one.link for one in site.library.scan()[:_MOST_RUNS]]
    if long:
        later: JsonDict = {"address": shown.address(request.scope["root_path"]), "later": True}
        return {"steps": later, "runs_beside": runs}
    return {**steps_data(site, request, shown), "runs_beside": runs} if kept else {"steps": None}


def _copier(
    language: str,
) -> Callable[[sqlite3.Connection, JudgmentRecord], Mapping[str, object]]:
    steps = StepsOfReport(language, _ROOM)

    def draw(connection: sqlite3.Connection, record: JudgmentRecord) -> Mapping[str, object]:
        kept = steps_of(connection, record.judge, record.index)
        drawn = steps.steps(record, kept.window(0, len(kept))) if kept else None
        why = steps.why(record, drawn or Markup(""))
        return {"why": why, "drawn": drawn, "step_count": len(kept or ())}

    return draw


def _steps_to_label(request: Request, fields: GivenFields, identity: str) -> JsonDict | None:
    """Return a stretch of the steps, by their texts alone."""
    asked, kept = request.query_params, steps_in(fields)
    if kept is None:
        return None
    is_this = asked.get("of", "") in ("", identity)
    first = (whole(asked.get("from", "")) or 0) if is_this else 0
    steps = kept.window(first, WINDOW)
    beyond = {**dict(asked), "from": first + len(steps), "of": identity}
    root, path = request.scope["root_path"], str(request.url.path)
    address = f"{root}{path.removeprefix(root).removesuffix('/steps')}/steps"
    frame = StepsFrame(
        counts=kept.counts,
        pick=True,
        more=f"{address}?{urlencode(beyond)}",
        left=max(0, len(kept) - first - len(steps)),
    )
    return {
        "count": len(kept),
        "first": first + 1,
        "failed": len(kept.counts.errors),
        "drawn": steps_html(steps, frame, site_of(request).language_of(request)),
    }


def _rows_asked(
    library: Library, place: RunPlace, judge: str, asked: Mapping[str, str]
) -> frozenset[int] | None:
    picks = step_filters(asked)
    if not picks.keys() - {"criteria"}:
        return None
    return rows_that_fit(facts_by_row(library, place, judge), picks)


def _filter_data(
    library: Library,
    place: RunPlace,
    judge: str,
    asked: Mapping[str, str],
    left: Callable[[], Collection[int] | None],
) -> JsonDict:
    """Return how many rows each filter would show; None if no row is a trajectory."""
    facts = facts_by_row(library, place, judge)
    if not facts:
        return {"of_steps": None}
    rows = left()
    if rows is not None:
        facts = {row: one for row, one in facts.items() if row in rows}
    return {"of_steps": facets(facts, step_filters(asked))}


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
        prompt_note=Message(
            "adjudge agent RUN --show ROW prints the steps as a judge is shown them."
        ),
        label=_steps_to_label,
        copier=_copier,
    ),
    rows=ListPart(
        queries=["tool", "errors", "steps"],
        rows=_rows_asked,
        filters="agents/step_filters.html.jinja",
        filter_data=_filter_data,
    ),
)
