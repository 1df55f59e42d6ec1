"""Rows of any source as instances with a question, an answer and the retrieved texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from adjudge.core.data.columns import column_for
from adjudge.core.data.dataset import BlankRows, Source, choose_columns, read_instances
from adjudge.core.data.ids import ID_ALIASES
from adjudge.core.domain.instance import GivenFields, Instance
from adjudge.errors import NothingToJudge, SetupError, WrongData
from adjudge.features.rag.dimensions import (
    Dimension,
    choose_dimensions,
    rag_dimensions,
    read_dimensions,
)
from adjudge.features.rag.measures import RagMeasure, chosen_measures
from adjudge.messages import Message

Row = GivenFields | Instance
MAY_BE_ABSENT = ("history", "contexts")
"""A row need not have these: the prompt then says that there is nothing."""


@dataclass(frozen=True)
class RagRows:
    """The instances to judge, and the columns they came from."""

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
    """Return the rows of a file or list as instances, and the columns they came from.

    Columns are found by their usual names; Instances are taken as they are. ``sources`` are further
    fields for which a file needs a column.
    """
    needed = [*needed_fields(dimensions, measures), *sources]
    fields = fields_of(dimensions, measures, sources)
    if isinstance(source, list) and source and all(isinstance(row, Instance) for row in source):
        _require_keys(source[:limit], fields.may_be_empty)
        return RagRows(source[:limit], {name: name for name in source[0].fields})
    blank: list[BlankRows] = []
    try:
        instances = list(
            read_instances(
                source,
                columns,
                limit,
                fields.needed,
                also=fields.also,
                may_be_empty=fields.may_be_empty,
                on_blank_rows=blank.append,
            )
        )
        chosen_columns = columns_of(instances[0], columns or {}, source, needed)
    except WrongData as error:
        # rows of a list were given by a program: there the setup is wrong, not the data
        if isinstance(source, str | Path) or isinstance(error, NothingToJudge):
            raise
        raise SetupError(error.message) from error
    _require_keys(instances, fields.may_be_empty)
    return RagRows(instances, chosen_columns, *blank)


class RagFields(NamedTuple):
    """The fields that are looked for in a row."""

    needed: Sequence[str]
    """Every row must have these, the answer first."""
    may_be_empty: Sequence[str]
    """Every row of a file has a column for these, which may hold nothing."""
    also: Sequence[str]
    """Optional fields."""


def fields_of(
    dimensions: Sequence[Dimension],
    measures: Sequence[RagMeasure] = (),
    sources: Sequence[str] = (),
) -> RagFields:
    """Return the fields that dimensions, measures and the look-up of evidence (``sources``)
    read.
    """
    scored = [*needed_fields(dimensions), *sources]
    return RagFields(
        sorted(must_have(dimensions, measures), key=lambda name: name != "response"),
        [name for name in scored if name in MAY_BE_ABSENT],
        [name for name in needed_fields((), measures) if name in ID_ALIASES],
    )


def needed_fields(
    dimensions: Sequence[Dimension], measures: Sequence[RagMeasure] = ()
) -> list[str]:
    """Return the fields that need a column."""
    read = [
        name
        for reader in dimensions
        for name in reader.reads or (reader.criteria.to_evaluate_field,)
    ]
    read += [name for reader in measures for name in reader.reads]
    # a question may have no conversation before it
    return [name for name in dict.fromkeys(read) if name != "history"]


def must_have(dimensions: Sequence[Dimension], measures: Sequence[RagMeasure]) -> list[str]:
    """Return the fields that every row must have.

    A row without another field is judged all the same; a measure that reads it then has no value.
    """
    undefined = (*MAY_BE_ABSENT, "reference", *ID_ALIASES)
    scored = needed_fields(dimensions)
    return [
        name
        for name in needed_fields(dimensions, measures)
        if name not in (MAY_BE_ABSENT if name in scored else undefined)
    ]


def fields_by_name(
    dimensions: Sequence[str],
    measures: Sequence[str],
    config: Path | None,
    language: str,
    sources: Sequence[str],
) -> RagFields:
    """Like fields_of, but for dimensions and measures given by name, as in eval files."""
    available = read_dimensions(config, language) if config else rag_dimensions(language)
    wanted_measures = chosen_measures(measures, {}, language) if measures else ()
    return fields_of(choose_dimensions(available, dimensions or None), wanted_measures, sources)


def columns_of(
    first: Instance, wanted: Mapping[str, str], source: Source, needed: Sequence[str]
) -> Mapping[str, str]:
    """Map fields to the columns they were taken from.

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
        list(row), wanted, source if isinstance(source, str | Path) else Message("the data"), must
    )


def _require_keys(instances: Sequence[Instance], may_be_empty: Sequence[str]) -> None:
    """Raise a SetupError if an instance lacks a field that may be empty.

    The field probably has another name, and the judge would be told that it is empty.
    """
    for name in may_be_empty:
        for number, instance in enumerate(instances, 1):
            keys = list(_keys(instance))
            if name not in instance.fields and column_for(name, keys) is None:
                raise SetupError(
                    "{id} has no {name!r}, which is needed to judge the answer; it has: {keys}. "
                    "Pass {name!r}: [] if there are none",
                    id=instance.id or Message("row {number}", number=number),
                    name=name,
                    keys=", ".join(keys),
                )


def _keys(instance: Instance) -> Iterable[str]:
    row = instance.metadata.get("row")
    return map(str, row) if isinstance(row, Mapping) else instance.fields


def check_fields(instance: Instance, dimension: Dimension, absent: Mapping[str, str]) -> None:
    """Raise a SetupError if a row lacks a field that the dimension reads."""
    for name in dimension.reads or (dimension.criteria.to_evaluate_field,):
        if name not in instance.fields and name not in absent:
            names = ", ".join(sorted(instance.fields))
            raise SetupError(
                "the dimension {name!r} reads the field {field!r}, but the row has only: {found}",
                name=dimension.name,
                field=name,
                found=names,
            )


def show_to_dimension(
    instance: Instance, dimension: Dimension, absent: Mapping[str, str]
) -> Instance:
    """Return the instance with only the fields that the dimension reads, and stand-in texts for
    empty ones.
    """
    fields = {name: value for name, value in instance.fields.items() if "".join(value).strip()}
    reads = dimension.reads or tuple(dict.fromkeys((*fields, dimension.criteria.to_evaluate_field)))
    own_values = {name: instance.fields[name] for name in reads if name in instance.fields}
    stand_ins = {name: absent[name] for name in reads if name in absent and name not in fields}
    return replace(
        instance,
        fields={
            name: value
            for name in reads
            if (value := {**own_values, **stand_ins}.get(name)) is not None
        },
    )
