"""Many rows: eval files, run folders, what is in them and how they are resumed."""

from adjudge.engine.backends.ray.place import Cluster
from adjudge.engine.run import Run
from adjudge.gateway.layers.budget import Budget

__all__ = ["Budget", "Cluster", "Run"]
