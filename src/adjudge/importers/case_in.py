"""A foreign file as a test case: its question, its rows, and what people expect of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.catalog.entry import CatalogEntry, Kind
from adjudge.errors import RunError, SetupError
from adjudge.importers.pool import criteria_of
from adjudge.importers.record import Asked, Mark, Recorded
from adjudge.importers.run import recorded_in
from adjudge.runs.case_file import CaseSettings, ExpectedRow, TestCase, letter_of

_MOST_COMPARED = 26
"""Responses that letters stand for; what names another one names none."""


def case_in(path: Path, most: int) -> TestCase:
    """The first question of a file, with at most so many of its rows."""
    found = recorded_in(path)
    recorded = [one for one in found.records if not one.only_marks]
    if not recorded:
        raise RunError(f"{path.name} was read as {found.format.title} and holds no row")
    asked = recorded[0].asked
    if asked.kind == "rating":
        raise SetupError(f"{path.name} asks for a number, and a test case has options: nothing was brought in")
    own = [one for one in recorded if one.asked.name == asked.name][:most]
    entry = _entry(asked, own)
    return TestCase(entry=entry, settings=CaseSettings(), rows=tuple(_row(one, entry) for one in own))


def _entry(asked: Asked, recorded: Sequence[Recorded]) -> CatalogEntry:
    kind: Kind = "pairwise" if asked.kind == "comparison" else "direct"
    answers = [_answer(mark) for one in recorded for mark in one.marks]
    return CatalogEntry(criteria_of(asked, tuple(answers) if kind == "direct" else ()), kind)


def _row(one: Recorded, entry: CatalogEntry) -> ExpectedRow:
    fields = {name: value if isinstance(value, str) else tuple(value) for name, value in one.fields.items()}
    row = ExpectedRow(fields=fields, id=one.id or "", expected=_answer(one.marks[0]) if one.marks else "")
    known = TestCase(entry=entry).choices(row)
    return row if row.expected in ("", *known) else ExpectedRow(fields=fields, id=row.id)


def _answer(mark: Mark) -> str:
    if isinstance(mark.answer, int):
        return letter_of(mark.answer) or "" if 0 <= mark.answer < _MOST_COMPARED else ""
    return f"{mark.answer:g}" if isinstance(mark.answer, float) else str(mark.answer)
