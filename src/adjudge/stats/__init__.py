"""Pure statistics over many results."""

FEWEST = 8
"""Minimum number of rows for an interval. With fewer it is too narrow to be reliable, or too wide
to be useful.
"""
