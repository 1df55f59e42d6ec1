"""The version, which everything may import."""

__version__ = "1.1.0"
