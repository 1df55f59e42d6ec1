"""Production traffic, judged as it comes: a source, a sample of it, a run for each day."""

USES = ("agents",)
"""The features that this one may import."""
