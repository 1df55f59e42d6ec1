"""The confidence of a judge in its verdict, as far as its votes show it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from adjudge.core.domain.vote import Vote


def confidence(votes: Sequence[Vote], option: str | None) -> float | None:
    """Return the mean probability of ``option`` if each vote has one, else the share of votes for
    it.

    Return None if the votes show nothing: there is no verdict, there is one vote, or all of them
    repeat one answer.
    """
    valid = [vote for vote in votes if vote.verdict is not None]
    if option is None or not valid:
        return None
    shares = [vote.distribution for vote in valid]
    if all(shares):
        return fmean(distribution.get(option, 0.0) for distribution in shares if distribution)
    # Votes in two orders with one sample each do not count: agreeing orders are not confidence.
    if len({vote.sample for vote in votes}) < 2 or all(
        vote.ballot.temperature == 0 for vote in votes
    ):
        return None
    return sum(vote.verdict.option == option for vote in valid if vote.verdict) / len(votes)
