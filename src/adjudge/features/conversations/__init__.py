"""Conversations: simulated users talk to an application, and their own mistakes are counted out."""

USES = ("agents",)
"""The features that this one may import."""
