"""The installation: extras, the embedded model, keys, and which models can be reached."""

USES = ("local",)
"""The features that this one may import."""
