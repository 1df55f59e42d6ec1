"""When judges were found changed, kept beside their runs: labels from before can be told."""

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
    """Keep in the folder of the runs when each judge, by its identity, was found changed."""
    with locked(runs / _LOCK):
        before = _changes_in(runs)
        latest = {name: max(at, before.get(name, at)) for name, at in found.items()}
        if latest.items() <= before.items():
            return
        with written_whole(runs / FILE) as file:
            file.write(json.dumps({**before, **latest}, indent=2).encode())


def changed_at(run: str | Path, identity: str) -> float | None:
    """When the judge was last found changed, by the folders that the run lies in; None: it was
    not.
    """
    place = Path(run).absolute()
    found = [_changes_in(one).get(identity) for one in (place.parent, place.parent.parent)]
    return max((one for one in found if one is not None), default=None)


def _changes_in(runs: Path) -> dict[str, float]:
    path = runs / FILE
    try:
        kept = object_in(json.loads(path.read_bytes()))
        return {name: float(str(at)) for name, at in kept.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            "{path} cannot be read ({error}): 'adjudge drift check' writes it anew once it is gone",
            path=path,
            error=error,
        ) from error
