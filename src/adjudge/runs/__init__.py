"""Many rows: eval files, run folders, what is in them and how to go on with them."""

from adjudge.engine.run import Run
from adjudge.gateway.layers.budget import Budget

__all__ = ["Budget", "Run"]
