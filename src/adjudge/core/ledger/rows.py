"""Rows of a ledger: the columns of its tables, and the checksum by which a damaged row is known;
what was judged, as kept.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.json_writer import json_writer
from adjudge.core.domain.judge_configuration import judges_of
from adjudge.messages import Message, StoredMessage, pack

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "meta": ("name", "value"),
    "votes": (
        *(
            "number",
            "ballot",
            "model",
            "sample",
            "outcome",
            "option",
            "explanation",
            "reason",
            "text",
            "prompt",
        ),
        *("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "latency", "at", "more"),
    ),
    "judgments": (
        *("judge", "number", "id", "instance", "ballots", "status", "score"),
        *("criterion", "verdict", "flags", "result"),
    ),
    "batches": (
        "id",
        "provider",
        "model",
        "account",
        "state",
        "created",
        "request_sha",
        "remote_id",
        "expires",
        "counts",
        "more",
    ),
    "batch_ballots": ("ballot", "request", "batch", "attempt", "state", "reply"),
}
"""Table → what its checksum covers, in this order. The checksum itself stands behind them."""
ORDER: Mapping[str, tuple[str, ...]] = {
    "meta": ("rowid",),
    "votes": ("number",),
    "judgments": ("judge", "number"),
    "batches": ("id",),
    "batch_ballots": ("ballot", "request"),
}
"""Table → how its rows lie in the file."""
IN_BATCH = "in_batch"
"""Where a vote keeps how many of its tokens went through batches.

Exports leave it out: a verdict is the same either way.
"""
LARGEST = 2**63 - 1
"""Number that SQLite can be asked for."""
KEY_BYTES = 16
"""Of the hash by which a ballot's votes are found."""
MESSAGES = "message_parts"
"""Under which key it is kept what our own sentences are made of: pairs of where such a text stands,
and its parts.
"""
_SCALARS = frozenset({str, int, float, bool, type(None)})
_encoded = json_writer(bytes.hex)
CHECKSUM_SQL = "checksum_of"
"""The name of ``checksum`` in SQL."""


def checksum(*values: object) -> int:
    """Of a row's values, as SQLite gives them back; the same on every machine."""
    return zlib.crc32(_encoded(values).encode())


def with_checksum(*values: object) -> tuple[object, ...]:
    """A row as it is written: with its checksum behind it."""
    return (*values, zlib.crc32(_encoded(values).encode()))


def select(table: str) -> str:
    """The beginning of a query for whole rows, which ``checked`` takes."""
    # names of ours
    return f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table}"  # noqa: S608


def insert(table: str, conflict: str = "REPLACE") -> str:
    """A statement that writes a row that was ``with_checksum``."""
    names = (*COLUMNS[table], "checksum")
    return (
        f"INSERT OR {conflict} INTO {table} ({', '.join(names)}) VALUES "  # noqa: S608
        f"({','.join('?' * len(names))})"
    )


def checksum_matches(table: str) -> str:
    """A condition that holds for rows which are as they were written."""
    return f"checksum IS {CHECKSUM_SQL}({', '.join(COLUMNS[table])})"


def columns_in(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table as the file has it; none where there is no such table."""
    return [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]


def checked_key(key: object) -> bytes:
    """The key of a vote's ballot, which is read without the rest of its row."""
    if not isinstance(key, bytes):
        raise sqlite3.DatabaseError(Message("a vote does not say which ballot it answers"))
    return key


def checked(table: str, row: Sequence[object]) -> tuple[Any, ...]:
    """The row's values, when they are those that were written.

    Otherwise they are damaged, which is SQLite's error to us.
    """
    values = tuple(row[:-1])
    if zlib.crc32(_encoded(values).encode()) != row[-1]:
        places = zip(COLUMNS[table], values, strict=True)
        where = ", ".join(
            f"{name} {value!r}"[:60] for name, value in places if name in (*ORDER[table], "name")
        )
        raise sqlite3.DatabaseError(
            Message("checksum mismatch in table {table} ({where})", table=table, where=where)
        )
    return values


def refuse_damaged_rows(
    connection: sqlite3.Connection, tables: Iterable[str] = tuple(COLUMNS)
) -> None:
    """Check the checksum of every row of every table, or of some ``tables``."""
    for table in tables:
        for row in connection.execute(select(table)):
            checked(table, row)


def storable(text: str | None) -> str | None:
    """Half a surrogate pair has no UTF-8: it is kept as its escape."""
    return (
        text
        if text is None or text.isascii()
        else text.encode("utf-8", "backslashreplace").decode()
    )


def message_parts(kept: JsonObject) -> JsonDict:
    """What the messages in ``kept`` are made of, to be kept beside it."""
    found: list[JsonValue] = []
    left: list[tuple[list[JsonValue], Iterable[tuple[JsonValue, Any]]]] = [([], kept.items())]
    for path, inside in left:  # which grows by what is inside
        for name, part in inside:
            if not part or type(part) in _SCALARS:
                continue
            if isinstance(part, Message):
                found.append([[*path, name], cast(JsonValue, pack(part))])
            elif isinstance(part, (list, tuple)):
                left.append(([*path, name], enumerate(part)))
            elif isinstance(part, Mapping):
                left.append(([*path, name], part.items()))
    return {MESSAGES: found} if found else {}


def with_messages(given: JsonObject) -> JsonDict:
    """``given`` with messages where texts of ours stand; what does not say so rightly is left."""
    kept = dict(given)
    if MESSAGES not in kept:
        return kept
    found = kept.pop(MESSAGES)
    for entry in found if isinstance(found, list) else ():
        match entry:
            case [[*outer, last], packed]:
                _put_message(kept, outer, last, packed)
    return kept


def _put_message(kept: Any, outer: Sequence[Any], last: Any, packed: object) -> None:
    try:
        for name in outer:
            kept = kept[name]
        if type(kept[last]) is str and isinstance(kept, dict | list):
            kept[last] = StoredMessage(kept[last], packed)
    except (LookupError, TypeError):
        return


def fact_text(value: JsonValue) -> str:
    """A fact about a run as JSON; one that holds messages is kept with their parts."""
    kept: JsonDict = {"value": value}
    parts = message_parts(kept)
    return json.dumps({**kept, **parts} if parts else value)


def read_fact(text: str) -> Any:
    """The fact that ``fact_text`` wrote."""
    found = json.loads(text)
    if isinstance(found, dict) and found.keys() == {"value", MESSAGES}:
        return with_messages(found)["value"]
    return found


LABELS = "labels"
"""Of a judgment in an export: what people said of its row."""
INPUT = "input"
"""Where it stands in what is kept of a judgment."""


def kept_input(row: JsonObject, fields: JsonObject) -> JsonDict:
    """What to keep of the row that was read: a text that is also a field is kept once, there."""
    names = {value: name for name, value in fields.items() if isinstance(value, str)}
    return {column: _kept(value, names) for column, value in row.items()}


def input_from(kept: JsonValue, fields: JsonObject) -> JsonDict:
    """The row again, with the texts of its fields."""
    if not kept:
        return {}
    return {
        column: _read(value, fields) if isinstance(value, dict) else value
        for column, value in object_in(kept).items()
    }


def _kept(value: JsonValue, fields: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str) and value in fields:
        return {"field": fields[value]}
    return {"value": value} if isinstance(value, Mapping) else value


def _read(value: JsonDict, fields: JsonObject) -> JsonValue:
    return fields.get(str(value["field"])) if "field" in value else value.get("value")


def wordings_in(configuration: JsonObject) -> dict[str, str]:
    """The hash of each template, as the run's judges knew it."""
    judges = judges_of(configuration).values()
    return {name: str(text) for judge in judges for name, text in judge.templates.items()}


def readers_in(configuration: JsonObject) -> set[str]:
    """Return the versions of the reply reader that the run's judges were set up with."""
    judges = judges_of(configuration).values()
    return {str(judge.versions.get("reader", "1")) for judge in judges}
