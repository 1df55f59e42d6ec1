"""Benchmarks: judges measured by human labels, and criteria improved by the judges' mistakes."""

USES = ("importers",)
"""The features that this one may import."""
