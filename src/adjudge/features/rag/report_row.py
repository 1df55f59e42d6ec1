"""Read single values out of the judgment of a RAG answer."""

from __future__ import annotations

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.record import rag_detail


def rule_of(record: JudgmentRecord) -> str:
    """Return the rule that made the composite; "missing" if the scores are random."""
    rag = rag_detail(record)
    return rag.composite.rule if rag and not record.fallback else "missing"


def score_of(record: JudgmentRecord, dimension: str, *, made_up: bool = True) -> int | None:
    """Return a dimension's score; with ``made_up`` also a random one that replaces a missing
    verdict.
    """
    rag = rag_detail(record)
    # a random score has no agreement; a dimension that was really scored has one
    if rag is None or (not made_up and record.fallback and rag.agreements.get(dimension) is None):
        return None
    return rag.scores.get(dimension)


def explanation_of(record: JudgmentRecord, dimension: str) -> str:
    """Return why a dimension got its score, or what went wrong."""
    rag = rag_detail(record)
    return (rag.explanations.get(dimension) if rag else None) or ""
