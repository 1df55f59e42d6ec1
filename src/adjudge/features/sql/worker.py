"""The program inside the sandbox: build a database, run both queries on it and on changed copies,
and compare the results.

It is sent as text, and uses the standard library only. ``compare`` returns codes with values, which
the host turns into sentences.
"""

from __future__ import annotations

import base64
import math
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import process_time
from typing import Any

Row = tuple[Any, ...]
Outcome = dict[str, Any]
KINDS = ("changed", "dropped", "duplicated", "mixed")
"""Ways to change a copy, in turn."""
_SHARE = 0.3
# Most rows of a table that a copy changes.
_MOST_CHANGES = 400
_HEAP = 256 * 1024 * 1024
_MOST_BYTES = 32 * 1024 * 1024
_LONGEST_CELL = 60
# Operations of SQLite's machine between two looks at the clock. It is the process's own clock, so
# that a busy machine fails no query.
_STEPS = 5000
_RANDOM = frozenset({"random", "randomblob"})
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_BUILDS = frozenset(
    code
    for name, code in vars(sqlite3).items()
    if (name.startswith(("SQLITE_CREATE_", "SQLITE_DROP_")) and not name.endswith("_VTABLE"))
    or name
    in {
        *("SQLITE_INSERT", "SQLITE_UPDATE", "SQLITE_DELETE", "SQLITE_TRANSACTION"),
        *("SQLITE_SAVEPOINT", "SQLITE_ALTER_TABLE", "SQLITE_REINDEX", "SQLITE_ANALYZE"),
    }
)
_NAMES = {
    code: name.removeprefix("SQLITE_").replace("_", " ")
    for name, code in vars(sqlite3).items()
    if name.removeprefix("SQLITE_")
    in {
        *("INSERT", "UPDATE", "DELETE", "ATTACH", "DETACH", "PRAGMA", "TRANSACTION", "SAVEPOINT"),
        *("ALTER_TABLE", "REINDEX", "ANALYZE", "CREATE_INDEX", "CREATE_TABLE", "CREATE_TEMP_TABLE"),
        *("CREATE_TRIGGER", "CREATE_VIEW", "CREATE_VTABLE", "DROP_INDEX", "DROP_TABLE"),
        *("DROP_TRIGGER", "DROP_VIEW", "DROP_VTABLE", "CREATE_TEMP_VIEW", "CREATE_TEMP_INDEX"),
    }
}
# What dumps of databases set; anything else could change how queries run.
_PRAGMAS = frozenset(
    {
        *("foreign_keys", "defer_foreign_keys", "encoding", "user_version", "application_id"),
        *("journal_mode", "synchronous", "page_size", "auto_vacuum", "legacy_file_format"),
    }
)

# Full-text tables ask for it when they are read.
_READING_PRAGMAS = frozenset({"data_version"})


class Trouble(Exception):
    """Raised if a query or a database cannot be used; carries a reason code."""

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.outcome: Outcome = {"code": code, **values}


class GuardedConnection:
    """A connection whose statements are limited in kind, time and size."""

    def __init__(self, seconds: float) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in (f"hard_heap_limit={_HEAP}", "temp_store=MEMORY", "trusted_schema=OFF"):
            self.connection.execute(f"PRAGMA {pragma}")
        self._seconds, self._until, self._late = seconds, 0.0, False
        self._denied: tuple[str, str] | None = None
        self._is_random = False
        self.connection.set_progress_handler(self._look_at_clock, _STEPS)

    def _look_at_clock(self) -> int:
        self._late = process_time() > self._until
        return int(self._late)

    def allow(self, kinds: frozenset[int], pragmas: frozenset[str] = frozenset()) -> None:
        """Allow only these kinds of actions from now on."""

        def decide(kind: int, first: str | None, second: str | None, *_: object) -> int:
            if kind == sqlite3.SQLITE_FUNCTION:
                name = (second or "").lower()
                self._is_random = self._is_random or name in _RANDOM
                if name == "load_extension":
                    self._denied = ("load_extension", "")
                    return sqlite3.SQLITE_DENY
                return sqlite3.SQLITE_OK
            # So SQLite declares json_each and full-text tables; a query cannot write there.
            if kind == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
                return sqlite3.SQLITE_OK
            if kind in kinds or (
                kind == sqlite3.SQLITE_PRAGMA and (first or "").lower() in pragmas
            ):
                return sqlite3.SQLITE_OK
            self._denied = self._denied or (_NAMES.get(kind, str(kind)), first or "")
            return sqlite3.SQLITE_DENY

        self.connection.set_authorizer(decide)

    def run(self, work: Callable[[], Any], seconds: float | None = None) -> Any:
        """Return what ``work`` returns; raise Trouble with the reason if SQLite stops it."""
        limit = self._seconds if seconds is None else seconds
        self._until, self._late, self._denied = process_time() + limit, False, None
        self._is_random = False
        try:
            return work()
        except MemoryError:
            raise Trouble("memory") from None
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
            text = str(error)
            if self._late:
                raise Trouble("slow", seconds=limit) from None
            if self._denied:
                raise Trouble("denied", action=self._denied[0], name=self._denied[1]) from None
            if "one statement at a time" in text:
                raise Trouble("several") from None
            if "out of memory" in text or "too big" in text:
                raise Trouble("memory") from None
            raise Trouble("error", text=text[:300]) from None

    def query(self, sql: str, most_rows: int) -> tuple[list[str], list[Row]]:
        """Return the names of the columns and the rows of one query, which may only read."""

        def fetch() -> tuple[list[str], list[Row]]:
            cursor = self.connection.execute(sql)
            if cursor.description is None:
                raise Trouble("no_query")
            if self._is_random:
                raise Trouble("random")
            rows: list[Row] = []
            size = 0
            while batch := cursor.fetchmany(500):
                rows += batch
                size += sum(
                    len(cell) if isinstance(cell, str | bytes) else 8
                    for row in batch
                    for cell in row
                )
                if len(rows) > most_rows:
                    raise Trouble("rows", most=most_rows)
                if size > _MOST_BYTES:
                    raise Trouble("size", most=_MOST_BYTES // 2**20)
            return [column[0] for column in cursor.description], rows

        names_and_rows: tuple[list[str], list[Row]] = self.run(fetch)
        return names_and_rows

    def close(self) -> None:
        self.connection.set_progress_handler(None, 0)
        self.connection.close()


def compare(job: dict[str, Any], tell: Callable[[str], object]) -> Outcome:
    """Compare both queries on the database and its copies.

    ``tell`` is called with the part that begins, so that the host knows whose fault a crash is.
    """
    tell("database")
    try:
        image = _build(job)
    except Trouble as trouble:
        return {"verdict": "error", "part": "database", **trouble.outcome}
    except MemoryError:
        return {"verdict": "error", "part": "database", "code": "memory"}
    base = _compare_on(job, image, tell)
    if base["verdict"] in ("error", "fail", "open"):
        return base
    compared = skipped = 0
    is_empty, is_blank = bool(base["is_empty"]), bool(base["is_blank"])
    for number in range(job["copies"]):
        kind = KINDS[number % len(KINDS)]
        tell("copy")
        try:
            copy = _changed(image, job, number, kind)
        except (Trouble, MemoryError):
            skipped += 1
            continue
        outcome = _compare_on(job, copy, tell)
        if outcome["verdict"] == "fail" and outcome.get("is_decided", True):
            return {**outcome, "copy": number + 1, "kind": kind, "rows": base["rows"]}
        if outcome["verdict"] == "same":
            compared += 1
            is_empty = is_empty and bool(outcome["is_empty"])
            is_blank = is_blank and bool(outcome["is_blank"])
        else:
            skipped += 1
    counts = {"rows": base["rows"], "copies": compared, "skipped": skipped}
    if compared and (largest := _largest_table(image)) * _SHARE > _MOST_CHANGES:
        counts |= {"most_changed": _MOST_CHANGES, "largest": largest}
    if is_blank:
        return {"verdict": "open", "code": "empty" if is_empty else "blank", **counts}
    return {"verdict": "pass", "code": "same", **counts}


def _build(job: dict[str, Any]) -> bytes:
    """Return the database as the bytes of its file; raise Trouble if it cannot be built."""
    guarded = GuardedConnection(job["build_seconds"])
    connection = guarded.connection
    if "file" in job:
        image = bytearray(base64.b64decode(job["file"]))
        if image[18:20] == b"\x02\x02":  # a database in memory has no log beside it
            image[18:20] = b"\x01\x01"
        try:
            connection.deserialize(bytes(image))
        except sqlite3.Error as error:
            raise Trouble("error", text=str(error)[:300]) from None
    else:
        guarded.allow(_READS | _BUILDS, _PRAGMAS)
        guarded.run(lambda: connection.executescript(job["script"]))
        if connection.in_transaction:
            guarded.run(connection.commit)
        connection.set_authorizer(None)
    tables = guarded.run(lambda: _tables(connection))
    if not tables:
        raise Trouble("no_tables")
    image_bytes: bytes = guarded.run(connection.serialize)
    guarded.close()
    return image_bytes


def _open(image: bytes, seconds: float) -> GuardedConnection:
    guarded = GuardedConnection(seconds)
    guarded.connection.deserialize(image)
    return guarded


def _tables(connection: sqlite3.Connection) -> list[str]:
    # Tables inside a full-text index would no longer fit together if they were changed.
    inside = {
        name for _, name, kind, *_ in connection.execute("PRAGMA table_list") if kind == "shadow"
    }
    return [
        name
        for name, sql in connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
        if not name.startswith("sqlite_")
        and name not in inside
        and not (sql or "").upper().startswith("CREATE VIRTUAL")
    ]


# -- comparing -----------------------------------------------------------------------


def _compare_on(job: dict[str, Any], image: bytes, tell: Callable[[str], object]) -> Outcome:
    """Compare both queries on one database: same, fail, open or error."""
    guarded = _open(image, job["seconds"])
    guarded.connection.execute("PRAGMA query_only=ON")
    guarded.allow(_READS, _READING_PRAGMAS)
    try:
        tell("reference")
        try:
            names, expected = guarded.query(job["reference"]["sql"], job["most_rows"])
        except Trouble as trouble:
            return {"verdict": "error", "part": "reference", **trouble.outcome}
        order = _order_of(job["reference"], guarded, names, expected, job["most_rows"])
        tell("response")
        try:
            columns, found = guarded.query(job["response"], job["most_rows"])
        except Trouble as trouble:
            return {"verdict": "fail", "part": "response", **trouble.outcome}
    finally:
        guarded.close()
    tell("comparison")
    difference = _difference(expected, found, (len(names), len(columns)), order, job["tolerance"])
    if difference is None:
        return {
            "verdict": "same",
            "rows": len(expected),
            "is_empty": not expected,
            "is_blank": _is_blank(expected),
        }
    # Ties can explain other rows, or all that tie instead of some, but nothing else.
    explained = len(expected) == len(found) or not difference.get("missing")
    is_decided = difference["code"] == "columns" or not order.is_arbitrary
    reason = None
    if difference["code"] == "order" and order.keys is None:
        reason = "order_unknown"
    if not is_decided and explained:
        reason = "ties"
    if difference["code"] == "other_rows" and is_decided:
        depends = _depends_on_storage(job, image, expected)
        reason = "storage" if depends else None
        is_decided = depends is not None or not job["reference"]["nested_limit"]
    if reason:
        return {"verdict": "open", "code": reason}
    return {"verdict": "fail", "part": "response", "is_decided": is_decided, **difference}


def _is_blank(rows: list[Row]) -> bool:
    """Return True for no rows, or one of zeros and NULLs, as aggregates of no rows give."""
    return len(rows) < 2 and all(cell is None or cell == 0 for row in rows for cell in row)


def _depends_on_storage(job: dict[str, Any], image: bytes, expected: list[Row]) -> bool | None:
    """Return True if the reference returns other rows when its tables are stored in reverse.

    Then ties in a subquery, a window or a group decide its rows. None if this cannot be tried.
    """
    guarded = _open(image, job["seconds"])
    connection = guarded.connection

    def reverse_tables() -> bool:
        # Copies would lose collations, row numbers and full-text indexes.
        texts = [str(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_master")]
        if any(text.upper().startswith("CREATE VIRTUAL") for text in texts):
            return False
        if "ROWID" in job["reference"]["sql"].upper() or "COLLATE" in " ".join(texts).upper():
            return False
        connection.execute("PRAGMA reverse_unordered_selects=ON")
        for table in _tables(connection):
            # A temporary table hides the stored one of that name.
            copy = "CREATE TEMP TABLE {} AS SELECT * FROM main.{}"
            connection.execute(_named(copy, table, table))
        connection.execute("PRAGMA reverse_unordered_selects=OFF")
        for text in texts:
            if text.startswith("CREATE VIEW "):  # SQLite stores it so; a stored view reads main
                connection.execute("CREATE TEMP VIEW " + text.removeprefix("CREATE VIEW "))
        return True

    try:
        if not guarded.run(reverse_tables, job["build_seconds"]):
            return None
        connection.execute("PRAGMA query_only=ON")
        guarded.allow(_READS, _READING_PRAGMAS)
        _, rows = guarded.query(job["reference"]["sql"], job["most_rows"])
    except (Trouble, MemoryError):
        return None
    finally:
        guarded.close()
    return any(_unmatched(expected, rows, job["tolerance"]))


class Order:
    """The order of the reference's rows, as far as its text fixes it."""

    def __init__(self, keys: list[Row] | None, *, counts: bool, is_arbitrary: bool) -> None:
        self.keys = keys
        """Per row the values that it is sorted by; None if they are not known."""
        self.counts = counts
        self.is_arbitrary = is_arbitrary
        """True if the rows that a LIMIT leaves are not determined by the data."""


def _order_of(
    reference: dict[str, Any],
    guarded: GuardedConnection,
    names: list[str],
    rows: list[Row],
    most: int,
) -> Order:
    limit = reference["limit"]
    if not reference["ordered"]:
        # Without an order, SQLite chooses which rows a LIMIT leaves.
        cuts = limit is not None and _count_without_limit(reference, guarded, most) != len(rows)
        return Order(None, counts=False, is_arbitrary=cuts)
    unknown = Order(None, counts=True, is_arbitrary=limit is not None)
    complete = _keyed(reference, guarded, names, reference["terms"], most)
    if complete is None:
        return unknown
    keyed_rows, keys = complete
    count, offset = limit or (len(keyed_rows), 0)
    if count is None or keyed_rows[offset : offset + count] != rows:
        return unknown
    end = offset + count
    tied = [0 < place < len(keys) and keys[place - 1] == keys[place] for place in (offset, end)]
    return Order(keys[offset:end], counts=True, is_arbitrary=any(tied))


def _count_without_limit(
    reference: dict[str, Any], guarded: GuardedConnection, most: int
) -> int | None:
    try:
        return len(guarded.query(reference["unlimited"], most)[1])
    except Trouble:
        return None


def _keyed(
    reference: dict[str, Any],
    guarded: GuardedConnection,
    names: list[str],
    terms: Sequence[str],
    most: int,
) -> tuple[list[Row], list[Row]] | None:
    """Return all rows without the LIMIT, and the values that each is sorted by; None if those
    cannot be read.
    """
    lowered = [name.lower() for name in names]
    places: list[int] = []
    extra: list[str] = []
    for term in terms:
        plain = term.strip('"`[] ').lower()
        if term.isdecimal() and 0 < int(term) <= len(names):
            places.append(int(term) - 1)
        elif plain in lowered:
            places.append(lowered.index(plain))
        else:
            places.append(len(names) + len(extra))
            extra.append(f"({term})")
    sql = reference["unlimited"]
    if extra:
        at = reference["insert_at"]
        if at is None:
            return None
        sql = f"{sql[:at]}, {', '.join(extra)} {sql[at:]}"
    try:
        _, rows = guarded.query(sql, most)
    except Trouble:
        return None
    keys = [tuple(map(_key, (row[place] for place in places))) for row in rows]
    return [row[: len(names)] for row in rows], keys


def _key(value: object) -> object:
    # Collations that ignore case or trailing blanks make more rows tie, never fewer.
    return value.casefold().rstrip() if isinstance(value, str) else value


def _difference(
    expected: list[Row],
    found: list[Row],
    widths: tuple[int, int],
    order: Order,
    tolerance: float,
) -> Outcome | None:
    """Return how the rows differ; None if they are the same."""
    wanted_width, width = widths
    if wanted_width != width:
        return {"code": "columns", "wanted": wanted_width, "got": width}
    missing, extra = _unmatched(expected, found, tolerance)
    if missing or extra:
        return {
            "code": "other_rows",
            "wanted": len(expected),
            "got": len(found),
            "missing": len(missing),
            "extra": len(extra),
            "first_missing": _shown(missing[0]) if missing else "",
            "first_extra": _shown(extra[0]) if extra else "",
        }
    if order.counts and not _is_in_order(expected, found, order.keys, tolerance):
        return {"code": "order"}
    return None


def _unmatched(
    expected: list[Row], found: list[Row], tolerance: float
) -> tuple[list[Row], list[Row]]:
    """Return the rows that have no counterpart on the other side; duplicates count."""
    wanted = Counter(map(_exact, expected))
    extra: list[Row] = []
    for row in found:
        exact = _exact(row)
        if wanted[exact] > 0:
            wanted[exact] -= 1
        else:
            extra.append(row)
    missing = []
    for row in expected:
        exact = _exact(row)
        if wanted[exact] > 0:
            wanted[exact] -= 1
            missing.append(row)
    if not missing or not extra or not any(_has_float(row) for row in (*missing, *extra)):
        return missing, extra
    # Rows that differ in floats: grouped by their other cells, then matched one by one.
    groups: dict[Row, list[Row]] = {}
    for row in extra:
        groups.setdefault(_without_numbers(row), []).append(row)
    for rows in groups.values():
        rows.sort(key=_numbers)
    left = []
    starts = dict.fromkeys(groups, 0)
    for row in sorted(missing, key=_numbers):
        cells = _without_numbers(row)
        candidates, start = groups.get(cells, []), starts.get(cells, 0)
        # Both sides are sorted: what is too small for this row is too small for all later ones.
        while start < len(candidates) and _is_first_smaller(candidates[start], row, tolerance):
            start += 1
        starts[cells] = start
        match = _counterpart(row, candidates, start, tolerance)
        if match is None:
            left.append(row)
        else:
            candidates.pop(match)
    return left, [row for rows in groups.values() for row in rows]


def _counterpart(row: Row, candidates: list[Row], start: int, tolerance: float) -> int | None:
    """Return the place of the first of the sorted candidates that is the same row."""
    for place in range(start, min(start + 2000, len(candidates))):
        if _is_same(row, candidates[place], tolerance):
            return place
        if _is_first_smaller(row, candidates[place], tolerance):
            break
    return None


def _is_first_smaller(row: Row, other: Row, tolerance: float) -> bool:
    """Return True if the first number of ``row`` is smaller, by more than the tolerance."""
    number, other_number = (next(iter(_numbers(cells)), 0.0) for cells in (row, other))
    return number < other_number and not math.isclose(
        number, other_number, rel_tol=tolerance, abs_tol=tolerance
    )


def _exact(row: Row) -> Row:
    # 1 and 1.0 are one value; 1 and True cannot both occur; "1" and b"1" differ from it.
    return tuple((type(cell) is bytes, cell) for cell in row)


def _has_float(row: Row) -> bool:
    return any(isinstance(cell, float) for cell in row)


def _without_numbers(row: Row) -> Row:
    return tuple("number" if isinstance(cell, int | float) else (cell,) for cell in row)


def _numbers(row: Row) -> tuple[float, ...]:
    return tuple(float(cell) for cell in row if isinstance(cell, int | float))


def _is_same(row: Row, other: Row, tolerance: float) -> bool:
    return all(
        cell == other_cell
        or (
            isinstance(cell, int | float)
            and isinstance(other_cell, int | float)
            and (isinstance(cell, float) or isinstance(other_cell, float))
            and math.isclose(cell, other_cell, rel_tol=tolerance, abs_tol=tolerance)
        )
        for cell, other_cell in zip(row, other, strict=True)
    )


def _is_in_order(
    expected: list[Row], found: list[Row], keys: list[Row] | None, tolerance: float
) -> bool:
    """Return True if the rows are in the reference's order; rows that tie may be in any."""
    groups = (
        _ties(keys) if keys is not None else [(place, place + 1) for place in range(len(found))]
    )
    for start, end in groups:
        if any(_unmatched(expected[start:end], found[start:end], tolerance)):
            return False
    return True


def _ties(keys: list[Row]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of equal keys."""
    start = 0
    for place in range(1, len(keys) + 1):
        if place == len(keys) or keys[place] != keys[start]:
            yield start, place
            start = place


def _shown(row: Row) -> str:
    cells = (repr(cell) if not isinstance(cell, bytes) else "…" for cell in row[:8])
    text = ", ".join(
        cell if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]}…" for cell in cells
    )
    return f"({text}{', …' if len(row) > 8 else ''})"


# -- changed copies ------------------------------------------------------------------


def _changed(image: bytes, job: dict[str, Any], number: int, kind: str) -> bytes:
    """Return a copy of the database with some rows dropped, duplicated or changed.

    The declared keys and constraints hold: what would break them is left out.
    """
    choice = random.Random(f"{job['seed']}/{number}")  # noqa: S311 - not for secrets
    guarded = _open(image, job["build_seconds"])
    connection = guarded.connection

    def work() -> bytes:
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(_named("DROP TRIGGER {}", trigger))
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("BEGIN")
        for table in _tables(connection):
            _change_table(connection, table, kind, choice, job["literals"])
        if not connection.total_changes:
            raise Trouble("unchanged")
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts%'"
        ).fetchall():  # the triggers that kept the index up to date are gone
            connection.execute(_named("INSERT INTO {}({}) VALUES ('rebuild')", name, name))
        connection.execute("COMMIT")
        return connection.serialize()

    changed_image: bytes = guarded.run(work)
    guarded.close()
    return changed_image


def _largest_table(image: bytes) -> int:
    """Return the number of rows of the largest table."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(image)
    sizes = [
        int(connection.execute(_named("SELECT count(*) FROM {}", table)).fetchone()[0])
        for table in _tables(connection)
    ]
    connection.close()
    return max(sizes)


def _change_table(
    connection: sqlite3.Connection,
    table: str,
    kind: str,
    choice: random.Random,
    literals: list[float | str],
) -> None:
    columns = connection.execute(_named("PRAGMA table_info({})", table)).fetchall()
    where, ids = _row_ids(connection, table, columns)
    if not ids:
        return
    share = _SHARE / 2 if kind == "mixed" else _SHARE
    most = min(_MOST_CHANGES, max(1, round(len(ids) * share)))
    if kind in ("changed", "mixed"):
        for column in (column[1] for column in columns if not column[5]):
            cells = connection.execute(_named("SELECT {} FROM {} LIMIT 5000", column, table))
            values = [value for (value,) in cells]
            update = " ".join((_named("UPDATE {} SET {} = ?", table, column), where))
            new_values = _new_values(values, most, choice, literals)
            for id, value in zip(choice.sample(ids, most), new_values, strict=False):
                _try(connection, update, (value, *id))
    if kind in ("duplicated", "mixed"):
        keys = [column for column in columns if column[5]]
        generated = keys[0][1] if len(keys) == 1 and keys[0][2].upper() == "INTEGER" else None
        copied = [column[1] for column in columns if column[1] != generated]
        places = ", ".join(["{}"] * len(copied))
        # Names go into the places, quoted.
        insert = " ".join(("INSERT INTO {} (", places, ") SELECT", places, "FROM {}"))
        for id in choice.sample(ids, most) if copied else ():
            _try(connection, f"{_named(insert, table, *copied, *copied, table)} {where}", id)
    if kind in ("dropped", "mixed"):
        delete = " ".join((_named("DELETE FROM {}", table), where))
        for id in choice.sample(ids, most):
            _try(connection, delete, id)


def _row_ids(
    connection: sqlite3.Connection, table: str, columns: list[Row]
) -> tuple[str, list[Row]]:
    """Return a condition that finds one row, and its values for each row of a table."""
    names = {column[1].lower() for column in columns}
    rowid = next((name for name in ("rowid", "_rowid_", "oid") if name not in names), None)
    if rowid:
        with suppress(sqlite3.OperationalError):  # WITHOUT ROWID
            select = " ".join(("SELECT", rowid, _named("FROM {}", table), "ORDER BY", rowid))
            return f"WHERE {rowid} = ?", connection.execute(select).fetchall()
    keys = [_named("{}", column[1]) for column in sorted(columns, key=lambda c: c[5]) if column[5]]
    if not keys:
        return "", []
    key_list = ", ".join(keys)
    select = " ".join(("SELECT", key_list, "FROM", _named("{}", table), "ORDER BY", key_list))
    condition = " AND ".join(f"{key} IS ?" for key in keys)
    return f"WHERE {condition}", connection.execute(select).fetchall()


def _new_values(
    values: list[Any], count: int, choice: random.Random, literals: list[float | str]
) -> Iterator[Any]:
    """Yield values for cells of a column: others of it, of the queries, or NULL if it has some."""
    present = [value for value in values if value is not None]
    exact = _planted(present, literals, 0)
    near = [*exact, *_planted(present, literals, -1), *_planted(present, literals, 1)]
    for number in range(count if present else 0):
        if number == 0 and exact:  # in each copy: > and >= differ there alone
            yield choice.choice(exact)
        elif near and choice.random() < 0.3:
            yield choice.choice(near)
        elif len(present) < len(values) and choice.random() < 0.2:
            yield None
        else:
            yield choice.choice(present)


def _planted(present: list[Any], literals: list[float | str], distance: int) -> list[Any]:
    """Return values from the queries that could be in this column, numbers at this distance."""
    if not present:
        return []
    known = set(present)
    if not all(isinstance(value, int | float) for value in present):
        return [text for text in literals if isinstance(text, str) and text in known]
    low, high = min(present) - 1, max(present) + 1
    numbers = [number + distance for number in literals if not isinstance(number, str)]
    if all(isinstance(value, int) for value in present):
        numbers = [int(number) for number in numbers if float(number).is_integer()]
    return [number for number in numbers if low <= number <= high]


def _try(connection: sqlite3.Connection, sql: str, values: Row) -> None:
    try:
        with suppress(sqlite3.IntegrityError):  # the copy keeps the row as it is
            connection.execute(sql, values)
    except sqlite3.OperationalError as error:
        # A key that refers to a column that is not unique cannot be checked: leave it as it is.
        if "foreign key mismatch" not in str(error):
            raise


def _named(sql: str, *names: str) -> str:
    """Return a statement with quoted names in its places."""
    return sql.format(*('"' + name.replace('"', '""') + '"' for name in names))
