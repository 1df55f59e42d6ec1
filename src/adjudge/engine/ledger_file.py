"""The ledger's file: its tables, its lock, and whether it may be gone on with."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from adjudge.errors import RunError
from adjudge.gateway.weights.files import locked

FILE = "ledger.sqlite"
_LOCK = "ledger.lock"
PATIENCE = 30.0
"""Seconds to wait for a program that has locked the ledger."""
_SMALL = 200_000_000
"""Bytes up to which a ledger is read through for damage before it is used."""
_VOTES = """CREATE TABLE votes (number INTEGER PRIMARY KEY, ballot BLOB NOT NULL, model TEXT NOT NULL, sample INTEGER NOT NULL,
    outcome TEXT NOT NULL, option TEXT, explanation TEXT, reason TEXT, text TEXT, prompt TEXT, calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, latency REAL NOT NULL,
    at REAL NOT NULL, more TEXT)"""
_JUDGMENTS = """CREATE TABLE judgments (judge TEXT NOT NULL, number INTEGER NOT NULL, id TEXT, instance TEXT NOT NULL,
    ballots BLOB NOT NULL, status TEXT NOT NULL, score REAL, result TEXT NOT NULL, PRIMARY KEY (judge, number)) WITHOUT ROWID"""
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    ("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)", _VOTES, "CREATE INDEX votes_by_ballot ON votes (ballot)"),
    (_JUDGMENTS,),
)
"""What takes a ledger from each version to the next; an empty file is version 0."""


@contextmanager
def connect(path: Path, *, writable: bool = True) -> Iterator[sqlite3.Connection]:
    """A connection with our settings, closed at the end."""
    mode = "rwc" if writable else "ro"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)) as connection:
        if writable:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        yield connection


@contextmanager
def under_lock(folder: Path) -> Iterator[None]:
    """One process at a time goes on with a run; one that dies lets go."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / _LOCK, wait=False) as held:
            if not held:
                raise RunError(f"the run {folder} is under way in another process: wait for it, or use another folder")
            yield
    except OSError as error:
        raise RunError(f"the run folder {folder} cannot be used: {error.strerror or error}") from error


def open_checked(folder: Path, configuration: Mapping[str, Any], fork_of: Path | None) -> None:
    """Make the ledger, or see that the one that is there may be gone on with. The caller holds the lock."""
    path = folder / FILE
    try:
        if fork_of is not None and not path.exists():
            _copy(fork_of / FILE, path)
            with connect(path) as connection:
                migrate(connection, path)
                connection.execute("DELETE FROM judgments")  # they are made anew from the votes that still hold
            write_meta(path, {"configuration": configuration, "forked_from": str(fork_of)})
        _refuse_damaged(path)
        with connect(path) as connection:
            migrate(connection, path)
            known = read_meta(connection).get("configuration")
        if known is None:
            write_meta(path, {"configuration": configuration, "started": time.time()})
        elif changes := differences(known, configuration):
            raise RunError(
                f"the run {folder} was made with another configuration: {'; '.join(changes)}. "
                "Go on as it was, use another folder, or fork it: what still holds is taken over"
            )
    except sqlite3.Error as error:
        raise trouble(path, error) from error


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a ledger to the newest version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise RunError(f"{path} was written by a newer adjudge (ledger version {version}): install that one")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """The facts about a run."""
    return {name: json.loads(value) for name, value in connection.execute("SELECT name, value FROM meta")}


def write_meta(path: Path, facts: Mapping[str, Any]) -> None:
    """Keep facts about a run."""
    with connect(path) as connection:
        for name, value in facts.items():
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed, one text a setting. Versions may change."""
    old, new = dict(_flat(before)), dict(_flat(json.loads(json.dumps(now))))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name) and name.split(".")[2:3] != ["versions"]]
    return [f"{name}: {_shown(old.get(name))} → {_shown(new.get(name))}" for name in names]


def trouble(path: Path, error: Exception) -> RunError:
    """What happened to the ledger, and what to do."""
    text = str(error)
    if "full" in text:
        advice = "the disk is full: make room, then go on with the run; what was acknowledged is kept"
    elif "locked" in text or "busy" in text:
        advice = f"another program has held it for {PATIENCE:.0f} s: close that, then go on with the run"
    elif isinstance(error, sqlite3.OperationalError) or not isinstance(error, sqlite3.Error):
        advice = "see that the file can be read and written, then go on with the run"
    else:
        advice = "it is damaged: 'adjudge runs recover RUN' saves what can be read"
    return RunError(f"the ledger {path}: {text}; {advice}")


def _refuse_damaged(path: Path) -> None:
    """A file that was cut or overwritten is noticed before anything is asked."""
    if not path.exists() or path.stat().st_size > _SMALL:
        return
    with connect(path) as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict).replace("\n", " "))


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        raise RunError(f"{source.parent} holds no run to fork")
    with connect(source, writable=False) as old, connect(target) as new:
        old.backup(new)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
