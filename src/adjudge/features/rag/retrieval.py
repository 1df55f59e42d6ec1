"""Measures of rankings of retrieved items, by what is known to be relevant. No model is asked.

``retrieved``: ids, the best first; a repeated id counts at its first place. ``relevant``: id → its
grade; all grades above 0 are relevant, and only nDCG tells them apart. ``k``: how many of the first
are looked at; None for all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.stats.estimate import Figure

Grades = Mapping[str, float]
Name = Literal["hit", "mrr", "ndcg", "precision", "recall", "average_precision"]
NAMES: tuple[Name, ...] = get_args(Name)
NOTHING_RELEVANT = Message("no fragment is marked as relevant")
NOTHING_RETRIEVED = Message("no fragments were retrieved")
_AT = re.compile(r"([a-z_]+)(?:@([0-9]{1,6}))?")
_OTHER_NAMES: Mapping[str, Name] = {
    "hits": "hit",
    "hit_rate": "hit",
    "ap": "average_precision",
    "map": "average_precision",
}


@light_dataclass(frozen=True)
class RankMeasure:
    """A ranking measure with its cut-off, such as ``ndcg@5``."""

    name: Name
    k: int | None = None

    @classmethod
    def of(cls, text: str) -> RankMeasure | None:
        """Read ``ndcg@5``, ``MRR``, ``hit@3``, …; return None for any other name.

        Raises a SetupError if the cut-off is 0.
        """
        match = _AT.fullmatch(text.strip().casefold())
        name = next(
            (
                candidate
                for candidate in NAMES
                if match and candidate == _OTHER_NAMES.get(match[1], match[1])
            ),
            None,
        )
        if match is None or name is None:
            return None
        if match[2] is not None and int(match[2]) < 1:
            raise SetupError(
                "{text}: the cut-off of a ranking must be 1 or more, such as {name}@3",
                text=text,
                name=name,
            )
        return cls(name, int(match[2]) if match[2] else None)

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def figure(self, retrieved: Sequence[str], relevant: Grades) -> Figure:
        """Compute the measure for one ranking."""
        positive = {item_id: grade for item_id, grade in relevant.items() if grade > 0}
        # duplicates go first, so that a cut-off counts different items
        top = list(dict.fromkeys(retrieved))[: self.k]
        if not positive:
            return Figure(None, NOTHING_RELEVANT)
        if self.name == "precision" and not top and self.k is None:
            return Figure(None, NOTHING_RETRIEVED)
        return Figure(_FUNCTIONS[self.name](top, positive, self.k))


def _hit(top: Sequence[str], relevant: Grades, _: int | None) -> float:
    """Return 1 if one of the first ``k`` is relevant, else 0."""
    return float(any(item_id in relevant for item_id in top))


def _mrr(top: Sequence[str], relevant: Grades, _: int | None) -> float:
    """Return 1 divided by the place of the first relevant item; 0 if there is none.

    The mean over many rankings is the mean reciprocal rank.
    """
    return next((1 / place for place, item_id in enumerate(top, 1) if item_id in relevant), 0.0)


def _precision(top: Sequence[str], relevant: Grades, k: int | None) -> float:
    """Return the share of relevant items among the first ``k``; without ``k``, among all
    retrieved.
    """
    # divided by k even if fewer were retrieved
    return sum(item_id in relevant for item_id in top) / (k or len(top))


def _recall(top: Sequence[str], relevant: Grades, _: int | None) -> float:
    """Return the share of the relevant items that are among the first ``k``."""
    return sum(item_id in relevant for item_id in top) / len(relevant)


def _average_precision(top: Sequence[str], relevant: Grades, _: int | None) -> float:
    """Return the mean, over the relevant items, of the precision at each one's place.

    It is 0 for an item that is not among the first ``k``.
    """
    return _sum_of_precisions([item_id in relevant for item_id in top]) / len(relevant)


def _ndcg(top: Sequence[str], relevant: Grades, k: int | None) -> float:
    """Return the sum of grades, each divided by log2(1 + place), as a share of the best order's
    sum.
    """
    gained = _discounted([relevant.get(item_id, 0.0) for item_id in top])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def ranked_precision(hits: Sequence[bool]) -> Figure:
    """Return the average precision of a ranking.

    ``hits`` tells which places are relevant, the best first.
    """
    if not hits:
        return Figure(None, NOTHING_RETRIEVED)
    return Figure(_sum_of_precisions(hits) / sum(hits) if any(hits) else 0.0)


_FUNCTIONS: Mapping[Name, Callable[[Sequence[str], Grades, int | None], float]] = {
    "hit": _hit,
    "mrr": _mrr,
    "ndcg": _ndcg,
    "precision": _precision,
    "recall": _recall,
    "average_precision": _average_precision,
}
"""Each of the first ones that were retrieved, and of the relevant ones with their grades."""


def _sum_of_precisions(hits: Sequence[bool]) -> float:
    return math.fsum(sum(hits[:place]) / place for place, is_hit in enumerate(hits, 1) if is_hit)


def _discounted(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(grades, 1))
