"""Rubrics: rows that bring their own weighted points, judged one by one and added up exactly."""

USES = ("evidence", "importers")
"""Quotes are looked for as in texts that are looked up; HealthBench's labels are imported."""
