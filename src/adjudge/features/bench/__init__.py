"""Judges against people: labelled sets, the judges to try on them, and criteria that are improved
by what they got wrong.
"""

USES = ("importers",)
"""The features that this one may import."""
