"""The number of votes that a verdict rests on, in words."""

from __future__ import annotations

from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message


def count_agreeing(valid: int, agreement: float | None) -> int:
    """Return the number of valid votes that agree with the verdict; all of them if that is
    unknown.
    """
    return valid if agreement is None else round(agreement * valid)


def vote_count(
    verdict: str | None, valid: int, requested: int, agreement: float | None, *, tie: bool
) -> Message:
    """Return the count in words, such as "2 of 4 votes for No (tie)".

    It is only "4 of 4 votes" if there is no single winner, or if all valid votes agree or none
    does.
    """
    agreeing = count_agreeing(valid, agreement)
    # two orders that contradict each other make a tie that no vote named
    if verdict in (None, TIE) or agreeing in (0, valid):
        return Message("{valid} of {requested} votes", valid=valid, requested=requested)
    if tie:
        return Message(
            "{agreeing} of {requested} votes for {verdict} (tie)",
            agreeing=agreeing,
            requested=requested,
            verdict=verdict,
        )
    return Message(
        "{agreeing} of {requested} votes for {verdict}",
        agreeing=agreeing,
        requested=requested,
        verdict=verdict,
    )
