"""Which cluster a run is spread over, and where its workers write.

Those who stay on one machine load nothing but this.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from adjudge.core.aio.files import written_whole
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light import light_dataclass
from adjudge.core.ledger.rows import fact_text, read_fact
from adjudge.errors import RunError, SetupError
from adjudge.messages import reason_of

RAY = "ray"
PARTITIONS = "partitions"
"""Of a run's folder: where workers of a cluster write until all is merged into the ledger."""
FACTS = "facts.json"
"""Of those: what the run's folder is to keep, also where the driver is killed."""


@light_dataclass(frozen=True)
class Cluster:
    """Where a run is spread, and over how many workers."""

    where: str = RAY
    """``ray``: RAY_ADDRESS, or workers on this machine; or ``ray://HOST:PORT``."""
    workers: int | None = None
    """By default one per CPU of the cluster."""
    store: str | None = None
    """Where the workers write: a folder that all machines see, or ``s3://bucket/prefix``; by
    default in the run's folder.
    """

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise SetupError(
                "workers is how many a cluster has, one at least, not {workers}",
                workers=self.workers,
            )

    def store_of(self, folder: Path) -> str:
        """Where the workers write whose run is kept in ``folder``."""
        return self.store or str((folder / PARTITIONS).absolute())

    @classmethod
    def of(cls, on: str | Cluster) -> Cluster:
        """An address, or a whole Cluster."""
        return cls(on) if isinstance(on, str) else on


On = str | Cluster
"""``"ray"``, ``"ray://HOST:PORT"``, or a Cluster that says also how many workers there are."""


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
