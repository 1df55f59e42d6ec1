"""What the votes on labelled rows say of a judge beside its agreement: how steady, how sure, how
dear, how slow it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.vote import usage_by_model
from adjudge.core.gateway.prices import PriceTable
from adjudge.messages import Message
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import rows_interval
from adjudge.stats.probability import probability_figures
from adjudge.trust.rows import LabelledRow, Votes, stated_probability, vote_option


@dataclass(frozen=True)
class LabelledJudgment:
    """A labelled row, and the judgment that it is about."""

    row: LabelledRow
    record: JudgmentRecord

    @property
    def right(self) -> bool | None:
        """Whether the judge says what people say; None where either says nothing."""
        said, truth = self.row.said, self.row.truth
        return None if said is None or truth is None else said == truth

    @property
    def confidence(self) -> float | None:
        """How sure the votes are of their verdict: by its probability, else by how many of several
        agree.
        """
        stated = stated_probability(self.row.votes, str(self.record.choice))
        if stated is None and self.record.votes_valid > 1:
            return self.record.agreement
        return stated


def mean_of(values: Sequence[float], level: float, reason: str) -> Estimate:
    """A mean of rows with its interval; without rows, why there is none."""
    if not values:
        return undefined("rows", 0, reason, level=level)
    mean, count, limits = fmean(values), len(values), rows_interval(values, level=level)
    if limits is None:
        few = Message("fewer than 8 rows have no interval")
        return Estimate(mean, None, None, count, "rows", level, few)
    return Estimate(mean, limits.lower, limits.upper, count, "rows", level)


def consistency(rows: Sequence[LabelledJudgment], level: float) -> Estimate:
    """How often two votes of one model on the same question agree, mean over the rows that were
    asked more than once.
    """
    found = [share for one in rows if (share := _alike(one.row.votes)) is not None]
    return mean_of(found, level, Message("one vote per row: ask for several with --votes"))


def _alike(votes: Votes) -> float | None:
    groups: dict[tuple[str, tuple[int, ...] | None], list[str]] = defaultdict(list)
    for vote in votes:
        if vote.option is not None:
            groups[vote.model, vote.order].append(vote.option)
    pairs = [one == other for said in groups.values() for one, other in combinations(said, 2)]
    return fmean(pairs) if pairs else None


def order_effect(rows: Sequence[LabelledJudgment], level: float) -> Estimate:
    """How often the verdict turns when the responses, or options, are listed
    the other way round.
    """
    turned = [one.record.positional_bias for one in rows]
    known = [float(one.detected) for one in turned if one and one.detected is not None]
    return mean_of(known, level, Message("asked in one order: add --check-positional-bias"))


def vote_agreement(rows: Sequence[LabelledJudgment], level: float) -> Estimate:
    """How often a single vote says what people say, mean over the rows: what pooling several adds
    to, or takes from.
    """
    found = []
    for one in rows:
        said = [
            option
            for vote in one.row.votes
            if (option := vote_option(vote, one.row.systems)) is not None
        ]
        if said and one.row.truth is not None:
            found.append(fmean(option == one.row.truth for option in said))
    return mean_of(found, level, Message("no vote with an option"))


def confidence_figures(rows: Sequence[LabelledJudgment], level: float) -> dict[str, Estimate]:
    """How far stated confidence is from being right: the calibration error (ECE), beside what
    chance makes of it, and Brier's score.
    """
    stated = [
        (sure, int(right))
        for one in rows
        if (right := one.right) is not None and (sure := one.confidence) is not None
    ]
    if not stated:
        reason = Message(
            "no confidence is known: ask for several votes with --votes, or by likelihood"
        )
        none = undefined("ECE", 0, reason, level=level)
        return dict.fromkeys(("ECE", "ECE by chance", "Brier"), none)
    return probability_figures(stated, level)


@dataclass(frozen=True)
class Effort:
    """What it took to judge the labelled rows, each vote counted for every judge that uses it."""

    rows: int
    calls: int
    tokens: int
    usd: float | None
    """None where a price is not known."""
    unpriced: tuple[str, ...]
    seconds: float | None
    """A row, all of its votes one after the other; None where no time is recorded."""

    @property
    def usd_per_1000(self) -> float | None:
        """What a thousand rows would cost."""
        return None if self.usd is None or not self.rows else 1000 * self.usd / self.rows


def effort_of(rows: Sequence[LabelledJudgment], prices: PriceTable) -> Effort:
    """By what the votes recorded."""
    votes = [vote for one in rows for vote in one.row.votes]
    used, seconds = usage_by_model(votes), sum(vote.latency for vote in votes)
    costs = {model: prices.cost(model, one) for model, one in used.items()}
    unpriced = tuple(model for model, cost in costs.items() if cost is None)
    recorded = any(one.calls for one in used.values())
    return Effort(
        rows=len(rows),
        calls=sum(one.calls for one in used.values()),
        tokens=sum(one.tokens for one in used.values()),
        usd=None
        if unpriced or not recorded
        else sum(cost for cost in costs.values() if cost is not None),
        unpriced=unpriced,
        seconds=seconds / len(rows) if rows and seconds else None,
    )


def reasons_of(rows: Sequence[LabelledJudgment]) -> dict[str, int]:
    """Why rows have no verdict, the most frequent first."""
    failed = (one.record for one in rows if one.row.verdict is None)
    return dict(Counter(one.reason or one.status for one in failed).most_common())
