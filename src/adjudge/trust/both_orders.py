"""A judge that was asked in two orders: how often it is right in each, and how often it says the same in both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.trust.rows import LabelledRow, Votes, vote_option

_Order = tuple[object, ...]


@dataclass(frozen=True)
class OrderAgreement:
    """Over labelled rows with a verdict in both orders."""

    count: int
    right: tuple[float, float]
    """The share of votes that agree with people: in the order that each row was asked in first, and in the other."""
    alike: float
    """The share of rows on which both orders say the same."""

    @property
    def accuracy(self) -> float:
        """The mean of both orders, as data sets with swapped pairs publish it."""
        return fmean(self.right)

    def to_dict(self) -> dict[str, object]:
        """This as a JSON-ready dict."""
        return {"n": self.count, "accuracy": self.accuracy, "by_order": list(self.right), "consistency": self.alike}


def order_agreement(rows: Iterable[LabelledRow]) -> OrderAgreement | None:
    """None where no labelled row was asked in two orders."""
    seen = [(one.truth, by_order) for one in rows if len(by_order := _by_order(one.votes, one.systems)) == 2]
    if not seen:
        return None
    first, second = (fmean(fmean(said == truth for said in pair[side]) for truth, pair in seen) for side in (0, 1))
    return OrderAgreement(len(seen), (first, second), fmean(_most(pair[0]) == _most(pair[1]) for _, pair in seen))


def _by_order(votes: Votes, systems: Sequence[str]) -> list[list[str]]:
    """What was said in each order, as they were asked; a vote that failed says nothing."""
    found: dict[_Order, list[str]] = defaultdict(list)
    for vote in votes:
        said, order = vote_option(vote, systems), vote.get("order")
        if said is not None and isinstance(order, Sequence):
            found[tuple(order)].append(said)
    return list(found.values())


def _most(said: Sequence[str]) -> str:
    return Counter(said).most_common(1)[0][0]
