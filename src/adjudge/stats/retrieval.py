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

from adjudge.domain.light import light_dataclass
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
        return _FUNCTIONS[self.name](retrieved, relevant, self.k)


def hit(retrieved: Sequence[str], relevant: Grades, k: int | None = None) -> Figure:
    """1 where something relevant is among the first ``k``, else 0."""
    return _defined(relevant) or Figure(float(any(_hits(retrieved, relevant, k))))


def mrr(retrieved: Sequence[str], relevant: Grades, k: int | None = None) -> Figure:
    """1 divided by the place of the first relevant one; 0 where there is none.

    Over many rankings the mean is taken.
    """
    hits = _hits(retrieved, relevant, k)
    return _defined(relevant) or Figure(1 / (hits.index(True) + 1) if any(hits) else 0.0)


def precision(retrieved: Sequence[str], relevant: Grades, k: int | None = None) -> Figure:
    """The share of relevant ones among the first ``k``, also where fewer were retrieved; without
    ``k`` among all retrieved.
    """
    hits = _hits(retrieved, relevant, k)
    if not hits and k is None:
        return _defined(relevant) or Figure(None, NOTHING_RETRIEVED)
    return _defined(relevant) or Figure(sum(hits) / (k or len(hits)))


def recall(retrieved: Sequence[str], relevant: Grades, k: int | None = None) -> Figure:
    """The share of the relevant ones that are among the first ``k``."""
    return _defined(relevant) or Figure(
        sum(_hits(retrieved, relevant, k)) / len(_relevant(relevant))
    )


def average_precision(retrieved: Sequence[str], relevant: Grades, k: int | None = None) -> Figure:
    """The mean, over the relevant ones, of the precision at the place of each; 0 for one that is
    not among the first ``k``.
    """
    hits = _hits(retrieved, relevant, k)
    return _defined(relevant) or Figure(_sum_of_precisions(hits) / len(_relevant(relevant)))


def ndcg(retrieved: Sequence[str], relevant: Grades, k: int | None = None) -> Figure:
    """The grades, each divided by the binary logarithm of 1 + its place, as a share of what the
    best order would give.
    """
    if missing := _defined(relevant):
        return missing
    known = _relevant(relevant)
    gained = _discounted([known.get(one, 0.0) for one in _first(retrieved, k)])
    return Figure(gained / _discounted(sorted(known.values(), reverse=True)[:k]))


def ranked_precision(hits: Sequence[bool]) -> Figure:
    """The average precision of a ranking, by whether each of the retrieved ones, the best first, is
    relevant.
    """
    if not hits:
        return Figure(None, NOTHING_RETRIEVED)
    return Figure(_sum_of_precisions(hits) / sum(hits) if any(hits) else 0.0)


_FUNCTIONS: Mapping[Name, Callable[[Sequence[str], Grades, int | None], Figure]] = {
    "hit": hit,
    "mrr": mrr,
    "ndcg": ndcg,
    "precision": precision,
    "recall": recall,
    "average_precision": average_precision,
}


def _defined(relevant: Grades) -> Figure | None:
    """Why there is no figure, where there is none."""
    return None if _relevant(relevant) else Figure(None, NOTHING_RELEVANT)


def _relevant(grades: Grades) -> dict[str, float]:
    return {one: grade for one, grade in grades.items() if grade > 0}


def _first(retrieved: Sequence[str], k: int | None) -> list[str]:
    return list(dict.fromkeys(retrieved))[:k]


def _hits(retrieved: Sequence[str], relevant: Grades, k: int | None) -> list[bool]:
    known = _relevant(relevant)
    return [one in known for one in _first(retrieved, k)]


def _sum_of_precisions(hits: Sequence[bool]) -> float:
    return math.fsum(sum(hits[:place]) / place for place, one in enumerate(hits, 1) if one)


def _discounted(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(place + 1) for place, grade in enumerate(grades, 1))
