"""Read a foreign file as a test case: its question, its rows, and people's expected answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.importing import read_foreign
from adjudge.features.importers.pooling import criteria_of
from adjudge.features.importers.record import Mark, RecordedQuestion, RecordedRow
from adjudge.features.importers.source import ForeignRecord
from adjudge.runs.builder import INVENTED
from adjudge.runs.case_file import MOST_VOTES, CaseSettings, ExpectedRow, TestCase, letter_of

# Responses that letters stand for; what names another one names none.
_MOST_COMPARED = 26


def case_in(path: Path, most: int) -> TestCase:
    """Return a test case from a file's first question, with at most `most` of its rows.

    Raise a RunError if there are no rows, a SetupError if the question asks for a number.
    """
    recorded = read_foreign(path)
    rows = [row for row in recorded.rows if not row.only_marks]
    if not rows:
        raise RunError(
            "{name} was read as {title} but contains no rows",
            name=path.name,
            title=recorded.format.title,
        )
    question = rows[0].question
    if question.kind == "rating":
        raise SetupError(
            "{name} asks for a number, but test cases need options: nothing was imported",
            name=path.name,
        )
    question_rows = [row for row in rows if row.question.name == question.name][:most]
    entry = _entry(question, question_rows)
    return TestCase(
        entry=entry,
        settings=_case_settings(question),
        rows=tuple(_row(row, entry) for row in question_rows),
    )


def _case_settings(question: RecordedQuestion) -> CaseSettings:
    """Return the recorded settings of EvalAssist's judge; other files get the defaults."""
    settings = ForeignRecord(question.settings)
    judge = settings.nested("judge")
    params, extras = judge.nested("params"), judge.nested("adjudge")
    votes, warmth, language = (
        params.number("self_consistency"),
        extras.number("temperature"),
        extras.text("language"),
    )
    invented = params.value("generate_synthetic_persona") is True
    persona = INVENTED if invented else params.text("judge_description_prompt")
    feedback = params.value("generate_feedback") is True and question.kind != "comparison"
    return CaseSettings(
        models=tuple(filter(None, settings.nested("evaluator").text("name").split(", "))),
        votes=min(max(int(votes or 1), 1), MOST_VOTES),
        check_positional_bias=params.value("check_positional_bias") is True,
        feedback=feedback,
        persona=persona or None,
        temperature=None if warmth is None or warmth < 0 else warmth,
        tie_enabled=extras.value("tie_enabled") is not False,
        language=language if language in LANGUAGES else "en",
    )


def _entry(question: RecordedQuestion, rows: Sequence[RecordedRow]) -> CatalogEntry:
    kind: Kind = "pairwise" if question.kind == "comparison" else "direct"
    answers = [_answer(mark) for row in rows for mark in row.marks]
    return CatalogEntry(criteria_of(question, tuple(answers) if kind == "direct" else ()), kind)


def _row(recorded: RecordedRow, entry: CatalogEntry) -> ExpectedRow:
    fields = {
        name: value if isinstance(value, str) else tuple(value)
        for name, value in recorded.fields.items()
    }
    expected_row = ExpectedRow(
        fields=fields,
        id=recorded.id or "",
        expected=_answer(recorded.marks[0]) if recorded.marks else "",
    )
    choices = TestCase(entry=entry).choices(expected_row)
    return (
        expected_row
        if expected_row.expected in ("", *choices)
        else ExpectedRow(fields=fields, id=expected_row.id)
    )


def _answer(mark: Mark) -> str:
    if isinstance(mark.answer, int):
        return letter_of(mark.answer) or "" if 0 <= mark.answer < _MOST_COMPARED else ""
    return f"{mark.answer:g}" if isinstance(mark.answer, float) else str(mark.answer)
