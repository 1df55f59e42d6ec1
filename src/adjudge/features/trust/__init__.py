"""The commands about people's labels: label, calibrate, plan and rank."""

USES = ("agents", "stress")
"""The features that this one may import."""
