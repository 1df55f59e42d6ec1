"""Recovery of a damaged ledger: every intact row is saved, and the rest is asked again."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from adjudge.core.ledger.file import (
    FILE,
    connect,
    delete,
    ledger_error,
    make_tables,
    refuse_older,
    refuse_strange_schema,
    under_lock,
)
from adjudge.core.ledger.rows import (
    CHECKSUM_SQL,
    COLUMNS,
    KEY_BYTES,
    ORDER,
    checksum,
    columns_in,
    insert,
    is_intact,
    select,
    with_checksum,
)
from adjudge.errors import RunError

_PAGE = 4096
_UNREADABLE = (sqlite3.Error, MemoryError, OverflowError)
"""Errors that reading damaged rows raises."""


def recover(folder: str | Path) -> tuple[int, int]:
    """Save every intact row of a damaged ledger. Return the number of saved votes and of judgments.

    The damaged file is kept next to the new one.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise RunError("{folder} is not a run folder (no {file})", folder=folder, file=FILE)
    with under_lock(path.parent):
        try:
            return _recover(path)
        except sqlite3.Error as error:
            raise ledger_error(path, error) from error


def _recover(path: Path) -> tuple[int, int]:
    new_path = path.with_suffix(".recovered")
    delete(new_path)
    with _readable(path) as source, connect(new_path) as new:
        make_tables(new, new_path)
        saved = {table: _save(source, new, table) for table in COLUMNS}
        rows = _drop_without_votes(new)
        new.execute(
            "DELETE FROM meta WHERE name = 'ended'"
        )  # it has ended when what was lost is there again
    _put_in_place(path, new_path)
    return saved["votes"], rows


def _put_in_place(path: Path, new_path: Path) -> None:
    """Replace the ledger by the recovered one, keeping a copy of the damaged file."""
    damaged = path.with_suffix(".damaged")
    delete(damaged)
    # a copy, not a move: there is a ledger at every moment, also if we are killed
    shutil.copy2(path, damaged)
    # SQLite would apply the old log to the new ledger
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    log = path.with_name(f"{path.name}-wal")
    if log.exists():
        log.replace(damaged.with_name(f"{damaged.name}-wal"))
    new_path.replace(path)


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """Yield the ledger's path. If its tables cannot be found, yield a copy with a new ledger's
    first page.

    This works because all ledgers have their tables on the same pages.
    """
    if _has_tables(path) or path.stat().st_size <= _PAGE:
        yield path
        return
    copy = path.with_suffix(".mended")
    try:
        shutil.copy2(path, copy)
        log = path.with_name(f"{path.name}-wal")
        if log.exists():
            shutil.copy2(log, copy.with_name(f"{copy.name}-wal"))
        with copy.open("r+b") as file:
            file.write(_first_page(path.stat().st_size // _PAGE))
        yield copy
    finally:
        delete(copy)


def _has_tables(path: Path) -> bool:
    try:
        with _open_damaged(path) as old:
            refuse_strange_schema(old, path)
            if columns_in(old, "votes"):
                refuse_older(old, path)
            return all(set(columns_in(old, table)) >= set(COLUMNS[table]) for table in COLUMNS)
    except sqlite3.Error:
        return False


def _first_page(pages: int) -> bytes:
    """Return the first page of a new ledger with this many pages and a write-ahead log."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        new.create_function(CHECKSUM_SQL, -1, checksum, deterministic=True)
        make_tables(new, Path(FILE))
        page = bytearray(new.serialize()[:_PAGE])
    page[18:20] = b"\x02\x02"  # https://www.sqlite.org/fileformat2.html: with a write-ahead log
    page[28:32] = pages.to_bytes(4, "big")
    return bytes(page)


@contextmanager
def _open_damaged(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a damaged ledger for reading, e.g. one that is cut short or contains invalid UTF-8."""
    with connect(path, writable=False) as old:
        old.execute("PRAGMA writable_schema = ON")
        old.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        yield old


def _save(path: Path, new: sqlite3.Connection, table: str) -> int:
    """Copy a table row by row from both ends, each time up to the damage. Then copy the votes in
    between one by one.
    """
    new.execute("BEGIN")
    saved = sum(_copy(new, table, _rows(path, table, way)) for way in ("ASC", "DESC"))
    if table == "votes":
        saved_numbers = {number for (number,) in new.execute("SELECT number FROM votes")}
        saved += _copy(new, table, _votes_between(path, saved_numbers))
    new.execute("COMMIT")
    return saved


def _copy(new: sqlite3.Connection, table: str, rows: Iterator[tuple[object, ...]]) -> int:
    statement = insert(table, "IGNORE")
    return sum(new.execute(statement, with_checksum(*row)).rowcount for row in rows)


def _rows(path: Path, table: str, way: str) -> Iterator[tuple[object, ...]]:
    """Yield the intact rows before the first unreadable one. ``way``: ASC or DESC."""
    order = ", ".join(f"{name} {way}" for name in ORDER[table])
    try:
        with _open_damaged(path) as old:
            yield from _whole_rows(old, table, f"ORDER BY {order}")
    except _UNREADABLE:
        return


def _votes_between(path: Path, known: set[int]) -> Iterator[tuple[object, ...]]:
    """Yield the votes that cannot be reached from either end, found by their numbers or through the
    index.
    """
    numbers = set(range(1, max(known, default=0)))
    try:
        with _open_damaged(path) as old:
            with suppress(*_UNREADABLE):
                numbers.update(
                    number
                    for (number,) in old.execute(
                        "SELECT number FROM votes INDEXED BY votes_by_ballot"
                    )
                )
            for number in sorted(numbers - known):
                with suppress(*_UNREADABLE):
                    yield from _whole_rows(old, "votes", "WHERE number = ?", (number,))
    except _UNREADABLE:
        return


def _whole_rows(
    old: sqlite3.Connection, table: str, which: str, values: Sequence[int] = ()
) -> Iterator[tuple[object, ...]]:
    """Yield the rows whose checksums are correct."""
    rows = old.execute(f"{select(table)} {which}", values)
    yield from (row[:-1] for row in rows if is_intact(*row))


def _drop_without_votes(new: sqlite3.Connection) -> int:
    """Delete judgments that lost votes, since they will be judged again. Return the number left."""
    lost = [
        place
        for *place, ballots in new.execute("SELECT judge, number, ballots FROM judgments")
        if not _has_votes(new, ballots)
    ]
    new.executemany("DELETE FROM judgments WHERE judge = ? AND number = ?", lost)
    (rows_left,) = new.execute("SELECT count(*) FROM judgments").fetchone()
    return int(rows_left)


def _has_votes(new: sqlite3.Connection, ballots: bytes) -> bool:
    keys = [ballots[place : place + KEY_BYTES] for place in range(0, len(ballots), KEY_BYTES)]
    return all(
        new.execute("SELECT 1 FROM votes WHERE ballot = ?", (key,)).fetchone() for key in keys
    )
