"""The ledger's file: its tables, its lock, and the checks before it is resumed."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from adjudge.core.aio.files import locked
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration, judges_of
from adjudge.core.domain.message import Usage
from adjudge.core.ledger.changes import SettingChange, change_lines, differences, is_wording
from adjudge.core.ledger.rows import (
    CACHE_WRITES,
    CHECKSUM_SQL,
    COLUMNS,
    IN_BATCH,
    IS_INTACT_SQL,
    KEY_BYTES,
    checksum,
    checksum_matches,
    columns_in,
    fact_text,
    insert,
    is_intact,
    read_fact,
    readers_in,
    refuse_damaged_rows,
    select,
    verify_row,
    with_checksum,
    wordings_in,
)
from adjudge.errors import OtherConfiguration, RunError
from adjudge.messages import Message, join, reason_of

_LOG = logging.getLogger("adjudge")
FILE = "ledger.sqlite"
LOCK = "ledger.lock"
READERS = "readers"
"""The fact that names every version of the reply reader that read a run, if there were several."""
OPINIONS = "second_opinions"
"""The fact that counts the votes of second opinions, and the judgments that none could be had on.
"""
LABELS = "labels.sqlite"
"""Human labels of the rows, in the same folder."""
# Endings of a database's file, and of those that SQLite keeps next to it.
_ENDINGS = ("", "-wal", "-shm", "-journal")
NOTES = "criteria-notes.jsonl"
"""Annotators' notes on the criteria."""
LABELS_LOCK = "labels.lock"
PEOPLE = "people.sqlite"
"""The assignment of rows to annotators."""
LABEL_FILES = (
    *(name + ending for name in (LABELS, PEOPLE) for ending in _ENDINGS),
    *(NOTES, LABELS_LOCK),
)
_NAMES = (FILE, *(f"ledger.{state}" for state in ("new", "recovered", "mended", "damaged")))
OWN = tuple(name + ending for name in _NAMES for ending in _ENDINGS)
"""The files of a ledger, of a new one while it is made, and of those from ``runs recover``."""
RECOVER = Message("'adjudge runs recover RUN' saves what can be read")
_NO_ACCESS = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
)
PATIENCE = 30.0
"""Seconds to wait for a program that has locked the ledger."""
# Bytes up to which a ledger is read through for damage before it is used.
_SMALL = 200_000_000
# The end of the year 9999, the last that datetime can show.
_LAST_SECOND = 253_402_300_800
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL", re.IGNORECASE)
# Votes for which there was a reply.
_REPLIED = "NOT (outcome IN ('model_error', 'refused') AND prompt_tokens = 0)"
# Checks of the facts that are used: a ledger may come from anyone, checksums and all.
_FACTS: Mapping[str, Callable[[object], bool]] = {
    "configuration": lambda value: isinstance(value, dict),
    "started": lambda value: isinstance(value, int | float) and 0 <= value < _LAST_SECOND,
    "spending": lambda value: isinstance(value, dict),
}
LAYOUT = 8
"""The version of the tables; an empty file is version 0. Version 7 differs only in its checksums,
which are still read.
"""


def holds_run(folder: Path) -> bool:
    """Return True if a path is a run folder."""
    return (folder / FILE).is_file()


def holds_labels(folder: str | Path) -> bool:
    """Return True if a run folder has human labels."""
    return (Path(folder) / LABELS).exists()


@contextmanager
def connect(
    path: Path, *, writable: bool = True, lasting: bool = True
) -> Iterator[sqlite3.Connection]:
    """Open a connection with our settings, and close it at the end.

    ``lasting``: True if a commit waits until it is on the disk.
    """
    mode = "rwc" if writable else "ro&immutable=1" if _on_read_only_media(path) else "ro"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(
        sqlite3.connect(
            # Without Python's own transactions, since the commit thread begins and ends them. It
            # takes the connection over from the thread that opened it; only one of them uses it at
            # a time.
            uri,
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
    ) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")  # a ledger may come from anyone
        connection.create_function(CHECKSUM_SQL, -1, checksum, deterministic=True)
        connection.create_function(IS_INTACT_SQL, -1, is_intact, deterministic=True)
        if writable:
            # NORMAL would lose the last commits on a power cut: answers that are paid for.
            connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'OFF'}")
            # With a log next to it, the page and other commands read while a run writes.
            connection.execute("PRAGMA journal_mode = WAL")
        yield connection


def _on_read_only_media(path: Path) -> bool:
    """Return True if SQLite cannot create the index of its log there."""
    # Then no process writes there, and if there is no log, the file holds everything.
    if os.access(path.absolute().parent, os.W_OK):
        return False
    try:
        return not path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return True


@contextmanager
def under_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time write to a run; the lock of a dead process is released."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links(folder)
        with locked(folder / LOCK, wait=False) as is_ours:
            if not is_ours:
                raise RunError(
                    "the run {folder} is under way in another process: wait for it, or use "
                    "another folder",
                    folder=folder,
                )
            yield
    except OSError as error:
        raise RunError(
            "the run folder {folder} cannot be used: {reason}",
            folder=folder,
            reason=reason_of(error),
        ) from error


@contextmanager
def open_ledger(
    folder: Path,
    configuration: JsonObject,
    fork_of: Path | None,
    facts: JsonObject,
    *,
    lasting: bool = True,
) -> Iterator[tuple[sqlite3.Connection, dict[str, str]]]:
    """Make the ledger, or check that the existing one may be resumed. The caller holds the lock.

    Yield the connection and the prompt wordings of the run's beginning.
    """
    path = folder / FILE
    with ExitStack() as stack:
        try:
            is_new = not path.exists()
            if is_new:
                _make(path, {**facts, "configuration": configuration}, fork_of)
            refuse_empty(path)
            connection = stack.enter_context(connect(path, lasting=lasting))
            as_made = is_new and fork_of is None  # so there is nothing to check
            wordings = (
                wordings_in(configuration)
                if as_made
                else _check_resumable(connection, folder, configuration)
            )
        except sqlite3.Error as error:
            raise ledger_error(path, error) from error
        yield connection, wordings


def _check_resumable(
    connection: sqlite3.Connection, folder: Path, configuration: JsonObject
) -> dict[str, str]:
    path = folder / FILE
    _check_integrity(connection, path)
    make_tables(connection, path)
    check_rows(connection, path)
    facts = read_meta(connection)
    stored = object_in(facts.get("configuration"))
    if "configuration" not in facts:
        write_meta(connection, {"configuration": configuration, "started": time.time()})
    else:
        refuse_other(str(folder), stored, configuration)
        _note_readers(connection, folder, facts, configuration)
    return _wordings(folder, stored or configuration, configuration)


def _note_readers(
    connection: sqlite3.Connection, folder: Path, facts: JsonObject, configuration: JsonObject
) -> None:
    """Warn if this version of the reply reader has not read the run before, and note it."""
    stored_readers = facts.get(READERS)
    old_readers = (
        set(stored_readers)
        if isinstance(stored_readers, list)
        else readers_in(object_in(facts["configuration"]))
    )
    new_readers = readers_in(configuration)
    if old_readers and new_readers and not new_readers <= old_readers:
        _LOG.warning(
            Message(
                "{folder} was started by a version of adjudge with different rules for reading "
                "replies: its verdicts are kept, and new replies are read by the new rules",
                folder=folder,
            )
        )
        write_meta(connection, {READERS: sorted(map(str, old_readers | new_readers))})


# Changed settings that are named one by one.
_MOST_TOLD = 3
_ANOTHER_FOLDER = Message("or use another folder")


def refuse_other(
    folder: str,
    known: JsonObject,
    configuration: JsonObject,
    otherwise: Message = _ANOTHER_FOLDER,
) -> None:
    """Raise an OtherConfiguration if a run begun with ``known`` cannot be resumed with
    ``configuration``.

    ``otherwise``: the alternative that the message names.
    """
    if changes := _changes(known, configuration):
        lines = list(change_lines(changes, known, configuration))
        more = Message("{count} more", count=len(lines) - _MOST_TOLD)
        raise OtherConfiguration(
            "the run {folder} was created with another configuration ({told}): restore the "
            "settings, {otherwise}",
            folder=folder,
            told=join("; ", (*lines[:_MOST_TOLD], *((more,) if len(lines) > _MOST_TOLD else ()))),
            otherwise=otherwise,
        )


def is_same_configuration(known: JsonObject, configuration: JsonObject) -> bool:
    """Return True if a run begun with ``known`` can be resumed with ``configuration``."""
    return not _changes(known, configuration)


def _changes(known: JsonObject, configuration: JsonObject) -> list[SettingChange]:
    return [change for change in differences(known, configuration) if not is_wording(change)]


def _make(path: Path, facts: JsonObject, fork_of: Path | None) -> None:
    """Make a new ledger under another name, and rename it when it is complete."""
    # So a ledger that is empty was emptied later, and is not taken for a new one.
    new = path.with_suffix(".new")
    delete(new)
    if fork_of is not None:
        with connect(fork_of / FILE, writable=False) as source, connect(new) as target:
            source.backup(target)
    with connect(new, lasting=False) as connection:
        make_tables(connection, new)
        forked = {"forked_from": str(fork_of)} if fork_of else {}
        if fork_of:
            _keep_answers_only(connection)
        write_meta(connection, {**facts, "started": time.time(), **forked})
        # Only the main file is renamed, so everything must be in it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with new.open("rb+") as file:
        os.fsync(file.fileno())  # once, since the commits before did not wait for the disk
    new.replace(path)


def _keep_answers_only(connection: sqlite3.Connection) -> None:
    """Remove the judgments and the costs of a copied run."""
    # Its answers are judged again and cost nothing here: the run that asked paid for them.
    for unwanted in (
        "judgments",
        "batches",
        "batch_ballots",
        "votes WHERE outcome = 'model_error'",
        "meta WHERE name IN ('spending', 'ended')",
    ):
        connection.execute(f"DELETE FROM {unwanted}")  # noqa: S608 - names of ours
    free = dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "cached_tokens"), "0")
    now = {**free, "more": f"json_remove(more, '$.estimated', '$.{IN_BATCH}', '$.{CACHE_WRITES}')"}
    values = ", ".join(now.get(name, name) for name in COLUMNS["votes"])
    changes = ", ".join(f"{name} = {value}" for name, value in now.items())
    connection.execute(
        f"UPDATE votes SET {changes}, checksum = {CHECKSUM_SQL}({values}) "  # noqa: S608
        f"WHERE {checksum_matches('votes')}"
    )


def delete(path: Path) -> None:
    """Delete a database with the files that SQLite keeps next to it."""
    for ending in _ENDINGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _wordings(folder: Path, begun_with: JsonObject, now: JsonObject) -> dict[str, str]:
    old_wordings, new_wordings = wordings_in(begun_with), wordings_in(now)
    from adjudge.core.prompts.renderer import earlier_version  # reading a run renders nothing

    # A wording that is still known is used for the rest of the run, too.
    if any(
        new_wordings.get(name, text) != text and not earlier_version(name, text)
        for name, text in old_wordings.items()
    ):
        _LOG.warning(
            Message(
                "{folder} was started by another version of adjudge, which worded some prompts "
                "differently: its answers are kept, and the rest is asked with the current "
                "wording",
                folder=folder,
            )
        )
    return old_wordings


def make_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new ledger, or check that they have today's layout. The caller writes
    rows.
    """
    if version := _version(connection):
        check_layout(connection, path)
        if version < LAYOUT:  # so that an older adjudge says that it cannot read the new rows
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
        return
    refuse_strange_schema(connection, path)
    connection.execute("BEGIN IMMEDIATE")
    execute_file(connection, "ledger.sql")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("COMMIT")


def execute_file(connection: sqlite3.Connection, name: str) -> None:
    """Execute the statements of `data/NAME` in the open transaction."""
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    for statement in text.split(";\n"):
        connection.execute(statement)


def check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Raise a RunError if the tables differ from those that this version makes."""
    refuse_strange_schema(connection, path)
    version = _version(connection)
    if version > LAYOUT:
        raise RunError(
            "{path} was written by a newer version of adjudge (ledger version {version}): "
            "upgrade adjudge. If it is up to date, the file is damaged: {recover}",
            path=path,
            version=version,
            recover=RECOVER,
        )
    refuse_older(connection, path)
    if lacking := _incomplete_tables(connection):
        raise ledger_error(
            path,
            sqlite3.DatabaseError(Message("its table {table} lacks a column", table=lacking[0])),
        )


def refuse_older(connection: sqlite3.Connection, path: Path) -> None:
    """Raise a RunError for a ledger of an earlier adjudge: its answers cannot be used."""
    version = _version(connection)
    # A ledger with all of today's columns is current, even if damage changed its version.
    if 0 < version < LAYOUT and _incomplete_tables(connection):
        raise RunError(
            "{path} was written by an earlier version of adjudge (ledger version {version}; this "
            "one reads version {layout}): export the run with that version, or run it again in "
            "another folder",
            path=path,
            version=version,
            layout=LAYOUT,
        )


def _incomplete_tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables that lack one of today's columns."""
    return [
        table
        for table, columns in COLUMNS.items()
        if not {*columns, "checksum"} <= {*columns_in(connection, table)}
    ]


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def read_meta(connection: sqlite3.Connection, *names: str) -> JsonDict:
    """Return the facts about the run, or those of ``names``."""
    condition = f" WHERE name IN ({', '.join('?' * len(names))})" if names else ""
    stored_rows = connection.execute(select("meta") + condition, names)
    rows = (verify_row("meta", row) for row in stored_rows)
    try:
        facts = {name: read_fact(value) for name, value in rows}
    except (ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(
            Message("contains data that adjudge did not write ({error})", error=error)
        ) from error
    for name, is_right in _FACTS.items():
        if name in facts and not is_right(facts[name]):
            raise sqlite3.DatabaseError(
                Message("its {name} is damaged or was not written by adjudge", name=name)
            )
    return facts


def read_judges(connection: sqlite3.Connection) -> dict[str, JudgeConfiguration]:
    """Map each judge to its configuration."""
    return judges_of(read_meta(connection).get("configuration"))


def read_judge(connection: sqlite3.Connection, judge: str) -> JudgeConfiguration:
    """Return one judge's configuration; an empty one for judges of imported judgments."""
    return read_judges(connection).get(judge, JudgeConfiguration())


def write_meta(connection: sqlite3.Connection, facts: JsonObject) -> None:
    for name, value in facts.items():
        connection.execute(insert("meta"), with_checksum(name, fact_text(value)))


def _sum_of(path: str) -> str:
    # most votes have nothing there, and a look into nothing takes SQLite as long as a sum
    return f"coalesce(sum(CASE WHEN more IS NOT NULL THEN json_extract(more, '$.{path}') END), 0)"


USAGE = (
    "sum(calls - (outcome = 'model_error')), "  # the last call of a failed vote brought no reply
    "sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), "
    f"{_sum_of('estimated')}, {_sum_of('in_batch[0]')}, {_sum_of('in_batch[1]')}, "
    f"{_sum_of(CACHE_WRITES)}"
)
"""The usage of votes, as SQL."""


def used_in(connection: sqlite3.Connection) -> dict[str, Usage]:
    """Sum up the usage of replies per model."""
    # A call without a reply has no tokens here; the account counts it.
    query = f"SELECT model, {USAGE} FROM votes WHERE {_REPLIED} GROUP BY model"  # noqa: S608
    rows = connection.execute(query)
    return {model: Usage(*numbers) for model, *numbers in rows}


def repeated_usage(connection: sqlite3.Connection) -> dict[tuple[str, str], Usage]:
    """Return, per judge and criterion, the usage that would be counted again if every judgment
    counted its votes.

    Rows with the same content share their votes.
    """
    rows = connection.execute(_REPEATED)
    return {(judge, criterion): Usage(*numbers) for judge, criterion, *numbers in rows}


_REPEATED = f"""
WITH RECURSIVE asked(judge, criterion, ballots, place) AS (
    SELECT judge, criterion, ballots, 1 FROM judgments WHERE length(ballots) > 0
    UNION ALL
    SELECT judge, criterion, ballots, place + {KEY_BYTES} FROM asked
    WHERE place + {KEY_BYTES} <= length(ballots)
), repeated AS (
    SELECT judge, criterion, substr(ballots, place, {KEY_BYTES}) AS key, count(*) - 1 AS times
    FROM asked GROUP BY 1, 2, 3 HAVING times > 0
)
SELECT judge, criterion, sum(times * calls), sum(times * prompt_tokens),
    sum(times * completion_tokens), sum(times * cached_tokens),
    sum(times * coalesce(json_extract(more, '$.estimated'), 0)), 0, 0,
    sum(times * coalesce(json_extract(more, '$.{CACHE_WRITES}'), 0))
FROM repeated JOIN votes ON number = (SELECT max(number) FROM votes WHERE ballot = key)
GROUP BY 1, 2
"""  # noqa: S608 - a number of ours


def ledger_error(path: Path, error: BaseException) -> RunError:
    """Return a RunError that says what happened to the ledger, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without SQLite's extended code
    if code == sqlite3.SQLITE_FULL:
        advice = Message(
            "the disk is full: free some space, then resume the run; confirmed answers are kept"
        )
    elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        advice = Message(
            "locked by another program for {seconds:.0f} s: close it, then resume the run",
            seconds=PATIENCE,
        )
    elif not isinstance(error, sqlite3.Error):
        advice = Message(
            "a row or an answer contains a value that cannot be stored: fix it, then resume the run"
        )
    elif code in _NO_ACCESS:
        advice = Message("make sure that the file can be read and written, then resume the run")
    elif code == sqlite3.SQLITE_IOERR:
        advice = Message(
            "the disk is full or failing, or the file was truncated: if resuming does not help, "
            "{recover}",
            recover=RECOVER,
        )
    else:
        advice = Message("it is damaged: {recover}", recover=RECOVER)
    return RunError("the ledger {path}: {error}; {advice}", path=path, error=error, advice=advice)


def refuse_links(folder: Path, names: Iterable[str] = (*OWN, LOCK)) -> None:
    """Raise a RunError for links and pipes under these names in a run folder."""
    # Writes must land in the folder, even if someone else made it.
    for name in names:
        try:
            # A single call: SQLite may remove its files at any time.
            kind = stat.S_IFMT(os.lstat(f"{folder}/{name}").st_mode)
        except OSError:
            kind = stat.S_IFREG  # it is not there
        if kind == stat.S_IFREG:
            continue
        path = folder / name
        if kind == stat.S_IFLNK:
            raise RunError(
                "{path} is a symbolic link, which adjudge never creates: replace it by the file "
                "it points to, or delete it",
                path=path,
            )
        # Opening a pipe would block until it has a writer.
        raise RunError(
            "{path} is not a plain file, so adjudge did not create it: delete it", path=path
        )


def refuse_links_below(folder: Path) -> None:
    """Like ``refuse_links``, for everything in a folder that only adjudge writes to."""
    for parent, folders, files in os.walk(folder):
        refuse_links(
            Path(parent), [name for name in (*folders, *files) if Path(parent, name).is_symlink()]
        )


def refuse_strange_schema(
    connection: sqlite3.Connection, path: Path, tables: Iterable[str] = tuple(COLUMNS)
) -> None:
    """Raise a RunError if the ledger has views, triggers, virtual tables or computed columns."""
    # Views, triggers and computed columns would run SQL of whoever put them there.
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM main.sqlite_master"):
        if kind in ("view", "trigger") or _VIRTUAL.match(sql or ""):
            raise RunError(
                "the ledger {path} is not used, because it contains a {kind}, {name!r}, that "
                "adjudge did not create",
                path=path,
                name=name,
                kind=kind,
            )
    for table in tables:
        columns = connection.execute(f"PRAGMA main.table_xinfo({table})")
        if computed := [name for _, name, *_, hidden in columns if hidden]:
            raise RunError(
                "the ledger {path} is not used, because it has a computed column, "
                "{table}.{computed}, which adjudge never creates",
                path=path,
                table=table,
                computed=computed[0],
            )


def refuse_empty(path: Path) -> None:
    """Raise a RunError if the file is empty."""
    # SQLite takes an empty file for a new database, but a ledger was never empty.
    if path.stat().st_size == 0:
        raise ledger_error(path, sqlite3.DatabaseError(Message("the file is empty")))


def check_rows(
    connection: sqlite3.Connection, path: Path, tables: Iterable[str] = tuple(COLUMNS)
) -> None:
    """Raise an error if a row of ``tables`` is not as it was written.

    The rows of a large ledger are checked when they are read instead.
    """
    if is_small(path):
        refuse_damaged_rows(connection, tables)


def is_small(path: Path) -> bool:
    """Return True if the ledger is checked as a whole before it is used."""
    try:
        return path.stat().st_size <= _SMALL
    except FileNotFoundError:  # deleted while it is open for reading, which goes on
        return False


def _check_integrity(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an error if the file was cut or overwritten, before anything is asked."""
    if not is_small(path):
        return
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict).replace("\n", " "))
