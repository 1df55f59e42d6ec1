"""The playground: a draft in a form, its trials, saved versions and downloads, and texts written by
models.
"""

USES = ("bench", "compat", "importers")
"""The features that this one may import."""
