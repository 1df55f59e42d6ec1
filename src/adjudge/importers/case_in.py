"""A foreign file as a test case: its question, its rows, and what people expect of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adjudge.catalog.entry import CatalogEntry, Kind
from adjudge.errors import RunError, SetupError
from adjudge.importers.pool import criteria_of
from adjudge.importers.record import Asked, Mark, Recorded
from adjudge.importers.run import recorded_in
from adjudge.importers.values import mapping, number, text
from adjudge.prompts.render import LANGUAGES
from adjudge.runs.build import INVENTED
from adjudge.runs.case_file import MOST_VOTES, CaseSettings, ExpectedRow, TestCase, letter_of

_MOST_COMPARED = 26
"""Responses that letters stand for; what names another one names none."""


def case_in(path: Path, most: int) -> TestCase:
    """The first question of a file, with at most so many of its rows."""
    found = recorded_in(path)
    recorded = [one for one in found.records if not one.only_marks]
    if not recorded:
        raise RunError(
            "{name} was read as {title} and holds no row", name=path.name, title=found.format.title
        )
    asked = recorded[0].asked
    if asked.kind == "rating":
        raise SetupError(
            "{name} asks for a number, and a test case has options: nothing was brought in",
            name=path.name,
        )
    own = [one for one in recorded if one.asked.name == asked.name][:most]
    entry = _entry(asked, own)
    return TestCase(
        entry=entry, settings=_settings(asked), rows=tuple(_row(one, entry) for one in own)
    )


def _settings(asked: Asked) -> CaseSettings:
    """How EvalAssist's judge was set, by our names; of any other file, as usual."""
    judge, evaluator = (
        mapping(asked.settings.get("judge")),
        mapping(asked.settings.get("evaluator")),
    )
    given, own = mapping(judge.get("params")), mapping(judge.get("adjudge"))
    votes, warmth, language = (
        number(given.get("self_consistency")),
        number(own.get("temperature")),
        text(own.get("language")),
    )
    invented, persona = (
        given.get("generate_synthetic_persona") is True,
        text(given.get("judge_description_prompt")),
    )
    return CaseSettings(
        models=tuple(filter(None, text(evaluator.get("name")).split(", "))),
        strictness=min(max(int(votes or 1), 1), MOST_VOTES),
        check_positional_bias=given.get("check_positional_bias") is True,
        feedback=given.get("generate_feedback") is True and asked.kind != "comparison",
        persona=INVENTED if invented else persona or None,
        temperature=None if warmth is None or warmth < 0 else warmth,
        tie_enabled=own.get("tie_enabled") is not False,
        language=language if language in LANGUAGES else "en",
    )


def _entry(asked: Asked, recorded: Sequence[Recorded]) -> CatalogEntry:
    kind: Kind = "pairwise" if asked.kind == "comparison" else "direct"
    answers = [_answer(mark) for one in recorded for mark in one.marks]
    return CatalogEntry(criteria_of(asked, tuple(answers) if kind == "direct" else ()), kind)


def _row(one: Recorded, entry: CatalogEntry) -> ExpectedRow:
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
