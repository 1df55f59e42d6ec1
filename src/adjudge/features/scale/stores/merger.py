"""Merge a store's records into one ordinary ledger, in constant memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.gateway.layers.account import Account
from adjudge.core.ledger.file import (
    FILE,
    connect,
    delete,
    ledger_error,
    make_tables,
    read_meta,
    under_lock,
    write_meta,
)
from adjudge.core.ledger.rows import COLUMNS, insert, verify_row, with_checksum
from adjudge.errors import RunError
from adjudge.features.scale.stores.store import (
    AccountRecord,
    Record,
    Store,
    StoredJudgment,
    StoredVote,
    without_report,
)
from adjudge.runs.report_facts import KEPT

_OUTCOME, _MORE = COLUMNS["votes"].index("outcome"), COLUMNS["votes"].index("more")
# Columns of a judgment after its judge and number.
_KEPT = COLUMNS["judgments"][2:]
_PLACED = (
    f"CREATE TEMP TABLE placed (judge TEXT, row INTEGER, nth INTEGER, at REAL, {', '.join(_KEPT)}, "
    "PRIMARY KEY (judge, row, nth)) WITHOUT ROWID"
)
_PLACE = (
    f"INSERT INTO placed VALUES (?,?,?,?{',?' * len(_KEPT)}) "  # noqa: S608
    "ON CONFLICT DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in ('at', *_KEPT))} WHERE excluded.at >= at"
)
_IN_ORDER = f"SELECT judge, {', '.join(_KEPT)} FROM placed ORDER BY judge, row, nth"  # noqa: S608


class MergeSummary(NamedTuple):
    votes: int
    judgments: int
    account: Account
    """Spending of all its processes."""


def merge(store: Store, folder: Path, facts: JsonObject) -> MergeSummary:
    """Make the ledger in ``folder``. It appears only when complete.

    An existing ledger is replaced, unless more was asked in it meanwhile.
    """
    begun_with, started = store.begun_with()
    report = {KEPT: begun_with[KEPT]} if KEPT in begun_with else {}
    configuration = without_report(begun_with)
    with under_lock(folder):
        path, new = folder / FILE, (folder / FILE).with_suffix(".new")
        if path.exists():
            refuse_newer(folder)
        delete(new)
        try:
            with connect(new, lasting=False) as connection:
                make_tables(connection, new)
                merged = _fill(connection, store)
                account: JsonDict = {
                    "spending": merged.account.to_dict(),
                    "merged_votes": merged.votes,
                }
                write_meta(
                    connection,
                    {
                        "configuration": configuration,
                        "started": started,
                        **account,
                        **report,
                        **facts,
                    },
                )
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            delete(path)
            new.replace(path)
        except sqlite3.Error as error:
            raise ledger_error(new, error) from error
    return merged


def refuse_newer(folder: Path, store: Store | None = None) -> None:
    """Raise a RunError if the ledger holds more than was merged from this store."""
    if is_newer(folder) or (store and store.begun_with()[1] != _start_time(folder)):
        raise RunError(
            "{folder} contains a run that was not made from this store alone: merge into another "
            "folder, or resume it there",
            folder=folder,
        )


def is_newer(folder: Path) -> bool:
    """Return True if the ledger has more votes than were merged into it."""
    with connect(folder / FILE, writable=False) as connection:
        merged = read_meta(connection).get("merged_votes")
        (vote_count,) = connection.execute("SELECT count(*) FROM votes").fetchone()
    return bool(merged != vote_count)


def _start_time(folder: Path) -> object:
    """Return when the run in a folder was started."""
    with connect(folder / FILE, writable=False) as connection:
        return read_meta(connection).get("started")


def spent_so_far(store: Store) -> Account:
    """Return the spending of all processes that wrote to the store."""
    return sum_of_accounts(store.records())


def sum_of_accounts(records: Iterable[Record]) -> Account:
    """Return the spending of the sessions that wrote these records."""
    # A session writes its account again and again: the last one counts.
    return _sum(
        {record.session: record.account for record in records if isinstance(record, AccountRecord)}
    )


def _fill(connection: sqlite3.Connection, store: Store) -> MergeSummary:
    connection.execute("BEGIN")
    connection.execute(_PLACED)
    accounts: dict[str, JsonDict] = {}
    votes = _votes(connection, store, accounts, 1, final=False)
    votes += _votes(connection, store, {}, votes + 1, final=True)
    judgments = 0
    numbers: dict[str, int] = {}
    for judge, *columns in connection.execute(_IN_ORDER):
        number = numbers[judge] = numbers.get(judge, -1) + 1
        connection.execute(insert("judgments", "ABORT"), with_checksum(judge, number, *columns))
        judgments += 1
    connection.execute("DROP TABLE placed")
    connection.execute("COMMIT")
    return MergeSummary(votes, judgments, _sum(accounts))


def _votes(
    connection: sqlite3.Connection,
    store: Store,
    accounts: dict[str, JsonDict],
    number: int,
    *,
    final: bool,
) -> int:
    """Copy the final votes or the others; the first pass also copies everything else."""
    count = 0
    for record in store.records():
        if isinstance(record, AccountRecord):
            accounts[record.session] = record.account
        elif isinstance(record, StoredJudgment) and not final:
            judge, _, *columns = verify_row("judgments", record.values)
            connection.execute(_PLACE, (judge, record.row, record.nth, record.at, *columns))
        # Answers come after failures: of two votes on a ballot the last counts.
        elif isinstance(record, StoredVote) and _is_final(record.values) is final:
            values = verify_row("votes", record.values)
            connection.execute(insert("votes", "ABORT"), with_checksum(number + count, *values[1:]))
            count += 1
    return count


def _is_final(values: tuple[object, ...]) -> bool:
    return values[_OUTCOME] != "model_error" and '"unfinished"' not in str(values[_MORE])


def _sum(accounts: Mapping[str, JsonDict]) -> Account:
    total = Account()
    for account in map(Account.of, accounts.values()):
        total.absorb(account)
    return total
