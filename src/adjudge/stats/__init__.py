"""Pure arithmetic about many results."""

FEWEST = 8
"""Fewer rows have no interval: whatever is computed of them is too narrow to be believed, or too
wide to say anything.
"""
