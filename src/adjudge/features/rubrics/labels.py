"""People's labels of single points: a file with a row, a point and an answer per line."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.reading.values import text_in, unique_keys
from adjudge.errors import SetupError
from adjudge.features.rubrics.rubric import MET, NOT_MET

_MET = frozenset({"met", "yes", "true", "1", "да", "выполнен", "выполнено"})
_NOT_MET = frozenset({"not met", "no", "false", "0", "нет", "не выполнен", "не выполнено"})
_LONGEST_LINE = 10_000
_ROW, _POINT, _ANSWER = ("row", "row_id", "id"), ("point", "point_id"), ("answer", "label", "met")


@dataclass(frozen=True)
class PointLabels:
    """(row, point) → met or not met, by the majority of annotators."""

    answers: Mapping[tuple[str, str], str]
    tied: int = 0
    """Points on which as many annotators say met as not met: they have no label."""
    by_row: Mapping[str, Mapping[str, str]] = field(default_factory=FrozenDict)

    @property
    def rows(self) -> set[str]:
        return {row for row, _ in self.answers}

    def of_row(self, row: str | None) -> Mapping[str, str]:
        """Return point → label of a row."""
        return self.by_row.get(row or "", FrozenDict())


def read_labels(path: Path, name: str = "") -> PointLabels:
    """Read a CSV or JSONL file with the columns row, point and answer; other columns are ignored.

    If a point has several labels, the majority decides; a tie gives no label. ``name``: the file's
    name in errors, by default its path.
    """
    file_name = name or str(path)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for number, record in enumerate(_records(path, file_name), 1):
        row, point, answer = (
            _value(record, names, file_name, number) for names in (_ROW, _POINT, _ANSWER)
        )
        word = answer.casefold()
        if word not in _MET | _NOT_MET:
            raise SetupError(
                "{path}: label {number}: {answer!r} is neither met nor not met",
                path=file_name,
                number=number,
                answer=answer,
            )
        counts.setdefault((row, point), Counter())[MET if word in _MET else NOT_MET] += 1
    answers = {
        key: max(count, key=count.__getitem__)
        for key, count in counts.items()
        if count[MET] != count[NOT_MET]
    }
    by_row: dict[str, dict[str, str]] = {}
    for (row, point), answer in answers.items():
        by_row.setdefault(row, {})[point] = answer
    return PointLabels(answers, len(counts) - len(answers), by_row)


def holds_labels(path: Path) -> bool:
    """Return True if the first line of a file looks like labels of points."""
    if path.suffix not in (".csv", ".jsonl"):
        return False
    try:
        with path.open("rb") as file:
            first_line = file.readline(_LONGEST_LINE).decode("utf-8-sig")
    except (OSError, ValueError):  # the file is gone, or not a text
        return False
    if path.suffix == ".csv":
        names = set(next(csv.reader([first_line]), ()))
    else:
        try:
            record = json.loads(first_line)
        except ValueError:
            return False
        names = set(record) if isinstance(record, dict) else set()
    return all(names & {*alternatives} for alternatives in (_ROW, _POINT, _ANSWER))


def _records(path: Path, name: str) -> list[Mapping[str, object]]:
    text = text_in(path, name=name)
    if path.suffix == ".csv":
        return [dict(line) for line in csv.DictReader(io.StringIO(text))]
    if path.suffix != ".jsonl":
        raise SetupError("{path}: labels of points can be read from .csv and .jsonl", path=name)
    try:
        records = [
            json.loads(line, object_pairs_hook=unique_keys)
            for line in text.split("\n")
            if line.strip()
        ]
    except ValueError as error:
        raise SetupError("{path}: {error}", path=name, error=error) from None
    return records


def _value(record: object, names: tuple[str, ...], file_name: str, number: int) -> str:
    values = record if isinstance(record, Mapping) else {}
    value = next((values[name] for name in names if values.get(name) not in (None, "")), None)
    if value is None:
        raise SetupError(
            "{path}: label {number} has no {name}", path=file_name, number=number, name=names[0]
        )
    return str(value).strip()
