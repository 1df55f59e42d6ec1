"""Figures of a judge from its votes on labelled rows: consistency, confidence, cost and latency."""

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
    """A labelled row with its judgment."""

    row: LabelledRow
    record: JudgmentRecord

    @property
    def right(self) -> bool | None:
        """True if the judge agrees with people; None if either has no answer."""
        answer, truth = self.row.judge_answer, self.row.truth
        return None if answer is None or truth is None else answer == truth

    @property
    def confidence(self) -> float | None:
        """The confidence in the verdict: its stated probability, else the share of votes that
        agree.

        None if neither is known.
        """
        stated = stated_probability(self.row.votes, str(self.record.choice))
        if stated is None and self.record.votes_valid > 1:
            return self.record.agreement
        return stated


def mean_of(values: Sequence[float], level: float, reason: str) -> Estimate:
    """Return the mean over rows with its interval. ``reason``: why there is no mean, if there are
    no rows.
    """
    if not values:
        return undefined("rows", 0, reason, level=level)
    mean, count, limits = fmean(values), len(values), rows_interval(values, level=level)
    if limits is None:
        few = Message("no interval: fewer than 8 rows")
        return Estimate(mean, None, None, count, "rows", level, few)
    return Estimate(mean, limits.lower, limits.upper, count, "rows", level)


def consistency(rows: Sequence[LabelledJudgment], level: float) -> Estimate:
    """Measure how often two votes by one model on the same question agree, as a mean over rows with
    several votes.
    """
    shares = [
        share
        for judgment in rows
        if (share := _share_of_equal_votes(judgment.row.votes)) is not None
    ]
    return mean_of(
        shares, level, Message("there is only one vote per row: ask for several with --votes")
    )


def _share_of_equal_votes(votes: Votes) -> float | None:
    # Only votes of one model in one order ask the same question.
    groups: dict[tuple[str, tuple[int, ...] | None], list[str]] = defaultdict(list)
    for vote in votes:
        if vote.option is not None:
            groups[vote.model, vote.order].append(vote.option)
    pairs = [
        option_a == option_b
        for options in groups.values()
        for option_a, option_b in combinations(options, 2)
    ]
    return fmean(pairs) if pairs else None


def order_effect(rows: Sequence[LabelledJudgment], level: float) -> Estimate:
    """Measure how often the verdict changes if responses or options are listed in reverse."""
    biases = [judgment.record.positional_bias for judgment in rows]
    flips = [float(bias.detected) for bias in biases if bias and bias.detected is not None]
    return mean_of(flips, level, Message("asked in one order only: add --check-positional-bias"))


def vote_agreement(rows: Sequence[LabelledJudgment], level: float) -> Estimate:
    """Measure how often a single vote agrees with people, as a mean over rows.

    The difference to the judge's accuracy shows what pooling votes changes.
    """
    shares = []
    for judgment in rows:
        options = [
            option
            for vote in judgment.row.votes
            if (option := vote_option(vote, judgment.row.systems)) is not None
        ]
        if options and judgment.row.truth is not None:
            shares.append(fmean(option == judgment.row.truth for option in options))
    return mean_of(shares, level, Message("no vote with an option"))


def confidence_figures(rows: Sequence[LabelledJudgment], level: float) -> dict[str, Estimate]:
    """Compare confidence with correctness: calibration error (ECE), its value expected by chance,
    and Brier score.
    """
    stated = [
        (sure, int(right))
        for judgment in rows
        if (right := judgment.right) is not None and (sure := judgment.confidence) is not None
    ]
    if not stated:
        reason = Message(
            "confidence is unknown: ask for several votes with --votes, or use likelihood mode"
        )
        none = undefined("ECE", 0, reason, level=level)
        return dict.fromkeys(("ECE", "ECE by chance", "Brier"), none)
    return probability_figures(stated, level)


@dataclass(frozen=True)
class Effort:
    """Calls, tokens and cost for the labelled rows. A vote counts for every judge that uses it."""

    rows: int
    calls: int
    tokens: int
    usd: float | None
    """Dollars; None if a price is unknown."""
    unpriced: tuple[str, ...]
    seconds: float | None
    """Seconds per row, with its votes one after another; None if no times are recorded."""

    @property
    def usd_per_1000(self) -> float | None:
        """The cost of 1000 rows; None if unknown."""
        return None if self.usd is None or not self.rows else 1000 * self.usd / self.rows


def effort_of(rows: Sequence[LabelledJudgment], prices: PriceTable) -> Effort:
    """Add up the tokens, cost and time of the votes."""
    votes = [vote for judgment in rows for vote in judgment.row.votes]
    used, seconds = usage_by_model(votes), sum(vote.latency for vote in votes)
    costs = {model: prices.cost(model, usage) for model, usage in used.items()}
    unpriced = tuple(model for model, cost in costs.items() if cost is None)
    recorded = any(usage.calls for usage in used.values())
    return Effort(
        rows=len(rows),
        calls=sum(usage.calls for usage in used.values()),
        tokens=sum(usage.tokens for usage in used.values()),
        usd=None
        if unpriced or not recorded
        else sum(cost for cost in costs.values() if cost is not None),
        unpriced=unpriced,
        seconds=seconds / len(rows) if rows and seconds else None,
    )


def reasons_of(rows: Sequence[LabelledJudgment]) -> dict[str, int]:
    """Count the reasons why rows have no verdict, the most frequent first."""
    failed = (judgment.record for judgment in rows if judgment.row.verdict is None)
    return dict(Counter(record.reason or record.status for record in failed).most_common())
