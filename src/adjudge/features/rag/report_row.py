"""What one judgment of a RAG answer says, dimension by dimension."""

from __future__ import annotations

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.record import RagDetail


def rag_detail(one: JudgmentRecord) -> RagDetail | None:
    """What it says of its dimensions; None of another kind of judgment."""
    return one.detail if isinstance(one.detail, RagDetail) else None


def rule_of(one: JudgmentRecord) -> str:
    """The rule that made the composite; of scores by chance none did."""
    rag = rag_detail(one)
    return rag.composite.rule if rag and not one.fallback else "missing"


def score_of(one: JudgmentRecord, dimension: str, *, made_up: bool = True) -> int | None:
    """A dimension's score. ``made_up``: also one that stands in for a missing verdict."""
    rag = rag_detail(one)
    if rag is None or (not made_up and one.fallback and rag.agreements.get(dimension) is None):
        return None
    return rag.scores.get(dimension)


def explanation_of(one: JudgmentRecord, dimension: str) -> str:
    """Why a dimension got its score, or what went wrong."""
    rag = rag_detail(one)
    return (rag.explanations.get(dimension) if rag else None) or ""
