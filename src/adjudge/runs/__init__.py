"""Many rows: eval files, run folders, what is in them and how they are resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

if TYPE_CHECKING:
    from adjudge.core.engine.run import Run
    from adjudge.core.gateway.layers.budget import Budget
    from adjudge.features.scale.ray.place import Cluster

__all__ = ["Budget", "Cluster", "Run"]

__getattr__ = loader(
    __name__,
    {
        "Budget": "core.gateway.layers.budget",
        "Cluster": "features.scale.ray.place",
        "Run": "core.engine.run",
    },
)
