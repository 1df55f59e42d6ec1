"""``/compare?runs=…&runs=…``: several runs beside the one that they are compared with."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from string import ascii_uppercase
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.diff import RunDiff, run_diff
from adjudge.trust.comparison import FEWER, compare_several
from adjudge.web.forms import whole
from adjudge.web.library import Library, RunPlace, mean_data
from adjudge.web.page import Page
from adjudge.web.pages import compare
from adjudge.web.pages.compare import (
    SHOWN,
    ComparedRow,
    DrawnDifference,
    Labels,
    axis_share,
    compared_row,
    drawn_difference,
    labels_in,
)
from adjudge.web.site import address_of, site_of

MOST_RUNS = 8
_HELD = 2_000
"""Rows of each kind, by each criterion, that are kept; for those behind them the runs are read
again.
"""
_TABLE = (
    "CREATE TABLE cell (base INTEGER, judge TEXT, criteria TEXT, run INTEGER, row INTEGER, "
    "id TEXT, own_judge TEXT, said TEXT, is_verdict INTEGER, score REAL, status TEXT, label TEXT, "
    "PRIMARY KEY (judge, base, run)) WITHOUT ROWID"
)
Kind = tuple[str, str]
"""Criterion, or none for all of them, and what is common to the rows."""


@dataclass(frozen=True)
class _GridRow:
    """The same row in every run, the base first; None where one has none."""

    criteria: str
    cells: tuple[ComparedRow | None, ...]
    label: str | None
    """What people say of its texts."""


@dataclass(frozen=True)
class _Against:
    """A run beside the base, by one criterion."""

    difference: DrawnDifference
    same_judge: bool


@dataclass(frozen=True)
class _Several:
    """What comparing several runs with one gives."""

    against: list[dict[str, _Against]]
    """Of each run behind the base: criterion → how it differs."""
    level: float
    counts: Counter[Kind]
    rows: dict[Kind, list[_GridRow]]

    @property
    def same_judges(self) -> bool:
        return all(one.same_judge for own in self.against for one in own.values())

    def criteria(self) -> list[str]:
        return list(dict.fromkeys(name for own in self.against for name in own))

    def criteria_of_rows(self) -> list[str]:
        return sorted({name for name, _ in self.rows if name})


def show(request: Request) -> Response:
    """A base and the others: rates, differences, and the rows on which they differ."""
    site, asked = site_of(request), request.query_params
    if "runs" not in asked:
        return compare.show(request)
    places = _chosen(site.library, asked)
    if len(places) == 2:
        query = {"a": places[0].id, "b": places[1].id}
        return RedirectResponse(address_of(request, "/compare", query), 303)
    what = "several " + " ".join(f"{one.id} {site.library.version(one)}" for one in places)
    if site.must_wait(request, places[0], what):
        return site.answer_first(request, {"title": " · ".join(one.name for one in places)})
    found = site.library.kept(places[0], what, lambda: _several(places))
    held_back = not found.same_judges and asked.get("anyway") != "1"
    kinds = list(_kinds(len(places)))
    criteria, tab = asked.get("criteria", ""), asked.get("tab") or kinds[0]
    if tab not in kinds or criteria not in ("", *found.criteria_of_rows()):
        raise SetupError("there are no such rows: follow a link of the comparison")
    first, kind = whole(asked.get("from", "")) or 0, (criteria, tab)
    rows = [] if held_back else _page(site.library, places, what, found, kind, first)
    data: JsonDict = {
        "runs": [
            {"id": one.id, "name": one.name, "letter": letter, "alone": _address(places, one)}
            for letter, one in zip(ascii_uppercase, places, strict=False)
        ],
        "address": _address(places, places[0]) + ("&anyway=1" if "anyway" in asked else ""),
        "held_back": held_back,
        "level": found.level,
        "criteria": [] if held_back else _criteria_data(site.library, places, found),
        "axis": axis_share(one.difference for own in found.against for one in own.values()),
        "asked": {"criteria": criteria, "tab": tab},
        "criteria_of_rows": found.criteria_of_rows(),
        "kinds": {} if held_back else {name: found.counts[criteria, name] for name in kinds},
        "count": found.counts[kind],
        "first": first,
        "shown": SHOWN,
        "rows": [plain(one) for one in rows],
    }
    return site.answer(request, "compare_several.html.jinja", data)


def _chosen(library: Library, asked: QueryParams) -> list[RunPlace]:
    """The runs, the base first: the oldest, unless the address names one."""
    ids = list(dict.fromkeys(asked.getlist("runs")))
    if not 2 <= len(ids) <= MOST_RUNS:
        raise SetupError(
            "choose from two to {most} runs to compare; {count} are chosen",
            most=MOST_RUNS,
            count=len(ids),
        )
    base = asked.get("base")
    places = [library.find(id) for id in ids]

    def age(place: RunPlace) -> tuple[bool, float]:
        about = library.about(place)
        return place.id != base, about.started or about.written

    return sorted(places, key=age)


def _address(places: Sequence[RunPlace], base: RunPlace) -> str:
    return urlencode([*(("runs", one.id) for one in places), ("base", base.id)])


def _kinds(runs: int) -> Iterator[str]:
    yield "differ"
    for way in ("lower", "higher"):
        yield from (f"{way}-{letter}" for letter in ascii_uppercase[:runs])
    yield "missing"


def _page(
    library: Library,
    places: Sequence[RunPlace],
    what: str,
    found: _Several,
    kind: Kind,
    first: int,
) -> list[_GridRow]:
    """Rows of a kind from ``first`` on."""
    if first + SHOWN <= _HELD or found.counts[kind] <= _HELD:
        return found.rows.get(kind, [])[first : first + SHOWN]

    def read() -> list[_GridRow]:
        grid = _Grid(len(places), kind, first)
        with _joined(places) as (_, table):
            grid.read(table)
        return grid.rows[kind]

    return library.kept(places[0], f"{what} {kind} {first}", read)


@contextmanager
def _joined(
    places: Sequence[RunPlace],
) -> Iterator[tuple[Mapping[str, RunDiff], sqlite3.Connection]]:
    """How each run differs from the base, and the same rows of all of them together."""
    base, *others = places
    with ExitStack() as opened, closing(sqlite3.connect("")) as table:
        table.execute(_TABLE)
        diffs = {
            str(one.folder): opened.enter_context(run_diff(base.folder, one.folder))
            for one in others
        }
        labels = labels_in(*places)
        for run, found in enumerate(diffs.values(), 1):
            _fill(table, run, found, labels)
        yield diffs, table


def _several(places: Sequence[RunPlace]) -> _Several:
    grid = _Grid(len(places))
    with _joined(places) as (diffs, table):
        comparisons = compare_several(places[0].folder, diffs)
        grid.read(table)
    level = next((one.level for own in comparisons for one in own), 0.95)
    judges = {one.judge for own in comparisons for one in own}
    against = [
        {
            drawn.name: _Against(drawn, one.same_judge)
            for one in own
            for drawn in [drawn_difference(one, judges)]
        }
        for own in comparisons
    ]
    return _Several(against, level, grid.counts, grid.rows)


def _fill(table: sqlite3.Connection, run: int, found: RunDiff, labels: Labels) -> None:
    def cells() -> Iterator[tuple[object, ...]]:
        for pair in found.pairs():
            both = (0, pair.before), (run, pair.after)
            for (number, own), identity in zip(both, pair.identities, strict=True):
                shown = compared_row(own, labels.get((own.criteria, identity)))
                place = (pair.before.row, pair.before.judge, pair.before.criteria, number)
                yield (
                    *place,
                    *(shown.row, shown.id, shown.judge, shown.said),
                    *(shown.is_verdict, shown.score, shown.status, shown.label),
                )

    marks = ",".join("?" * 12)
    table.executemany(f"INSERT OR IGNORE INTO cell VALUES ({marks})", cells())  # noqa: S608


class _Grid:
    """Sorts rows by what the runs say of them; a row may be of several kinds. ``only``: keeps a
    page of one kind, from ``first`` on.
    """

    def __init__(self, runs: int, only: Kind | None = None, first: int = 0) -> None:
        self._runs = runs
        self._only, self._first, self._most = only, first, SHOWN if only else _HELD
        self.counts: Counter[Kind] = Counter()
        self.rows: dict[Kind, list[_GridRow]] = {}

    def read(self, table: sqlite3.Connection) -> None:
        ordered = table.execute("SELECT * FROM cell ORDER BY judge, base, run")
        for (_, criteria), cells in groupby(ordered, lambda cell: (cell[:2], cell[2])):
            row: list[ComparedRow | None] = [None] * self._runs
            for _, _, _, run, number, id, judge, said, is_verdict, score, status, label in cells:
                row[run] = ComparedRow(
                    number, id, judge, criteria, said, bool(is_verdict), score, status, label
                )
            people = dict.fromkeys(cell.label for cell in row if cell and cell.label)
            found = _GridRow(criteria, tuple(row), ", ".join(people) or None)
            for kind in self._kinds_of(row):
                self._add(found, kind)

    def _add(self, row: _GridRow, kind: str) -> None:
        for key in (("", kind), (row.criteria, kind)):
            self.counts[key] += 1
            kept = self.rows.setdefault(key, [])
            is_wanted = self._only in (None, key) and self.counts[key] > self._first
            if is_wanted and len(kept) < self._most:
                kept.append(row)

    def _kinds_of(self, row: Sequence[ComparedRow | None]) -> Iterator[str]:
        if len({(cell.said, cell.score) for cell in row if cell}) > 1:
            yield "differ"
        if any(cell is None or not (cell.is_verdict or cell.score is not None) for cell in row):
            yield "missing"
        known = [cell.score for cell in row if cell and cell.score is not None]
        if len(known) < self._runs:
            return
        for way, end in (("lower", min(known)), ("higher", max(known))):
            if known.count(end) == 1:
                yield f"{way}-{ascii_uppercase[known.index(end)]}"


def _criteria_data(
    library: Library, places: Sequence[RunPlace], found: _Several
) -> list[JsonValue]:
    """For each criterion a line of each run: its own mean, and its difference from the base."""
    return [
        {
            "name": name,
            "note": _note([own[name].difference for own in found.against if name in own]),
            "runs": [
                {
                    "mean": _mean(library, place, against, is_base=not number),
                    "difference": plain(against.difference) if against and number else None,
                }
                for number, place in enumerate(places)
                for against in [_against(found, number, name)]
            ],
        }
        for name in found.criteria()
    ]


def _note(differences: Sequence[DrawnDifference]) -> Message | None:
    """What the numbers of a criterion are."""
    if any(one.reach is None for one in differences):
        return FEWER
    wins_of = next((one.wins_of for one in differences if one.wins_of), None)
    return None if wins_of is None else Message("win rate of {name}", name=wins_of)


def _against(found: _Several, number: int, name: str) -> _Against | None:
    """How a run differs; of the base, how any other does, for what the criterion is called."""
    if number:
        return found.against[number - 1].get(name)
    return next((own[name] for own in found.against if name in own), None)


def _mean(
    library: Library, place: RunPlace, against: _Against | None, *, is_base: bool
) -> JsonDict | None:
    """Over all rows of the run, with its interval; over the compared ones where several targets
    answered, or responses were compared.
    """
    if against is None:
        return None
    shown = against.difference
    counts = library.counts(place).get(shown.judges[not is_base])
    means = {} if counts is None else counts.means
    mean = means.get(shown.criteria) or means.get("")
    if mean and not shown.system:
        return mean_data(mean)
    value = shown.first if is_base else shown.second
    return None if value is None else {"value": value}


PAGE = Page(name="compare-several", routes=(Route("/compare", show),))
