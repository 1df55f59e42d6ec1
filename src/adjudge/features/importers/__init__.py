"""Judgments that other tools recorded → run folders and labels; one file a format."""

USES = ("agents",)
"""The features that this one may import."""
