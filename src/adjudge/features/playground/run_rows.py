"""Rows of a run in the playground: judged by other criteria, or opened as instances."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from adjudge.core.catalog.entry import CatalogEntry, Kind
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.records import records
from adjudge.errors import RunError, SetupError
from adjudge.features.bench.answers import Answers
from adjudge.features.bench.judges import needed_fields
from adjudge.features.bench.labelled_rows import (
    LabelledSet,
    LabelledSource,
    MarkedRow,
    labelled_set,
    lot,
)
from adjudge.runs.case_file import CaseSettings, ExpectedRow, TestCase, letter_of
from adjudge.runs.earlier_rows import distinct_rows_of_run
from adjudge.runs.folder import reading, records_of
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import LabelStore

_LOOKED_AT = 5_000
"""Rows from which those without labels are drawn."""
_SEED = 0


@dataclass(frozen=True)
class RowsToTry:
    """Rows of a run to be judged again."""

    case: TestCase
    before: Mapping[int, str]
    """Row → what the run's judge said of it."""
    identities: tuple[str, ...]
    """Identities of the rows, as the run stores them."""


def rows_to_try(folder: Path, case: TestCase, count: int) -> RowsToTry:
    """Sample rows that people labelled; any rows if there are none."""
    scales = label_scales(folder)
    scale = next(
        (candidate for candidate in scales if candidate.name == case.criteria.name), scales[0]
    )
    labelled = (
        None
        if not any(label.is_by_person for label in LabelStore(folder).current(scale.name))
        else labelled_set(LabelledSource(folder, question=scale.name, sample=count, seed=_SEED))
    ) or _draw_unlabelled(folder, count)
    if labelled.compares != case.compares:
        if case.compares:
            raise SetupError(
                "the criteria compare responses, but each row of the run has one text: choose "
                "another run"
            )
        raise SetupError(
            "the criteria judge one text, but the rows of the run have responses to compare: "
            "choose another run"
        )
    expected = _collect_expected(labelled, case.criteria)
    identities = [row.instance.identity for row in labelled.rows]
    entries = (case.entry, *case.beside)
    fitted = labelled.with_fields(needed_fields(row.criteria for row in entries))
    rows = tuple(
        _row(row.instance, expected.get(identity, ""))
        for row, identity in zip(fitted.rows, identities, strict=True)
    )
    verdicts = _verdicts(folder, scale, set(identities))
    earlier_verdicts = {
        place: verdicts[identity]
        for place, identity in enumerate(identities)
        if identity in verdicts
    }
    return RowsToTry(replace(case, rows=rows), earlier_verdicts, tuple(identities))


def case_of_rows(
    folder: Path, judge: str, numbers: Sequence[int], models: Sequence[str], language: str
) -> TestCase:
    """Return rows of a run as instances, with the criteria that judged the first of them.

    A text that several criteria judged is one instance.
    """
    with reading(folder) as connection:
        rows = [_record(connection, judge, number) for number in numbers]
    first_row, scales = rows[0], label_scales(folder)
    scale = next(
        (
            candidate
            for candidate in scales
            if candidate.name == first_row.criterion and judge in candidate.judges
        ),
        scales[0],
    )
    kind: Kind = "pairwise" if scale.scale.compares else "direct"
    entry = CatalogEntry(scale.scale.criteria, kind, language)
    if not entry.criteria.options and kind == "direct":
        raise SetupError(
            "{name!r} asks for a number; the playground supports only criteria with options, and "
            "comparisons",
            name=scale.name,
        )
    record_by_row: dict[str, JudgmentRecord] = {}
    for candidate in rows:
        record_by_row.setdefault(candidate.identity, candidate)
    labels = LabelStore(folder).current(scale.name)
    expected = _collect_unanimous(label for label in labels if label.row in record_by_row)
    return TestCase(
        entry=entry,
        settings=CaseSettings(models=tuple(models), language=language),
        rows=tuple(
            _row(
                Instance(candidate.fields),
                expected.get(identity, ""),
                candidate.id or str(candidate.row),
            )
            for identity, candidate in record_by_row.items()
        ),
    )


def _record(connection: sqlite3.Connection, judge: str, number: int) -> JudgmentRecord:
    record = next(records(connection, judge=judge, index=number - 1), None)
    if record is None:
        raise RunError("the run has no row {number} of judge {judge!r}", number=number, judge=judge)
    return record


def _draw_unlabelled(folder: Path, count: int) -> LabelledSet:
    rows = list(islice(distinct_rows_of_run(folder), _LOOKED_AT))
    if not rows:
        raise RunError("the run has no rows yet")
    # By lot and reproducible; the run's order is kept.
    drawn = {
        instance.identity
        for instance in sorted(rows, key=lambda instance: lot(_SEED, instance.identity))[:count]
    }
    return LabelledSet(
        folder.name,
        tuple(MarkedRow(instance, ()) for instance in rows if instance.identity in drawn),
    )


def _collect_expected(rows: LabelledSet, criteria: Criteria) -> dict[str, str]:
    """Map each row to people's answer, as the criteria name it."""
    if not any(row.marks for row in rows.rows):
        return {}
    try:
        return _collect_unanimous(Answers().labels(rows, criteria))
    except SetupError as error:
        answers = ", ".join(
            sorted({str(mark.answer) for row in rows.rows for mark in row.marks})[:5]
        )
        options = ", ".join(criteria.option_names)
        raise SetupError(
            "the run's rows are labelled {said}, but the criteria have the options {options}: "
            "rename the options to match",
            said=answers,
            options=options,
        ) from error


def _collect_unanimous(labels: Iterable[Label]) -> dict[str, str]:
    """Map each row to people's answer; rows on which people differ are left out."""
    answers_by_row: dict[str, set[str]] = {}
    for label in labels:
        answer = letter_of(label.winner) if label.winner is not None else label.option
        if answer is not None:
            answers_by_row.setdefault(label.row, set()).add(answer)
    return {
        row: next(iter(answers)) for row, answers in answers_by_row.items() if len(answers) == 1
    }


def _row(instance: Instance, expected: str, id: str = "") -> ExpectedRow:
    fields = {
        name: value if isinstance(value, str) else tuple(value)
        for name, value in instance.fields.items()
    }
    return ExpectedRow(fields=fields, expected=expected, id=id or instance.id or "")


def _verdicts(folder: Path, scale: JudgedScale, identities: set[str]) -> dict[str, str]:
    """Map each row to the verdict of the first judge that the run has for this question."""
    verdicts: dict[str, str] = {}
    for record in records_of(folder):
        if len(verdicts) == len(identities):
            break
        if record.judge != scale.judges[0] or record.criterion != scale.name:
            continue
        verdict = letter_of(record.choice) if scale.scale.compares else record.verdict
        if verdict is not None and record.identity in identities:
            verdicts[record.identity] = verdict
    return verdicts
