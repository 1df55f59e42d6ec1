"""``adjudge init``: files to begin with, for each kind of work."""

USES = ("integrations", "migration", "rag")
"""The features that this one may import: the starter for pytest uses its fixtures, and
``init --from`` converts the files of other tools; ``demo`` judges answers of a RAG assistant.
"""
