"""Judgments recorded by other tools → run folders and labels; benchmarks declare their columns."""

USES = ("agents",)
"""The features that this one may import."""
