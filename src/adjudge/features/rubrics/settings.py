"""Settings of judges by rubrics."""

from __future__ import annotations

from typing import Literal

PerPoint = Literal["row", "point"]
PER_POINT: tuple[PerPoint, ...] = ("row", "point")
Evidence = Literal["asked", "required"]
EVIDENCE: tuple[Evidence, ...] = ("asked", "required")
RUBRIC_FIELDS = ("rubric", "rubrics", "score_rubric", "рубрика")
"""Fields that may hold the rubric of a row; the first that a row has counts."""
THEME_FIELDS = ("themes", "example_tags", "theme", "capability")
"""Fields that may hold tags of a row."""
CONTEXT_FIELDS = ("user_input", "history")
JUDGED = "response"
