"""``/run/ID``: a run's judgments, filtered, a page at a time, and one of them next to the list."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, objects_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import FLAGS, Flag
from adjudge.core.engine.identity import judge_identity
from adjudge.core.judges.settings import one_of
from adjudge.core.ledger.columns import (
    COLUMN,
    FIELD,
    NUMBERS,
    KnownColumns,
    SortKey,
    known_data_columns,
    known_fields,
    read_number,
    rows_key,
    sort_key,
)
from adjudge.core.ledger.conditions import (
    WrongCondition,
    equals,
    is_condition,
    read_condition,
    written_names,
)
from adjudge.core.ledger.figures import Figures, figures_of
from adjudge.core.ledger.file import read_judge, read_meta
from adjudge.core.ledger.record_browser import (
    PATIENCE,
    SORTS,
    STATUSES,
    Filters,
    JudgmentLine,
    JudgmentPage,
    find_row,
    judges_in,
    last_row,
    page_of,
    rows_of,
    sorted_numbers,
)
from adjudge.core.ledger.row_groups import are_in_turn, come_together, row_group
from adjudge.errors import SetupError
from adjudge.runs.counts import exclusion
from adjudge.runs.folder import excluded_models, reading
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.service.run_index import find_judge
from adjudge.web.forms import rows_in, rows_text, whole
from adjudge.web.gates import gates_data, gates_would_wait, with_bars, with_win_bars
from adjudge.web.job_progress import job_data
from adjudge.web.library import Library, RunPlace, is_large, mean_data
from adjudge.web.page import Page
from adjudge.web.page_registry import dimensions_of, list_parts, merge_data
from adjudge.web.pages.failures import can_ask_again, failure_groups
from adjudge.web.pages.row import (
    criteria_names,
    page_data,
    row_data,
    row_record,
    several_criteria,
)
from adjudge.web.pages.views import views_data
from adjudge.web.people import STANDS, PeopleSaid, people_by_row
from adjudge.web.site import Site, address_of, place_of, site_of
from adjudge.web.views import view_query
from adjudge.web.win_rates import win_rates

_PATIENCE = 0.4
"""Seconds for which one step of a search goes on that continues by itself."""
_MOST_COLUMNS = 20
_MOST_COUNTED = 200_000
"""Judgments of a run in which those that pass a filter are counted unasked."""
_QUOTED = re.compile(r'"([^"]+)"')
_PASSING = ("part", "searched", "go", "at")
"""Query names that matter for one step only."""


@dataclass(frozen=True)
class _Listed:
    """The query for a list of judgments, and the columns that it can use."""

    judge: str
    facts: JsonObject
    configuration: JudgeConfiguration
    people: Mapping[int, PeopleSaid]
    columns: KnownColumns
    query: QueryParams
    """The query, without what cannot be read."""
    filters: Filters
    problem: WrongCondition | None

    @property
    def per_row(self) -> int:
        """Number of judgments per row."""
        return len(self.columns.criteria) or 1

    def without_condition(self, problem: WrongCondition) -> _Listed:
        """Remove the expression because of this problem."""
        filters = replace(self.filters, where=None)
        return replace(self, query=without(self.query, "where"), filters=filters, problem=problem)


@dataclass(frozen=True)
class _Found:
    """A page of a list, and what the filters show."""

    page: JudgmentPage
    filters: Filters
    """In the order that was carried out."""
    people: JsonDict
    filter_data: JsonDict
    """Data for the filters of features."""


def show(request: Request) -> Response:
    """Show the list, and the row named by the address."""
    site, place, query = site_of(request), place_of(request), request.query_params
    part = query.get("part") == "list"
    with reading(place.folder) as connection:
        judges = judges_in(connection)
        judge, may_wait = (
            judge_from_query(query, connection),
            not part and site.is_shown_first(request),
        )
        if redirect := _redirect_to_list(request, connection, site.library, place, judge):
            return redirect
        try:
            listed = _read_list(connection, site.library, place, judge, query, may_wait=may_wait)
        except _ReadsEveryRow:
            return site.answer_first(request, {"title": place.name})
        if target := query.get("go", "").strip():
            row = find_row(connection, judge, target, listed.per_row)
            if row is None:
                raise SetupError(
                    "the run has no row {wanted!r}: neither an id nor a number", wanted=target
                )
            address = address_of(request, f"/run/{place.id}", {"judge": judge, "row": row})
            return RedirectResponse(f"{address}#row", 303)
        # a part of a list is fetched by a page that is there already, so it may take its time
        key = None if part else listed.filters.key
        if key and site.must_wait(request, place, _sorted_by(judge, key)):
            return site.answer_first(request, {"title": place.name})
        try:
            list_page = _find(connection, site.library, place, listed)
        # first tried with the expression; without it the page can at least say what is wrong
        except WrongCondition as error:  # it takes too long
            listed = listed.without_condition(error)
            list_page = _find(connection, site.library, place, listed)
        total = last_row(connection, judge)
    row_number = None if part else _number(query, "row")
    record = None if row_number is None else row_record(place, judge, int(row_number))
    if record is not None:
        site.sessions.mark_seen(record.identity)
    is_counted = not part and not is_large(place) and not gates_would_wait(site.library, place)
    data: JsonDict = {
        **_state_data(site, place, listed.facts),
        **_page_data(query, list_page.filters, list_page.page, listed.configuration),
        **_condition_data(query, listed),
        "matching": None if part else _matching(site.library, place, listed, list_page),
        **views_data(site.library.root, judges, view_query(query.items())),
        **_judge_data(listed),
        "judges": judges,
        "asked": {name: value for name, value in query.items() if name not in _PASSING},
        "statuses": STATUSES,
        "flags": list(FLAGS),
        "figures": figures_data(site.library, place, judge) if is_counted else None,
        "rows": [line_data(line, listed.people) for line in list_page.page.lines],
        "people": list_page.people,
        **list_page.filter_data,
        "total": total,
        "at": whole(query.get("at", "")) or 0,
        "words_found": query.get("q", "").strip(),
        "chosen": None if record is None else row_data(place, record),
        **({} if record is None else page_data(site, request, place, record)),
    }
    if part:
        return site.answer(request, "run_list.html.jinja", data)
    status = 400 if listed.problem else 200
    return site.answer(request, "run.html.jinja", data, status, record=record)


def _find(
    connection: sqlite3.Connection, library: Library, place: RunPlace, listed: _Listed
) -> _Found:
    """Return the requested page; an empty one if the expression is invalid."""
    query, filters = listed.query, listed.filters
    filter_data = {} if is_large(place) else _filter_data(library, place, query, filters)
    people = _people_counts(connection, library, place, listed)
    filters = narrow(filters, library, place, query)
    page = JudgmentPage([], None)
    if listed.problem is None:
        page = page_of(
            connection,
            filters,
            query.get("after", ""),
            judged=judged_field(listed.configuration),
            patience=_PATIENCE if query.get("part") == "list" else PATIENCE,
            order=order_of(library, place, filters),
            numbers=_columns_from_query(query),
        )
    return _Found(page, filters, people, filter_data)


def _matching(library: Library, place: RunPlace, listed: _Listed, found: _Found) -> JsonDict | None:
    """Count the lines that pass the filters, and all lines; None without filters.

    In a run that is slow to read, the numbers are missing until they were counted.
    """
    filters, plain = _counted(found.filters)
    if listed.problem or filters == plain:
        return None
    if any(library.would_wait(place, _number_of(each)) for each in (filters, plain)):
        return {}
    return _count_matching(library, place, filters)


def _counted(filters: Filters) -> tuple[Filters, Filters]:
    """Return the filters as rows are counted, and those that all rows pass."""
    filters = replace(filters, sort="row", key=None)
    return filters, Filters(judge=filters.judge, sort="row", together=filters.together)


def _number_of(filters: Filters) -> str:
    return f"number of rows left by {filters!r}"


def _count_matching(library: Library, place: RunPlace, filters: Filters) -> JsonDict | None:
    def count(filters: Filters, connection: sqlite3.Connection) -> int:
        return len(rows_of(connection, filters))

    try:
        shown, total = (
            library.read(place, _number_of(each), partial(count, each))
            for each in _counted(filters)
        )
    except WrongCondition:  # the list did not look at every row, and a pattern takes too long
        return None
    return {"shown": shown, "of": total}


def show_count(request: Request) -> Response:
    """Show how many rows pass the filters, for a list that did not wait for it."""
    site, place, query = site_of(request), place_of(request), request.query_params
    with reading(place.folder) as connection:
        judge = judge_from_query(query, connection)
        listed = _read_list(connection, site.library, place, judge, query, may_wait=False)
        if last_row(connection, judge) > _MOST_COUNTED:
            return site.answer(request, "matching.html.jinja", {"matching": None})
    filters = narrow(listed.filters, site.library, place, listed.query)
    data = {"matching": _count_matching(site.library, place, filters)}
    return site.answer(request, "matching.html.jinja", data)


def _redirect_to_list(
    request: Request, connection: sqlite3.Connection, library: Library, place: RunPlace, judge: str
) -> Response | None:
    """Redirect to the list that a form above the list asks for; None if the address is a list."""
    query = request.query_params
    if "find" in query:
        columns = columns_known(connection, library, place, judge)
        return _redirect_to_found(request, query, columns)
    if ticked := query.getlist("tick"):
        return _redirect_to_ticked(request, query, ticked)
    return None


def _redirect_to_found(request: Request, query: QueryParams, columns: KnownColumns) -> Response:
    """Redirect to the list that the text of the search field asks for: rows with these words, or
    rows that meet an expression.

    The address has no empty parts, so that equal lists have equal addresses.
    """
    text, where, words = (query.get(name, "").strip() for name in ("find", "where", "q"))
    if text != (where or words):
        # the field showed the expression if there is one, else the words: it takes their place
        where, words = "", words if where else ""
        quoted = _QUOTED.fullmatch(text)
        if quoted:
            words = quoted[1]
        elif text and is_condition(text, columns):
            where = text
        elif text:
            words = text
    kept = {
        name: value
        for name, value in query.items()
        if value
        and (name, value) != ("sort", "worst")
        and name not in (*_PASSING, "find", "row", "after", "q", "where")
    }
    found = {"q": words, "where": where}
    address = urlencode({**kept, **{name: value for name, value in found.items() if value}})
    return RedirectResponse(f"{request.url.path}?{address}", 303)


class _ReadsEveryRow(Exception):
    """Raised if a name has to be looked for in all rows, which takes too long for a blank page."""


def _read_list(
    connection: sqlite3.Connection,
    library: Library,
    place: RunPlace,
    judge: str,
    query: QueryParams,
    *,
    may_wait: bool,
) -> _Listed:
    facts = read_meta(connection)
    configuration = read_judge(connection, judge)
    people = people_by_row(library, place, judge)
    columns = known_columns(connection, library, place, judge, configuration, people)
    if may_wait and library.would_wait(place, _every_field(judge)):

        def wait() -> tuple[str, ...]:
            # raised only if the address really uses a name that is not in the first rows
            raise _ReadsEveryRow

        columns = replace(columns, find_fields=wait, find_columns=wait)
    problem = None
    try:
        filters = filters_of(query, judge, people, columns)
    except WrongCondition as error:
        problem, query = error, without(query, "where")
        filters = filters_of(query, judge, people, columns)
    several = several_criteria(configuration)
    if several and not filters.criteria and come_together(connection, judge, several):
        filters = replace(filters, together=several)
        filters = in_order_of_rows(filters, configuration)
    filters = _in_good_order(filters, is_large=is_large(place))
    return _Listed(judge, facts, configuration, people, columns, query, filters, problem)


def _judge_data(listed: _Listed) -> JsonDict:
    """Return a list's judge, its criteria, and what it judges."""
    field_name = judged_field(listed.configuration)
    return {
        "judge": listed.judge,
        "judged": f"{FIELD}{field_name}" if field_name in listed.columns.fields else "",
        "per_row": listed.per_row,
        "criteria_names": criteria_names(listed.configuration),
        "dimensions": dimensions_of(listed.configuration),
        "counts": list(listed.configuration.counts),
    }


def is_graded(configuration: JudgeConfiguration) -> bool:
    """Return True if an option's score is neither 0 nor 1, so that it says more than a verdict."""
    return any(
        option.get("score") not in (None, 0, 1)
        for criterion in configuration.criteria
        for option in objects_in(criterion.get("options"))
    )


def columns_known(
    connection: sqlite3.Connection, library: Library, place: RunPlace, judge: str
) -> KnownColumns:
    """Return the names available in an expression about a judge's judgments."""
    return known_columns(
        connection,
        library,
        place,
        judge,
        read_judge(connection, judge),
        people_by_row(library, place, judge),
    )


def known_columns(
    connection: sqlite3.Connection,
    library: Library,
    place: RunPlace,
    judge: str,
    configuration: JudgeConfiguration,
    people: Mapping[int, PeopleSaid],
) -> KnownColumns:
    """Return the filters and sort orders of a list of judgments."""
    several = several_criteria(configuration)
    stands: dict[str, frozenset[int]] = {
        stand: frozenset(
            row for row, people_of_row in people.items() if people_of_row.stand == stand
        )
        for stand in STANDS
    }
    return KnownColumns(
        library.get_or_compute(place, f"fields {judge}", lambda: known_fields(connection, judge)),
        several if are_in_turn(connection, judge, several) else (),
        tuple(str(dimension["name"]) for dimension in dimensions_of(configuration)),
        None if is_large(place) else stands,
        lambda: library.read(
            place, _every_field(judge), lambda run: known_fields(run, judge, rows=-1)
        ),
        library.get_or_compute(
            place, f"columns of data {judge}", lambda: known_data_columns(connection, judge)
        ),
        lambda: library.read(
            place, f"every column {judge}", lambda run: known_data_columns(run, judge, rows=-1)
        ),
    )


def _every_field(judge: str) -> str:
    return f"every field {judge}"


def without(query: QueryParams, *names: str) -> QueryParams:
    """Return the query without these names."""
    return QueryParams([pair for pair in query.multi_items() if pair[0] not in names])


def order_of(library: Library, place: RunPlace, filters: Filters) -> Sequence[int]:
    """Return the numbers of all judgments in the requested order; empty if an index provides that
    order.
    """
    if not (key := filters.key):
        return ()
    # sorted once, until the run changes
    what = _sorted_by(filters.judge, key)
    return library.read(place, what, lambda run: sorted_numbers(run, filters.judge, key))


def _sorted_by(judge: str, key: SortKey) -> str:
    return f"sorted {judge} {key.name}"


def _condition_data(query: QueryParams, listed: _Listed) -> JsonDict:
    """Return the words that expressions can use, and what is wrong with the current one."""
    text, problem = query.get("where", ""), listed.problem
    wrong: JsonValue = None
    if problem:
        parts = text[: problem.start], text[problem.start : problem.end], text[problem.end :]
        wrong = {"why": problem.why, "parts": [*parts], "at": problem.start}
    meanings = listed.filters.where.other_meanings if listed.filters.where else ()
    return {
        "words": [*written_names(listed.columns)],
        "wrong": wrong,
        "other_meanings": [[name, f"{COLUMN}{name}"] for name in meanings],
    }


def _state_data(site: Site, place: RunPlace, facts: JsonObject) -> JsonDict:
    """Return a run's name, state and job."""
    job = site.jobs.of(place.folder)
    state = str(facts.get("ended") or "not finished")
    return {
        "run": {"id": place.id, "name": place.name, "state": state},
        "job": job_data(site, job) if job and not job.is_fine else None,
        "live": site.library.is_live(place),
        "resumable": _is_resumable(facts) and not site.read_only,
    }


def _page_data(
    query: QueryParams, filters: Filters, page: JudgmentPage, configuration: JudgeConfiguration
) -> JsonDict:
    """Return a list page's position and columns."""
    plain = Filters(
        judge=filters.judge, sort=filters.sort, key=filters.key, together=filters.together
    )
    return {
        "next": page.next,
        "looked_at": page.looked_at,
        "searched": page.looked_at + (whole(query.get("searched", "")) or 0),
        "sort": (filters.key.sort or filters.key.name) if filters.key else filters.sort,
        "together": list(filters.together),
        "columns": columns_of(query, page.lines, configuration, is_together=bool(filters.together)),
        "filtered": filters != plain or bool(query.get("after") or query.get("where")),
    }


def filters_in(library: Library, place: RunPlace, query: QueryParams, judge: str) -> Filters:
    """Read all filters in an address."""
    people = people_by_row(library, place, judge)
    with reading(place.folder) as connection:
        configuration = read_judge(connection, judge)
        columns = known_columns(connection, library, place, judge, configuration, people)
    filters = filters_of(query, judge, people, columns)
    return narrow(filters, library, place, query)


def _people_counts(
    connection: sqlite3.Connection, library: Library, place: RunPlace, listed: _Listed
) -> JsonDict:
    """Count rows by whether people agree with the judge, with the other filters applied."""
    filters, people = listed.filters, listed.people
    if not people:
        return {}
    other_query = without(listed.query, "people")
    base = filters_of(other_query, listed.judge, people, listed.columns)
    base = narrow(base, library, place, other_query)
    labelled_rows = frozenset(people)
    remaining = rows_of(
        connection,
        replace(base, rows=labelled_rows if base.rows is None else base.rows & labelled_rows),
    )
    rows_by_stand: dict[str, set[int]] = {}
    for row, people_of_row in people.items():
        if row in remaining:
            # of judgments that are shown as one line, the line is counted once
            group = (
                row_group(connection, filters.judge, row - 1, filters.together)
                if filters.together
                else []
            )
            rows_by_stand.setdefault(people_of_row.stand, set()).add(group[0].row if group else row)
    return {stand: len(rows) for stand, rows in rows_by_stand.items()}


def narrow(filters: Filters, library: Library, place: RunPlace, query: QueryParams) -> Filters:
    """Apply the filters of parts that the address requests."""
    for part in list_parts():
        rows = part.rows(library, place, filters.judge, dict(query)) if part.rows else None
        if rows is not None:
            filters = replace(filters, rows=rows if filters.rows is None else rows & filters.rows)
    return filters


def _filter_data(
    library: Library, place: RunPlace, query: QueryParams, filters: Filters
) -> JsonDict:
    """Return the data for the filters of parts, counted among rows that pass the other filters."""

    def remaining_rows() -> Collection[int] | None:
        other_filters = replace(filters, sort="row", key=None)
        if other_filters == Filters(judge=filters.judge, sort="row", criteria=filters.criteria):
            return None
        return library.read(
            place, f"left by {other_filters!r}", lambda run: rows_of(run, other_filters)
        )

    return merge_data(
        part.filter_data(library, place, filters.judge, dict(query), remaining_rows)
        for part in list_parts()
        if part.filter_data
    )


def _redirect_to_ticked(
    request: Request, given_query: QueryParams, ticked: Sequence[str]
) -> Response:
    """Redirect to a list of the ticked rows."""
    query_values = {
        name: value for name, value in given_query.items() if name not in ("row", "after", "tick")
    }
    query = urlencode({**query_values, "rows": rows_text(rows_in(ticked) or ())})
    return RedirectResponse(f"{request.url.path}?{query}", 303)


def line_data(line: JudgmentLine, people: Mapping[int, PeopleSaid]) -> JsonDict:
    """Return a line of the list, with people's answers.

    If a line stands for several criteria, each criterion's judgment is included under its name.
    """
    people_of_row = people.get(line.row)
    by_criterion = {
        judgment.criterion: {
            **some_of(judgment, "row", "status", "score", "verdict"),
            "people": (people_of_judgment := people.get(judgment.row))
            and people_of_judgment.to_dict(),
        }
        for judgment in line.group
    }
    return {
        **line._asdict(),
        "group": by_criterion,
        "people": people_of_row and people_of_row.to_dict(),
    }


COLUMNS = ("text", "criterion", "verdict", "score", "people", "votes")
"""The fixed columns of a list; after them come the texts of a row by name."""


def columns_of(
    query: Mapping[str, str],
    lines: Sequence[JudgmentLine],
    configuration: JudgeConfiguration,
    *,
    is_together: bool = False,
) -> JsonDict:
    """Return the visible and the available columns.

    By default all are visible except a row's further texts, and columns that say nothing.
    ``is_together``: each criterion has its own column, including people's answers.
    """
    texts = list(
        dict.fromkeys(name for line in lines for name in line.fields if not {",", '"'} & {*name})
    )
    fixed = ("text", "verdict", "score") if is_together else (*COLUMNS, *NUMBERS)
    fields = [f"{FIELD}{name}" for name in texts[:_MOST_COLUMNS]]
    # a column that only repeats a text of the row, or its id, is shown as that
    cells = dict.fromkeys(
        name
        for line in lines
        for name, cell in line.columns.items()
        if not {",", '"'} & {*name} and cell and cell not in (line.id, *line.fields.values())
    )
    selected = _columns_from_query(query)
    # a column may be empty in all rows of a page
    columns = [f"{COLUMN}{name}" for name in [*cells][:_MOST_COLUMNS]]
    columns += [
        name
        for name in selected
        if name.startswith(COLUMN) and name not in columns and '"' not in name
    ][:_MOST_COLUMNS]
    names = [*fixed, *fields, *columns]
    telling = names if query.get("columns") else _telling(names, lines, configuration)
    visible = [name for name in telling if name in selected]
    return {"known": names, "shown": visible, "texts": [*fields, *columns]}


def _telling(
    names: Sequence[str], lines: Sequence[JudgmentLine], configuration: JudgeConfiguration
) -> list[str]:
    """Leave out the score if it says no more than the verdict, and the votes if each row has
    one.
    """
    said = [
        (judgment.score, judgment.verdict)
        for line in lines
        for judgment in (line.group or (line,))
        if judgment.status == "scored"
    ]
    only_passed_or_not = all(score in (None, 0, 1) and verdict for score, verdict in said)
    silent = {
        "score": said and only_passed_or_not and not is_graded(configuration),
        "votes": lines and all(line.votes_requested <= 1 for line in lines),
    }
    return [name for name in names if not silent.get(name)]


def _columns_from_query(query: Mapping[str, str]) -> list[str]:
    return query["columns"].split(",") if query.get("columns") else [*COLUMNS]


def show_figures(request: Request) -> Response:
    """Show only the figures, for a list that did not wait for them."""
    site, place, query = site_of(request), place_of(request), request.query_params
    with reading(place.folder) as connection:
        judge = judge_from_query(query, connection)
        configuration = read_judge(connection, judge)
    other_values = {name: value for name, value in query.items() if name != "judge"}
    data = {
        "run": {"id": place.id},
        "judge": judge,
        "asked": other_values,
        "criteria_names": criteria_names(configuration),
        "dimensions": dimensions_of(configuration),
        "live": site.library.is_live(place),
        "figures": figures_data(site.library, place, judge),
    }
    return site.answer(request, "figures.html.jinja", data)


def _is_resumable(facts: JsonObject) -> bool:
    """Return True if the run did not end and a command recorded how to resume it."""
    return facts.get("ended") != "complete" and can_ask_again(facts)


def _in_good_order(filters: Filters, *, is_large: bool) -> Filters:
    """Search a large run in row order, which avoids random disk access."""
    looked_for = any(
        (
            *(filters.verdict, filters.flag, filters.criteria, filters.dimension),
            *(filters.rule, filters.words, filters.where),
        )
    )
    # in any other order, each row that is looked at would be a jump on the disk
    return replace(filters, sort="row", key=None) if is_large and looked_for else filters


def in_order_of_rows(filters: Filters, configuration: JudgeConfiguration) -> Filters:
    """Sort rows by their measures if some criteria are counts, which do not share a scale with
    them.
    """
    if filters.key or not configuration.counts or filters.sort not in ("worst", "best"):
        return filters
    measures = {
        name: sum(configuration.score_range(name)) / 2
        for name in filters.together
        if name not in configuration.counts
    }
    if not measures:
        return filters
    return replace(filters, key=rows_key(filters.sort, measures, configuration.counts))


def filters_of(
    query: QueryParams,
    judge: str,
    people: Mapping[int, PeopleSaid],
    columns: KnownColumns,
) -> Filters:
    """Read the filters of a list from an address."""
    stand = query.get("people")
    if stand:
        one_of("people", stand, STANDS)
    where, sort = query.get("where", "").strip(), query.get("sort") or "worst"
    rows = rows_in(query.getlist("tick") or query.getlist("rows"))
    if stand:
        rows_of_stand = frozenset(
            row for row, people_of_row in people.items() if people_of_row.stand == stand
        )
        rows = rows_of_stand if rows is None else rows_of_stand & rows
    return Filters(
        judge=judge,
        status=query.get("status") or None,
        verdict=query.get("verdict") or None,
        least=_number(query, "min"),
        most=_number(query, "max"),
        flag=cast("Flag | None", query.get("flag") or None),
        criteria=query.get("criteria") or None,
        words=query.get("q", "").strip(),
        dimension=query.get("dimension") or None,
        rule=query.get("rule") or None,
        rows=rows,
        where=read_condition(query["where"], columns) if where else None,
        sort=sort if sort in SORTS else "worst",
        key=None if sort in SORTS else sort_key(sort, columns),
    )


def figures_data(library: Library, place: RunPlace, judge: str) -> JsonDict:
    """Return a judge's figures, cached until the run changes."""
    figures, identity, excluded = library.get_or_compute(
        place, f"figures {judge}", lambda: _figures(place, judge)
    )
    attempted = sum(figures.statuses.values())
    gates = gates_data(library, place)
    of_all = {"": mean_data(figures.mean)} if figures.mean else {}
    return {
        "gates": gates,
        "failures": library.read(
            place, f"failures {judge}", lambda run: failure_groups(run, judge)
        ),
        "can_ask_again": library.read(
            place, "facts again", lambda run: can_ask_again(read_meta(run))
        )
        and not library.is_live(place),
        "statuses": dict(figures.statuses),
        "attempted": attempted,
        "unread": library.about(place).unread,
        "excluded": [exclusion(model, lost, attempted) for model, lost in excluded.items()],
        "mean": with_bars(of_all, gates, judge).get(""),
        "means": with_bars(
            {name: mean_data(value) for name, value in figures.means.items()}, gates, judge
        ),
        "filters": _part_filters(figures.parts),
        "parts": {name: list(part) for name, part in figures.parts.items()},
        "wins": {}
        if is_large(place) or of_all or figures.means or not figures.statuses.get("scored")
        else with_win_bars(win_rates(library, place).get(judge, {}), gates, judge),
        "order": figures.order._asdict() if figures.order else None,
        "usd": library.about(place).usd,
        "identity": identity,
        "verdicts": dict(figures.verdicts),
        "answers": {
            name: [value._asdict() for value in values] for name, values in figures.answers.items()
        },
        "dimensions": {
            name: [value._asdict() for value in values]
            for name, values in figures.dimensions.items()
        },
        "rules": dict(figures.rules),
        "histogram": [
            {"from": low, "to": high, "count": count} for low, high, count in figures.histogram
        ],
    }


def _part_filters(parts: Mapping[str, tuple[str, str]]) -> JsonDict:
    """Return the query for the rows of each criterion and system."""
    is_only = len({criterion for criterion, _ in parts.values()}) < 2
    return {
        name: {
            **({} if is_only else {"criteria": criterion}),
            **({"where": equals(f"{COLUMN}system", system)} if system else {}),
        }
        for name, (criterion, system) in parts.items()
    }


def _figures(place: RunPlace, judge: str) -> tuple[Figures, str | None, Mapping[str, int]]:
    """Return the figures, the judge's identity, and for each excluded panel model on how many rows
    it did not count.
    """
    with reading(place.folder) as connection:
        configuration = read_judge(connection, judge)
        column = grouping_column(read_meta(connection))
        figures = figures_of(
            connection, judge, configuration, whole=not is_large(place), column=column
        )
        excluded = excluded_models(connection, {judge: configuration}).get(judge, {})
    return figures, judge_identity(configuration), excluded


def judge_from_query(query: QueryParams, run: sqlite3.Connection) -> str:
    """Return the judge named by the address, else the first."""
    return find_judge(judges_in(run), query.get("judge"))


def _number(query: QueryParams, name: str) -> float | None:
    text = query.get(name)
    value = read_number(text) if text else None
    if text and value is None:
        raise SetupError("{name} must be a number, not {text!r}", name=name, text=text)
    return value


def judged_field(configuration: JudgeConfiguration) -> str:
    """Return the field shown in lists: the one that the judge's first criterion judges."""
    criteria = configuration.criteria
    field_name = criteria[0].get("to_evaluate_field") if criteria else None
    return "response" if field_name in (None, STEPS) else str(field_name)


PAGE = Page(
    name="run",
    routes=(
        Route("/run/{run}", show),
        Route("/run/{run}/figures", show_figures),
        Route("/run/{run}/count", show_count),
    ),
)
