"""``criteria.lock``: the wording of the criteria that a project uses, so that no change goes
unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from adjudge.core.aio.files import locked, writing, written_whole
from adjudge.core.catalog.criteria import entry
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of

Locked = dict[str, dict[str, str]]
_ORIGIN = ("from", "licence")
_FILES = (".yaml", ".yml", ".json")


def current_lock(sources: Sequence[str]) -> Locked:
    """Map criteria to their source, version and hash of everything that a judge is shown.

    Raise SetupError if two sources have a criterion of the same name.
    """
    lock: Locked = {}
    for source in sources:
        entries = read_entries(source) if Path(source).suffix.lower() in _FILES else [entry(source)]
        for file_entry in entries:
            if file_entry.criteria.name in lock:
                raise SetupError(
                    "{source}: criterion {name!r} is also in {found}",
                    source=source,
                    name=file_entry.criteria.name,
                    found=lock[file_entry.criteria.name]["source"],
                )
            hashed = content_hash(file_entry.criteria, file_entry.kind)
            lock[file_entry.criteria.name] = {
                "source": source,
                "version": file_entry.version,
                "sha256": hashed,
            }
    return lock


def write_lock(sources: Sequence[str], path: Path) -> Locked:
    """Lock the present wording. A known origin is kept as long as the wording is unchanged."""
    lock = current_lock(sources)
    with _open_lock(path) as old_lock:
        for name, record in lock.items():
            if old_lock.get(name, {}).get("sha256") == record["sha256"]:
                record.update(
                    {key: old_lock[name][key] for key in _ORIGIN if key in old_lock[name]}
                )
        _write(lock, path)
    return lock


def add_to_lock(file: str, path: Path, *, origin: str, licence: str) -> Locked:
    """Add the criteria of a fetched file, with their origin and licence, to the lock; return their
    records.
    """
    new = {
        name: {**record, "from": origin, "licence": licence}
        for name, record in current_lock([file]).items()
    }
    with _open_lock(path) as old_lock:
        _write({**old_lock, **new}, path)
    return new


@contextmanager
def _open_lock(path: Path) -> Iterator[Locked]:
    """Yield the present lock, with the file locked against other processes."""
    with writing(path), locked(path.with_name(f".{path.name}.turn"), stays=False):
        yield _read(path) if path.exists() else {}


def _write(found: Locked, path: Path) -> None:
    with written_whole(path) as file:
        file.write((json.dumps({"criteria": found}, indent=2, ensure_ascii=False) + "\n").encode())


def lock_changes(sources: Sequence[str], path: Path) -> list[str]:
    """Return the differences from the lock, one per line."""
    old_lock, new_lock = _read(path), current_lock(sources)
    removed = [
        Message("{name}: locked, but missing", name=name)
        for name in old_lock
        if name not in new_lock
    ]
    new = [Message("{name}: not locked", name=name) for name in new_lock if name not in old_lock]
    changed = [
        (
            Message(
                "{name}: changed since it was locked (version {before}, now {now})",
                name=name,
                before=old_lock[name].get("version") or Message("none"),
                now=record["version"] or Message("none"),
            )
        )
        for name, record in new_lock.items()
        if name in old_lock and old_lock[name].get("sha256") != record["sha256"]
    ]
    return [*removed, *new, *changed]


def _read(path: Path) -> Locked:
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))["criteria"]
    except OSError as error:
        raise SetupError(
            "{path} cannot be read: {reason}; create it with 'adjudge criteria lock'",
            path=path,
            reason=reason_of(error),
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(
            "{path} was not written by 'adjudge criteria lock': {error}",
            path=path,
            error=error,
        ) from error
    if not isinstance(lock, dict) or not all(isinstance(record, dict) for record in lock.values()):
        raise SetupError("{path} was not written by 'adjudge criteria lock'", path=path)
    return lock
