"""The trajectories of an earlier run, to be judged again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adjudge.core.domain.instance import TRAJECTORY, Instance
from adjudge.runs.rows_again import places_of_run


def trajectories_of_run(folder: Path) -> Iterator[Instance]:
    """What agents did, as a run keeps it with the first measure of each row."""
    seen: set[tuple[str, int]] = set()
    for record, place in places_of_run(folder):
        run = getattr(record.detail, TRAJECTORY, None)
        if run is None or place in seen:
            continue
        seen.add(place)
        about = {"place": record.name, "row": record.input, TRAJECTORY: run}
        yield Instance(run.fields or {"response": ""}, record.id, about)
