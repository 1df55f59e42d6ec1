"""Mapping of columns to fields, and reading of cells."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from adjudge.core.data.ids import ID_ALIASES
from adjudge.core.data.rendering import (
    SpokenMessage,
    chat,
    chat_call,
    chat_parts,
    chat_turns,
    is_chat,
    parse_nested,
    render_nested,
    rendered_calls,
    spoken_messages,
)
from adjudge.core.data.sources.row import Cells, is_blank
from adjudge.core.domain.instance import Instance
from adjudge.core.reading.json_path import NotThere, steps_of, value_at
from adjudge.errors import SetupError, WrongData
from adjudge.messages import Message

ALIASES = {
    "response": (
        *(
            "response",
            "answer",
            "output",
            "actual_output",
            "completion",
            "prediction",
            "text",
            "Assistant Answer",
        ),
        *("ответ", "ответ модели", "ответ ассистента", "ответ бота", "ответ системы", "текст"),
    ),
    "user_input": (
        *(
            "user_input",
            "question",
            "input",
            "query",
            "prompt",
            "instruction",
            "Current User Question",
        ),
        *(
            "вопрос",
            "запрос",
            "вопрос пользователя",
            "запрос пользователя",
            "вопрос клиента",
            "запрос клиента",
            "текущий вопрос пользователя",
            "промпт",
            "инструкция",
        ),
    ),
    "reference": (
        *("reference", "ground_truth", "expected_output", "expected", "reference_answer", "target"),
        *("эталон", "эталонный ответ", "правильный ответ", "ожидаемый ответ", "верный ответ"),
    ),
    "contexts": (
        *(
            "contexts",
            "retrieved_contexts",
            "context",
            "retrieval_context",
            "documents",
            "Fragment Texts",
        ),
        *("контекст", "контексты", "фрагменты", "тексты фрагментов", "документы", "источники"),
    ),
    "history": (
        *(
            "history",
            "conversation_history",
            "chat_history",
            "conversation",
            "dialogue",
            "Conversation History",
        ),
        *(
            "история",
            "история диалога",
            "история беседы",
            "история сообщений",
            "диалог",
            "переписка",
        ),
    ),
}
"""Names of our fields in other tools. The first that a file has counts, in any case."""
CALL_ALIASES = {
    "tool_call": ("tool_call", "tool_calls", "function_call", "вызов инструмента"),
    "before_call": ("before_call", *ALIASES["user_input"]),
}
"""A tool call and what led to it: searched only if a criterion reads them."""
# Field → possible names of its column.
_NAMES: Mapping[str, Sequence[str]] = {**CALL_ALIASES, **ID_ALIASES, **ALIASES}
CHATS = ("messages", "conversations", "conversation", "chat", "сообщения", "диалог")
"""Columns that may hold a whole chat with the answer, if no column holds the answer alone."""
CHAT_FIELDS = ("response", "user_input", "history")
ID_COLUMNS = ("id", "ID", "row_id")
ID_FIELD = "id"
"""A column named for this field holds the row ids."""
T = TypeVar("T")
_MISSING = ("NAType", "NaTType")
# Fields that may be nested. An answer is not: if it is JSON, the JSON is the answer.
_RENDERED = ("contexts", "history")
_BETWEEN = re.compile(r"[\s_-]+")


@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """Return a column name without case, and with any separator as ``_``.

    >>> fold_name("User Input")
    'user_input'
    """
    return _BETWEEN.sub("_", name.strip().casefold()).replace("ё", "е")


_FOLDED_IDS = tuple(dict.fromkeys(map(fold_name, ID_COLUMNS)))


def column_in(found: Iterable[str], *names: str) -> str | None:
    """Return the first column with one of ``names``; if none matches exactly, in any case."""
    columns = {str(name): name for name in found}
    exact = next((columns[name] for name in names if name in columns), None)
    if exact is not None:
        return exact
    alike: dict[str, str] = {}
    for name in columns.values():
        alike.setdefault(fold_name(str(name)), name)
    return next((alike[fold_name(name)] for name in names if fold_name(name) in alike), None)


def find_column(columns: Iterable[str], name: str) -> str | None:
    """Return the column of this name, or ``name`` itself if it is a path into one
    (``input.query``); None for neither.
    """
    columns = list(columns)
    column = column_in(columns, name)
    if column is None and (root := _root(name)) and column_in(columns, root) is not None:
        return name
    return column


def cell_in(cells: Cells, column: str) -> object:
    """Return the value in a column, or at a path into one; None if it is missing."""
    if column in cells:
        return cells[column]
    root = _root(column)
    base = column_in(cells, root) if root else None
    if base is None:
        return None
    with suppress(NotThere):
        nested = _parse_cell(cells[base])
        return value_at(nested, column[len(root) :])  # type: ignore[arg-type]  # or it is not there
    return None


def has_cell(cells: Cells, column: str) -> bool:
    """Return True if a row has a column, or a value at a path into one."""
    return column in cells or cell_in(cells, column) is not None


@lru_cache(maxsize=4096)
def _root(name: str) -> str:
    """Return the column that a path leads into; empty if ``name`` is not a path."""
    try:
        root, *steps = steps_of(name)
    except (SetupError, ValueError):
        return ""
    return root if steps and isinstance(root, str) and name.startswith(root) else ""


def column_for(field: str, found: Iterable[str]) -> str | None:
    """Return the column that holds a field, under its own name or one from another tool; None if
    there is none.
    """
    return column_in(found, field, *_NAMES.get(field, ()))


def columns_for(field: str, found: Iterable[str]) -> list[str]:
    """Return all columns that may contain a field."""
    names = {fold_name(name) for name in (field, *_NAMES.get(field, ()))}
    return [column for column in found if fold_name(str(column)) in names]


def is_id(name: object) -> bool:
    """Return True if a column of this name holds row ids."""
    return fold_name(str(name)) in _FOLDED_IDS


def names_apart(columns: Mapping[str, str], id: str | None) -> tuple[dict[str, str], str | None]:
    """Return ``columns`` without the id, and the id column, which may be named in either parameter.

    Raise SetupError if both name one, and not the same.
    """
    id_column = columns.get(ID_FIELD)
    if id_column is not None and id is not None and id_column != id:
        raise SetupError(
            "both {id!r} and {named!r} could be the row id: keep only one of them",
            id=id,
            named=id_column,
        )
    return {
        field: column for field, column in columns.items() if field != ID_FIELD
    }, id or id_column


class Columns:
    """Mapping of fields to columns. A field keeps its column from one row to the next.

    Example:
        columns = Columns({"response": "Answer"}, ("response",), None)
        columns.fields({"Answer": "42", "question": "6 × 7?"})
    """

    def __init__(
        self,
        wanted: Mapping[str, str],
        needed: Sequence[str],
        id: str | None,
        also: Sequence[str] = (),
        may_be_empty: Sequence[str] = (),
        filled: Sequence[str] = (),
    ) -> None:
        wanted, id = names_apart(wanted, id)
        self._left_out = frozenset(field for field, column in wanted.items() if not column)
        """Optional fields that are not read, even if a column has their name."""
        self._wanted = {field: column for field, column in wanted.items() if column}
        self._needed = tuple(needed)
        self._also = tuple(also)
        """Optional fields."""
        self._may_be_empty = tuple(may_be_empty)
        """Fields that need a column, which may be empty."""
        self._filled = frozenset(filled)
        """Needed fields whose text must not be blank."""
        self._ids: tuple[str, ...] = ID_COLUMNS if id is None else (id,)
        self._id = id
        self._seen: dict[str, None] = {}
        self._chat: str | None = None
        """The column whose chat holds the answer."""
        self._log: str | None = None
        """The column whose chat holds the call of a tool."""
        self.chosen: dict[str, str] = dict(self._wanted)

    def guessed(self, field: str) -> str | None:
        """Return a field's column if it was recognised by a name other than the field's own, else
        None.
        """
        column = self.chosen.get(field)
        return None if field in self._wanted or column == field else column

    def see(self, found: Iterable[str]) -> None:
        """Match new columns to fields that have none yet."""
        self._seen.update(dict.fromkeys(found))
        for field, column in self._wanted.items():
            self.chosen[field] = find_column(self._seen, column) or column
        for field in (*ALIASES, *self._needed, *self._also):
            if (
                field not in self.chosen
                and field not in self._left_out
                and (match := column_in(self._seen, *_NAMES.get(field, (field,)))) is not None
            ):
                self.chosen[field] = match
        self._take_chat()
        id_columns = (
            find_column(self._seen, name)
            for name in (ID_COLUMNS if self._id is None else (self._id,))
        )
        self._ids = tuple(dict.fromkeys(name for name in id_columns if name is not None))

    def _take_chat(self) -> None:
        """Read the answer, or the tool call, from a chat column if it has no column itself."""
        log_column = (
            None
            if "tool_call" in self.chosen or "tool_call" not in self._needed
            else column_in(self._seen, *CHATS)
        )
        if log_column is not None:
            self._log = log_column
            self.chosen.update(
                {field: log_column for field in CALL_ALIASES if field not in self._wanted}
            )
        if "response" in self.chosen or "response" not in self._needed:
            return
        self._chat = column_in(self._seen, *CHATS)
        if self._chat is not None:
            chat_fields_in_use = [
                field for field in CHAT_FIELDS if self.chosen.get(field, self._chat) == self._chat
            ]
            self.chosen.update(dict.fromkeys(chat_fields_in_use, self._chat))

    def require(self, found: Sequence[str], name: str) -> None:
        """Raise WrongData if a named column, or a required field, is missing in all of the data."""
        has = Message("it has: {found}", found=", ".join(found))
        for field, column in self._wanted.items():
            if find_column(found, column) is None:
                raise WrongData(
                    "{name} has no column {column!r} (needed for {field}); {has}",
                    name=name,
                    column=column,
                    field=field,
                    has=has,
                )
        if self._id is not None and find_column(found, self._id) is None:
            raise WrongData(
                "{name} has no column {id!r} (needed as the id); {has}",
                name=name,
                id=self._id,
                has=has,
            )
        self.refuse_doubles(found, name)
        for field in (*self._needed, *self._may_be_empty):
            if field == "response" and field not in self.chosen and "synthesizer_name" in found:
                raise WrongData(
                    "{name} is a Ragas test set: questions without answers. Add the answers as a "
                    "column 'response', or have an eval file ask your system: target",
                    name=name,
                )
            if field not in self.chosen:
                raise WrongData(
                    "{name} has no {field} column: name it with --column {field}=COLUMN "
                    "(columns={{{field!r}: 'COLUMN'}}). It has: {found}{hint}",
                    name=name,
                    field=field,
                    found=", ".join(found),
                    hint=_header_hint(found),
                )

    def refuse_doubles(self, found: Collection[str], name: str) -> None:
        """Raise WrongData if two columns have the name of a field that is read."""
        for field, column in self.chosen.items():
            if field not in self._wanted and (double := f"{column} (2)") in found:
                raise WrongData(
                    "{name} has the columns {column!r} and {other!r}, which mean the same: "
                    "rename one, or choose one with --column {field}={first} or --column "
                    "{field}={second}",
                    name=name,
                    column=column,
                    other=double,
                    field=field,
                    first=shlex.quote(column),
                    second=shlex.quote(double),
                )

    def fields(self, cells: Cells) -> dict[str, str | list[str]]:
        """Return the row's texts by field; all columns but the ids if no field is needed or found.

        A ValueError says which text is missing.
        """
        if not cells.keys() <= self._seen.keys():
            self.see(cells)
        texts = {
            field: text
            for field, column in self.chosen.items()
            if (text := self._text(cell_in(cells, column), column, field)) is not None
        }
        for field in self._needed:
            text = texts.get(field)
            if text is None or (field in self._filled and is_blank("".join(text))):
                raise ValueError(nothing_in(self.chosen.get(field, field), cells))
        for field in self._may_be_empty:
            if not has_cell(cells, column := self.chosen.get(field, field)):
                raise WrongData(
                    "the row has no {column!r}; it has: {cells}. Name its column with --column "
                    "{field}=COLUMN (columns={{{field!r}: 'COLUMN'}}), or write {column!r}: [] "
                    "if there is nothing",
                    column=column,
                    field=field,
                    cells=", ".join(cells),
                )
        if not texts and not self._needed:
            # a target answers the row, whose columns may have any names
            return {
                column: text
                for column in cells
                if column not in self._ids and (text := text_of(cells[column], column))
            }
        return texts

    def _text(self, cell: object, column: str, field: str) -> str | list[str] | None:
        if column == self._chat and field in CHAT_FIELDS and field not in self._wanted:
            return chat_fields(cell, column).get(field)
        if field in CALL_ALIASES and field not in self._wanted and column == self._log:
            return call_fields(cell, column).get(field)
        return text_of(cell, column, field)

    def with_own_id(self, instance: Instance) -> Instance:
        """Return the instance with the id from the column that the user named, if it holds one."""
        cells = instance.metadata.get("row")
        name = self.name(cells) if self._id is not None and isinstance(cells, Mapping) else None
        return instance if name is None else replace(instance, id=name)

    def name(self, cells: Cells) -> str | None:
        """Return the row's own id, or None."""
        if not cells.keys() <= self._seen.keys():
            self.see(cells)
        for column in self._ids:
            value = cell_in(cells, column)
            if value is not None and value != "":
                return str(value)
        return None


def nothing_in(column: str, cells: Cells) -> str:
    """Return the error message for a row without a required text."""
    return (
        Message("{column!r} is empty", column=column)
        if column in cells
        else Message(
            "the row has no {column!r}; it has: {cells}", column=column, cells=", ".join(cells)
        )
    )


def choose_columns(
    found: Sequence[str], wanted: Mapping[str, str], name: object, needed: Sequence[str]
) -> dict[str, str]:
    """Map fields to columns. The ``needed`` ones must exist; other fields are optional."""
    columns = Columns(wanted, needed, None)
    columns.see(found)
    columns.require(found, str(name))
    return columns.chosen


def text_of(value: object, column: str, field: str = "") -> str | list[str] | None:
    """Return a cell as a text or a list of texts; None if it is empty.

    Chat messages become a transcript. Nested contexts and histories, also as JSON in a text, become
    plain text. A ValueError names any other content.
    """
    if field == "tool_call" and (calls := rendered_calls(_parse_cell(value))) is not None:
        return calls
    nested = (field or column) in _RENDERED
    if isinstance(value, str):
        value = parse_nested(value) if nested else value
    if value is None or isinstance(value, str):
        return value
    value = _plain(value)
    if is_chat(value):
        return chat(value)
    write = _render if nested else _to_json
    if isinstance(value, list | tuple):
        return [
            item if isinstance(item, str) else "" if _is_missing(item) else write(item, column)
            for item in value
        ]
    return None if _is_missing(value) else write(value, column)


def chat_fields(value: object, column: str) -> dict[str, str]:
    """Return the answer of a logged chat, the question and the history before it.

    A ValueError names any other content.
    """
    if not holds_chat(value):
        raise WrongData(
            'column {column!r} contains no chat with an answer, such as [{{"role": "assistant", '
            '"content": "…"}}]: name the answer\'s column with --column COLUMN',
            column=column,
        )
    return _read_chat(value, column, chat_parts)


def call_fields(value: object, column: str) -> dict[str, str]:
    """Return the last tool call of a logged chat, and everything before it.

    A ValueError names any other content.
    """
    if not holds_chat(value):
        raise WrongData(
            "column {column!r} contains no chat with a tool call: name the call's column with "
            "--column tool_call=COLUMN",
            column=column,
        )
    return _read_chat(value, column, chat_call)


def chat_turns_in(value: object, column: str) -> list[dict[str, str]]:
    """Return the fields of every answered question, in order. ValueError if there is none."""
    return _read_chat(value, column, chat_turns)


def spoken_messages_in(value: object, column: str) -> list[SpokenMessage]:
    """Return the messages of a chat with their speakers. ValueError if there is none."""
    return _read_chat(value, column, spoken_messages)


def _read_chat(value: object, column: str, read: Callable[[object], T]) -> T:
    try:
        return read(_parse_cell(value))
    except ValueError as error:
        raise WrongData("column {column!r}: {error}", column=column, error=error) from None


def whole_chat(value: object) -> str:
    """Return the transcript of a chat, with speakers."""
    return chat(_parse_cell(value))


def holds_chat(value: object) -> bool:
    """Return True if a cell is a chat, also as JSON in a text."""
    return is_chat(_parse_cell(value))


def _parse_cell(value: object) -> object:
    return parse_nested(value) if isinstance(value, str) else _plain(value)


def is_blank_row(cells: Cells) -> bool:
    """Return True if every cell is empty: a blank text, a missing value, an empty list or
    object.
    """
    return all(_is_blank_cell(value) for value in cells.values())


def _is_blank_cell(value: object) -> bool:
    value = value if isinstance(value, str) else _plain(value)
    if isinstance(value, str):
        return is_blank(value)
    if isinstance(value, list | tuple):
        return all(_is_blank_cell(item) for item in value)
    return value == {} if isinstance(value, Mapping) else _is_missing(value)


def _plain(value: object) -> object:
    """Convert arrays and numbers of numpy, and series of polars, to Python's own types."""
    for name in ("tolist", "to_list"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def _is_missing(value: object) -> bool:
    """Return True for the missing values of data frames."""
    return (
        value is None
        # NaN is the only float that differs from itself.
        or (isinstance(value, float) and value != value)  # noqa: PLR0124
        or type(value).__name__ in _MISSING
    )


def _render(value: object, column: str) -> str:
    try:
        return (
            render_nested(value)
            if isinstance(value, dict | list | tuple)
            else _to_json(value, column)
        )
    except RecursionError:
        raise WrongData("column {column!r} is nested too deeply", column=column) from None


def _to_json(value: object, column: str) -> str:
    if isinstance(value, bytes | bytearray):
        raise WrongData("column {column!r} contains bytes, not text", column=column)
    if isinstance(value, float) and math.isinf(value):
        raise WrongData(
            "column {column!r} contains a number that is too large (Infinity)", column=column
        )
    if not isinstance(value, dict | list | bool | int | float | str | None):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _header_hint(found: Collection[str]) -> Message | str:
    """Suggest --header-row if columns have no names."""
    if "column 2" not in found:
        return ""
    return Message("; if the header is in a later row, use --header-row N")
