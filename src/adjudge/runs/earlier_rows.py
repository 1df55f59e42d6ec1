"""The rows of an earlier or imported run, to be judged again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from adjudge.core.domain.instance import Instance, names_only
from adjudge.core.domain.record import JudgmentRecord
from adjudge.errors import RunError
from adjudge.runs.folder import records_of, run_info

_UNANSWERED = "unanswered"


def may_be_reused(folder: Path) -> bool:
    """Return True unless the run was imported, in which case its answers are to differently worded
    questions.
    """
    return "imported" not in run_info(folder).facts


def rows_of_run(folder: Path) -> Iterator[Instance]:
    """Yield each row once with its metadata, also if another row has the same texts. Raises a
    RunError if the run does not hold the rows' texts.

    If an application did not answer a row, it is marked, see ``is_unanswered``.
    """
    # How often a judge has judged these texts by a criterion, and how many rows have them.
    judged, yielded = Counter[tuple[str, str, int]](), Counter[int]()
    for record in records_of(folder):
        if names_only(record.input):
            raise RunError(
                "{folder} contains the names of its rows but not their texts, so they cannot be "
                "judged again",
                folder=folder,
            )
        systems = record.detail.named_systems
        metadata = {
            name: value
            for name, value in (
                ("row", dict(record.input)),
                ("systems", list(systems)),
                (_UNANSWERED, _lacks_answer(record)),
            )
            if value
        }
        instance = Instance(
            record.fields, record.id, {"place": record.id or f"row {record.row}", **metadata}
        )
        texts = hash(instance.identity)
        place = (record.judge, record.criterion, texts)
        judged[place] += 1
        if judged[place] > yielded[texts]:
            yielded[texts] += 1
            yield instance


def distinct_rows_of_run(folder: Path) -> Iterator[Instance]:
    """Yield the answered rows of a run, one for rows with the same texts."""
    seen_rows: set[int] = set()
    for row in rows_of_run(folder):
        texts = hash(row.identity)
        if texts not in seen_rows and not is_unanswered(row):
            seen_rows.add(texts)
            yield row


def is_unanswered(instance: Instance) -> bool:
    """Return True for a row of a run that its application did not answer: there is nothing to
    judge.
    """
    return _UNANSWERED in instance.metadata


def _lacks_answer(record: JudgmentRecord) -> bool:
    asked_application = "system" in record.input or bool(record.detail.named_systems)
    return asked_application and record.status == "failed" and "response" not in record.fields


def places_of_run(folder: Path) -> Iterator[tuple[JudgmentRecord, tuple[str, int]]]:
    """Yield every judgment with its row's id and position, which all judges of the row share.

    Several rows may have the same id.
    """
    criteria: dict[str, dict[int, str]] = {}
    for record in records_of(folder):
        criteria.setdefault(record.judge, {})[record.index] = record.criterion
    widths = {judge: _width(criterion_by_index) for judge, criterion_by_index in criteria.items()}
    for record in records_of(folder):
        yield record, (record.id or "", record.index // widths[record.judge])


def _width(criteria: Mapping[int, str]) -> int:
    """Return the number of judgments per row: one, unless the judge's criteria alternate."""
    width = len(set(criteria.values()))
    turns = {(index % width, criterion) for index, criterion in criteria.items()}
    return width if len(turns) == width else 1
