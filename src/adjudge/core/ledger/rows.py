"""Rows of a ledger: the columns of its tables, the checksums that reveal damage, and the stored
form of messages and input rows.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
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
"""Table → the columns that its checksum covers, in this order. The checksum is the last column."""
ORDER: Mapping[str, tuple[str, ...]] = {
    "meta": ("rowid",),
    "votes": ("number",),
    "judgments": ("judge", "number"),
    "batches": ("id",),
    "batch_ballots": ("ballot", "request"),
}
"""Table → the order of its rows in the file."""
IN_BATCH = "in_batch"
"""The key under which a vote keeps its tokens that went through batches.

Exports leave it out: a verdict is the same either way.
"""
CACHE_WRITES = "cache_writes"
"""The key under which a vote keeps its tokens that were written to the provider's cache."""
LARGEST = 2**63 - 1
"""The largest number that SQLite accepts."""
KEY_BYTES = 16
"""Length of the hash by which a ballot's votes are found."""
MESSAGES = "message_parts"
"""The key of the parts of our own messages: pairs of a message's path and its parts."""
_SCALARS = frozenset({str, int, float, bool, type(None)})
_as_json = json_writer(bytes.hex)
IS_INTACT_SQL = "is_intact"
"""The name of ``is_intact`` in SQL."""
CHECKSUM_SQL = "checksum_of"
"""The name of ``checksum`` in SQL."""


@cache
def packer() -> Callable[[object], bytes]:
    """Return a function that packs values: each with its type and its length, so that no others
    give the same bytes.
    """
    import msgspec  # heavy: only for commands with a ledger

    # MessagePack copies a text as SQLite stores it, where JSON looks at each character
    return msgspec.msgpack.Encoder(enc_hook=str.__str__).encode  # a Message is a str


def checksum(*values: object) -> int:
    """Return the checksum of a row's values as SQLite returns them; the same on every machine.

    It is negative, unlike a ``json_checksum``.
    """
    return ~zlib.crc32(packer()(values))


def with_checksum(*values: object) -> tuple[object, ...]:
    """Return a row as it is written: with its checksum at the end."""
    return (*values, ~zlib.crc32(packer()(values)))


def is_intact(*row: object) -> bool:
    """Return True if a row's checksum, its last value, is that of its other values."""
    values, stored = row[:-1], row[-1]
    try:
        return stored in (checksum(*values), json_checksum(*values))
    except UnicodeEncodeError:  # a text that is not UTF-8, as a damaged ledger may hold
        return False


def json_checksum(*values: object) -> int:
    """Return the checksum of labels, and of a ledger's rows that adjudge 1 wrote: over JSON."""
    return zlib.crc32(_as_json(values).encode())


def select(table: str) -> str:
    """Return the beginning of a query for whole rows, for ``verify_row``."""
    # The names are constants of this module.
    return f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table}"  # noqa: S608


def insert(table: str, conflict: str = "REPLACE") -> str:
    """Return a statement that writes a row from ``with_checksum``."""
    names = (*COLUMNS[table], "checksum")
    return (
        f"INSERT OR {conflict} INTO {table} ({', '.join(names)}) VALUES "  # noqa: S608
        f"({','.join('?' * len(names))})"
    )


def checksum_matches(table: str) -> str:
    """Return a condition that holds for undamaged rows."""
    return f"{IS_INTACT_SQL}({', '.join(COLUMNS[table])}, checksum)"


def columns_in(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table in the file; none if there is no such table."""
    return [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]


def checked_key(key: object) -> bytes:
    """Return the key of a vote's ballot, which is read without its row; raise SQLite's error if it
    is none.
    """
    if not isinstance(key, bytes):
        raise sqlite3.DatabaseError(Message("a vote does not name its ballot"))
    return key


def verify_row(table: str, row: Sequence[object]) -> tuple[Any, ...]:
    """Return the row's values if its checksum matches.

    Raise SQLite's error for a damaged row.
    """
    return verifier(table)(tuple(row))


@cache
def verifier(table: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return ``verify_row`` for the rows of one table."""
    pack, crc32 = packer(), zlib.crc32

    def verify(row: tuple[Any, ...]) -> tuple[Any, ...]:
        values, stored = row[:-1], row[-1]
        if ~crc32(pack(values)) != stored and json_checksum(*values) != stored:
            raise _damage(table, values)
        return values

    return verify


def _damage(table: str, values: Sequence[object]) -> sqlite3.DatabaseError:
    places = zip(COLUMNS[table], values, strict=True)
    where = ", ".join(
        f"{name} {value!r}"[:60] for name, value in places if name in (*ORDER[table], "name")
    )
    return sqlite3.DatabaseError(
        Message("checksum mismatch in table {table} ({where})", table=table, where=where)
    )


def refuse_damaged_rows(
    connection: sqlite3.Connection, tables: Iterable[str] = tuple(COLUMNS)
) -> None:
    """Raise SQLite's error if the checksum of any row of ``tables`` does not match."""
    for table in tables:
        for _ in map(verifier(table), connection.execute(select(table))):
            pass


def storable(text: str | None) -> str | None:
    """Return the text with lone surrogates escaped, because UTF-8 cannot encode them."""
    return (
        text
        if text is None or text.isascii()
        else text.encode("utf-8", "backslashreplace").decode()
    )


def message_parts(kept: JsonObject) -> JsonDict:
    """Return the parts of the messages in ``kept``, to be stored next to it."""
    parts: list[JsonValue] = []
    queue: list[tuple[list[JsonValue], Iterable[tuple[JsonValue, Any]]]] = [([], kept.items())]
    for path, members in queue:  # which grows by what is inside
        for name, part in members:
            if not part or type(part) in _SCALARS:
                continue
            if isinstance(part, Message):
                parts.append([[*path, name], cast(JsonValue, pack(part))])
            elif isinstance(part, (list, tuple)):
                queue.append(([*path, name], enumerate(part)))
            elif isinstance(part, Mapping):
                queue.append(([*path, name], part.items()))
    return {MESSAGES: parts} if parts else {}


def with_messages(given: JsonObject) -> JsonDict:
    """Return ``given`` with its texts turned back into messages; invalid parts are skipped."""
    stored = dict(given)
    if MESSAGES not in stored:
        return stored
    parts = stored.pop(MESSAGES)
    for entry in parts if isinstance(parts, list) else ():
        match entry:
            case [[*outer, last], packed]:
                _put_message(stored, outer, last, packed)
    return stored


def _put_message(node: Any, outer: Sequence[Any], last: Any, packed: object) -> None:
    try:
        for name in outer:
            node = node[name]
        if type(node[last]) is str and isinstance(node, dict | list):
            node[last] = StoredMessage(node[last], packed)
    except (LookupError, TypeError):
        return


def fact_text(value: JsonValue) -> str:
    """Return a fact about a run as JSON; messages are stored with their parts."""
    stored: JsonDict = {"value": value}
    parts = message_parts(stored)
    return json.dumps({**stored, **parts} if parts else value)


def read_fact(text: str) -> Any:
    """Return the fact that ``fact_text`` wrote."""
    fact = json.loads(text)
    if isinstance(fact, dict) and fact.keys() == {"value", MESSAGES}:
        return with_messages(fact)["value"]
    return fact


LABELS = "labels"
"""The key of a row's human labels in an exported judgment."""
CLUSTER = "cluster"
"""The key of the column, in an exported judgment, whose equal values belong together."""
INPUT = "input"
"""The key of the input row in a stored judgment."""


def kept_input(row: JsonObject, fields: JsonObject) -> JsonDict:
    """Return the input row for storage: a text that is also a field is stored once, there."""
    names = {value: name for name, value in fields.items() if isinstance(value, str)}
    return {column: _pack_value(value, names) for column, value in row.items()}


def input_from(kept: JsonValue, fields: JsonObject) -> JsonDict:
    """Return the stored input row, with the texts of its fields."""
    if not kept:
        return {}
    return {
        column: _unpack_value(value, fields) if isinstance(value, dict) else value
        for column, value in object_in(kept).items()
    }


def _pack_value(value: JsonValue, fields: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str) and value in fields:
        return {"field": fields[value]}
    return {"value": value} if isinstance(value, Mapping) else value


def _unpack_value(value: JsonDict, fields: JsonObject) -> JsonValue:
    return fields.get(str(value["field"])) if "field" in value else value.get("value")


def wordings_in(configuration: JsonObject) -> dict[str, str]:
    """Return the hash of each prompt template, as the run's judges knew it."""
    judges = judges_of(configuration).values()
    return {name: str(text) for judge in judges for name, text in judge.templates.items()}


def readers_in(configuration: JsonObject) -> set[str]:
    """Return the versions of the reply reader of the run's judges."""
    judges = judges_of(configuration).values()
    return {str(judge.versions.get("reader", "1")) for judge in judges}
