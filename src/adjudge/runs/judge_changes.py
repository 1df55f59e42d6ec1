"""The times at which judges were found changed, next to their runs: they tell which labels are
older.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from adjudge.core.aio.files import locked, written_whole
from adjudge.core.domain.json_types import object_in
from adjudge.errors import RunError

FILE = "judge-changes.json"
_LOCK = "judge-changes.lock"


def keep_changes(runs: Path, found: Mapping[str, float]) -> None:
    """Store in the runs' folder when each judge, given by identity, was last found changed."""
    with locked(runs / _LOCK):
        stored_changes = _changes_in(runs)
        latest = {name: max(at, stored_changes.get(name, at)) for name, at in found.items()}
        if latest.items() <= stored_changes.items():
            return
        with written_whole(runs / FILE) as file:
            file.write(json.dumps({**stored_changes, **latest}, indent=2).encode())


def changed_at(run: str | Path, identity: str) -> float | None:
    """Return when the judge was last found changed, according to the two folders above the run;
    None if never.
    """
    place = Path(run).absolute()
    times = [_changes_in(folder).get(identity) for folder in (place.parent, place.parent.parent)]
    return max((folder for folder in times if folder is not None), default=None)


def _changes_in(runs: Path) -> dict[str, float]:
    path = runs / FILE
    try:
        stored = object_in(json.loads(path.read_bytes()))
        return {name: float(str(at)) for name, at in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            "{path} cannot be read ({error}): delete it, and 'adjudge drift check' will create "
            "it again",
            path=path,
            error=error,
        ) from error
