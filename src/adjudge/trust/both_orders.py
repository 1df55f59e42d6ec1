"""A judge that was asked in two orders: how often it is right in each, and how often it says the
same in both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.verdict import TIE
from adjudge.stats.agreement import Missing
from adjudge.trust.rows import Answer, LabelledRow, Votes, vote_option

_Order = tuple[object, ...]
_Said = str | None
"""None: the vote failed, and that counts against the judge."""


@dataclass(frozen=True)
class OrderAgreement:
    """Over labelled rows that were asked in both orders."""

    count: int
    right: tuple[float, float]
    """The share of votes that agree with people: in the order that each row was asked in first, and
    in the other.
    """
    alike: float
    """The share of rows on which both orders say the same."""
    both: float
    """The share of rows on which both orders are right, as Auto-J publishes it."""
    mostly: float
    """The share of rows with more right votes than wrong ones, a tie being neither, as JudgeBench
    publishes it.
    """

    @property
    def accuracy(self) -> float:
        """The mean of both orders, as data sets with swapped pairs publish it."""
        return fmean(self.right)

    def to_dict(self) -> JsonDict:
        return {
            "n": self.count,
            "accuracy": self.accuracy,
            "by_order": list(self.right),
            "consistency": self.alike,
            "right_in_both": self.both,
            "mostly_right": self.mostly,
        }


def order_agreement(
    rows: Iterable[LabelledRow], missing: Missing = "drop"
) -> OrderAgreement | None:
    """None where no labelled row was asked in two orders.

    ``missing``: what a vote without a verdict counts as.
    """
    seen = [
        (one.truth, by_order)
        for one in rows
        if len(by_order := _by_order(one.votes, one.systems, missing)) == 2
    ]
    if not seen:
        return None
    first, second = (
        fmean(fmean(said == truth for said in pair[side]) for truth, pair in seen)
        for side in (0, 1)
    )
    return OrderAgreement(
        len(seen),
        (first, second),
        alike=fmean(_most(pair[0]) == _most(pair[1]) for _, pair in seen),
        both=fmean(_most(pair[0]) == _most(pair[1]) == truth for truth, pair in seen),
        mostly=fmean(_mostly_right(truth, [*pair[0], *pair[1]]) for truth, pair in seen),
    )


def _by_order(votes: Votes, systems: Sequence[str], missing: Missing) -> list[list[_Said]]:
    """What was said in each order, as they were asked."""
    found: dict[_Order, list[_Said]] = defaultdict(list)
    for vote in votes:
        said = vote_option(vote, systems)
        if said is None and missing == "drop":
            continue
        if vote.order is not None:
            found[vote.order].append(TIE if said is None and missing == "tie" else said)
    return list(found.values())


def _most(said: Sequence[_Said]) -> _Said:
    return Counter(said).most_common(1)[0][0]


def _mostly_right(truth: Answer | None, said: Sequence[_Said]) -> bool:
    wrong = sum(one not in (truth, None, TIE) for one in said)
    return sum(one == truth for one in said) > wrong
