"""Which cluster a judge's items are spread over; an installed package brings the way there."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import SetupError
from adjudge.plugins import Parts

if TYPE_CHECKING:
    from adjudge.core.engine.run import RunSettings

RAY = "ray"
JudgeOn = Callable[..., Coroutine[object, object, None]]
"""``(cluster, judge, items, task, on_result)``: have the workers answer what the judge asks about
the items, into the run's folder. ``on_result`` is called with each item's place and result.
"""
CLUSTERS: Parts[JudgeOn] = Parts("clusters")
"""By the scheme of an address."""


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

    @classmethod
    def of(cls, on: On) -> Cluster:
        """An address, or a whole Cluster."""
        return cls(on) if isinstance(on, str) else on

    def load(self) -> JudgeOn:
        """Return what spreads items over a cluster at such an address."""
        scheme = self.where.partition("://")[0]
        if scheme not in CLUSTERS:
            raise SetupError(
                "no cluster is known at {where!r}: an address begins with one of {known}",
                where=self.where,
                known=", ".join(CLUSTERS),
            )
        return CLUSTERS[scheme]


On = str | Cluster
"""``"ray"``, ``"ray://HOST:PORT"``, or a Cluster that says also how many workers there are."""


@light_dataclass(frozen=True)
class ClusterTask:
    """What is judged by what, and within which limits."""

    label: str
    """What the judgments are filed under."""
    criteria: Sequence[Criteria]
    run: RunSettings
    budget: Budget | None
