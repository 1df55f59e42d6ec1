"""Answers of retrieval-augmented assistants, scored on six dimensions, with one composite."""

from __future__ import annotations

from adjudge.domain.rag_record import Composite
from adjudge.rag.composite import composite
from adjudge.rag.dimensions import Dimension, Gate, rag_dimensions, read_dimensions
from adjudge.rag.evaluator import RagEvaluator
from adjudge.rag.result import RagResult

__all__ = [
    "Composite",
    "Dimension",
    "Gate",
    "RagEvaluator",
    "RagResult",
    "composite",
    "rag_dimensions",
    "read_dimensions",
]
