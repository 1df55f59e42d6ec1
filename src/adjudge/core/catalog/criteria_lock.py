"""``criteria.lock``: which wording of which criteria a project judges by, so that no change goes
unseen.
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


def locked_now(sources: Sequence[str]) -> Locked:
    """Criteria → its source, its version and the hash of all that a judge is shown of it."""
    found: Locked = {}
    for source in sources:
        entries = read_entries(source) if Path(source).suffix.lower() in _FILES else [entry(source)]
        for one in entries:
            if one.criteria.name in found:
                raise SetupError(
                    "{source}: criterion {name!r} is also in {found}",
                    source=source,
                    name=one.criteria.name,
                    found=found[one.criteria.name]["source"],
                )
            hashed = content_hash(one.criteria, one.kind)
            found[one.criteria.name] = {"source": source, "version": one.version, "sha256": hashed}
    return found


def write_lock(sources: Sequence[str], path: Path) -> Locked:
    """Lock them as they are; what is known of where they came from stays, as long as they are what
    came.
    """
    found = locked_now(sources)
    with _changing(path) as before:
        for name, one in found.items():
            if before.get(name, {}).get("sha256") == one["sha256"]:
                one.update({key: before[name][key] for key in _ORIGIN if key in before[name]})
        _write(found, path)
    return found


def add_to_lock(file: str, path: Path, *, origin: str, licence: str) -> Locked:
    """Lock a file that was fetched beside what is locked already: what is new."""
    new = {
        name: {**one, "from": origin, "licence": licence}
        for name, one in locked_now([file]).items()
    }
    with _changing(path) as before:
        _write({**before, **new}, path)
    return new


@contextmanager
def _changing(path: Path) -> Iterator[Locked]:
    """What is locked already, while nobody else adds to it."""
    with writing(path), locked(path.with_name(f".{path.name}.turn"), stays=False):
        yield _read(path) if path.exists() else {}


def _write(found: Locked, path: Path) -> None:
    with written_whole(path) as file:
        file.write((json.dumps({"criteria": found}, indent=2, ensure_ascii=False) + "\n").encode())


def lock_changes(sources: Sequence[str], path: Path) -> list[str]:
    """What is not as it was locked, a line each."""
    before, now = _read(path), locked_now(sources)
    gone = [
        Message("{name}: locked, and not there", name=name) for name in before if name not in now
    ]
    new = [Message("{name}: not locked", name=name) for name in now if name not in before]
    changed = [
        (
            Message(
                "{name}: changed since it was locked (version {before}, now {now})",
                name=name,
                before=before[name].get("version") or Message("none"),
                now=one["version"] or Message("none"),
            )
        )
        for name, one in now.items()
        if name in before and before[name].get("sha256") != one["sha256"]
    ]
    return [*gone, *new, *changed]


def _read(path: Path) -> Locked:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["criteria"]
    except OSError as error:
        raise SetupError(
            "{path} cannot be read: {reason}; 'adjudge criteria lock' writes it",
            path=path,
            reason=reason_of(error),
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(
            "{path} is not a file that 'adjudge criteria lock' wrote: {error}",
            path=path,
            error=error,
        ) from error
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise SetupError("{path} is not a file that 'adjudge criteria lock' wrote", path=path)
    return found
