"""``/compare?runs=…&runs=…``: several runs next to their common base."""

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
from adjudge.core.domain.json_types import JsonDict, JsonValue, object_in
from adjudge.core.domain.judge_criterion import of_system
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
from adjudge.web.pages.row import row_number
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
    """A row in every run, the base first; None for a run without it."""

    criteria: str
    cells: tuple[ComparedRow | None, ...]
    label: str | None
    """The option that people chose for its texts."""


@dataclass(frozen=True)
class _Against:
    """The comparison of a run with the base, by one criterion."""

    difference: DrawnDifference
    same_judge: bool


@dataclass(frozen=True)
class _Several:
    """The comparison of several runs with a base."""

    against: list[dict[str, _Against]]
    """For each run after the base: criterion → its difference."""
    level: float
    counts: Counter[Kind]
    rows: dict[Kind, list[_GridRow]]

    @property
    def same_judges(self) -> bool:
        return all(
            against.same_judge for by_criterion in self.against for against in by_criterion.values()
        )

    def criteria(self) -> list[str]:
        return list(dict.fromkeys(name for by_criterion in self.against for name in by_criterion))

    def criteria_of_rows(self) -> list[str]:
        return sorted({name for name, _ in self.rows if name})


def show(request: Request) -> Response:
    """Compare several runs with a base: means, differences, and the rows that differ."""
    site, query_values = site_of(request), request.query_params
    if "runs" not in query_values:
        return compare.show(request)
    places = find_places(site.library, query_values)
    if len(places) == 2:
        query = {"a": places[0].id, "b": places[1].id}
        return RedirectResponse(address_of(request, "/compare", query), 303)
    what = "several " + " ".join(f"{run.id} {site.library.version(run)}" for run in places)
    if site.must_wait(request, places[0], what):
        return site.answer_first(request, {"title": " · ".join(run.name for run in places)})
    comparison = site.library.get_or_compute(places[0], what, lambda: _several(places))
    # runs of different judges are compared only on request (anyway=1)
    held_back = not comparison.same_judges and query_values.get("anyway") != "1"
    kinds = list(_kinds(len(places)))
    criteria, tab = query_values.get("criteria", ""), query_values.get("tab") or kinds[0]
    if tab not in kinds or criteria not in ("", *comparison.criteria_of_rows()):
        raise SetupError("there are no such rows: follow a link in the comparison")
    start, kind = whole(query_values.get("from", "")) or 0, (criteria, tab)
    rows = [] if held_back else _page(site.library, places, what, comparison, kind, start)
    data: JsonDict = {
        "runs": [
            {
                "id": run.id,
                "name": run.name,
                "letter": letter,
                "alone": address_with_base(places, run),
            }
            for letter, run in zip(ascii_uppercase, places, strict=False)
        ],
        "address": address_with_base(places, places[0])
        + ("&anyway=1" if "anyway" in query_values else ""),
        "held_back": held_back,
        "level": comparison.level,
        "criteria": [] if held_back else _criteria_data(site.library, places, comparison),
        "axis": axis_share(
            against.difference
            for by_criterion in comparison.against
            for against in by_criterion.values()
        ),
        "asked": {"criteria": criteria, "tab": tab},
        "criteria_of_rows": comparison.criteria_of_rows(),
        "kinds": {} if held_back else {name: comparison.counts[criteria, name] for name in kinds},
        "count": comparison.counts[kind],
        "first": start,
        "shown": SHOWN,
        "rows": [
            {**object_in(plain(row)), "number": _number(site.library, places, row)} for row in rows
        ],
    }
    return site.answer(request, "compare_several.html.jinja", data)


def _number(library: Library, places: Sequence[RunPlace], row: _GridRow) -> int | None:
    """Return the number of a row in the first run that has it."""
    cells = zip(places, row.cells, strict=True)
    return next(
        (row_number(library, place, cell.judge, cell.row) for place, cell in cells if cell), None
    )


def find_places(library: Library, query: QueryParams) -> list[RunPlace]:
    """Return the runs, the base first: the one named by the address, else the oldest."""
    ids = list(dict.fromkeys(query.getlist("runs")))
    if not 2 <= len(ids) <= MOST_RUNS:
        raise SetupError(
            "choose from two to {most} runs to compare; {count} are chosen",
            most=MOST_RUNS,
            count=len(ids),
        )
    base = query.get("base")
    places = [library.find(id) for id in ids]

    def age(place: RunPlace) -> tuple[bool, float]:
        about = library.about(place)
        return place.id != base, about.started or about.written

    return sorted(places, key=age)


def address_with_base(places: Sequence[RunPlace], base: RunPlace) -> str:
    return urlencode([*(("runs", place.id) for place in places), ("base", base.id)])


def _kinds(runs: int) -> Iterator[str]:
    yield "differ"
    for way in ("lower", "higher"):
        yield from (f"{way}-{letter}" for letter in ascii_uppercase[:runs])
    yield "missing"


def _page(
    library: Library,
    places: Sequence[RunPlace],
    what: str,
    comparison: _Several,
    kind: Kind,
    start: int,
) -> list[_GridRow]:
    """Return the rows of a kind, beginning at ``start``."""
    if start + SHOWN <= _HELD or comparison.counts[kind] <= _HELD:
        return comparison.rows.get(kind, [])[start : start + SHOWN]

    def read() -> list[_GridRow]:
        grid = _Grid(len(places), kind, start)
        with _join_runs(places) as (_, table):
            grid.read(table)
        return grid.rows[kind]

    return library.get_or_compute(places[0], f"{what} {kind} {start}", read)


@contextmanager
def _join_runs(
    places: Sequence[RunPlace],
) -> Iterator[tuple[Mapping[str, RunDiff], sqlite3.Connection]]:
    """Open each run's difference from the base, and a table with the rows of all runs."""
    base, *other_runs = places
    # an empty name is a temporary database that may spill to disk
    with ExitStack() as opened, closing(sqlite3.connect("")) as table:
        table.execute(_TABLE)
        labels = labels_in(*places)
        diffs = {
            str(run_place.folder): opened.enter_context(
                run_diff(base.folder, run_place.folder, labelled=bool(labels))
            )
            for run_place in other_runs
        }
        for run, diff in enumerate(diffs.values(), 1):
            _fill(table, run, diff, labels)
        yield diffs, table


def _several(places: Sequence[RunPlace]) -> _Several:
    grid = _Grid(len(places))
    with _join_runs(places) as (diffs, table):
        comparisons = compare_several(places[0].folder, diffs)
        grid.read(table)
    level = next(
        (comparison.level for run_comparisons in comparisons for comparison in run_comparisons),
        0.95,
    )
    judges = {comparison.judge for run_comparisons in comparisons for comparison in run_comparisons}
    against = [
        {
            drawn.name: _Against(drawn, comparison.same_judge)
            for comparison in run_comparisons
            for drawn in [drawn_difference(comparison, judges)]
        }
        for run_comparisons in comparisons
    ]
    return _Several(against, level, grid.counts, grid.rows)


def _fill(table: sqlite3.Connection, run: int, diff: RunDiff, labels: Labels) -> None:
    def cells() -> Iterator[tuple[object, ...]]:
        for pair in diff.pairs():
            both = (0, pair.before), (run, pair.after)
            for (number, row), identity in zip(both, pair.identities, strict=True):
                cell = compared_row(row, labels.get((row.criteria, identity)))
                place = (pair.before.row, pair.before.judge, pair.before.criteria, number)
                yield (
                    *place,
                    *(cell.row, cell.id, cell.judge, cell.said),
                    *(cell.is_verdict, cell.score, cell.status, cell.label),
                )

    marks = ",".join("?" * 12)
    table.executemany(f"INSERT OR IGNORE INTO cell VALUES ({marks})", cells())  # noqa: S608


class _Grid:
    """Sorts rows by how the runs differ; a row may be of several kinds.

    ``only``: keep just a page of this kind, beginning at ``start``.
    """

    def __init__(self, runs: int, only: Kind | None = None, start: int = 0) -> None:
        self._runs = runs
        self._only, self._first, self._most = only, start, SHOWN if only else _HELD
        self.counts: Counter[Kind] = Counter()
        self.rows: dict[Kind, list[_GridRow]] = {}

    def read(self, table: sqlite3.Connection) -> None:
        ordered = table.execute("SELECT * FROM cell ORDER BY judge, base, run")
        for (_, criteria), cells in groupby(ordered, lambda cell: (cell[:2], cell[2])):
            row: list[ComparedRow | None] = [None] * self._runs
            for _, _, _, run, number, id, judge, outcome, is_verdict, score, status, label in cells:
                row[run] = ComparedRow(
                    number, id, judge, criteria, outcome, bool(is_verdict), score, status, label
                )
            people = dict.fromkeys(cell.label for cell in row if cell and cell.label)
            grid_row = _GridRow(criteria, tuple(row), ", ".join(people) or None)
            for kind in self._kinds_of(row):
                self._add(grid_row, kind)

    def _add(self, row: _GridRow, kind: str) -> None:
        for key in (("", kind), (row.criteria, kind)):
            self.counts[key] += 1
            rows = self.rows.setdefault(key, [])
            is_wanted = self._only in (None, key) and self.counts[key] > self._first
            if is_wanted and len(rows) < self._most:
                rows.append(row)

    def _kinds_of(self, row: Sequence[ComparedRow | None]) -> Iterator[str]:
        if len({(cell.said, cell.score) for cell in row if cell}) > 1:
            yield "differ"
        if any(cell is None or not (cell.is_verdict or cell.score is not None) for cell in row):
            yield "missing"
        scores = [cell.score for cell in row if cell and cell.score is not None]
        if len(scores) < self._runs:
            # without a score in every run none can be called the lowest or highest
            return
        for way, end in (("lower", min(scores)), ("higher", max(scores))):
            if scores.count(end) == 1:
                yield f"{way}-{ascii_uppercase[scores.index(end)]}"


def _criteria_data(
    library: Library, places: Sequence[RunPlace], comparison: _Several
) -> list[JsonValue]:
    """Return the data of each criterion: every run's mean, and its difference from the base."""
    return [
        {
            "name": name,
            "note": _note(
                [
                    by_criterion[name].difference
                    for by_criterion in comparison.against
                    if name in by_criterion
                ]
            ),
            "runs": [
                {
                    "mean": _mean(library, place, against, is_base=not number),
                    "difference": plain(against.difference) if against and number else None,
                }
                for number, place in enumerate(places)
                for against in [_against(comparison, number, name)]
            ],
        }
        for name in comparison.criteria()
    ]


def _note(differences: Sequence[DrawnDifference]) -> Message | None:
    """Explain a criterion's numbers if they are not mean scores; None if they are."""
    if any(difference.reach is None for difference in differences):
        return FEWER
    wins_of = next((difference.wins_of for difference in differences if difference.wins_of), None)
    return None if wins_of is None else Message("win rate of {name}", name=wins_of)


def _against(comparison: _Several, number: int, name: str) -> _Against | None:
    """Return a run's difference by a criterion. For the base, return another run's, which has the
    names.
    """
    if number:
        return comparison.against[number - 1].get(name)
    return next(
        (by_criterion[name] for by_criterion in comparison.against if name in by_criterion), None
    )


def _mean(
    library: Library, place: RunPlace, against: _Against | None, *, is_base: bool
) -> JsonDict | None:
    """Return the mean over all rows of the run, with its interval.

    If responses were compared, return the win rate over the compared rows.
    """
    if against is None:
        return None
    difference = against.difference
    counts = library.counts(place).get(difference.judges[not is_base])
    means = {} if counts is None else counts.means
    mean = means.get(of_system(difference.criteria, difference.system))
    if mean is None and not difference.system:
        mean = means.get("")
    if mean:
        return mean_data(mean)
    value = difference.first if is_base else difference.second
    return None if value is None else {"value": value}


PAGE = Page(name="compare-several", routes=(Route("/compare", show),))
