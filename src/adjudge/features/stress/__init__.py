"""Stress tests of a judge: attacks, drift and the judge card."""

USES = ("agents",)
"""The features that this one may import."""
