"""A trial as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.domain.frozen import plain
from adjudge.domain.json_types import JsonDict
from adjudge.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result
from adjudge.domain.verdict import TIE, Compared
from adjudge.domain.vote import Vote
from adjudge.engine.ask import prompt_for
from adjudge.runs.case_file import letter_of
from adjudge.web.playground.trial import Trial

_LONGEST = 4_000
"""Characters of a text that are shown."""


def trial_data(trial: Trial, left: float) -> JsonDict:
    """Everything that has come so far.

    Whether it has ended is read first: what comes between is shown by the next look.
    """
    ended = trial.ended
    compared, before = trial.compared(), trial.compared_before()
    rows = [_row(trial, number) for number in range(len(trial.case.rows))]
    notes = dict.fromkeys(note for _, one in sorted(trial.results.items()) for note in one.notes)
    return {
        "trial": {
            "id": trial.id,
            "ended": ended,
            "done": len(trial.results) + len(trial.bad),
            "total": len(trial.case.rows),
            "cast": trial.cast,
            "planned": trial.planned,
            "usd": trial.usd,
            "error": trial.error,
            "notes": list(notes),
            "wrong": len(trial.differing()),
            "source": trial.source,
            "panel": len(trial.models) > 1,
        },
        "left": left,
        "compared": plain(compared),
        "before": plain(before),
        "change": trial.change() if ended else "",
        "rows": rows,
    }


def _row(trial: Trial, number: int) -> JsonDict:
    row, result, votes = (
        trial.case.rows[number],
        trial.results.get(number),
        trial.votes.get(number, []),
    )
    bias = (
        result.positional_bias
        if isinstance(result, DirectInstanceResult | PairwiseInstanceResult)
        else None
    )
    judged = row.fields.get(trial.case.criteria.to_evaluate_field, "")
    reason = trial.bad.get(number) or (result.reason if result else None)
    return {
        "number": (trial.places[number] if trial.places else number) + 1,
        "expected": row.expected,
        "before": trial.before.get(number),
        "verdict": trial.verdict(number),
        "status": "failed" if number in trial.bad else result.status.value if result else None,
        "score": result.score if result else None,
        "explanation": result.explanation if result else None,
        "feedback": result.feedback if isinstance(result, DirectInstanceResult) else None,
        "reason": reason,
        "bias": bool(bias and bias.detected),
        "tie": bool(result and result.tie),
        "unsure": bool(result and result.low_confidence),
        "text": (judged if isinstance(judged, str) else " | ".join(judged))[:_LONGEST]
        if trial.source
        else "",
        "votes": [_vote(one) for one in (result.votes if result else votes)],
        **_replies(result),
    }


def _vote(vote: Vote) -> JsonDict:
    chances: Mapping[str, float] = vote.distribution or {}
    verdict, order = vote.verdict, vote.order
    compared = (
        letter_of(TIE if verdict.winner is None else verdict.winner)
        if isinstance(verdict, Compared)
        else None
    )
    return {
        "model": vote.model,
        "said": compared or (verdict.option if verdict else None),
        "probability": chances.get(verdict.option) if verdict else None,
        "reversed": bool(order and list(order) != sorted(order)),
        "outcome": vote.outcome.value,
    }


def _replies(result: Result | None) -> JsonDict:
    """The first prompt, and every reply that was written."""
    if result is None or not result.votes:
        return {"prompt": None, "replies": []}
    replies = [
        {"model": one.model, "text": one.text[:_LONGEST]} for one in result.votes if one.text
    ]
    prompt = prompt_for(result.votes[0].ballot).text[:_LONGEST]
    return {"prompt": prompt, "replies": replies or [{"model": result.votes[0].model, "text": ""}]}
