"""Judging answers of retrieval-augmented assistants: scores on six dimensions, and one
composite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.lazy import loader

USES = ("evidence",)
"""The features that this one may import."""

if TYPE_CHECKING:
    from adjudge.features.rag.composite_rule import composite
    from adjudge.features.rag.dimensions import Dimension, Gate, rag_dimensions, read_dimensions
    from adjudge.features.rag.judge import RagEvaluator
    from adjudge.features.rag.record import Composite
    from adjudge.features.rag.result import RagResult

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

__getattr__ = loader(
    __name__,
    {
        "Composite": "features.rag.record",
        "Dimension": "features.rag.dimensions",
        "Gate": "features.rag.dimensions",
        "RagEvaluator": "features.rag.judge",
        "RagResult": "features.rag.result",
        "composite": "features.rag.composite_rule",
        "rag_dimensions": "features.rag.dimensions",
        "read_dimensions": "features.rag.dimensions",
    },
)
