"""Rows that were taken from production traffic, and how they were chosen."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.core.domain.record import JudgmentRecord

ROWS_FILE = "traffic.jsonl"
"""The file of a day's chosen rows, in its run folder."""
COLUMN = "traffic"
"""The column that says how a row was chosen."""


def traffic_folder(eval_file: Path) -> Path:
    """Return the default folder in which ``adjudge follow`` stores its days."""
    return eval_file.parent / "runs" / f"{eval_file.stem}-traffic"


def about_traffic(record: JudgmentRecord) -> JsonObject:
    """Return how the row was chosen; empty for a row that is not from traffic."""
    return object_in(record.input.get(COLUMN))


def is_of_sample(record: JudgmentRecord) -> bool:
    """Return True if the row was sampled uniformly from all events, or is not from traffic.

    Events that are always taken say nothing about the others.
    """
    about = about_traffic(record)
    return "weight" not in about or about.get("uniform") is True
