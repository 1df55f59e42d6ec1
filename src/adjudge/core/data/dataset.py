"""Rows of a file, of standard input, of a data frame or of a list as instances, streamed."""

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
    folded,
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
    Origin,
    OtherSheets,
    Row,
    Rows,
    is_blank,
)
from adjudge.core.domain.instance import NUMBERED, Instance, PairwiseInstance
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
OddRows = BadRow | BlankRows | EmptyAnswers | OtherSheets
"""What a reader of rows tells of."""
OnBadRow = Callable[[BadRow], None]
OnBlankRows = Callable[[BlankRows], None]
OnEmptyAnswers = Callable[[EmptyAnswers], None]
_LOG = logging.getLogger("adjudge.data")
_LOOKED_AT_FIRST = 100
"""A column that none of the first rows has is missing in the data, not in a row."""
_ROWS_NAMED = 5
_LISTS = ("response", "responses")
"""Columns that may hold a list of responses to compare."""


class RowHandlers(TypedDict, total=False):
    """Called for rows that are broken, blank or without an answer."""

    on_bad_row: OnBadRow | None
    on_blank_rows: OnBlankRows | None
    on_empty_answers: OnEmptyAnswers | None
    on_other_sheets: Callable[[OtherSheets], None] | None


class ReadOptions(RowHandlers, total=False):
    """What the readers of rows take beside the fields."""

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
    """One instance a row, read as they are asked for: a data set of any length needs the memory of
    a few rows.

    ``source``: a path, ``-`` for standard input, a data frame, or anything that gives texts,
    mappings or instances. ``columns`` says which column is which field; the rest is found by the
    usual names. ``needed``: the fields that every row must have; ``may_be_empty``: those that a row
    must have a column for, though there may be nothing in it; ``filled``: needed ones whose text
    must not be blank; ``also``: further ones that are taken if they are there. ``id``: the column
    with the rows' names; without one a row is called by its place. The place is in
    ``metadata["place"]`` in any case, and the row as it was read in
    ``metadata["row"]``. ``on_bad_row`` gets each row that cannot be read, and reading goes
    on; without it the first one raises a WrongData. What is wrong with the whole source raises
    always. Rows that hold nothing at all are passed over; ``on_blank_rows`` is called once,
    at the end, and without it a warning is logged. So is ``on_empty_answers`` of rows whose judged
    text, the first of the ``needed``, is empty: they are judged; and ``on_other_sheets`` of a
    workbook with several sheets of which none was named. ``format`` and ``encoding`` are for files
    that do not show them; ``sheet`` and ``header_row`` (from 1) are of an Excel workbook.
    """
    chosen = Columns(columns or {}, needed, options.pop("id", None), also, may_be_empty, filled)

    def made(cells: Cells, place: str) -> Instance:
        return Instance(
            chosen.fields(cells), chosen.name(cells) or place, {"place": place, "row": cells}
        )

    judged = needed[0] if needed else "response"
    return _read(source, _Reading(chosen, made, judged, limit), options)


def read_comparisons(
    source: Source,
    responses: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    **options: Unpack[ReadOptions],
) -> Iterator[Instance]:
    """One comparison a row. ``responses``: the columns that hold them; else a list, or columns that
    are numbered.

    The rest is as for ``read_instances``.
    """
    named, id = names_apart(columns or {}, options.pop("id", None))
    chosen = _Compared(
        {**{column: column for column in responses}, **named}, (), id, named=bool(responses)
    )

    def made(cells: Cells, place: str) -> Instance:
        return comparison_of(cells, chosen.name(cells) or place, place, responses, named)

    return _read(source, _Reading(chosen, made, "response", limit), options)


class _Compared(Columns):
    """Those of comparisons: without responses that are named, some must be known by their names."""

    def __init__(
        self, wanted: Mapping[str, str], needed: Sequence[str], id: str | None, *, named: bool
    ) -> None:
        super().__init__(wanted, needed, id)
        self._named = named

    def require(self, found: Sequence[str], name: str) -> None:
        """Say so when no row can have responses to compare."""
        super().require(found, name)
        if not self._named and not any(
            folded(one) in _LISTS or NUMBERED.fullmatch(one) for one in found
        ):
            raise WrongData(
                "{name} has no columns of responses that are known by their names: name "
                "them with --column COLUMN --column COLUMN (responses=[…]). It has: {found}",
                name=name,
                found=", ".join(found),
            )


def field_names(source: Source) -> set[str]:
    """The fields that at least one row has something in, by the names of the columns and by ours.

    Reads the source once, to its end. A run does not need this: ``read_instances`` looks for the
    needed fields as it goes.
    """
    _, rows = open_source(source)
    filled: set[str] = set()
    for row in rows:
        if isinstance(row, BadRow):
            raise WrongData(str(row))
        cells = row.cells.fields if isinstance(row.cells, Instance) else row.cells
        filled.update(column for column, value in cells.items() if value not in (None, "", []))
    return filled | {field for field in ALIASES if column_for(field, filled) is not None}


class _Noted(Generic[N]):
    """Counts rows of one kind and reports them at the end: how many there are, and the numbers of
    the first.
    """

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
        """Say how many there were, where there were some."""
        if self.count:
            self._tell(
                self._kind(self._origin.name, self.count, self._origin.unit, tuple(self._first))
            )


def _filled(rows: Rows, blank: _Noted[BlankRows]) -> Iterator[Row | BadRow]:
    """The rows that hold something."""
    for row in rows:
        if (
            isinstance(row, BadRow)
            or isinstance(row.cells, Instance)
            or not is_blank_row(row.cells)
        ):
            yield row
        else:
            blank.add(row.number)


def _is_empty(instance: Instance, judged: str) -> bool:
    """Whether the judged text, or one of them, is empty."""
    value = instance.fields.get(judged, ())
    return any(map(is_blank, (value,) if isinstance(value, str) else value))


def _warn(rows: object) -> None:
    _LOG.warning(rows)


@light_dataclass(frozen=True)
class _Reading:
    """How the rows of a source become instances."""

    columns: Columns
    instance: Callable[[Cells, str], Instance]
    judged: str
    """The field that is judged."""
    limit: int | None


def _read(source: Source, wanted: _Reading, options: ReadOptions) -> Iterator[Instance]:
    """Open the source now; the rows are read as they are asked for."""
    how = FileFormat(
        options.pop("format", None),
        options.pop("encoding", None),
        options.pop("sheet", None),
        options.pop("header_row", None),
    )
    opened = open_source(source, how, wanted.judged)
    return _each(*opened, wanted, **cast(RowHandlers, options))


def _each(
    origin: Origin,
    rows: Rows,
    wanted: _Reading,
    *,
    on_bad_row: OnBadRow | None = None,
    on_blank_rows: OnBlankRows | None = None,
    on_empty_answers: OnEmptyAnswers | None = None,
    on_other_sheets: Callable[[OtherSheets], None] | None = None,
) -> Iterator[Instance]:
    if wanted.limit is not None and wanted.limit < 1:
        return
    if origin.other_sheets is not None:
        (on_other_sheets or _warn)(origin.other_sheets)
    tell = on_bad_row or _stop
    blank, empty = (
        _Noted(origin, BlankRows, on_blank_rows),
        _Noted(origin, EmptyAnswers, on_empty_answers),
    )
    filled = _filled(rows, blank)
    first = list(islice(filled, _LOOKED_AT_FIRST))
    _check_columns(origin, first, wanted.columns)
    count, trouble = 0, ""
    for row in chain(first, filled):
        instance = _instance(origin, wanted, row)
        if isinstance(instance, BadRow):
            trouble = trouble or str(instance)
            tell(instance)
            continue
        count += 1
        if isinstance(row, Row) and _is_empty(instance, wanted.judged):
            empty.add(row.number)
        yield instance
        if count == wanted.limit:
            break
    blank.tell()
    empty.tell()
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


def _check_columns(origin: Origin, first: Sequence[Row | BadRow], chosen: Columns) -> None:
    """Report a wrong column name once, before anything is judged, not for every row."""
    cells = [
        row.cells for row in first if isinstance(row, Row) and not isinstance(row.cells, Instance)
    ]
    found = list(dict.fromkeys(name for each in cells for name in each))
    chosen.see(found)
    if cells:
        chosen.require(found, origin.name)


def _instance(origin: Origin, wanted: _Reading, row: Row | BadRow) -> Instance | BadRow:
    if isinstance(row, BadRow):
        return row
    if isinstance(row.cells, Instance):
        return wanted.columns.named(row.cells)
    try:
        return wanted.instance(row.cells, origin.place(row.number, row.nth))
    except (ValueError, SetupError) as error:
        return origin.bad(row.number, str(error), row.nth)


def _stop(bad: BadRow) -> None:
    raise WrongData(str(bad))


def comparison_of(
    cells: Cells,
    name: str,
    place: str,
    responses: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> Instance:
    """One row as a comparison. A ValueError says why it is none."""
    found = {
        field: column
        for field in ALIASES
        if field != "response" and (column := column_for(field, cells)) is not None
    }
    named = {
        field: find_column(cells, column) or column for field, column in (columns or {}).items()
    }
    field_of = {column: field for field, column in {**found, **named}.items()}
    responses = [find_column(cells, column) or column for column in responses]
    texts = {
        column: text
        for column in dict.fromkeys((*cells, *named.values(), *responses))
        if (text := _compared_text(cell_in(cells, column), column, field_of.get(column, "")))
        is not None
    }
    check_responses(cells, texts, responses)
    own = {field: texts[column] for field, column in named.items() if column in texts}
    beside = {field: texts[column] for field, column in found.items() if column in texts}
    compared = _responses(texts, responses)
    about = {"place": place, "row": cells, **({"systems": tuple(responses)} if responses else {})}
    instance = PairwiseInstance({**beside, **own, **compared} or {"response": ""}, name, about)
    if isinstance(instance.value("response") or "", str):
        raise WrongData(
            "no two responses found; name their columns with --column. It has: {cells}",
            cells=", ".join(cells),
        )
    return instance


def _compared_text(cell: object, column: str, field: str) -> str | list[str] | None:
    """Of a list of responses each is one, also where they are messages."""
    if isinstance(cell, list) and folded(column) in _LISTS:
        texts = (text_of(one, column) for one in cell)
        return [one if isinstance(one, str) else str(one) for one in texts if one is not None]
    return text_of(cell, column, field)


def check_responses(cells: Cells, texts: Cells, named: Sequence[str] = ()) -> None:
    """A ValueError where a response is missing before another: those behind it would be taken for
    their neighbours.
    """
    columns = list(named) or [column for column in cells if NUMBERED.fullmatch(str(column))]
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
    """The columns named, else a list, else columns that are numbered."""
    if named:
        return {"response": [str(texts[name]) for name in named]}
    for name, texts_of_column in texts.items():
        if folded(name) in _LISTS and isinstance(texts_of_column, list):
            return {"response": texts_of_column}
    return {name: value for name, value in texts.items() if NUMBERED.fullmatch(name)}
