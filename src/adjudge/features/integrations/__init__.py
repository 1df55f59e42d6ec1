"""The places where people work: each is a file of its own behind its extra, and
none knows another.
"""

USES = ("agents",)
"""The features that this one may import."""
