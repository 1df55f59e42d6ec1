"""``/run/ID``: a run's judgments, filtered, a page at a time, and one of them beside the list."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import FLAGS, Flag
from adjudge.core.engine.identity import judge_identity
from adjudge.core.judges.settings import one_of
from adjudge.core.ledger.columns import (
    FIELD,
    NUMBERS,
    KnownColumns,
    SortKey,
    known_fields,
    read_number,
    sort_key,
)
from adjudge.core.ledger.conditions import WrongCondition, read_condition, written_names
from adjudge.core.ledger.figures import Figures, figures_of
from adjudge.core.ledger.file import read_judge, read_meta
from adjudge.core.ledger.record_browser import (
    PATIENCE,
    SORTS,
    STATUSES,
    Filters,
    JudgmentLine,
    find_row,
    judges_in,
    last_row,
    page_of,
    rows_of,
    sorted_numbers,
)
from adjudge.core.ledger.record_browser import (
    Page as ListPage,
)
from adjudge.core.ledger.row_groups import are_in_turn, come_together, row_group
from adjudge.errors import SetupError
from adjudge.runs.counts import exclusion
from adjudge.runs.folder import excluded_models, reading
from adjudge.runs.service.run_index import find_judge
from adjudge.web.forms import rows_in, rows_text, whole
from adjudge.web.library import Library, RunPlace, is_large, mean_data
from adjudge.web.page import Page
from adjudge.web.page_registry import dimensions_of, list_parts, merged
from adjudge.web.pages.jobs import job_data
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

_PATIENCE = 0.4
"""Seconds for which one step of a search goes on that continues by itself."""
_MOST_COLUMNS = 20
_PASSING = ("part", "searched", "go")
"""What an address says for one step alone."""


@dataclass(frozen=True)
class _Listed:
    """What an address asks of the judgments of one judge, and what there is to ask."""

    judge: str
    facts: JsonObject
    configuration: JudgeConfiguration
    people: Mapping[int, PeopleSaid]
    known: KnownColumns
    asked: QueryParams
    """As far as it can be read."""
    filters: Filters
    problem: WrongCondition | None

    @property
    def per_row(self) -> int:
        """How many judgments make a row, as people count rows."""
        return len(self.known.criteria) or 1

    def without_condition(self, problem: WrongCondition) -> _Listed:
        """The same where its expression turned out to be wrong."""
        filters = replace(self.filters, where=None)
        return replace(self, asked=without(self.asked, "where"), filters=filters, problem=problem)


@dataclass(frozen=True)
class _Found:
    """A page of a list, and by what it can be narrowed."""

    page: ListPage
    filters: Filters
    """In the order that was carried out."""
    people: JsonDict
    filter_data: JsonDict
    """What filters of features show."""


def show(request: Request) -> Response:
    """The list, and the row that the address names."""
    site, place, asked = site_of(request), place_of(request), request.query_params
    part = asked.get("part") == "list"
    with reading(place.folder) as connection:
        judges = judges_in(connection)
        judge, may_wait = judge_asked(asked, connection), not part and site.is_shown_first(request)
        try:
            listed = _listed(connection, site.library, place, judge, asked, may_wait=may_wait)
        except _ReadsEveryRow:
            return site.answer_first(request, {"title": place.name})
        if ticked := asked.getlist("tick"):
            return _ticked(request, asked, ticked)
        if wanted := asked.get("go", "").strip():
            row = find_row(connection, judge, wanted, listed.per_row)
            return _gone_to(request, place, judge, row, wanted)
        key = None if part else listed.filters.key
        if key and site.must_wait(request, place, _sorted_by(judge, key)):
            return site.answer_first(request, {"title": place.name})
        try:
            found = _find(connection, site.library, place, listed)
        except WrongCondition as error:  # it takes too long
            listed = listed.without_condition(error)
            found = _find(connection, site.library, place, listed)
        total = last_row(connection, judge)
    chosen = None if part else _number(asked, "row")
    record = None if chosen is None else row_record(place, judge, int(chosen))
    if record is not None:
        site.sessions.saw(place, record.row - 1)
    is_counted = not part and not is_large(place)
    data: JsonDict = {
        **_state_data(site, place, listed.facts),
        **_page_data(asked, found.filters, found.page),
        **_condition_data(asked, listed),
        **views_data(site.library.root, judges, view_query(asked.items())),
        **_judge_data(listed),
        "judges": judges,
        "asked": {name: value for name, value in asked.items() if name not in _PASSING},
        "statuses": STATUSES,
        "flags": list(FLAGS),
        "figures": figures_data(site.library, place, judge) if is_counted else None,
        "rows": [line_data(line, listed.people) for line in found.page.lines],
        "people": found.people,
        **found.filter_data,
        "total": total,
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
    """The page that is asked for; none where the expression cannot be carried out."""
    asked, filters = listed.asked, listed.filters
    filter_data = {} if is_large(place) else _filter_data(library, place, asked, filters)
    people = _people_counts(connection, library, place, listed)
    filters = narrowed(filters, library, place, asked)
    page = ListPage([], None)
    if listed.problem is None:
        page = page_of(
            connection,
            filters,
            asked.get("after", ""),
            judged=judged_field(listed.configuration),
            patience=_PATIENCE if asked.get("part") == "list" else PATIENCE,
            order=order_of(library, place, filters),
            numbers=_columns_asked(asked),
        )
    return _Found(page, filters, people, filter_data)


class _ReadsEveryRow(Exception):
    """A name has to be looked for in all rows, for which a page should not stay blank."""


def _listed(
    connection: sqlite3.Connection,
    library: Library,
    place: RunPlace,
    judge: str,
    asked: QueryParams,
    *,
    may_wait: bool,
) -> _Listed:
    facts = read_meta(connection)
    configuration = read_judge(connection, judge)
    people = people_by_row(library, place, judge)
    known = known_columns(connection, library, place, judge, configuration, people)
    if may_wait and library.would_wait(place, _every_field(judge)):

        def wait() -> tuple[str, ...]:
            raise _ReadsEveryRow

        known = replace(known, find_fields=wait)
    problem = None
    try:
        filters = filters_of(asked, judge, people, known)
    except WrongCondition as error:
        problem, asked = error, without(asked, "where")
        filters = filters_of(asked, judge, people, known)
    several = several_criteria(configuration)
    if several and not filters.criteria and come_together(connection, judge, several):
        filters = replace(filters, together=several)
    filters = _in_good_order(filters, is_large=is_large(place))
    return _Listed(judge, facts, configuration, people, known, asked, filters, problem)


def _judge_data(listed: _Listed) -> JsonDict:
    """What the judge of a list judges."""
    judged = judged_field(listed.configuration)
    return {
        "judge": listed.judge,
        "judged": f"{FIELD}{judged}" if judged in listed.known.fields else "",
        "per_row": listed.per_row,
        "criteria_names": criteria_names(listed.configuration),
        "dimensions": dimensions_of(listed.configuration),
        "counts": list(listed.configuration.counts),
    }


def known_columns(
    connection: sqlite3.Connection,
    library: Library,
    place: RunPlace,
    judge: str,
    configuration: JudgeConfiguration,
    people: Mapping[int, PeopleSaid],
) -> KnownColumns:
    """What the judgments of a list can be filtered and sorted by."""
    several = several_criteria(configuration)
    stands: dict[str, frozenset[int]] = {
        stand: frozenset(row for row, said in people.items() if said.stand == stand)
        for stand in STANDS
    }
    return KnownColumns(
        library.kept(place, f"fields {judge}", lambda: known_fields(connection, judge)),
        several if are_in_turn(connection, judge, several) else (),
        tuple(str(one["name"]) for one in dimensions_of(configuration)),
        None if is_large(place) else stands,
        lambda: library.read(
            place, _every_field(judge), lambda run: known_fields(run, judge, rows=-1)
        ),
    )


def _every_field(judge: str) -> str:
    return f"every field {judge}"


def without(asked: QueryParams, *names: str) -> QueryParams:
    """An address with some of it left out."""
    return QueryParams([pair for pair in asked.multi_items() if pair[0] not in names])


def order_of(library: Library, place: RunPlace, filters: Filters) -> Sequence[int]:
    """Every judgment in the order that is asked for, where no index holds it: sorted once, until
    the run changes.
    """
    if not (key := filters.key):
        return ()
    what = _sorted_by(filters.judge, key)
    return library.read(place, what, lambda run: sorted_numbers(run, filters.judge, key))


def _sorted_by(judge: str, key: SortKey) -> str:
    return f"sorted {judge} {key.name}"


def _condition_data(asked: QueryParams, listed: _Listed) -> JsonDict:
    """The expression that an address has: its words, and what is wrong with it."""
    text, problem = asked.get("where", ""), listed.problem
    wrong: JsonValue = None
    if problem:
        parts = text[: problem.start], text[problem.start : problem.end], text[problem.end :]
        wrong = {"why": problem.why, "parts": [*parts], "at": problem.start}
    return {"words": [*written_names(listed.known)], "wrong": wrong}


def _state_data(site: Site, place: RunPlace, facts: JsonObject) -> JsonDict:
    """What a run is called, and how far it is."""
    job = site.jobs.of(place.folder)
    state = str(facts.get("ended") or "not finished")
    return {
        "run": {"id": place.id, "name": place.name, "state": state},
        "job": job_data(site, job) if job and not job.is_fine else None,
        "live": site.library.is_live(place),
        "resumable": _is_resumable(facts) and not site.read_only,
    }


def _page_data(asked: QueryParams, filters: Filters, page: ListPage) -> JsonDict:
    """Where a page of the list begins and ends, and how it is shown."""
    plain = Filters(
        judge=filters.judge, sort=filters.sort, key=filters.key, together=filters.together
    )
    return {
        "next": page.next,
        "looked_at": page.looked_at,
        "searched": page.looked_at + (whole(asked.get("searched", "")) or 0),
        "sort": filters.key.name if filters.key else filters.sort,
        "together": list(filters.together),
        "columns": columns_of(asked, page.lines, is_together=bool(filters.together)),
        "filtered": filters != plain or bool(asked.get("after") or asked.get("where")),
    }


def filters_in(library: Library, place: RunPlace, asked: QueryParams, judge: str) -> Filters:
    """Everything that an address asks of judgments."""
    people = people_by_row(library, place, judge)
    with reading(place.folder) as connection:
        configuration = read_judge(connection, judge)
        known = known_columns(connection, library, place, judge, configuration, people)
    filters = filters_of(asked, judge, people, known)
    return narrowed(filters, library, place, asked)


def _people_counts(
    connection: sqlite3.Connection, library: Library, place: RunPlace, listed: _Listed
) -> JsonDict:
    """How many rows each stand of people would show, beside the other filters."""
    filters, people = listed.filters, listed.people
    if not people:
        return {}
    others = without(listed.asked, "people")
    base = filters_of(others, listed.judge, people, listed.known)
    base = narrowed(base, library, place, others)
    said_of = frozenset(people)
    left = rows_of(
        connection, replace(base, rows=said_of if base.rows is None else base.rows & said_of)
    )
    found: dict[str, set[int]] = {}
    for row, said in people.items():
        if row in left:
            group = (
                row_group(connection, filters.judge, row - 1, filters.together)
                if filters.together
                else []
            )
            found.setdefault(said.stand, set()).add(group[0].row if group else row)
    return {stand: len(rows) for stand, rows in found.items()}


def narrowed(filters: Filters, library: Library, place: RunPlace, asked: QueryParams) -> Filters:
    """Return the filters with what the address asks of features."""
    for part in list_parts():
        rows = part.rows(library, place, filters.judge, dict(asked)) if part.rows else None
        if rows is not None:
            filters = replace(filters, rows=rows if filters.rows is None else rows & filters.rows)
    return filters


def _filter_data(
    library: Library, place: RunPlace, asked: QueryParams, filters: Filters
) -> JsonDict:
    """Return what the filters of features show, counted among the rows that the others leave."""

    def left() -> Collection[int] | None:
        wanted = replace(filters, sort="row", key=None)
        if wanted == Filters(judge=filters.judge, sort="row", criteria=filters.criteria):
            return None
        return library.read(place, f"left by {wanted!r}", lambda run: rows_of(run, wanted))

    return merged(
        part.filter_data(library, place, filters.judge, dict(asked), left)
        for part in list_parts()
        if part.filter_data
    )


def _ticked(request: Request, asked: QueryParams, ticked: Sequence[str]) -> Response:
    """To a list of the ticked rows."""
    kept = {name: value for name, value in asked.items() if name not in ("row", "after", "tick")}
    query = urlencode({**kept, "rows": rows_text(rows_in(ticked) or ())})
    return RedirectResponse(f"{request.url.path}?{query}", 303)


def _gone_to(
    request: Request, place: RunPlace, judge: str, row: int | None, wanted: str
) -> Response:
    if row is None:
        raise SetupError("the run has no row {wanted!r}: neither an id nor a number", wanted=wanted)
    address = address_of(request, f"/run/{place.id}", {"judge": judge, "row": row})
    return RedirectResponse(f"{address}#row", 303)


def line_data(line: JudgmentLine, people: Mapping[int, PeopleSaid]) -> JsonDict:
    """A line of the list, with what people said of its row; of several criteria, with what each
    says, under its name.
    """
    said = people.get(line.row)
    by_criterion = {
        one.criterion: {
            **some_of(one, "row", "status", "score", "verdict"),
            "people": (each := people.get(one.row)) and each.to_dict(),
        }
        for one in line.group
    }
    return {**line._asdict(), "group": by_criterion, "people": said and said.to_dict()}


COLUMNS = ("text", "criterion", "verdict", "score", "people", "votes")
"""Of a list; behind them, the texts of a row by name."""


def columns_of(
    asked: Mapping[str, str], lines: Sequence[JudgmentLine], *, is_together: bool = False
) -> JsonDict:
    """Which columns are shown and which could be: all but the other texts of a row, unless the
    address names them. ``is_together``: every criterion has a column, with what people say of it.
    """
    texts = list(
        dict.fromkeys(name for line in lines for name in line.fields if not {",", '"'} & {*name})
    )
    own = ("text", "verdict", "score") if is_together else (*COLUMNS, *NUMBERS)
    fields = [f"field:{name}" for name in texts[:_MOST_COLUMNS]]
    known = [*own, *fields]
    chosen = _columns_asked(asked)
    shown = [name for name in known if name in chosen]
    return {"known": known, "shown": shown, "texts": fields}


def _columns_asked(asked: Mapping[str, str]) -> list[str]:
    return asked["columns"].split(",") if asked.get("columns") else [*COLUMNS]


def show_figures(request: Request) -> Response:
    """The figures by themselves, for a list that did not wait for them."""
    site, place, asked = site_of(request), place_of(request), request.query_params
    with reading(place.folder) as connection:
        judge = judge_asked(asked, connection)
        configuration = read_judge(connection, judge)
    kept = {name: value for name, value in asked.items() if name != "judge"}
    data = {
        "run": {"id": place.id},
        "judge": judge,
        "asked": kept,
        "criteria_names": criteria_names(configuration),
        "dimensions": dimensions_of(configuration),
        "live": site.library.is_live(place),
        "figures": figures_data(site.library, place, judge),
    }
    return site.answer(request, "figures.html.jinja", data)


def _is_resumable(facts: JsonObject) -> bool:
    """Whether a command made it that did not come to its end."""
    return facts.get("ended") != "complete" and "imported" not in facts and "resume" in facts


def _in_good_order(filters: Filters, *, is_large: bool) -> Filters:
    """Where there are many rows, what no index holds is looked for as they lie: else each would be
    a jump on the disk.
    """
    looked_for = any(
        (
            *(filters.verdict, filters.flag, filters.criteria, filters.dimension),
            *(filters.rule, filters.words, filters.where),
        )
    )
    return replace(filters, sort="row", key=None) if is_large and looked_for else filters


def filters_of(
    asked: QueryParams,
    judge: str,
    people: Mapping[int, PeopleSaid],
    known: KnownColumns,
) -> Filters:
    """What an address asks for."""
    stand = asked.get("people")
    if stand:
        one_of("people", stand, STANDS)
    where, sort = asked.get("where", "").strip(), asked.get("sort") or "worst"
    rows = rows_in(asked.getlist("tick") or asked.getlist("rows"))
    if stand:
        said = frozenset(row for row, one in people.items() if one.stand == stand)
        rows = said if rows is None else said & rows
    return Filters(
        judge=judge,
        status=asked.get("status") or None,
        verdict=asked.get("verdict") or None,
        least=_number(asked, "min"),
        most=_number(asked, "max"),
        flag=cast("Flag | None", asked.get("flag") or None),
        criteria=asked.get("criteria") or None,
        words=asked.get("q", "").strip(),
        dimension=asked.get("dimension") or None,
        rule=asked.get("rule") or None,
        rows=rows,
        where=read_condition(asked["where"], known) if where else None,
        sort=sort if sort in SORTS else "worst",
        key=None if sort in SORTS else sort_key(sort, known),
    )


def figures_data(library: Library, place: RunPlace, judge: str) -> JsonDict:
    """Counted once, until the run changes."""
    found, identity, excluded = library.kept(
        place, f"figures {judge}", lambda: _figures(place, judge)
    )
    attempted = sum(found.statuses.values())
    return {
        "statuses": dict(found.statuses),
        "attempted": attempted,
        "excluded": [exclusion(model, lost, attempted) for model, lost in excluded.items()],
        "mean": mean_data(found.mean) if found.mean else None,
        "means": {name: mean_data(one) for name, one in found.means.items()},
        "order": found.order._asdict() if found.order else None,
        "usd": library.about(place).usd,
        "identity": identity,
        "verdicts": dict(found.verdicts),
        "answers": {name: [one._asdict() for one in each] for name, each in found.answers.items()},
        "dimensions": {
            name: [one._asdict() for one in each] for name, each in found.dimensions.items()
        },
        "rules": dict(found.rules),
        "histogram": [
            {"from": low, "to": high, "count": count} for low, high, count in found.histogram
        ],
    }


def _figures(place: RunPlace, judge: str) -> tuple[Figures, str | None, Mapping[str, int]]:
    """With the judge's identity (one hash over everything that decides its verdicts), and the
    models of its panel that did not count → on how many rows.
    """
    with reading(place.folder) as connection:
        configuration = read_judge(connection, judge)
        found = figures_of(connection, judge, configuration, whole=not is_large(place))
        excluded = excluded_models(connection, {judge: configuration}).get(judge, {})
    return found, judge_identity(configuration), excluded


def judge_asked(asked: QueryParams, run: sqlite3.Connection) -> str:
    """The judge that an address names, else the first."""
    return find_judge(judges_in(run), asked.get("judge"))


def _number(asked: QueryParams, name: str) -> float | None:
    text = asked.get(name)
    value = read_number(text) if text else None
    if text and value is None:
        raise SetupError("{name} must be a number, not {text!r}", name=name, text=text)
    return value


def judged_field(configuration: JudgeConfiguration) -> str:
    """The field whose text the list shows: what the judge's criteria judge."""
    asked = configuration.criteria
    named = asked[0].get("to_evaluate_field") if asked else None
    return "response" if named in (None, STEPS) else str(named)


PAGE = Page(
    name="run", routes=(Route("/run/{run}", show), Route("/run/{run}/figures", show_figures))
)
