"""Rows of a file, standard input, a data frame or a list as instances, streamed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Generic, TypedDict, TypeVar, Unpack, cast

from adjudge.core.data.columns import (
    ALIASES,
    Columns,
    cell_in,
    choose_columns,
    column_for,
    find_column,
    fold_name,
    is_blank_row,
    names_apart,
    nothing_in,
    text_of,
)
from adjudge.core.data.sources.opener import FORMATS, ROW_FILES, STDIN, Source, open_source
from adjudge.core.data.sources.row import (
    BadRow,
    BlankRows,
    Cells,
    EmptyAnswers,
    FileFormat,
    LabelsShown,
    Origin,
    OtherSheets,
    PlaceholderAnswers,
    Row,
    Rows,
    is_blank,
)
from adjudge.core.domain.instance import NUMBERED, Instance, PairwiseInstance, response_names
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import NothingToJudge, SetupError, WrongData
from adjudge.messages import Message

__all__ = [
    "ALIASES",
    "FORMATS",
    "ROW_FILES",
    "STDIN",
    "BadRow",
    "BlankRows",
    "EmptyAnswers",
    "LabelsShown",
    "OddRows",
    "OnBadRow",
    "OnBlankRows",
    "OnEmptyAnswers",
    "OtherSheets",
    "Source",
    "check_responses",
    "choose_columns",
    "comparison_of",
    "field_names",
    "read_comparisons",
    "read_instances",
]

N = TypeVar("N", BlankRows, EmptyAnswers)
OddRows = BadRow | BlankRows | EmptyAnswers | LabelsShown | OtherSheets
"""Reports of a row reader."""
OnBadRow = Callable[[BadRow], None]
OnBlankRows = Callable[[BlankRows], None]
OnEmptyAnswers = Callable[[EmptyAnswers], None]
_LOG = logging.getLogger("adjudge.data")
# Rows that are checked first. A column that none of them has is missing in the data, not in a row.
_LOOKED_AT_FIRST = 100
_ROWS_NAMED = 5
_PLACEHOLDERS = frozenset(
    ("nan", "<na>", "n/a", "#n/a", "none", "null", "nil", "nat", "#null!", "#ref!", "#value!")
)
# References are taken for labels if so few, so short ones each stand in so many rows on average.
_MOST_LABELS, _LONGEST_LABEL, _REPEATED = 5, 24, 4
# Columns that may hold a list of responses to compare.
_LISTS = ("response", "responses")


class RowHandlers(TypedDict, total=False):
    """Callbacks for rows that are broken, blank or without an answer."""

    on_bad_row: OnBadRow | None
    on_blank_rows: OnBlankRows | None
    on_empty_answers: OnEmptyAnswers | None
    on_other_sheets: Callable[[OtherSheets], None] | None
    on_labels_shown: Callable[[LabelsShown], None] | None


class ReadOptions(RowHandlers, total=False):
    """Options of the row readers, apart from the fields."""

    id: str | None
    format: str | None
    encoding: str | None
    sheet: str | None
    header_row: int | None


def read_instances(
    source: Source,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    needed: Sequence[str] = ("response",),
    *,
    also: Sequence[str] = (),
    may_be_empty: Sequence[str] = (),
    filled: Sequence[str] = (),
    **options: Unpack[ReadOptions],
) -> Iterator[Instance]:
    """Yield one instance per row. Rows are read on demand, so a data set of any length needs the
    memory of a few rows.

    ``source``: a path, ``-`` for standard input, a data frame, or any iterable of texts, mappings
    or instances. ``columns`` maps fields to columns; the rest is found by the usual names.
    ``needed``: fields that every row must have; ``may_be_empty``: fields that need a column, though
    it may hold nothing; ``filled``: needed fields whose text must not be blank; ``also``: further
    fields, if they exist. ``id``: the column with row ids; without one a row is named by its place.
    The place is always in ``metadata["place"]``, and the row as it was read in ``metadata["row"]``.

    ``on_bad_row`` gets each row that cannot be read, and reading goes on; without it the first one
    raises a WrongData. Errors of the whole source always raise. Blank rows are skipped;
    ``on_blank_rows`` is called once, at the end, and without it a warning is logged. Likewise
    ``on_empty_answers`` for rows whose judged text, the first of the ``needed``, is empty (they are
    judged), ``on_other_sheets`` for a workbook with several sheets if none was named, and
    ``on_labels_shown`` if the reference seems to hold labels.
    ``format`` and ``encoding`` are for files that do not show them; ``sheet`` and ``header_row``
    (from 1) are for Excel workbooks.

    Example: ``list(read_instances("answers.csv", {"response": "Answer"}))``
    """
    row_columns = Columns(
        columns or {}, needed, options.pop("id", None), also, may_be_empty, filled
    )

    def make_instance(cells: Cells, place: str) -> Instance:
        return Instance(
            row_columns.fields(cells),
            row_columns.name(cells) or place,
            {"place": place, "row": cells},
        )

    judged_field = needed[0] if needed else "response"
    return _read(source, _Reading(row_columns, make_instance, judged_field, limit), options)


def read_comparisons(
    source: Source,
    responses: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    **options: Unpack[ReadOptions],
) -> Iterator[Instance]:
    """Yield one comparison per row.

    ``responses``: the columns with the responses; else a list in one column, or numbered columns.
    Otherwise like ``read_instances``.
    """
    field_columns, id = names_apart(columns or {}, options.pop("id", None))
    row_columns = _ComparisonColumns(
        {**{column: column for column in responses}, **field_columns}, (), id, named=bool(responses)
    )

    def make_instance(cells: Cells, place: str) -> Instance:
        return comparison_of(
            cells, row_columns.name(cells) or place, place, responses, field_columns
        )

    return _read(source, _Reading(row_columns, make_instance, "response", limit), options)


class _ComparisonColumns(Columns):
    """Columns of comparisons. Unless response columns are named, some must be recognised
    by name.
    """

    def __init__(
        self, reading: Mapping[str, str], needed: Sequence[str], id: str | None, *, named: bool
    ) -> None:
        super().__init__(reading, needed, id)
        self._named = named

    def require(self, found: Sequence[str], name: str) -> None:
        """Raise WrongData if no row can have responses to compare."""
        super().require(found, name)
        if not self._named and not any(
            fold_name(column) in _LISTS or NUMBERED.fullmatch(column) for column in found
        ):
            raise WrongData(
                "{name} has no columns with usual names for responses: name them with --column "
                "COLUMN --column COLUMN (responses=[…]). It has: {found}",
                name=name,
                found=", ".join(found),
            )


def field_names(source: Source) -> set[str]:
    """Return the fields and columns that are not empty in every row.

    Reads the whole source. A run does not need this: ``read_instances`` looks for the needed fields
    as it goes.
    """
    _, rows = open_source(source)
    filled: set[str] = set()
    for row in rows:
        if isinstance(row, BadRow):
            raise WrongData(str(row))
        cells = row.cells.fields if isinstance(row.cells, Instance) else row.cells
        filled.update(column for column, value in cells.items() if value not in (None, "", []))
    return filled | {field for field in ALIASES if column_for(field, filled) is not None}


class _RowCounter(Generic[N]):
    """Counts rows of one kind and reports them at the end: their number, and the first places."""

    def __init__(self, origin: Origin, kind: type[N], tell: Callable[[N], None] | None) -> None:
        self._origin = origin
        self._kind: type[N] = kind
        self._tell: Callable[[N], None] = tell or _warn
        self._first: list[int] = []
        self.count = 0

    def add(self, number: int) -> None:
        self.count += 1
        self._first += [number] if self.count <= _ROWS_NAMED else []

    def tell(self) -> None:
        """Report the rows, if there were any."""
        if self.count:
            self._tell(
                self._kind(self._origin.name, self.count, self._origin.unit, tuple(self._first))
            )


class ReferenceValues:
    """Counts the different references, to notice if they are labels.

    ``column``: the column of another name that was taken for the reference; None if there is none.
    """

    def __init__(self, column: str | None) -> None:
        self._column = column
        self._count = 0
        self._values: dict[str, str] = {}
        """Folded → as it was first written. None is added after ``_MOST_LABELS``."""

    def add(self, value: str | Sequence[str] | None) -> None:
        """Count the reference of a row, unless it is empty."""
        if self._column is None or not isinstance(value, str) or is_blank(value):
            return
        self._count += 1
        if len(self._values) <= _MOST_LABELS:
            self._values.setdefault(value.strip().casefold(), value.strip())

    def labels(self, source: str) -> LabelsShown | None:
        """Return a report with the values if they look like labels: few, short and often
        repeated.
        """
        if (
            self._column is None
            or not 1 < len(self._values) <= _MOST_LABELS
            or self._count < _REPEATED * len(self._values)
            or any(len(value) > _LONGEST_LABEL for value in self._values)
        ):
            return None
        return LabelsShown(source, self._column, tuple(self._values.values()))


def _skip_blank(rows: Rows, blank: _RowCounter[BlankRows]) -> Iterator[Row | BadRow]:
    """Yield the rows that are not blank."""
    for row in rows:
        if (
            isinstance(row, BadRow)
            or isinstance(row.cells, Instance)
            or not is_blank_row(row.cells)
        ):
            yield row
        else:
            blank.add(row.number)


def _judged_texts(instance: Instance, judged: str) -> Sequence[str]:
    value = instance.fields.get(judged, ())
    return (value,) if isinstance(value, str) else value


def _is_placeholder(text: str) -> bool:
    """Return True if the text is what a program writes for a missing value."""
    return text.strip().casefold() in _PLACEHOLDERS


def _warn(rows: object) -> None:
    _LOG.warning(rows)


@light_dataclass(frozen=True)
class _Reading:
    """Rules for turning rows of a source into instances."""

    columns: Columns
    instance: Callable[[Cells, str], Instance]
    judged: str
    """The field to judge."""
    limit: int | None


def _read(source: Source, reading: _Reading, options: ReadOptions) -> Iterator[Instance]:
    """Open the source now; rows are read on demand."""
    how = FileFormat(
        options.pop("format", None),
        options.pop("encoding", None),
        options.pop("sheet", None),
        options.pop("header_row", None),
    )
    opened = open_source(source, how, reading.judged)
    return _read_rows(*opened, reading, **cast(RowHandlers, options))


def _read_rows(
    origin: Origin,
    rows: Rows,
    reading: _Reading,
    *,
    on_bad_row: OnBadRow | None = None,
    on_blank_rows: OnBlankRows | None = None,
    on_empty_answers: OnEmptyAnswers | None = None,
    on_other_sheets: Callable[[OtherSheets], None] | None = None,
    on_labels_shown: Callable[[LabelsShown], None] | None = None,
) -> Iterator[Instance]:
    if reading.limit is not None and reading.limit < 1:
        return
    if origin.other_sheets is not None:
        (on_other_sheets or _warn)(origin.other_sheets)
    tell = on_bad_row or _raise_bad_row
    blank = _RowCounter(origin, BlankRows, on_blank_rows)
    empty = _RowCounter(origin, EmptyAnswers, on_empty_answers)
    placeholders = _RowCounter(origin, PlaceholderAnswers, on_empty_answers)
    filled = _skip_blank(rows, blank)
    first_rows = list(islice(filled, _LOOKED_AT_FIRST))
    _check_columns(origin, first_rows, reading.columns)
    references = ReferenceValues(reading.columns.guessed("reference"))
    count, trouble = 0, ""
    for row in chain(first_rows, filled):
        instance = _instance(origin, reading, row)
        if isinstance(instance, BadRow):
            trouble = trouble or str(instance)
            tell(instance)
            continue
        count += 1
        if isinstance(row, Row):
            texts = _judged_texts(instance, reading.judged)
            if any(map(is_blank, texts)):
                empty.add(row.number)
            elif any(map(_is_placeholder, texts)):
                placeholders.add(row.number)
        references.add(instance.fields.get("reference"))
        yield instance
        if count == reading.limit:
            break
    blank.tell()
    empty.tell()
    placeholders.tell()
    if on_labels_shown and (labels := references.labels(origin.name)):
        on_labels_shown(labels)
    if not count:
        raise NothingToJudge(_nothing(origin, blank.count, trouble))


def _nothing(origin: Origin, blank: int, trouble: str) -> str:
    if trouble:
        return Message(
            "{name} has no row that can be judged; {trouble}", name=origin.name, trouble=trouble
        )
    return (
        Message("{name} has only blank rows", name=origin.name)
        if blank
        else Message("{name} has no rows", name=origin.name)
    )


def _check_columns(origin: Origin, rows: Sequence[Row | BadRow], columns: Columns) -> None:
    """Report a wrong column name once, before anything is judged, not for every row."""
    cells = [
        row.cells for row in rows if isinstance(row, Row) and not isinstance(row.cells, Instance)
    ]
    names = list(dict.fromkeys(name for row_cells in cells for name in row_cells))
    columns.see(names)
    if cells:
        columns.require(names, origin.name)


def _instance(origin: Origin, reading: _Reading, row: Row | BadRow) -> Instance | BadRow:
    if isinstance(row, BadRow):
        return row
    if isinstance(row.cells, Instance):
        return reading.columns.with_own_id(row.cells)
    try:
        return reading.instance(row.cells, origin.place(row.number, row.nth))
    except (ValueError, SetupError) as error:
        return origin.bad(row.number, str(error), row.nth)


def _raise_bad_row(bad: BadRow) -> None:
    raise WrongData(str(bad))


def comparison_of(
    cells: Cells,
    name: str,
    place: str,
    responses: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> Instance:
    """Return a row as a comparison. A ValueError says why it is not one."""
    usual_columns = {
        field: column
        for field in ALIASES
        if field != "response"
        # an empty column name leaves the field out
        and (columns or {}).get(field) != ""
        and (column := column_for(field, cells)) is not None
    }
    named_columns = {
        field: find_column(cells, column) or column
        for field, column in (columns or {}).items()
        if column
    }
    field_of = {column: field for field, column in {**usual_columns, **named_columns}.items()}
    responses = [find_column(cells, column) or column for column in responses]
    texts = {
        column: text
        for column in dict.fromkeys((*cells, *named_columns.values(), *responses))
        if (text := _compared_text(cell_in(cells, column), column, field_of.get(column, "")))
        is not None
    }
    check_responses(cells, texts, responses)
    named_texts = {
        field: texts[column] for field, column in named_columns.items() if column in texts
    }
    other_texts = {
        field: texts[column] for field, column in usual_columns.items() if column in texts
    }
    compared = _responses(texts, responses)
    about = {"place": place, "row": cells, **({"systems": tuple(responses)} if responses else {})}
    instance = PairwiseInstance(
        {**other_texts, **named_texts, **compared} or {"response": ""}, name, about
    )
    if isinstance(instance.value("response") or "", str):
        raise WrongData(
            "fewer than two responses were found in the row: name their columns with --column. "
            "It has: {cells}",
            cells=", ".join(cells),
        )
    return instance


def _compared_text(cell: object, column: str, field: str) -> str | list[str] | None:
    """Read a cell. In a list of responses each item is a response, even if the items are
    messages.
    """
    if isinstance(cell, list) and fold_name(column) in _LISTS:
        texts = (text_of(text, column) for text in cell)
        return [text if isinstance(text, str) else str(text) for text in texts if text is not None]
    return text_of(cell, column, field)


def check_responses(cells: Cells, texts: Cells, named: Sequence[str] = ()) -> None:
    """Raise ValueError if a response is missing before another one, since later responses would
    take its place.
    """
    columns = list(named) or response_names(cells)
    there = [column in texts for column in columns]
    missing = [
        column
        for place, column in enumerate(columns)
        if not there[place] and (named or any(there[place:]))
    ]
    if missing:
        raise ValueError(nothing_in(missing[0], cells))


def _responses(
    texts: Mapping[str, str | list[str]], named: Sequence[str]
) -> dict[str, str | Sequence[str]]:
    """Return the responses in the named columns, else in a list, else in numbered columns."""
    if named:
        return {"response": [str(texts[name]) for name in named]}
    for name, texts_of_column in texts.items():
        if fold_name(name) in _LISTS and isinstance(texts_of_column, list):
            return {"response": texts_of_column}
    return {name: texts[name] for name in response_names(texts)}
