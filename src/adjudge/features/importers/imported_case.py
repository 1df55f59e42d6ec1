"""A foreign file as a test case: its question, its rows, and what people expect of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.prompts.renderer import LANGUAGES
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.importing import read_foreign
from adjudge.features.importers.pooling import criteria_of
from adjudge.features.importers.record import Mark, RecordedQuestion, RecordedRow
from adjudge.features.importers.source import ForeignRecord
from adjudge.runs.builder import INVENTED
from adjudge.runs.case_file import MOST_VOTES, CaseSettings, ExpectedRow, TestCase, letter_of

_MOST_COMPARED = 26
"""Responses that letters stand for; what names another one names none."""


def case_in(path: Path, most: int) -> TestCase:
    """The first question of a file, with at most so many of its rows."""
    found = read_foreign(path)
    rows = [one for one in found.rows if not one.only_marks]
    if not rows:
        raise RunError(
            "{name} was read as {title} and holds no row", name=path.name, title=found.format.title
        )
    question = rows[0].question
    if question.kind == "rating":
        raise SetupError(
            "{name} asks for a number, and a test case has options: nothing was brought in",
            name=path.name,
        )
    own = [one for one in rows if one.question.name == question.name][:most]
    entry = _entry(question, own)
    return TestCase(
        entry=entry, settings=_settings(question), rows=tuple(_row(one, entry) for one in own)
    )


def _settings(question: RecordedQuestion) -> CaseSettings:
    """How EvalAssist's judge was set, by our names; of any other file, as usual."""
    settings = ForeignRecord(question.settings)
    judge = settings.nested("judge")
    given, own = judge.nested("params"), judge.nested("adjudge")
    votes, warmth, language = (
        given.number("self_consistency"),
        own.number("temperature"),
        own.text("language"),
    )
    invented = given.value("generate_synthetic_persona") is True
    persona = INVENTED if invented else given.text("judge_description_prompt")
    feedback = given.value("generate_feedback") is True and question.kind != "comparison"
    return CaseSettings(
        models=tuple(filter(None, settings.nested("evaluator").text("name").split(", "))),
        votes=min(max(int(votes or 1), 1), MOST_VOTES),
        check_positional_bias=given.value("check_positional_bias") is True,
        feedback=feedback,
        persona=persona or None,
        temperature=None if warmth is None or warmth < 0 else warmth,
        tie_enabled=own.value("tie_enabled") is not False,
        language=language if language in LANGUAGES else "en",
    )


def _entry(question: RecordedQuestion, rows: Sequence[RecordedRow]) -> CatalogEntry:
    kind: Kind = "pairwise" if question.kind == "comparison" else "direct"
    answers = [_answer(mark) for one in rows for mark in one.marks]
    return CatalogEntry(criteria_of(question, tuple(answers) if kind == "direct" else ()), kind)


def _row(one: RecordedRow, entry: CatalogEntry) -> ExpectedRow:
    fields = {
        name: value if isinstance(value, str) else tuple(value)
        for name, value in one.fields.items()
    }
    row = ExpectedRow(
        fields=fields, id=one.id or "", expected=_answer(one.marks[0]) if one.marks else ""
    )
    known = TestCase(entry=entry).choices(row)
    return row if row.expected in ("", *known) else ExpectedRow(fields=fields, id=row.id)


def _answer(mark: Mark) -> str:
    if isinstance(mark.answer, int):
        return letter_of(mark.answer) or "" if 0 <= mark.answer < _MOST_COMPARED else ""
    return f"{mark.answer:g}" if isinstance(mark.answer, float) else str(mark.answer)
