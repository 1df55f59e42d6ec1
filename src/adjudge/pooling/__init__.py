"""Votes → Result: pure arithmetic over votes."""
