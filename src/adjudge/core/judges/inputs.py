"""Turn the callers' input into instances and criteria: texts, mappings, rows of data frames and
data sets, questions, and ready-made names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from adjudge.core.catalog.criteria import criteria_of
from adjudge.core.catalog.entry import Kind
from adjudge.core.data.columns import (
    ALIASES,
    CHATS,
    Columns,
    call_fields,
    chat_fields,
    column_for,
    column_in,
    fold_name,
    holds_chat,
    is_id,
    text_of,
)
from adjudge.core.data.dataset import ReferenceValues, check_responses, comparison_of
from adjudge.core.data.sources.opener import is_data_file, is_table, refuse_document, table_rows
from adjudge.core.data.sources.row import Cells, Row
from adjudge.core.data.sources.trace_pieces import refusal_of, trace_of
from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance, PairwiseInstance, answer_text
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.errors import SetupError
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge.data")
_LOOKED_AT_FIRST = 100
"""Rows in which a column of labels is looked for."""
T = TypeVar("T")
CriteriaLike = str | Criteria
MultiCriteriaLike = MultiCriteria | Iterable[MultiCriteriaItem | Criteria | str]
Fields = dict[str, str | Sequence[str]]
# Methods that turn a lazy frame of polars, or a reader or data set of Arrow, into a table.
_READS = ("collect", "read_all", "to_table")


class Frame(Protocol):
    """A data frame, such as one from pandas or polars."""

    @property
    def columns(self) -> object:
        """The names of its columns."""
        ...


class DataSet(Protocol):
    """A data set with rows, such as one from Hugging Face or Arrow."""

    @property
    def column_names(self) -> object:
        """The names of its columns."""
        ...


def is_one(given: object) -> bool:
    """Return True if the caller gave one thing to judge rather than many."""
    return isinstance(given, str | Path | Mapping | Instance | int | float)


def one_or_all(given: object, results: list[T]) -> T | list[T]:
    """Return a single result if the caller passed a single item, else the list of results."""
    return results[0] if is_one(given) else results


def items_of(given: object) -> list[Any]:
    """Return the caller's input as a list; a data frame or a data set gives its rows."""
    if is_one(given):
        items = [given]
    elif isinstance(given, Sequence):
        items = list(given)
    elif is_table(given):
        items = list(table_rows(given))
    elif reads := next((name for name in _READS if hasattr(given, name)), None):
        raise SetupError(
            "a {name} has not read its rows yet: pass the result of its {reads}()",
            name=type(given).__name__,
            reads=reads,
        )
    elif isinstance(given, Iterable):
        items = list(given)
    else:
        raise SetupError(
            "the input must be a string, an Instance, a data frame or a list, not {name}",
            name=type(given).__name__,
        )
    _refuse_files(items)
    for item in items:
        cells = item.cells if isinstance(item, Row) else item
        if isinstance(cells, Mapping) and (trace := trace_of(cells)):
            raise SetupError(refusal_of("the data", trace))
    return items


def warn_of_labels(judged: Iterable[tuple[Instance, Criteria]]) -> None:
    """Log a warning if rows hold labels that the judge would see, under a name of the reference.

    Criteria that name the fields that they read are not questioned.
    """
    seen = [
        (instance.fields, row)
        for instance, criteria in judged
        if criteria.context_fields is None
        and isinstance(row := instance.metadata.get("row"), Mapping)
    ]
    first_rows = (row for _, row in seen[:_LOOKED_AT_FIRST])
    column = next((name for row in first_rows if (name := column_for("reference", row))), None)
    if column is None or column == "reference":
        return
    references = ReferenceValues(column)
    for fields, _ in seen:
        references.add(fields.get("reference", fields.get(column)))
    if labels := references.labels(""):
        _LOG.warning(labels.in_program)


def as_instance(item: object, field: str, also: Sequence[str] = ()) -> Instance:
    """Return a text, mapping of fields, row or instance as an instance; raise a SetupError for
    others.

    ``also``: columns of a table row that become fields, too, whatever they are called.
    """
    if isinstance(item, Instance):
        return item
    if isinstance(item, Row):
        return row_instance(item, also)
    if isinstance(item, Mapping):
        return mapping_instance(item)
    if (text := answer_text(item)) is not None:
        return Instance(fields={field: text})
    raise SetupError(
        "the input must be a string, an Instance or a list of them, not {name}",
        name=type(item).__name__,
    )


def row_instance(row: Row, also: Sequence[str] = ()) -> Instance:
    """Return a table row as an instance: the columns named like fields and those in ``also``, or
    all columns if none is.

    ``fit_to_criteria`` later adds the other columns that the criteria read.
    """
    cells, place = row.cells, Message("row {row}", row=row.number)
    if isinstance(cells, Instance):
        return cells
    columns = Columns({}, (), None)
    try:
        fields = columns.fields(cells) or texts_of(
            {name: cell for name, cell in cells.items() if not is_id(name)}
        )
        wanted = {name: cells[name] for name in also if name in cells and name not in fields}
        fields = {**fields, **texts_of(wanted)}
    except ValueError as error:
        raise SetupError("{place}: {error}", place=place, error=error) from None
    columns.refuse_doubles(cells, Message("the data frame"))
    if not fields:
        raise SetupError(
            "{place} is empty; its columns are {cells}", place=place, cells=", ".join(cells)
        )
    return Instance(fields, columns.name(cells) or place, {"place": place, "row": cells})


def mapping_instance(cells: Cells) -> Instance:
    """Return a mapping as an instance: every key but ``id`` is a field; empty values (None, NaN)
    are left out.
    """
    tables = [key for key, value in cells.items() if is_table(value)]
    if tables:
        raise SetupError(
            "this contains several data sets ({tables}): give one, such as data[{example!r}]",
            tables=", ".join(map(str, tables)),
            example=tables[0],
        )
    name = Columns({}, (), None).name(cells) if len(cells) > 1 else None
    field_cells = {key: cell for key, cell in cells.items() if name is None or not is_id(key)}
    try:
        fields = texts_of(field_cells)
    except ValueError as error:
        raise SetupError(str(error)) from None
    # what it refuses, it names
    return Instance(fields or field_cells, name, {"row": dict(cells)})  # type: ignore[arg-type]


def comparison_instance(item: Row | Cells) -> Instance:
    """Return an instance with the responses to compare, from a list or from numbered columns, and
    its other fields.
    """
    try:
        if not isinstance(item, Row):
            single = mapping_instance(item)
            check_responses(item, single.fields)
            return PairwiseInstance(single.fields, single.id, single.metadata)
        cells, place = item.cells, Message("row {row}", row=item.number)
        return (
            cells
            if isinstance(cells, Instance)
            else comparison_of(cells, Columns({}, (), None).name(cells) or place, place)
        )
    except ValueError as error:
        raise SetupError(
            Message("row {row}: {error}", row=item.number, error=error)
            if isinstance(item, Row)
            else str(error)
        ) from None


def fit_to_criteria(instance: Instance, criteria: Criteria) -> Instance:
    """Add the fields that the criterion reads from the instance's row, also under the names other
    tools use.

    Raise a SetupError if there is nothing to judge.
    """
    row = instance.metadata.get("row")
    if not isinstance(row, Mapping):
        _refuse_other_field(instance.fields, criteria, instance.id)
        return instance
    read = (*(criteria.context_fields or ()), criteria.to_evaluate_field)
    fields = _from_chat(instance, row, criteria.to_evaluate_field)
    for name in read:
        column = column_for(name, row)
        text = None if name in fields or column is None else _text(row[column], column, name)
        if text is not None and column is not None:
            fields = {
                field: value for field, value in fields.items() if field != column or field in read
            } | {name: text}
    _check_judged(fields, row, criteria, instance.id)
    return instance if fields == instance.fields else replace(instance, fields=fields)


# The judged part of a chat: the last answer, or the last call of a tool.
_IN_CHATS = {"response": chat_fields, "tool_call": call_fields}


def _from_chat(instance: Instance, row: Cells, judged_name: str) -> Fields:
    """Return the fields; read the judged one from the row's chat if it has no column."""
    fields: Fields = dict(instance.fields)
    column = (
        None
        if judged_name in fields or column_for(judged_name, row) is not None
        else column_in(row, *CHATS)
    )
    if column is None or judged_name not in _IN_CHATS or not holds_chat(row[column]):
        return fields
    fields_without_chat = {
        name: value for name, value in fields.items() if column not in (name, column_for(name, row))
    }
    try:
        return {**fields_without_chat, **_IN_CHATS[judged_name](row[column], column)}
    except ValueError as error:
        raise SetupError(
            "{id}: {error}", id=instance.id or Message("the instance"), error=error
        ) from None


def _check_judged(fields: Fields, row: Cells, criteria: Criteria, name: str | None) -> None:
    """Raise a SetupError if a row lacks its answer, so that its question is not judged instead."""
    columns = [column for column in row if not is_id(column)]
    judged_name = criteria.to_evaluate_field
    _refuse_other_field(fields, criteria, name, columns)
    if judged_name in fields or len(fields) > 1 or len(columns) == 1:
        return
    (only,) = fields
    was_meant = set(map(fold_name, (judged_name, *ALIASES.get(judged_name, ()))))
    if only in ALIASES or any(
        fold_name(str(column)) in was_meant or _text(row[column], str(column)) is None
        for column in columns
    ):
        raise SetupError(
            "{name} has nothing to judge: criterion {criteria_name!r} reads the field "
            "{judged!r}, but the row has: {columns}",
            name=name or Message("the instance"),
            criteria_name=criteria.name,
            judged=judged_name,
            columns=", ".join(map(str, columns)),
        )


def _refuse_other_field(
    fields: Cells, criteria: Criteria, name: str | None, keys: Iterable[object] = ()
) -> None:
    """Raise a SetupError if the only field is, by its name, a question, sources or a reference.

    A single field of any other name is the judged one.
    """
    judged_name = criteria.to_evaluate_field
    if judged_name in fields or len(fields) > 1:
        return
    (only,) = fields
    field_name = next(
        (
            field
            for field, names in ALIASES.items()
            if fold_name(only) in map(fold_name, (field, *names))
        ),
        judged_name,
    )
    if field_name in (judged_name, "response"):
        return
    meant = set(map(fold_name, (judged_name, *ALIASES.get(judged_name, ()))))
    empty = next((str(key) for key in keys if fold_name(str(key)) in meant), None)
    if empty is not None:
        raise SetupError(
            "{name} has nothing to judge: {column!r} is empty",
            name=name or Message("the instance"),
            column=empty,
        )
    raise SetupError(
        "{name} has nothing to judge: criterion {criteria_name!r} reads the field {judged!r}, "
        "but the only fields are: {keys}. Pass the text to judge as {judged!r}",
        name=name or Message("the instance"),
        criteria_name=criteria.name,
        judged=judged_name,
        keys=", ".join(map(str, keys or fields)),
    )


def _text(value: object, column: str, field: str = "") -> str | list[str] | None:
    try:
        return text_of(value, column, field)
    except ValueError as error:
        raise SetupError(str(error)) from None


def texts_of(cells: Cells) -> Fields:
    """Return the non-empty cells as texts."""
    texts = {
        # Left for the caller to refuse: a set has another order in each process.
        str(name): value if isinstance(value, Set) else text_of(value, str(name))
        for name, value in cells.items()
    }
    return {name: text for name, text in texts.items() if text is not None}  # type: ignore[misc]


def _refuse_files(items: Sequence[object]) -> None:
    """Raise a SetupError if every item is a path or the name of a data file."""
    # One file name among many texts is fine: a model may well have answered with it.
    if not items or not all(
        isinstance(item, Path) or (isinstance(item, str) and is_data_file(item)) for item in items
    ):
        return
    name = str(items[0])
    refuse_document(Path(name))
    raise SetupError(
        "{name!r} is a file, so its name would be judged instead of its contents. Pass its rows, "
        "such as a data frame, or use adjudge.run with an eval file, or --file {name} on the "
        "command line. To judge this exact text, pass it as an Instance",
        name=name,
    )


def as_criteria(given: CriteriaLike, kind: Kind, language: str) -> Criteria:
    """Return criteria for a text: the ready-made ones that it names, else a yes/no question.

    ``Criteria`` are returned unchanged.
    """
    if isinstance(given, Criteria):
        return given
    if isinstance(given, str):
        return criteria_of(given, kind, language)
    raise SetupError(
        "criteria must be a question or a Criteria object, not {name}", name=type(given).__name__
    )


def as_multi_criteria(given: MultiCriteriaLike, kind: Kind, language: str) -> MultiCriteria:
    """Return several criteria as a MultiCriteria; texts are read as in ``as_criteria``, with equal
    weights.
    """

    def ready_made(item: MultiCriteriaItem) -> MultiCriteriaItem:
        """Look up an item in the catalogue if MultiCriteria, which cannot access it, created the
        item from a string.
        """
        criterion = item.criterion
        was_text = criterion.name == criterion.description and criterion == yes_no_criteria(
            criterion.name
        )
        return (
            replace(item, criterion=as_criteria(criterion.name, kind, language))
            if was_text
            else item
        )

    if isinstance(given, MultiCriteria):
        return replace(given, items=tuple(map(ready_made, given.items)))
    several = [given] if isinstance(given, str | Criteria | MultiCriteriaItem) else given
    return MultiCriteria.of(
        [
            as_criteria(entry, kind, language) if isinstance(entry, str) else entry
            for entry in several
        ]
    )
