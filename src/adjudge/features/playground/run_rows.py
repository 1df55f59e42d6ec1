"""Rows of a run in the playground: tried by other criteria, or one of them as an instance."""

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
from adjudge.runs.earlier_rows import rows_of_run
from adjudge.runs.folder import reading, records_of
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.labels.store import LabelStore

_LOOKED_AT = 5_000
"""Rows from which those without labels are drawn."""
_SEED = 0


@dataclass(frozen=True)
class RowsToTry:
    """Rows of a run to be judged anew."""

    case: TestCase
    before: Mapping[int, str]
    """Row → what the run's judge said of it."""


def rows_to_try(folder: Path, case: TestCase, count: int) -> RowsToTry:
    """Rows that people labelled, drawn by lot; where nobody did, any."""
    scale = _scale(folder, case.criteria.name)
    found = _labelled(folder, scale, count) or _unlabelled(folder, count)
    if found.compares != case.compares:
        if case.compares:
            raise SetupError(
                "the criteria compare responses, and the rows of the run hold one text: "
                "choose another run"
            )
        raise SetupError(
            "the criteria judge one text, and the rows of the run hold responses to "
            "compare: choose another run"
        )
    expected = _expected(found, case.criteria)
    identities = [one.instance.identity for one in found.rows]
    entries = (case.entry, *case.beside)
    fitted = found.with_fields(needed_fields(one.criteria for one in entries))
    rows = tuple(
        _row(one.instance, expected.get(identity, ""))
        for one, identity in zip(fitted.rows, identities, strict=True)
    )
    said = _verdicts(folder, scale, set(identities))
    before = {
        place: said[identity] for place, identity in enumerate(identities) if identity in said
    }
    return RowsToTry(replace(case, rows=rows), before)


def case_of_rows(
    folder: Path, judge: str, numbers: Sequence[int], models: Sequence[str], language: str
) -> TestCase:
    """Rows of a run as instances, with the criteria that the first was judged by; a text that
    several criteria judged is one instance.
    """
    with reading(folder) as connection:
        rows = [_record(connection, judge, number) for number in numbers]
    found, scales = rows[0], label_scales(folder)
    scale = next(
        (one for one in scales if one.name == found.criterion and judge in one.judges),
        scales[0],
    )
    kind: Kind = "pairwise" if scale.scale.compares else "direct"
    entry = CatalogEntry(scale.scale.criteria, kind, language)
    if not entry.criteria.options and kind == "direct":
        raise SetupError(
            "{name!r} asks for a number, and the playground is for options and comparisons",
            name=scale.name,
        )
    wanted: dict[str, JudgmentRecord] = {}
    for one in rows:
        wanted.setdefault(one.identity, one)
    labels = LabelStore(folder).current(scale.name)
    expected = _agreed(label for label in labels if label.row in wanted)
    return TestCase(
        entry=entry,
        settings=CaseSettings(models=tuple(models), language=language),
        rows=tuple(
            _row(Instance(one.fields), expected.get(identity, ""), one.id or str(one.row))
            for identity, one in wanted.items()
        ),
    )


def _record(connection: sqlite3.Connection, judge: str, number: int) -> JudgmentRecord:
    found = next(records(connection, judge=judge, index=number - 1), None)
    if found is None:
        raise RunError("the run has no row {number} of judge {judge!r}", number=number, judge=judge)
    return found


def _scale(folder: Path, name: str) -> JudgedScale:
    """The run's own question: the one of that name, else its first."""
    scales = label_scales(folder)
    return next((one for one in scales if one.name == name), scales[0])


def _labelled(folder: Path, scale: JudgedScale, count: int) -> LabelledSet | None:
    if not any(one.is_by_person for one in LabelStore(folder).current(scale.name)):
        return None
    return labelled_set(LabelledSource(folder, question=scale.name, sample=count, seed=_SEED))


def _unlabelled(folder: Path, count: int) -> LabelledSet:
    rows = list(islice(rows_of_run(folder), _LOOKED_AT))
    if not rows:
        raise RunError("the run has no rows yet")
    drawn = {one.identity for one in sorted(rows, key=lambda one: lot(_SEED, one.identity))[:count]}
    return LabelledSet(
        folder.name, tuple(MarkedRow(one, ()) for one in rows if one.identity in drawn)
    )


def _expected(rows: LabelledSet, criteria: Criteria) -> dict[str, str]:
    """Row → what people say of it in the words of the criteria."""
    if not any(one.marks for one in rows.rows):
        return {}
    try:
        return _agreed(Answers().labels(rows, criteria))
    except SetupError as error:
        said = ", ".join(sorted({str(mark.answer) for one in rows.rows for mark in one.marks})[:5])
        options = ", ".join(criteria.option_names)
        raise SetupError(
            "people labelled the run's rows {said}, and the criteria offers {options}: call "
            "the options so",
            said=said,
            options=options,
        ) from error


def _agreed(labels: Iterable[Label]) -> dict[str, str]:
    """Of rows on which people differ, nothing is expected."""
    found: dict[str, set[str]] = {}
    for one in labels:
        answer = letter_of(one.winner) if one.winner is not None else one.option
        if answer is not None:
            found.setdefault(one.row, set()).add(answer)
    return {row: next(iter(answers)) for row, answers in found.items() if len(answers) == 1}


def _row(instance: Instance, expected: str, id: str = "") -> ExpectedRow:
    fields = {
        name: value if isinstance(value, str) else tuple(value)
        for name, value in instance.fields.items()
    }
    return ExpectedRow(fields=fields, expected=expected, id=id or instance.id or "")


def _verdicts(folder: Path, scale: JudgedScale, wanted: set[str]) -> dict[str, str]:
    """Row → what the run's first judge of this question said."""
    found: dict[str, str] = {}
    for one in records_of(folder):
        if len(found) == len(wanted):
            break
        if one.judge != scale.judges[0] or one.criterion != scale.name:
            continue
        said = letter_of(one.choice) if scale.scale.compares else one.verdict
        if said is not None and one.identity in wanted:
            found[one.identity] = said
    return found
