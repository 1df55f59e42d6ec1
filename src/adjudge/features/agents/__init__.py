"""Judge agents: rules over a trajectory, and questions with evidence in its steps."""

USES = ("evidence",)
"""The features that this one may import."""
