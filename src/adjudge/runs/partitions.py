"""Files in a run's folder that are there while workers of a cluster write elsewhere."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.ledger.rows import read_fact
from adjudge.errors import RunError

PARTITIONS = "partitions"
"""The folder in a run's folder into which workers of a cluster write until all is merged into the
ledger.
"""
FACTS = "facts.json"
"""The file in it with the facts for the run's folder. They must survive if the driver is killed."""


def kept_facts(folder: Path) -> JsonObject | None:
    """Return the facts that the driver of a run's workers stored before they started; None without
    workers.
    """
    path = folder / PARTITIONS / FACTS
    if not path.is_file():
        return None
    try:
        facts = read_fact(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(
            "{path} is damaged or was not written by adjudge: {error!r}", path=path, error=error
        ) from error
    return facts if isinstance(facts, dict) else {}
