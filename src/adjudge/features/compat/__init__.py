"""The names, modules and wrappers of other projects: EvalAssist, Prometheus, Unitxt."""

USES = ("importers",)
"""The features that this one may import."""
