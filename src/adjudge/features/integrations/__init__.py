"""The places where people work: each is a file of its own behind its extra, and
none knows another.
"""

USES = ("agents", "conversations")
"""The features that this one may import."""
