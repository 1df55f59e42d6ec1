"""A local judge that learns one criterion from labels: a small head on the embedded model."""

USES = ("local",)
