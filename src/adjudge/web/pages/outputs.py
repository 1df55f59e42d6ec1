"""``/compare/outputs?runs=…&runs=…``: what several runs, or the systems of one run (``by=COLUMN``),
answered to the same rows, side by side.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from string import ascii_uppercase
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.engine.identity import judge_identity
from adjudge.core.judges.settings import one_of
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.runs.folder import reading
from adjudge.web.forms import whole
from adjudge.web.library import Library, RunPlace, mean_data
from adjudge.web.page import Page
from adjudge.web.page_registry import hidden_fields, owner_of
from adjudge.web.pages.compare_several import address_with_base, find_places
from adjudge.web.pages.output_grid import (
    OutputColumn,
    OutputGrid,
    RowKind,
    runs_side_by_side,
    systems_side_by_side,
)
from adjudge.web.pages.row import judgments_per_row
from adjudge.web.pages.row_details import text_of
from adjudge.web.pages.run import judged_field
from adjudge.web.site import Site, row_height_of, site_of

SHOWN = 25
"""Rows of a page."""
KINDS: Mapping[str, RowKind | None] = {
    "all": None,
    "differ": RowKind.DIFFERS,
    "failed": RowKind.FAILED,
    "lone": RowKind.LONE,
}
_LONGEST = 4_000
"""Characters of a text that are shown; the row's own page has the rest."""
_LONGEST_REASON = 1_000


def show(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    places, by = _places_of(site.library, query)
    judge, kind = query.get("judge", ""), query.get("kind") or "all"
    one_of("kind", kind, tuple(KINDS))
    versions = " ".join(f"{place.id} {site.library.version(place)}" for place in places)
    what = f"outputs {by!r} {judge!r} {versions}"
    if site.must_wait(request, places[0], what):
        return site.answer_first(request, {"title": " · ".join(place.name for place in places)})

    def read() -> OutputGrid:
        if by:
            return systems_side_by_side(places[0], by, judge)
        return runs_side_by_side(places, judge)

    grid = site.library.get_or_compute(places[0], what, read)
    rows = grid.rows_of(KINDS[kind])
    start = min(whole(query.get("from", "")) or 0, max(len(rows) - 1, 0))
    with ExitStack() as opened:
        ledgers = {
            column.place.id: opened.enter_context(reading(column.place.folder))
            for column in grid.columns
        }
        page = _OutputPage(site, grid, ledgers)
        data: JsonDict = {
            "columns": page.columns(),
            "address": _address(places, by, grid, query),
            "by": by,
            "runs": [place.link for place in places],
            "judge": grid.judge,
            "judges": list(grid.judges),
            "same_judges": page.has_same_judges(),
            "criteria": list(grid.criteria),
            "left_out": grid.left_out,
            "other_systems": grid.other_systems,
            "kind": kind,
            "kinds": {
                name: len(grid) if wanted is None else grid.count(wanted)
                for name, wanted in KINDS.items()
            },
            "first": start,
            "shown": SHOWN,
            "listed": len(rows),
            "rows": [page.row(row) for row in rows[start : start + SHOWN]],
            "changed": _changed_around(grid, rows, start),
        }
    return site.answer(request, "outputs.html.jinja", data, height=row_height_of(request))


def _places_of(library: Library, query: QueryParams) -> tuple[list[RunPlace], str]:
    """Return the runs, and the column whose values stand side by side if it is one run."""
    ids, by = [*dict.fromkeys(query.getlist("runs"))], query.get("by", "").strip()
    if not by:
        return find_places(library, query), ""
    if len(ids) != 1:
        raise SetupError("by={column} is for the systems of a single run: name one run", column=by)
    return [library.find(ids[0])], by


def _address(places: Sequence[RunPlace], by: str, grid: OutputGrid, query: QueryParams) -> str:
    """Return the query of this page without its place in the list."""
    names = (
        urlencode({"runs": places[0].id, "by": by}) if by else address_with_base(places, places[0])
    )
    return f"{names}&{urlencode({'judge': grid.judge})}" if query.get("judge") else names


def _changed_around(grid: OutputGrid, rows: Sequence[int], start: int) -> JsonDict:
    """Return the pages with the last row before this page that differs, and the first after it."""
    differing = grid.rows_of(RowKind.DIFFERS)
    around: JsonDict = {}
    if not rows:
        return around
    before = range(start - 1, -1, -1)
    after = range(start + SHOWN, len(rows))
    for name, places in (("before", before), ("after", after)):
        place = next((place for place in places if _is_in(differing, rows[place])), None)
        if place is not None:
            around[name] = {"from": place // SHOWN * SHOWN, "row": rows[place]}
    return around


def _is_in(places: Sequence[int], row: int) -> bool:
    at = bisect_left(places, row)
    return at < len(places) and places[at] == row


class _OutputPage:
    """Reads the texts and verdicts of the rows that a page shows."""

    def __init__(
        self, site: Site, grid: OutputGrid, ledgers: Mapping[str, sqlite3.Connection]
    ) -> None:
        self._site, self._grid, self._ledgers = site, grid, ledgers
        self._fields: dict[tuple[str, str], str] = {}
        self._per_row: dict[tuple[str, str], int] = {}

    def columns(self) -> list[JsonDict]:
        """Return the heading of each column."""
        return [
            {
                **column.place.link,
                "letter": letter,
                "system": column.system,
                "missing": self._grid.missing_in(number),
                "by_others": self._grid.by_others[number],
                **self._figures(column, number),
            }
            for number, (letter, column) in enumerate(
                zip(ascii_uppercase, self._grid.columns, strict=False)
            )
        ]

    def _figures(self, column: OutputColumn, number: int) -> JsonDict:
        """Return the means of a run and its rows without a verdict; nothing for a system."""
        judge = next(iter(self._grid.judges_in(number)), "")
        counts = self._site.library.counts(column.place).get(judge)
        if column.system or counts is None:
            return {"means": {}, "without": 0}
        return {
            "means": {name: mean_data(mean) for name, mean in counts.means.items()},
            "without": sum(counts.statuses.get(name, 0) for name in ("failed", "abstained")),
        }

    def has_same_judges(self) -> bool:
        """Return True if the same judge, by its identity, judged all columns."""
        identities = {
            judge_identity(read_judge(self._ledgers[column.place.id], judge))
            for number, column in enumerate(self._grid.columns)
            for judge in self._grid.judges_in(number)
        }
        return len(identities) < 2

    def row(self, row: int) -> JsonDict:
        kinds = RowKind(self._grid.kinds[row])
        cells = [self._cell(row, number) for number in range(len(self._grid.columns))]
        first = next(cell for cell in cells if cell)
        return {
            "row": row,
            "differs": bool(kinds & RowKind.DIFFERS),
            "id": first["id"],
            "number": first["number"],
            "question": first["question"],
            "cells": [
                cell and {name: cell[name] for name in cell if name != "question"} for cell in cells
            ],
        }

    def _cell(self, row: int, number: int) -> JsonDict | None:
        place, found = self._grid.columns[number].place, self._grid.judgments(row, number)
        ledger = self._ledgers[place.id]
        judgments = [
            record
            for _, judge, place_in_run in found
            for record in records(ledger, judge=judge, index=place_in_run - 1, trajectory=False)
        ]
        if not judgments:
            return None
        record = judgments[0]
        self._site.sessions.mark_seen(record.identity)
        judged = self._judged(place, record.judge)
        others = [name for name in record.fields if name not in (judged, *hidden_fields(record))]
        question = "user_input" if "user_input" in others else next(iter(others), "")
        return {
            "id": record.id,
            "number": (record.index // self._judgments_per_row(place, record.judge)) + 1,
            "judge": record.judge,
            "row": record.row,
            "question": _cut(text_of(record, question)) if question else None,
            "texts": _texts(record, judged),
            "verdicts": [_verdict(judgment) for judgment in judgments],
        }

    def _judged(self, place: RunPlace, judge: str) -> str:
        key = (place.id, judge)
        if key not in self._fields:
            self._fields[key] = judged_field(read_judge(self._ledgers[place.id], judge))
        return self._fields[key]

    def _judgments_per_row(self, place: RunPlace, judge: str) -> int:
        key = (place.id, judge)
        if key not in self._per_row:
            self._per_row[key] = judgments_per_row(self._ledgers[place.id], judge)
        return self._per_row[key]


def _texts(record: JudgmentRecord, judged: str) -> list[JsonDict]:
    """Return the judged text, or each compared response under its system's name."""
    if owner_of(record) is not None or judged not in record.fields:
        return []
    value = record.fields[judged]
    if not isinstance(value, str) and len(value) == len(record.systems):
        return [
            {"name": name, **_cut(text)} for name, text in zip(record.systems, value, strict=True)
        ]
    return [{"name": "", **_cut(text_of(record, judged))}]


def _cut(text: str) -> JsonDict:
    return {"text": text[:_LONGEST], "cut": max(0, len(text) - _LONGEST)}


def _verdict(record: JudgmentRecord) -> JsonDict:
    why = (record.explanation if record.scored else record.reason or record.explanation) or ""
    return {
        "criterion": record.criterion,
        "row": record.row,
        "status": record.status,
        "verdict": record.verdict,
        "score": record.score,
        "why": why[:_LONGEST_REASON],
    }


PAGE = Page(name="outputs", routes=(Route("/compare/outputs", show),))
