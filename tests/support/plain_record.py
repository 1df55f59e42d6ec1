"""A judgment about which nothing is unusual."""

from __future__ import annotations

from adjudge.core.domain.record import Detail, JudgmentRecord


def plain_record(detail: Detail, *, score: float | None = 1.0) -> JudgmentRecord:
    """Return a scored judgment of one row with this ``detail``."""
    return JudgmentRecord(
        judge="judge",
        index=0,
        id=None,
        fields={"response": "x"},
        criterion="clear",
        status="scored",
        score=score,
        explanation=None,
        reason=None,
        agreement=None,
        tie=False,
        fallback=None,
        low_confidence=False,
        votes_requested=1,
        votes_valid=1,
        detail=detail,
    )
