"""Read the judgments by rubric of a run folder."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError
from adjudge.features.rubrics.record import rubric_detail
from adjudge.runs.folder import records_of


def rubric_records(folder: Path) -> list[JudgmentRecord]:
    """Return the judgments by rubric. Raises a RunError if there are none."""
    if not holds_run(folder):
        raise RunError("{path} is not a run folder (no ledger.sqlite).", path=folder)
    records = [record for record in records_of(folder) if rubric_detail(record)]
    if not records:
        raise RunError("{path} has no rubric judgments", path=folder)
    return records
