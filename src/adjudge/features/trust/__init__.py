"""Commands about human labels: label, calibrate, plan and rank. The package ``trust`` computes."""

USES = ("agents", "stress")
"""The features that this one may import."""
