"""The data of a trial for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result
from adjudge.core.domain.verdict import TIE, Compared
from adjudge.core.domain.vote import Vote
from adjudge.core.engine.ask import prompt_for
from adjudge.errors import AdjudgeError
from adjudge.features.playground.draft import Draft
from adjudge.features.playground.trial import CriterionTrial, Trial
from adjudge.runs.case_file import CaseAgreement, letter_of

_LONGEST = 4_000
"""Characters of a text that are shown."""


def places_in(trial: Trial, draft: Draft) -> dict[int, int]:
    """Map each row of the trial to the instance of the form that still has the same texts."""
    free = {place: draft.rows[place].written for place in draft.filled_places()}
    place_of_row = {}
    for row, texts in enumerate(trial.written):
        place = next((place for place, draft_texts in free.items() if draft_texts == texts), None)
        if place is not None:
            place_of_row[row] = place
            # Two instances with the same texts get a row each.
            del free[place]
    return place_of_row


def _expect(trial: Trial, draft: Draft) -> dict[int, int]:
    """Pass the form's expected answers to the trial.

    Return the place of each row that is still in the form.
    """
    places = places_in(trial, draft)
    trial.expect({row: draft.rows[place].answer for row, place in places.items()})
    return places


def trial_data(trial: Trial, left: float, draft: Draft | None = None) -> JsonDict:
    """Return all results so far.

    With a draft, rows are compared with what the form expects now; rows whose texts were changed
    since are left out.
    """
    # Read first: results that arrive meanwhile are shown by the next look.
    ended = trial.ended
    places = {row: row for row in range(len(trial.case.rows))}
    if draft and trial.written:
        places = _expect(trial, draft)
    rows = [_row(trial, row, place) for row, place in places.items()]
    sides = list(trial.criteria.values())
    notes = dict.fromkeys(
        note
        for side in sides
        for _, result in sorted(side.results.items())
        for note in result.notes
    )
    return {
        "trial": {
            "id": trial.id,
            "ended": ended,
            "done": sum(side.done for side in sides),
            "total": len(trial.case.rows) * len(sides),
            "cast": trial.cast,
            "planned": trial.planned_votes,
            "usd": trial.usd,
            "error": trial.error,
            "notes": list(notes),
            "wrong": len(trial.differing()),
            "source": trial.source,
            "labelled": sum(bool(row.expected) for row in trial.case.rows),
            "total_rows": len(trial.case.rows),
            "panel": len(trial.models) > 1,
            "other_criteria": draft is not None and not _is_judged_by(trial, draft, beside=True),
            "other_texts": len(trial.case.rows) - len(rows),
        },
        "left": left,
        "compared": plain(trial.edited_trial.measure_agreement(places)),
        "before": plain(trial.measure_earlier_agreement()),
        "change": trial.change() if ended else "",
        "criteria": [_criterion(trial, label, places, ended=ended) for label in trial.criteria],
        "moves": _moves(trial),
        "shades": _shades(trial.case.criteria),
        "rows": rows,
    }


def _criterion(trial: Trial, label: str, places: Mapping[int, int], *, ended: bool) -> JsonDict:
    """Return the results of a criterion, compared with the edited one if it is another wording of
    it.
    """
    criterion_trial, edited = trial.criteria[label], trial.edited_trial
    is_wording = (
        criterion_trial is not edited
        and criterion_trial.case.criteria.name == edited.case.criteria.name
    )
    differ = [
        places[row] + 1
        for row, verdict in criterion_trial.verdicts.items()
        if row in places and edited.verdicts.get(row, verdict) != verdict
    ]
    return {
        "label": label,
        "compared": plain(criterion_trial.measure_agreement(places)),
        "change": trial.change_from(criterion_trial, places) if is_wording and ended else "",
        "differ": differ if is_wording else [],
    }


def agreement_of(trial: Trial | None, draft: Draft) -> CaseAgreement | None:
    """Return the agreement of the trial's verdicts with the form's expected answers.

    Return None if the trial has not ended or judged something else, or if no answer is expected.
    """
    if trial is None or not trial.ended or trial.source or not _is_judged_by(trial, draft):
        return None
    measures = trial.edited_trial.measure_agreement(_expect(trial, draft))
    return CaseAgreement(agreed=measures.agreed, count=measures.count) if measures else None


def _is_judged_by(trial: Trial, draft: Draft, *, beside: bool = False) -> bool:
    """Return True if the trial used the form's criterion; with `beside`, all its criteria."""
    case = trial.case
    try:
        if beside and draft.entries_beside() != case.beside:
            return False
        return draft.entry().criteria == case.criteria
    except AdjudgeError:
        return False


def _moves(trial: Trial) -> list[JsonDict]:
    """Count how verdicts on a run's rows changed."""
    counts = Counter(
        (trial.before[row], verdict)
        for row, verdict in trial.edited_trial.verdicts.items()
        if row in trial.before
    )
    return [{"before": a, "after": b, "rows": rows} for (a, b), rows in counts.items()]


def _shades(criteria: Criteria) -> dict[str, float]:
    """Map each scored option to its quality from 0 to 1; empty without scores."""
    scores = {option.name: option.score for option in criteria.options if option.score is not None}
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    shares = {name: (score - low) / ((high - low) or 1.0) for name, score in scores.items()}
    return {
        name: share if criteria.higher_is_better else 1.0 - share for name, share in shares.items()
    }


def _row(trial: Trial, number: int, place: int) -> JsonDict:
    value = trial.case.rows[number].fields.get(trial.case.criteria.to_evaluate_field, "")
    text = value if isinstance(value, str) else " | ".join(value)
    judgments = [
        _judgment(label, criterion_trial, number)
        for label, criterion_trial in trial.criteria.items()
    ]
    return {
        "index": number,
        "number": place + 1,
        "before": trial.before.get(number),
        "text": text[:_LONGEST] if trial.source else "",
        **judgments[0],
        "beside": judgments[1:],
    }


def _judgment(label: str, criterion_trial: CriterionTrial, number: int) -> JsonDict:
    """Return one criterion's judgment of an instance."""
    result, bad = criterion_trial.results.get(number), criterion_trial.bad.get(number)
    bias = (
        result.positional_bias
        if isinstance(result, DirectInstanceResult | PairwiseInstanceResult)
        else None
    )
    return {
        "label": label,
        "expected": criterion_trial.case.rows[number].expected,
        "verdict": criterion_trial.verdict(number),
        "status": "failed" if bad else result.status.value if result else None,
        "score": result.score if result else None,
        "explanation": result.explanation if result else None,
        "feedback": result.feedback if isinstance(result, DirectInstanceResult) else None,
        "reason": bad or (result.reason if result else None),
        "bias": bool(bias and bias.detected),
        "tie": bool(result and result.tie),
        "unsure": bool(result and result.low_confidence),
        "votes": [
            _vote(vote)
            for vote in (result.votes if result else criterion_trial.votes.get(number, []))
        ],
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
    """Return the first prompt and every reply that has text."""
    if result is None or not result.votes:
        return {"prompt": None, "replies": []}
    replies = [
        {"model": vote.model, "text": vote.text[:_LONGEST]} for vote in result.votes if vote.text
    ]
    prompt = prompt_for(result.votes[0].ballot).text[:_LONGEST]
    return {"prompt": prompt, "replies": replies or [{"model": result.votes[0].model, "text": ""}]}
