"""Rows of any source as instances with a question, an answer and what lies behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.domain.frozen import FrozenDict
from adjudge.domain.instance import Instance
from adjudge.errors import RunError, SetupError
from adjudge.rag.dimensions import Dimension
from adjudge.runs.dataset import choose_columns, read_instances

Row = Mapping[str, str | Sequence[str]] | Instance
Source = str | Path | Iterable[Row]
MAY_BE_ABSENT = ("history", "contexts")
"""A row need not have these: the prompt then says that there is nothing."""


@dataclass(frozen=True)
class Rows:
    """What is judged, and where it came from."""

    instances: list[Instance]
    """Each with the row it was made of in ``metadata["row"]``."""
    columns: Mapping[str, str]
    """Field → the column it was taken from."""


def read_rows(
    source: Source, dimensions: Sequence[Dimension], columns: Mapping[str, str] | None = None, limit: int | None = None
) -> Rows:
    """The rows of a file, or mappings and instances as they are. Columns are found by the usual names."""
    needed = needed_fields(dimensions)
    if isinstance(source, str | Path):
        path = Path(source)
        must = [name for name in needed if name not in MAY_BE_ABSENT]
        found = list(read_instances(path, columns, limit, must))
        return Rows(found, _columns(found[0], columns or {}, path, needed))
    given = [_instance(row, columns or {}, needed, number) for number, row in enumerate(source, 1)][:limit]
    if not given:
        raise RunError("there are no rows to judge")
    return Rows([one for one, _ in given], given[0][1])


def needed_fields(dimensions: Sequence[Dimension]) -> list[str]:
    """The fields that there must be a column for. A conversation before the question is not needed."""
    read = [name for one in dimensions for name in one.reads or (one.criteria.to_evaluate_field,)]
    return [name for name in dict.fromkeys(read) if name != "history"]


def _columns(first: Instance, wanted: Mapping[str, str], path: Path, needed: Sequence[str]) -> dict[str, str]:
    row = first.metadata.get("row")
    found = list(row) if isinstance(row, Mapping) else list(first.fields)
    return choose_columns(found, wanted, path, needed)


def _instance(row: Row, wanted: Mapping[str, str], needed: Sequence[str], number: int) -> tuple[Instance, Mapping[str, str]]:
    if isinstance(row, Instance):
        return row, {name: name for name in row.fields}
    taken = choose_columns(list(row), wanted, Path(f"row {number}"), [name for name in needed if name not in MAY_BE_ABSENT])
    fields = {field: row[column] for field, column in taken.items() if row.get(column) is not None}
    return Instance(fields, id=str(row.get("id") or number), metadata=FrozenDict({"row": row})), taken


def check_fields(instance: Instance, dimension: Dimension, absent: Mapping[str, str]) -> None:
    """Say so when a row lacks a field that the dimension reads."""
    for name in dimension.reads or (dimension.criteria.to_evaluate_field,):
        if name not in instance.fields and name not in absent:
            found = ", ".join(sorted(instance.fields))
            raise SetupError(f"the dimension {dimension.name!r} reads the field {name!r}; the row has only: {found}")


def shown(instance: Instance, dimension: Dimension, absent: Mapping[str, str]) -> Instance:
    """What one dimension sees of a row: its own fields and no other, with a word for those that hold nothing."""
    fields = {name: value for name, value in instance.fields.items() if not _blank(value)}
    reads = dimension.reads or tuple(dict.fromkeys((*fields, dimension.criteria.to_evaluate_field)))
    judged = {name: instance.fields[name] for name in reads if name in instance.fields}
    stand_ins = {name: absent[name] for name in reads if name in absent and name not in fields}
    return replace(instance, fields={name: value for name in reads if (value := {**judged, **stand_ins}.get(name)) is not None})


def _blank(value: str | Sequence[str]) -> bool:
    return not "".join(value).strip()
