"""Votes → Result: pure arithmetic over votes."""

VERSION = "2"
"""How votes become results: raised with any change that can give the same votes another result.
Part of a judge's identity.
"""
