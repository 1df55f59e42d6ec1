"""Why a judgment came out as it did, and which could have come out better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adjudge.core.domain.record import Detail, JudgmentRecord, VoteRecord
from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message, join

if TYPE_CHECKING:
    from adjudge.runs.results.report import Report


def falling_short(report: Report) -> Iterator[JudgmentRecord]:
    """The worst first: judgments below the best score, then those without a score.

    Checks that cannot be told are left out: one line says why, for all rows together.
    """
    for one in report.entries:
        section = report.section_of(one)
        if not section or section.contests or one.detail.is_count:
            continue
        if not one.scored and one.detail.kind == "check":
            continue
        if not one.scored or (one.score is not None and one.score < section.summary.best_score):
            yield one


def reason_of(one: JudgmentRecord, report: Report) -> str:
    """The explanation; without one how sure the model is; without a verdict why there is none."""
    if not one.scored and one.reason:
        return one.reason
    for part in report.parts_of(one):
        if (reason := part.reason(one)) is not None:
            return reason
    if not one.scored:
        return ""
    detail, chosen = one.detail, one.verdict
    ranking = turns = ""
    if detail.is_comparison:
        ranking, chosen = _ranking(detail), str(detail.choice)
        turned = any(True in each.positional_bias for each in detail.system_results)
        turns = Message("depends on order") if turned and chosen == TIE else ""
    votes = (how_sure(vote) for vote in one.votes or () if vote.option == chosen)
    said = one.explanation or turns or next(filter(None, votes), "")
    return join(": ", (ranking, said)) if ranking and said else ranking or said


def _ranking(detail: Detail) -> str:
    """Three or more responses, the best first."""
    ranks = [one.ranking for one in detail.system_results]
    if len(ranks) < 3 or None in ranks:
        return ""
    ranked = sorted(zip(ranks, detail.system_names, strict=True), key=lambda one: one[0] or 0)
    first, *others = ranked
    text, last = first[1], first[0]
    for rank, name in others:
        text, last = f"{text} {'=' if rank == last else '>'} {name}", rank
    return text


def how_sure(vote: VoteRecord) -> Message | None:
    """The probability of a vote's verdict, where one was read, with a mark where it is low."""
    if vote.probability is None:
        return None
    if vote.low_confidence:
        return Message("p = {probability:.2f} (low confidence)", probability=vote.probability)
    return Message("p = {probability:.2f}", probability=vote.probability)
