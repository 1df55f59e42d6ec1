"""Kinds of criteria, each with a rule that makes texts and their right answers."""
