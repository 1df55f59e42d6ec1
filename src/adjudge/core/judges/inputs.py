"""What callers hand to a judge: texts, mappings, and the rows of data frames and data sets, as
instances; questions and ready-made names, as criteria.
"""

from __future__ import annotations

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
    folded,
    holds_chat,
    is_id,
    text_of,
)
from adjudge.core.data.dataset import check_responses, comparison_of
from adjudge.core.data.sources.opener import is_data_file, is_table, refuse_document, table_rows
from adjudge.core.data.sources.row import Cells, Row
from adjudge.core.data.sources.trace_pieces import refusal_of, trace_of
from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance, PairwiseInstance, answer_text
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.errors import SetupError
from adjudge.messages import Message

T = TypeVar("T")
CriteriaLike = str | Criteria
MultiCriteriaLike = MultiCriteria | Iterable[MultiCriteriaItem | Criteria | str]
Fields = dict[str, str | Sequence[str]]
_READS = ("collect", "read_all", "to_table")
"""What makes a table of a lazy frame of polars, a reader and a data set of Arrow."""


class Frame(Protocol):
    """A data frame of pandas, polars or their like."""

    @property
    def columns(self) -> object:
        """The names of its columns."""
        ...


class DataSet(Protocol):
    """A data set of rows, such as those of Hugging Face and of Arrow."""

    @property
    def column_names(self) -> object:
        """The names of its columns."""
        ...


def is_one(given: object) -> bool:
    """Whether the caller gave one thing to judge rather than many."""
    return isinstance(given, str | Path | Mapping | Instance | int | float)


def one_or_all(given: object, results: list[T]) -> T | list[T]:
    """The only result if the caller gave one thing to judge, else all of them."""
    return results[0] if is_one(given) else results


def items_of(given: object, reader: str = "read_instances") -> list[Any]:
    """What the caller gave, one or many, as a list; of a data frame or a data set its rows.

    ``reader``: what reads the rows of a file for this kind of judge, for whoever gave the file's
    name instead.
    """
    if is_one(given):
        items = [given]
    elif isinstance(given, Sequence):
        items = list(given)
    elif is_table(given):
        items = list(table_rows(given))
    elif reads := next((name for name in _READS if hasattr(given, name)), None):
        raise SetupError(
            "a {name} has not read its rows yet: give what its {reads}() returns",
            name=type(given).__name__,
            reads=reads,
        )
    elif isinstance(given, Iterable):
        items = list(given)
    else:
        raise SetupError(
            "what is judged must be a text, an Instance, a data frame or a list, not {name}",
            name=type(given).__name__,
        )
    _refuse_files(items, reader)
    _refuse_traces(items)
    return items


def as_instance(item: object, field: str) -> Instance:
    """One text, mapping of fields, row or instance, as an instance."""
    if isinstance(item, Instance):
        return item
    if isinstance(item, Row):
        return row_instance(item)
    if isinstance(item, Mapping):
        return mapping_instance(item)
    if (text := answer_text(item)) is not None:
        return Instance(fields={field: text})
    raise SetupError(
        "what is judged must be a text, an Instance or a list of them, not {name}",
        name=type(item).__name__,
    )


def row_instance(row: Row) -> Instance:
    """A row of a table: the columns that are called like our fields, and the others where none is.

    What criteria read beyond that is taken from the row when they are known: ``fitted``.
    """
    cells, place = row.cells, Message("row {row}", row=row.number)
    if isinstance(cells, Instance):
        return cells
    columns = Columns({}, (), None)
    try:
        fields = columns.fields(cells) or texts_of(
            {name: cell for name, cell in cells.items() if not is_id(name)}
        )
    except ValueError as error:
        raise SetupError("{place}: {error}", place=place, error=error) from None
    columns.refuse_doubles(cells, Message("the data frame"))
    if not fields:
        raise SetupError(
            "{place} holds nothing; its columns are {cells}", place=place, cells=", ".join(cells)
        )
    return Instance(fields, columns.name(cells) or place, {"place": place, "row": cells})


def mapping_instance(cells: Cells) -> Instance:
    """Every key is a field, but for an ``id`` beside them; what holds nothing (None, NaN) is left
    out.
    """
    tables = [name for name, value in cells.items() if is_table(value)]
    if tables:
        raise SetupError(
            "this holds data sets by name ({tables}): give one, such as data[{example!r}]",
            tables=", ".join(map(str, tables)),
            example=tables[0],
        )
    named = Columns({}, (), None).name(cells) if len(cells) > 1 else None
    beside = {name: cell for name, cell in cells.items() if named is None or not is_id(name)}
    try:
        fields = texts_of(beside)
    except ValueError as error:
        raise SetupError(str(error)) from None
    # what it refuses, it names
    return Instance(fields or beside, named, {"row": dict(cells)})  # type: ignore[arg-type]


def comparison_instance(item: Row | Cells) -> Instance:
    """Responses to compare, in a list or in columns that are numbered, with what stands beside
    them.
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


def fitted(instance: Instance, criteria: Criteria) -> Instance:
    """An instance that was made of a row, with every field the criteria read that the row has, by
    the names other tools use.
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
                other: value for other, value in fields.items() if other != column or other in read
            } | {name: text}
    _check_judged(fields, row, criteria, instance.id)
    return instance if fields == instance.fields else replace(instance, fields=fields)


_IN_CHATS = {"response": chat_fields, "tool_call": call_fields}
"""What is judged of a chat: the last answer, or the last call of a tool."""


def _from_chat(instance: Instance, row: Cells, judged: str) -> Fields:
    """The fields; where what is judged has no column of its own, as they stand in the chat that the
    row holds.
    """
    fields: Fields = dict(instance.fields)
    column = (
        None if judged in fields or column_for(judged, row) is not None else column_in(row, *CHATS)
    )
    if column is None or judged not in _IN_CHATS or not holds_chat(row[column]):
        return fields
    beside = {
        name: value for name, value in fields.items() if column not in (name, column_for(name, row))
    }
    try:
        return {**beside, **_IN_CHATS[judged](row[column], column)}
    except ValueError as error:
        raise SetupError(
            "{id}: {error}", id=instance.id or Message("the instance"), error=error
        ) from None


def _check_judged(fields: Fields, row: Cells, criteria: Criteria, name: str | None) -> None:
    """A row whose answer is missing is not judged by its question, only because nothing else is
    left of it.
    """
    columns = [column for column in row if not is_id(column)]
    judged = criteria.to_evaluate_field
    _refuse_other_field(fields, criteria, name, columns)
    if judged in fields or len(fields) > 1 or len(columns) == 1:
        return
    (only,) = fields
    was_meant = set(map(folded, (judged, *ALIASES.get(judged, ()))))
    if only in ALIASES or any(
        folded(str(column)) in was_meant or _text(row[column], str(column)) is None
        for column in columns
    ):
        raise SetupError(
            "{name} holds nothing to judge: criterion {criteria_name!r} reads the field "
            "{judged!r}; the row has: {columns}",
            name=name or Message("the instance"),
            criteria_name=criteria.name,
            judged=judged,
            columns=", ".join(map(str, columns)),
        )


def _refuse_other_field(
    fields: Cells, criteria: Criteria, name: str | None, keys: Iterable[object] = ()
) -> None:
    """A single field of any name is what is judged, but not one that by its name is the question,
    the sources, a reference.
    """
    judged = criteria.to_evaluate_field
    if judged in fields or len(fields) > 1:
        return
    (only,) = fields
    known = next(
        (field for field, names in ALIASES.items() if folded(only) in map(folded, (field, *names))),
        judged,
    )
    if known in (judged, "response"):
        return
    raise SetupError(
        "{name} holds nothing to judge: criterion {criteria_name!r} reads the field "
        "{judged!r}; it has only: {keys}. Give what is to be judged as {judged!r}",
        name=name or Message("the instance"),
        criteria_name=criteria.name,
        judged=judged,
        keys=", ".join(map(str, keys or fields)),
    )


def _text(value: object, column: str, field: str = "") -> str | list[str] | None:
    try:
        return text_of(value, column, field)
    except ValueError as error:
        raise SetupError(str(error)) from None


def texts_of(cells: Cells) -> Fields:
    """The cells that hold something.

    A set is left to be refused: it has another order in each process.
    """
    texts = {
        str(name): value if isinstance(value, Set) else text_of(value, str(name))
        for name, value in cells.items()
    }
    return {name: text for name, text in texts.items() if text is not None}  # type: ignore[misc]


def _refuse_traces(items: Sequence[object]) -> None:
    for item in items:
        cells = item.cells if isinstance(item, Row) else item
        if isinstance(cells, Mapping) and (trace := trace_of(cells)):
            raise SetupError(refusal_of("the data", trace))


def _refuse_files(items: Sequence[object], reader: str) -> None:
    """The name of a data file is not text to judge.

    One among many texts is: a model may well have answered with it.
    """
    if not items or not all(
        isinstance(item, Path) or (isinstance(item, str) and is_data_file(item)) for item in items
    ):
        return
    name = str(items[0])
    refuse_document(Path(name))
    raise SetupError(
        "{name!r} is a file, and its name would be judged: give its rows with "
        "adjudge.core.data.dataset.{reader}({name!r}), or use --file {name} on the command line. "
        "To judge this very text, give it as an Instance",
        name=name,
        reader=reader,
    )


def as_criteria(given: CriteriaLike, kind: Kind, language: str) -> Criteria:
    """A text that names ready-made criteria means those; any other is a question with the options
    Yes and No.
    """
    if isinstance(given, Criteria):
        return given
    if isinstance(given, str):
        return criteria_of(given, kind, language)
    raise SetupError("criteria are a question or a Criteria, not {name}", name=type(given).__name__)


def as_multi_criteria(given: MultiCriteriaLike, kind: Kind, language: str) -> MultiCriteria:
    """Texts as for one criterion, each with the same weight."""

    def ready_made(item: MultiCriteriaItem) -> MultiCriteriaItem:
        """A MultiCriteria makes questions of texts, since it does not know the catalogue."""
        asked = item.criterion
        was_text = asked.name == asked.description and asked == yes_no_criteria(asked.name)
        return (
            replace(item, criterion=as_criteria(asked.name, kind, language)) if was_text else item
        )

    if isinstance(given, MultiCriteria):
        return replace(given, items=tuple(map(ready_made, given.items)))
    several = [given] if isinstance(given, str | Criteria | MultiCriteriaItem) else given
    return MultiCriteria.of(
        [as_criteria(one, kind, language) if isinstance(one, str) else one for one in several]
    )
