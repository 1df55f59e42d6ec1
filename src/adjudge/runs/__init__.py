"""Runs over many rows: eval files, and run folders with their contents and how they are resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

if TYPE_CHECKING:
    from adjudge.core.engine.cluster import Cluster
    from adjudge.core.engine.run import RunSettings
    from adjudge.core.gateway.layers.budget import Budget

__all__ = ["Budget", "Cluster", "RunSettings"]

__getattr__ = loader(
    __name__,
    {
        "Budget": "core.gateway.layers.budget",
        "Cluster": "core.engine.cluster",
        "RunSettings": "core.engine.run",
    },
)
