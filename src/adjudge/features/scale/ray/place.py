"""Where the workers of a cluster write, and what the run's folder keeps meanwhile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.engine.cluster import Cluster
from adjudge.core.ledger.rows import fact_text, read_fact
from adjudge.errors import RunError
from adjudge.messages import reason_of

PARTITIONS = "partitions"
"""Of a run's folder: where workers of a cluster write until all is merged into the ledger."""
FACTS = "facts.json"
"""Of those: what the run's folder is to keep, also where the driver is killed."""


def store_of(cluster: Cluster, folder: Path) -> str:
    """Where the workers write whose run is kept in ``folder``."""
    return cluster.store or str((folder / PARTITIONS).absolute())


def kept_facts(folder: Path) -> JsonObject | None:
    """What the driver of a run's workers wrote down before they began; None
    where there are none.
    """
    path = folder / PARTITIONS / FACTS
    if not path.is_file():
        return None
    try:
        found = read_fact(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            "{path} is not what adjudge writes: {error!r}", path=path, error=error
        ) from error
    return found if isinstance(found, dict) else {}


def keep_facts(folder: Path, facts: JsonObject) -> None:
    """Write down what the run's folder is to keep, before anything is asked."""
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
    """They are in the run's ledger now."""
    (folder / PARTITIONS / FACTS).unlink(missing_ok=True)
    with suppress(OSError):  # where workers of a cluster wrote something, it stays
        (folder / PARTITIONS).rmdir()
