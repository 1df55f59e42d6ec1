"""``adjudge init``: files to begin with, for each kind of work."""

USES = ("integrations", "migration")
"""The features that this one may import: the starter for pytest uses its fixtures, and
``init --from`` converts the files of other tools.
"""
