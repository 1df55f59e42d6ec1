"""Rewards for trainers, from judges, rubrics and checks; and a watch over the judge."""

USES = ("rubrics",)
"""Rows are scored by their rubrics."""
