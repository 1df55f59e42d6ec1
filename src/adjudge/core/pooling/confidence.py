"""How sure a judge is of its verdict, as far as its votes say."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from adjudge.core.domain.vote import Vote


def confidence(votes: Sequence[Vote], option: str | None) -> float | None:
    """The mean probability of ``option`` where each vote has one, else the share of the votes that
    say so.

    None where the votes say nothing of it: there is no verdict, there is one vote, or all of them
    repeat one answer. That two orders agree is not confidence either.
    """
    valid = [vote for vote in votes if vote.verdict is not None]
    if option is None or not valid:
        return None
    shares = [vote.distribution for vote in valid]
    if all(shares):
        return fmean(one.get(option, 0.0) for one in shares if one)
    if len({vote.sample for vote in votes}) < 2 or all(
        vote.ballot.temperature == 0 for vote in votes
    ):
        return None
    return sum(vote.verdict.option == option for vote in valid if vote.verdict) / len(votes)
