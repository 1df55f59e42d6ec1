"""Two responses side by side."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.verdict import TIE
from training.kinds.base import Case, Draw


def compared(
    draw: Draw,
    criteria: Criteria,
    shared: Mapping[str, object],
    texts: tuple[str, str],
    label: int,
    origin: str,
) -> Case:
    """Two responses in any order; with a tie among the answers now and then."""
    tied = draw.rng.random() < 0.65  # the pairwise judge offers a tie unless it is told not to
    if tied and draw.rng.random() < 0.25:
        texts, label = (texts[0], texts[0]), 0
    if label == 0 and not tied:
        label = 1
    turned = draw.rng.random() < 0.5
    shown = list(texts[::-1] if turned else texts)
    truth = TIE if label == 0 else "AB"[(label == 2) != turned]
    offered = ("A", "B", TIE) if tied else ("A", "B")
    return Case(criteria, {**shared, "response": shown}, truth, origin, offered)  # type: ignore[dict-item]
