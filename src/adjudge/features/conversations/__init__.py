"""Conversations: simulated users talk to an application, and their own mistakes are excluded from
its pass rate.
"""

USES = ("agents", "evidence")
"""The features that this one may import."""
