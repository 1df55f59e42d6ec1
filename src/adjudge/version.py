"""The version, which everything may import."""

__version__ = "1.2.0"
