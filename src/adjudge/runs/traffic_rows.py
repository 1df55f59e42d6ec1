"""Rows that were taken from production traffic, and how."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.core.domain.record import JudgmentRecord

COLUMN = "traffic"
"""What a row says of how it was chosen, beside its own columns."""


def traffic_folder(eval_file: Path) -> Path:
    """Return the folder of the days that ``adjudge follow`` keeps, unless another is named."""
    return eval_file.parent / "runs" / f"{eval_file.stem}-traffic"


def about_traffic(one: JudgmentRecord) -> JsonObject:
    """How the row was chosen; empty of a row that is not from traffic."""
    return object_in(one.input.get(COLUMN))


def is_of_sample(one: JudgmentRecord) -> bool:
    """Whether a row belongs to the part that takes all events alike, or is not from traffic: what
    was taken for sure says nothing of the other events.
    """
    about = about_traffic(one)
    return "weight" not in about or about.get("uniform") is True
