"""``adjudge init``: files to begin with, for each kind of work."""

USES = ("integrations",)
"""The features that this one may import: the starter for pytest uses its fixtures."""
