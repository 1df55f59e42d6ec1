"""Names, modules and wrappers of other projects: EvalAssist, Prometheus, Unitxt."""

USES = ("evidence", "generate", "importers")
"""The features that this one may import: ``adjudge.judges`` offers the judges of all of them."""
