"""Pool votes into results: pure arithmetic over votes."""

VERSION = "3"
"""Raised if the same votes may give another result: a part of every judge's identity."""
