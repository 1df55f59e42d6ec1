"""Integrations with other tools. Each is a separate module with its own extra, independent of the
others.
"""

USES = ("agents", "conversations")
"""The features that this one may import."""
