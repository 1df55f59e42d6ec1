"""The commands about people's labels: label, calibrate, plan and rank. ``trust`` computes."""

USES = ("agents", "stress")
"""The features that this one may import."""
