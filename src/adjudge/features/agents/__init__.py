"""Agents judged: rules over a trajectory, questions with evidence in its steps."""

USES = ("evidence",)
"""The features that this one may import."""
