"""Agreement of a judge that was asked in two orders: accuracy in each, and consistency."""

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
# None: the vote failed, and that counts against the judge.
_Option = str | None


@dataclass(frozen=True)
class OrderAgreement:
    """Agreement with people on labelled rows that were judged in both orders."""

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
        """The mean accuracy over both orders, as reported for data sets with swapped pairs."""
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
    """Measure a judge in both orders; None if no row was judged in both.

    ``missing``: how a vote without a verdict counts.
    """
    judgments = [
        (row.truth, by_order)
        for row in rows
        if len(by_order := _by_order(row.votes, row.systems, missing)) == 2
    ]
    if not judgments:
        return None
    accuracy_first, accuracy_second = (
        fmean(fmean(option == truth for option in pair[side]) for truth, pair in judgments)
        for side in (0, 1)
    )
    return OrderAgreement(
        len(judgments),
        (accuracy_first, accuracy_second),
        alike=fmean(_most_frequent(pair[0]) == _most_frequent(pair[1]) for _, pair in judgments),
        both=fmean(
            _most_frequent(pair[0]) == _most_frequent(pair[1]) == truth for truth, pair in judgments
        ),
        mostly=fmean(_mostly_right(truth, [*pair[0], *pair[1]]) for truth, pair in judgments),
    )


def _by_order(votes: Votes, systems: Sequence[str], missing: Missing) -> list[list[_Option]]:
    """Group the votes' options by order, in the sequence in which the orders were asked."""
    options: dict[_Order, list[_Option]] = defaultdict(list)
    for vote in votes:
        option = vote_option(vote, systems)
        if option is None and missing == "drop":
            continue
        if vote.order is not None:
            options[vote.order].append(TIE if option is None and missing == "tie" else option)
    return list(options.values())


def _most_frequent(options: Sequence[_Option]) -> _Option:
    return Counter(options).most_common(1)[0][0]


def _mostly_right(truth: Answer | None, options: Sequence[_Option]) -> bool:
    wrong = sum(option not in (truth, None, TIE) for option in options)
    return sum(option == truth for option in options) > wrong
