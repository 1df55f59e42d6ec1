"""Rows of any source as instances with a question, an answer and what lies behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.data.columns import column_for
from adjudge.data.dataset import BlankRows, Source, choose_columns, read_instances
from adjudge.data.ids import ID_ALIASES
from adjudge.domain.instance import Instance
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.rag.dimensions import Dimension, chosen, rag_dimensions, read_dimensions
from adjudge.rag.measures import RagMeasure, chosen_measures

Row = Mapping[str, str | Sequence[str]] | Instance
MAY_BE_ABSENT = ("history", "contexts")
"""A row need not have these: the prompt then says that there is nothing."""


@dataclass(frozen=True)
class RagRows:
    """What is judged, and where it came from."""

    instances: list[Instance]
    """Each with the row it was made of in ``metadata["row"]``."""
    columns: Mapping[str, str]
    """Field → the column it was taken from."""
    blank: BlankRows | None = None
    """Rows that held nothing and were passed over."""


def read_rows(
    source: Source,
    dimensions: Sequence[Dimension],
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    measures: Sequence[RagMeasure] = (),
    sources: Sequence[str] = (),
) -> RagRows:
    """The rows of a file, or mappings and instances as they are. Columns are found by the usual
    names.

    ``sources``: further fields that a file must have a column for.
    """
    needed = [*needed_fields(dimensions, measures), *sources]
    read = [*needed_fields(dimensions), *sources]
    if isinstance(source, list) and source and all(isinstance(row, Instance) for row in source):
        _require_keys(source[:limit], columns or {}, read)
        return RagRows(source[:limit], {name: name for name in source[0].fields})
    blank: list[BlankRows] = []
    must, also = must_have(dimensions, measures), may_have(measures)
    found = list(
        read_instances(source, columns, limit, must, also=also, on_blank_rows=blank.append)
    )
    taken = columns_of(found[0], columns or {}, source, needed)
    if not isinstance(source, str | Path):
        _require_keys(found, columns or {}, read)
    return RagRows(found, taken, *blank)


def needed_fields(
    dimensions: Sequence[Dimension], measures: Sequence[RagMeasure] = ()
) -> list[str]:
    """The fields that there must be a column for.

    A conversation before the question is not needed.
    """
    read = [name for one in dimensions for name in one.reads or (one.criteria.to_evaluate_field,)]
    read += [name for one in measures for name in one.reads]
    return [name for name in dict.fromkeys(read) if name != "history"]


def must_have(dimensions: Sequence[Dimension], measures: Sequence[RagMeasure] = ()) -> list[str]:
    """The fields that every row must have; without one a measure has no number, and the row is
    judged all the same.
    """
    undefined = (*MAY_BE_ABSENT, "reference", *ID_ALIASES)
    scored = needed_fields(dimensions)
    return [
        name
        for name in needed_fields(dimensions, measures)
        if name not in (MAY_BE_ABSENT if name in scored else undefined)
    ]


def may_have(measures: Sequence[RagMeasure]) -> list[str]:
    """Fields that are looked for only because a measure reads them."""
    return [name for name in needed_fields((), measures) if name in ID_ALIASES]


def fields_by_name(
    dimensions: Sequence[str], measures: Sequence[str], config: Path | None, language: str
) -> tuple[list[str], list[str]]:
    """(fields that every row must have, the answer first; fields that are taken where they are
    there) of what is asked for.
    """
    known = read_dimensions(config, language) if config else rag_dimensions(language)
    asked = chosen_measures(measures, {}, language) if measures else ()
    must = must_have(chosen(known, dimensions or None), asked)
    return sorted(must, key=lambda name: name != "response"), may_have(asked)


def columns_of(
    first: Instance, wanted: Mapping[str, str], source: Source, needed: Sequence[str]
) -> Mapping[str, str]:
    """Field → the column that it was taken from.

    A file must have a column for each of the ``needed``.
    """
    row = first.metadata.get("row")
    if not isinstance(row, Mapping):
        return {name: name for name in first.fields}
    must = (
        needed
        if isinstance(source, str | Path)
        else [name for name in needed if name not in MAY_BE_ABSENT]
    )
    return choose_columns(
        list(row), wanted, source if isinstance(source, str | Path) else Message("the rows"), must
    )


def _require_keys(
    found: Sequence[Instance], wanted: Mapping[str, str], read: Sequence[str]
) -> None:
    """Say so when a row of the caller's has no key for a field that may be empty: it is there under
    another name, and a judge would be told that there is nothing. A file has its columns once for
    all rows.
    """
    for name in MAY_BE_ABSENT:
        if name not in read or name in wanted:
            continue
        for number, one in enumerate(found, 1):
            keys = list(_keys(one))
            if name not in one.fields and column_for(name, keys) is None:
                raise SetupError(
                    "{id} has no {name!r}, which the answer is judged by; it has: {keys}. "
                    "Say which key it is with columns={{{name!r}: 'KEY'}}, or give "
                    "{name!r}: [] where there is nothing",
                    id=one.id or Message("row {number}", number=number),
                    name=name,
                    keys=", ".join(keys),
                )


def _keys(one: Instance) -> Iterable[str]:
    row = one.metadata.get("row")
    return map(str, row) if isinstance(row, Mapping) else one.fields


def check_fields(instance: Instance, dimension: Dimension, absent: Mapping[str, str]) -> None:
    """Say so when a row lacks a field that the dimension reads."""
    for name in dimension.reads or (dimension.criteria.to_evaluate_field,):
        if name not in instance.fields and name not in absent:
            found = ", ".join(sorted(instance.fields))
            raise SetupError(
                "the dimension {name!r} reads the field {field!r}; the row has only: {found}",
                name=dimension.name,
                field=name,
                found=found,
            )


def shown(instance: Instance, dimension: Dimension, absent: Mapping[str, str]) -> Instance:
    """What one dimension sees of a row: its own fields and no other, with a word for those that
    hold nothing.
    """
    fields = {name: value for name, value in instance.fields.items() if not _blank(value)}
    reads = dimension.reads or tuple(dict.fromkeys((*fields, dimension.criteria.to_evaluate_field)))
    judged = {name: instance.fields[name] for name in reads if name in instance.fields}
    stand_ins = {name: absent[name] for name in reads if name in absent and name not in fields}
    return replace(
        instance,
        fields={
            name: value
            for name in reads
            if (value := {**judged, **stand_ins}.get(name)) is not None
        },
    )


def _blank(value: str | Sequence[str]) -> bool:
    return not "".join(value).strip()
