"""How good a ranking of retrieved things is, by what is known to be relevant. No model is asked.

``retrieved``: ids, the best first; one that comes again counts at its first place. ``relevant``: id
→ its grade; all grades above 0 are relevant, and only nDCG tells them apart. ``k``: how many of the
first are looked at; None: all of them.
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
NOTHING_RELEVANT = Message("nothing is marked as relevant")
NOTHING_RETRIEVED = Message("nothing was retrieved")
_AT = re.compile(r"([a-z_]+)(?:@([0-9]{1,6}))?")
_OTHER_NAMES: Mapping[str, Name] = {
    "hits": "hit",
    "hit_rate": "hit",
    "ap": "average_precision",
    "map": "average_precision",
}


@light_dataclass(frozen=True)
class RankMeasure:
    """One of the measures, with its cut-off."""

    name: Name
    k: int | None = None

    @classmethod
    def of(cls, text: str) -> RankMeasure | None:
        """``ndcg@5``, ``MRR``, ``hit@3``, …; None where it is none of them.

        A SetupError where its cut-off is 0.
        """
        found = _AT.fullmatch(text.strip().casefold())
        name = next(
            (one for one in NAMES if found and one == _OTHER_NAMES.get(found[1], found[1])), None
        )
        if found is None or name is None:
            return None
        if found[2] is not None and int(found[2]) < 1:
            raise SetupError(
                "{text}: a ranking is cut off after 1 or more, such as {name}@3",
                text=text,
                name=name,
            )
        return cls(name, int(found[2]) if found[2] else None)

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def figure(self, retrieved: Sequence[str], relevant: Grades) -> Figure:
        """What it is of one ranking."""
        known = {one: grade for one, grade in relevant.items() if grade > 0}
        first = list(dict.fromkeys(retrieved))[: self.k]
        if not known:
            return Figure(None, NOTHING_RELEVANT)
        if self.name == "precision" and not first and self.k is None:
            return Figure(None, NOTHING_RETRIEVED)
        return Figure(_FUNCTIONS[self.name](first, known, self.k))


def _hit(first: Sequence[str], relevant: Grades, _: int | None) -> float:
    """1 where something relevant is among the first ``k``, else 0."""
    return float(any(one in relevant for one in first))


def _mrr(first: Sequence[str], relevant: Grades, _: int | None) -> float:
    """1 divided by the place of the first relevant one; 0 where there is none.

    Over many rankings the mean is taken.
    """
    return next((1 / place for place, one in enumerate(first, 1) if one in relevant), 0.0)


def _precision(first: Sequence[str], relevant: Grades, k: int | None) -> float:
    """The share of relevant ones among the first ``k``, also where fewer were retrieved; without
    ``k`` among all retrieved.
    """
    return sum(one in relevant for one in first) / (k or len(first))


def _recall(first: Sequence[str], relevant: Grades, _: int | None) -> float:
    """The share of the relevant ones that are among the first ``k``."""
    return sum(one in relevant for one in first) / len(relevant)


def _average_precision(first: Sequence[str], relevant: Grades, _: int | None) -> float:
    """The mean, over the relevant ones, of the precision at the place of each; 0 for one that is
    not among the first ``k``.
    """
    return _sum_of_precisions([one in relevant for one in first]) / len(relevant)


def _ndcg(first: Sequence[str], relevant: Grades, k: int | None) -> float:
    """The grades, each divided by the binary logarithm of 1 + its place, as a share of what the
    best order would give.
    """
    gained = _discounted([relevant.get(one, 0.0) for one in first])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def ranked_precision(hits: Sequence[bool]) -> Figure:
    """The average precision of a ranking, by whether each of the retrieved ones, the best first, is
    relevant.
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
    return math.fsum(sum(hits[:place]) / place for place, one in enumerate(hits, 1) if one)


def _discounted(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(grades, 1))
