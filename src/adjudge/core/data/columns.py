"""Which column is which field, and what a cell says."""

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
    chat,
    chat_call,
    chat_parts,
    chat_turns,
    is_chat,
    parsed,
    rendered_calls,
    shown,
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
"""How other tools, and people, call our fields; the first that a file has is taken, as it is
written or in another case.
"""
CALL_ALIASES = {
    "tool_call": ("tool_call", "tool_calls", "function_call", "вызов инструмента"),
    "before_call": ("before_call", *ALIASES["user_input"]),
}
"""A call of a tool and what led to it: looked for only where a criterion reads them."""
_NAMES: Mapping[str, Sequence[str]] = {**CALL_ALIASES, **ID_ALIASES, **ALIASES}
"""What the columns of known fields may be called."""
CHATS = ("messages", "conversations", "conversation", "chat", "сообщения", "диалог")
"""Columns that may hold a whole chat, the answer included, where no column holds the answer by
itself.
"""
CHAT_FIELDS = ("response", "user_input", "history")
ID_COLUMNS = ("id", "ID", "row_id")
ID_FIELD = "id"
"""Who names a column for it means what the rows are called."""
T = TypeVar("T")
_MISSING = ("NAType", "NaTType")
_RENDERED = ("contexts", "history")
"""Fields that may be nested: of an answer, JSON is what was answered."""
_BETWEEN = re.compile(r"[\s_-]+")


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """What two names of a column have in common that differ in case, or in what stands between
    words.
    """
    return _BETWEEN.sub("_", name.strip().casefold()).replace("ё", "е")


_FOLDED_IDS = tuple(dict.fromkeys(map(folded, ID_COLUMNS)))


def column_in(found: Iterable[str], *names: str) -> str | None:
    """The first of ``names`` that a column has; where none has it as it is written, in any case."""
    columns = {str(name): name for name in found}
    exact = next((columns[name] for name in names if name in columns), None)
    if exact is not None:
        return exact
    alike: dict[str, str] = {}
    for name in columns.values():
        alike.setdefault(folded(str(name)), name)
    return next((alike[folded(name)] for name in names if folded(name) in alike), None)


def find_column(found: Iterable[str], name: str) -> str | None:
    """The column that is called so; or ``name`` itself, a path into one: ``input.query``."""
    found = list(found)
    column = column_in(found, name)
    if column is None and (root := _root(name)) and column_in(found, root) is not None:
        return name
    return column


def cell_in(cells: Cells, column: str) -> object:
    """What a row has in a column, or at a path into one; None where that is not there."""
    if column in cells:
        return cells[column]
    root = _root(column)
    own = column_in(cells, root) if root else None
    if own is None:
        return None
    with suppress(NotThere):
        nested = _nested(cells[own])
        return value_at(nested, column[len(root) :])  # type: ignore[arg-type]  # or it is not there
    return None


def has_cell(cells: Cells, column: str) -> bool:
    """Whether a row has a column, or something at a path into one."""
    return column in cells or cell_in(cells, column) is not None


@lru_cache(maxsize=4096)
def _root(name: str) -> str:
    """The column that a path leads into; nothing where ``name`` is no path."""
    try:
        first, *others = steps_of(name)
    except (SetupError, ValueError):
        return ""
    return first if others and isinstance(first, str) and name.startswith(first) else ""


def column_for(field: str, found: Iterable[str]) -> str | None:
    """The column that holds a field, by its own name or by one that other tools use."""
    return column_in(found, field, *_NAMES.get(field, ()))


def columns_for(field: str, found: Iterable[str]) -> list[str]:
    """All columns that may hold a field."""
    names = {folded(name) for name in (field, *_NAMES.get(field, ()))}
    return [one for one in found if folded(str(one)) in names]


def is_id(name: object) -> bool:
    """Whether a column holds the names of rows."""
    return folded(str(name)) in _FOLDED_IDS


def names_apart(columns: Mapping[str, str], id: str | None) -> tuple[dict[str, str], str | None]:
    """Field → column, and the column that names the rows: ``columns`` may say that, too, as if the
    id were a field.
    """
    named = columns.get(ID_FIELD)
    if named is not None and id is not None and named != id:
        raise SetupError(
            "two columns are to name the rows, {id!r} and {named!r}: keep one of them",
            id=id,
            named=named,
        )
    return {field: column for field, column in columns.items() if field != ID_FIELD}, id or named


class Columns:
    """Field → column. What was once chosen stays: a field does not change its column from one row
    to the next.
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
        self._wanted = dict(wanted)
        self._needed = tuple(needed)
        self._also = tuple(also)
        """Fields that are taken where they are there."""
        self._may_be_empty = tuple(may_be_empty)
        """Fields that every row has a column for, which may hold nothing."""
        self._filled = frozenset(filled)
        """Needed fields whose text must not be blank."""
        self._ids: tuple[str, ...] = ID_COLUMNS if id is None else (id,)
        self._id = id
        self._seen: dict[str, None] = {}
        self._chat: str | None = None
        """The column whose chat holds the answer, too."""
        self._log: str | None = None
        """The column whose chat holds the call of a tool."""
        self.chosen: dict[str, str] = dict(wanted)

    def see(self, found: Iterable[str]) -> None:
        """Take the columns that were not there before for fields that have none yet."""
        self._seen.update(dict.fromkeys(found))
        for field, column in self._wanted.items():
            self.chosen[field] = find_column(self._seen, column) or column
        for field in (*ALIASES, *self._needed, *self._also):
            if (
                field not in self.chosen
                and (known := column_in(self._seen, *_NAMES.get(field, (field,)))) is not None
            ):
                self.chosen[field] = known
        self._take_chat()
        own = (
            find_column(self._seen, name)
            for name in (ID_COLUMNS if self._id is None else (self._id,))
        )
        self._ids = tuple(dict.fromkeys(name for name in own if name is not None))

    def _take_chat(self) -> None:
        """Where the answer is needed, or the call of a tool, and has no column of its own, it is in
        a chat.
        """
        log = (
            None
            if "tool_call" in self.chosen or "tool_call" not in self._needed
            else column_in(self._seen, *CHATS)
        )
        if log is not None:
            self._log = log
            self.chosen.update({field: log for field in CALL_ALIASES if field not in self._wanted})
        if "response" in self.chosen or "response" not in self._needed:
            return
        self._chat = column_in(self._seen, *CHATS)
        if self._chat is not None:
            taken = [
                field for field in CHAT_FIELDS if self.chosen.get(field, self._chat) == self._chat
            ]
            self.chosen.update(dict.fromkeys(taken, self._chat))

    def require(self, found: Sequence[str], name: str) -> None:
        """Say so when a column that was named, or a field that is needed, is not in the data at
        all.
        """
        has = Message("it has: {found}", found=", ".join(found))
        for field, column in self._wanted.items():
            if find_column(found, column) is None:
                raise WrongData(
                    "{name} has no column {column!r} (wanted as {field}); {has}",
                    name=name,
                    column=column,
                    field=field,
                    has=has,
                )
        if self._id is not None and find_column(found, self._id) is None:
            raise WrongData(
                "{name} has no column {id!r} (wanted as id); {has}", name=name, id=self._id, has=has
            )
        self.refuse_doubles(found, name)
        for field in (*self._needed, *self._may_be_empty):
            if field == "response" and field not in self.chosen and "synthesizer_name" in found:
                raise WrongData(
                    "{name} is a test set of Ragas: questions without answers. Give them as a "
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
        """Say so when two columns have the name of a field that is read: nobody knows which one is
        meant.
        """
        for field, column in self.chosen.items():
            if field not in self._wanted and (other := f"{column} (2)") in found:
                raise WrongData(
                    "{name} has the columns {column!r} and {other!r}, one name for two "
                    "columns: rename one, or say which is meant with --column "
                    "{field}={first} or --column {field}={second}",
                    name=name,
                    column=column,
                    other=other,
                    field=field,
                    first=shlex.quote(column),
                    second=shlex.quote(other),
                )

    def fields(self, cells: Cells) -> dict[str, str | list[str]]:
        """The row's texts by field. A ValueError says which is missing."""
        if not cells.keys() <= self._seen.keys():
            self.see(cells)
        given = {
            field: text
            for field, column in self.chosen.items()
            if (text := self._text(cell_in(cells, column), column, field)) is not None
        }
        for field in self._needed:
            text = given.get(field)
            if text is None or (field in self._filled and is_blank("".join(text))):
                raise ValueError(nothing_in(self.chosen.get(field, field), cells))
        for field in self._may_be_empty:
            if not has_cell(cells, column := self.chosen.get(field, field)):
                raise WrongData(
                    "the row has no {column!r}; it has: {cells}. Name its column with "
                    "--column {field}=COLUMN (columns={{{field!r}: 'COLUMN'}}), or write "
                    "{column!r}: [] where there is nothing",
                    column=column,
                    field=field,
                    cells=", ".join(cells),
                )
        return given

    def _text(self, cell: object, column: str, field: str) -> str | list[str] | None:
        if column == self._chat and field in CHAT_FIELDS and field not in self._wanted:
            return chat_fields(cell, column).get(field)
        if field in CALL_ALIASES and field not in self._wanted and column == self._log:
            return call_fields(cell, column).get(field)
        return text_of(cell, column, field)

    def named(self, instance: Instance) -> Instance:
        """A row that was judged before, by the column that names it now, where one was named."""
        cells = instance.metadata.get("row")
        name = self.name(cells) if self._id is not None and isinstance(cells, Mapping) else None
        return instance if name is None else replace(instance, id=name)

    def name(self, cells: Cells) -> str | None:
        """What the row calls itself."""
        if not cells.keys() <= self._seen.keys():
            self.see(cells)
        for column in self._ids:
            value = cell_in(cells, column)
            if value is not None and value != "":
                return str(value)
        return None


def nothing_in(column: str, cells: Cells) -> str:
    """What is wrong with a row in which a text is missing."""
    return (
        Message("there is nothing in {column!r}", column=column)
        if column in cells
        else Message(
            "the row has no {column!r}; it has: {cells}", column=column, cells=", ".join(cells)
        )
    )


def choose_columns(
    found: Sequence[str], wanted: Mapping[str, str], name: object, needed: Sequence[str]
) -> dict[str, str]:
    """Field → column. The needed ones must be there; the other fields are taken where they are."""
    columns = Columns(wanted, needed, None)
    columns.see(found)
    columns.require(found, str(name))
    return columns.chosen


def text_of(value: object, column: str, field: str = "") -> str | list[str] | None:
    """A cell as a text, or as a list of texts; None where there is nothing in it. A ValueError says
    what is in it instead.

    Chat messages are what was said. Contexts and a history may be nested, also as JSON in a text:
    they become plain text.
    """
    if field == "tool_call" and (calls := rendered_calls(_nested(value))) is not None:
        return calls
    nested = (field or column) in _RENDERED
    if isinstance(value, str):
        value = parsed(value) if nested else value
    if value is None or isinstance(value, str):
        return value
    value = _plain(value)
    if is_chat(value):
        return chat(value)
    write = _shown if nested else _written
    if isinstance(value, list | tuple):
        return [
            item if isinstance(item, str) else "" if _is_missing(item) else write(item, column)
            for item in value
        ]
    return None if _is_missing(value) else write(value, column)


def chat_fields(value: object, column: str) -> dict[str, str]:
    """The answer of a logged chat, the question and what was said before.

    A ValueError says what the cell holds instead.
    """
    if not holds_chat(value):
        raise WrongData(
            'column {column!r} holds no chat to find the answer in, such as [{{"role": '
            '"assistant", "content": "…"}}]: name the answer\'s column with --column '
            "COLUMN",
            column=column,
        )
    return _read_chat(value, column, chat_parts)


def call_fields(value: object, column: str) -> dict[str, str]:
    """The last call of a tool in a logged chat, and what led to it.

    A ValueError says what the cell holds instead.
    """
    if not holds_chat(value):
        raise WrongData(
            "column {column!r} holds no chat to find the call of a tool in: name the "
            "call's column with --column tool_call=COLUMN",
            column=column,
        )
    return _read_chat(value, column, chat_call)


def chat_turns_in(value: object, column: str) -> list[dict[str, str]]:
    """The same of every question that was answered, in their order. A ValueError where none was."""
    return _read_chat(value, column, chat_turns)


def _read_chat(value: object, column: str, read: Callable[[object], T]) -> T:
    try:
        return read(_nested(value))
    except ValueError as error:
        raise WrongData("column {column!r}: {error}", column=column, error=error) from None


def whole_chat(value: object) -> str:
    """All that was said, with who said it."""
    return chat(_nested(value))


def holds_chat(value: object) -> bool:
    """Whether a cell is a chat, also as JSON in a text."""
    return is_chat(_nested(value))


def _nested(value: object) -> object:
    return parsed(value) if isinstance(value, str) else _plain(value)


def is_blank_row(cells: Cells) -> bool:
    """Whether there is nothing in any cell: no text but white space, no number, no list with
    something in it.
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
    """Arrays and numbers of numpy, series of polars: as Python's own."""
    for name in ("tolist", "to_list"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def _is_missing(value: object) -> bool:
    """How data frames say that there is nothing."""
    return (
        value is None
        or (isinstance(value, float) and value != value)  # noqa: PLR0124
        or type(value).__name__ in _MISSING
    )


def _shown(value: object, column: str) -> str:
    try:
        return shown(value) if isinstance(value, dict | list | tuple) else _written(value, column)
    except RecursionError:
        raise WrongData("column {column!r} is nested too deep", column=column) from None


def _written(value: object, column: str) -> str:
    if isinstance(value, bytes | bytearray):
        raise WrongData("column {column!r} holds bytes, not text", column=column)
    if isinstance(value, float) and math.isinf(value):
        raise WrongData(
            "column {column!r} holds a number that is too large (Infinity)", column=column
        )
    if not isinstance(value, dict | list | bool | int | float | str | None):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _header_hint(found: Collection[str]) -> Message | str:
    """Columns without names are a sign that the names stand in a lower row."""
    if "column 2" not in found:
        return ""
    return Message("; if their names stand in a lower row: --header-row N")
