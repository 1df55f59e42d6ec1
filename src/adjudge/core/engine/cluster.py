"""The cluster over which a judge's items are spread; an installed package brings the connection."""

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
"""``(cluster, judge, items, task, on_result)``: has the workers answer the judge's ballots about
the items into the run's folder, and calls ``on_result`` with each item's position and result.
"""
CLUSTERS: Parts[JudgeOn] = Parts("clusters")
"""Clusters by the scheme of their address."""


@light_dataclass(frozen=True)
class Cluster:
    """The address of a cluster and its number of workers.

    Example: ``Cluster("ray://head:10001", workers=64)``
    """

    where: str = RAY
    """``ray``: RAY_ADDRESS, or workers on this machine; or ``ray://HOST:PORT``."""
    workers: int | None = None
    """By default one per CPU of the cluster."""
    store: str | None = None
    """The place where the workers write: a folder that all machines share, or
    ``s3://bucket/prefix``; by default the run's folder.
    """

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise SetupError(
                "workers must be at least 1, not {workers}",
                workers=self.workers,
            )

    @classmethod
    def of(cls, on: On) -> Cluster:
        """Return the cluster at an address, or a Cluster as it is."""
        return cls(on) if isinstance(on, str) else on

    def load(self) -> JudgeOn:
        """Return the function that spreads items over this kind of cluster; raise a SetupError if
        it is unknown.
        """
        scheme = self.where.partition("://")[0]
        if scheme not in CLUSTERS:
            raise SetupError(
                "{where!r} is not the address of a cluster: it must begin with one of {known}",
                where=self.where,
                known=", ".join(CLUSTERS),
            )
        return CLUSTERS[scheme]


On = str | Cluster
"""``"ray"``, ``"ray://HOST:PORT"``, or a Cluster, which also has a number of workers."""


@light_dataclass(frozen=True)
class ClusterTask:
    """The work for a cluster: the criteria, the run and the budget."""

    label: str
    """The name under which the judgments are filed."""
    criteria: Sequence[Criteria]
    run: RunSettings
    budget: Budget | None
