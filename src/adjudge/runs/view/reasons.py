"""The reasons of judgments, and the judgments that could be better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adjudge.core.domain.record import Detail, JudgmentRecord, VoteRecord
from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message, join

if TYPE_CHECKING:
    from adjudge.runs.results.report import Report


def falling_short(report: Report) -> Iterator[JudgmentRecord]:
    """Yield judgments below the best score, worst first, then those without a score.

    Comparisons and counts are left out, as are undecidable checks, whose reason is shown once for
    all their rows.
    """
    for record in report.entries:
        section = report.section_of(record)
        if not section or section.contests or record.detail.is_count:
            continue
        if not record.scored and record.detail.kind == "check":
            continue
        if not record.scored or (
            record.score is not None and record.score < section.summary.best_score
        ):
            yield record


def reason_of(record: JudgmentRecord, report: Report) -> str:
    """Return why a judgment came out as it did, or why there is no verdict; empty if neither is
    known.

    Without an explanation, the model's confidence is used.
    """
    if not record.scored and record.reason:
        return record.reason
    for part in report.parts_of(record):
        if (reason := part.reason(record)) is not None:
            return reason
    if not record.scored:
        return ""
    detail, choice = record.detail, record.verdict
    ranking = turns = ""
    if detail.is_comparison:
        ranking, choice = _ranking(detail), str(detail.choice)
        turned = any(True in system.positional_bias for system in detail.system_results)
        turns = Message("depends on order") if turned and choice == TIE else ""
    votes = (how_sure(vote) for vote in record.votes or () if vote.option == choice)
    explanation = record.explanation or turns or next(filter(None, votes), "")
    return join(": ", (ranking, explanation)) if ranking and explanation else ranking or explanation


def _ranking(detail: Detail) -> str:
    """Return three or more responses, best first; empty for fewer or without complete ranks."""
    ranks = [system.ranking for system in detail.system_results]
    if len(ranks) < 3 or None in ranks:
        return ""
    ranked = sorted(zip(ranks, detail.system_names, strict=True), key=lambda pair: pair[0] or 0)
    best, *rest_of_ranking = ranked
    text, last = best[1], best[0]
    for rank, name in rest_of_ranking:
        text, last = f"{text} {'=' if rank == last else '>'} {name}", rank
    return text


def how_sure(vote: VoteRecord) -> Message | None:
    """Return the probability of a vote's verdict, marked if it is low; None if it is unknown."""
    if vote.probability is None:
        return None
    if vote.low_confidence:
        return Message("p = {probability:.2f} (low confidence)", probability=vote.probability)
    return Message("p = {probability:.2f}", probability=vote.probability)
