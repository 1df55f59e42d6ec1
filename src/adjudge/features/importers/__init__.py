"""Judgments that other tools recorded → run folders and labels; one file a format."""

USES = ("agents", "trust")
"""The features that this one may import."""
