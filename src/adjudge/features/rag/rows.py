"""Rows of any source as instances with a question, an answer and what lies behind it."""

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
from adjudge.features.rag.dimensions import Dimension, chosen, rag_dimensions, read_dimensions
from adjudge.features.rag.measures import RagMeasure, chosen_measures
from adjudge.messages import Message

Row = GivenFields | Instance
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
    wanted = fields_of(dimensions, measures, sources)
    if isinstance(source, list) and source and all(isinstance(row, Instance) for row in source):
        _require_keys(source[:limit], wanted.may_be_empty)
        return RagRows(source[:limit], {name: name for name in source[0].fields})
    blank: list[BlankRows] = []
    try:
        found = list(
            read_instances(
                source,
                columns,
                limit,
                wanted.needed,
                also=wanted.also,
                may_be_empty=wanted.may_be_empty,
                on_blank_rows=blank.append,
            )
        )
        taken = columns_of(found[0], columns or {}, source, needed)
    except WrongData as error:
        if isinstance(source, str | Path) or isinstance(error, NothingToJudge):
            raise
        raise SetupError(error.message) from error
    _require_keys(found, wanted.may_be_empty)
    return RagRows(found, taken, *blank)


class RagFields(NamedTuple):
    """What is looked for in a row."""

    needed: Sequence[str]
    """Every row must have these, the answer first."""
    may_be_empty: Sequence[str]
    """Every row of a file has a column for these, which may hold nothing."""
    also: Sequence[str]
    """Taken where they are there."""


def fields_of(
    dimensions: Sequence[Dimension],
    measures: Sequence[RagMeasure] = (),
    sources: Sequence[str] = (),
) -> RagFields:
    """What the dimensions, the measures and the look-up of evidence (``sources``) read."""
    scored = [*needed_fields(dimensions), *sources]
    return RagFields(
        sorted(must_have(dimensions, measures), key=lambda name: name != "response"),
        [name for name in scored if name in MAY_BE_ABSENT],
        [name for name in needed_fields((), measures) if name in ID_ALIASES],
    )


def needed_fields(
    dimensions: Sequence[Dimension], measures: Sequence[RagMeasure] = ()
) -> list[str]:
    """The fields that there must be a column for.

    A conversation before the question is not needed.
    """
    read = [name for one in dimensions for name in one.reads or (one.criteria.to_evaluate_field,)]
    read += [name for one in measures for name in one.reads]
    return [name for name in dict.fromkeys(read) if name != "history"]


def must_have(dimensions: Sequence[Dimension], measures: Sequence[RagMeasure]) -> list[str]:
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


def fields_by_name(
    dimensions: Sequence[str],
    measures: Sequence[str],
    config: Path | None,
    language: str,
    sources: Sequence[str],
) -> RagFields:
    """The same of dimensions and measures that are named, as eval files do."""
    known = read_dimensions(config, language) if config else rag_dimensions(language)
    asked = chosen_measures(measures, {}, language) if measures else ()
    return fields_of(chosen(known, dimensions or None), asked, sources)


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
        list(row), wanted, source if isinstance(source, str | Path) else Message("the data"), must
    )


def _require_keys(found: Sequence[Instance], may_be_empty: Sequence[str]) -> None:
    """Say so when an instance has nothing by the name of a field that may be empty: it is there
    under another name, and a judge would be told that there is nothing.
    """
    for name in may_be_empty:
        for number, one in enumerate(found, 1):
            keys = list(_keys(one))
            if name not in one.fields and column_for(name, keys) is None:
                raise SetupError(
                    "{id} has no {name!r}, which the answer is judged by; it has: {keys}. "
                    "Give {name!r}: [] where there is nothing",
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
    fields = {name: value for name, value in instance.fields.items() if "".join(value).strip()}
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
