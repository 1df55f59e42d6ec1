"""The place where workers of a cluster write, and the facts in the run's folder meanwhile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.engine.cluster import Cluster
from adjudge.core.ledger.rows import fact_text
from adjudge.errors import RunError
from adjudge.messages import reason_of
from adjudge.runs.partitions import FACTS, PARTITIONS


def store_of(cluster: Cluster, folder: Path) -> str:
    """Return the place where the workers of a run write."""
    return cluster.store or str((folder / PARTITIONS).absolute())


def keep_facts(folder: Path, facts: JsonObject) -> None:
    """Write the run's facts before anything is asked."""
    place = folder / PARTITIONS
    try:
        place.mkdir(parents=True, exist_ok=True)
        with written_whole(place / FACTS) as file:
            file.write(fact_text(dict(facts)).encode())
    except OSError as error:
        raise RunError(
            "{place} cannot be written: {reason}", place=place, reason=reason_of(error)
        ) from error


def forget_facts(folder: Path) -> None:
    """Delete the facts: they are in the run's ledger now."""
    (folder / PARTITIONS / FACTS).unlink(missing_ok=True)
    with suppress(OSError):  # where workers of a cluster wrote something, it stays
        (folder / PARTITIONS).rmdir()
