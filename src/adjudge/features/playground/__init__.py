"""What the playground does: a draft in a form, trials of it, saved versions, files to take away,
and what models write for it.
"""

USES = ("bench", "compat", "importers")
"""The features that this one may import."""
