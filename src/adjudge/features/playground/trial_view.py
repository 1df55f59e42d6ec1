"""A trial as the page shows it."""

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
    """Row of the trial → the instance of the form that has the same texts now."""
    free = {place: draft.rows[place].written for place in draft.filled()}
    found = {}
    for row, texts in enumerate(trial.written):
        place = next((place for place, each in free.items() if each == texts), None)
        if place is not None:
            found[row] = place
            del free[place]
    return found


def _expect(trial: Trial, draft: Draft) -> dict[int, int]:
    """Tell the trial what is expected by now; says which instances it judged."""
    places = places_in(trial, draft)
    trial.expect({row: draft.rows[place].answer for row, place in places.items()})
    return places


def trial_data(trial: Trial, left: float, draft: Draft | None = None) -> JsonDict:
    """Everything that has come so far; beside the instances of a form, by what is expected of them
    there, without those whose texts were changed since.

    Whether it has ended is read first: what comes between is shown by the next look.
    """
    ended = trial.ended
    places = {row: row for row in range(len(trial.case.rows))}
    if draft and trial.written:
        places = _expect(trial, draft)
    rows = [_row(trial, row, place) for row, place in places.items()]
    sides = list(trial.criteria.values())
    notes = dict.fromkeys(
        note for side in sides for _, one in sorted(side.results.items()) for note in one.notes
    )
    return {
        "trial": {
            "id": trial.id,
            "ended": ended,
            "done": sum(side.done for side in sides),
            "total": len(trial.case.rows) * len(sides),
            "cast": trial.cast,
            "planned": trial.planned,
            "usd": trial.usd,
            "error": trial.error,
            "notes": list(notes),
            "wrong": len(trial.differing()),
            "source": trial.source,
            "panel": len(trial.models) > 1,
            "other_criteria": draft is not None and not _is_judged_by(trial, draft, beside=True),
            "other_texts": len(trial.case.rows) - len(rows),
        },
        "left": left,
        "compared": plain(trial.edited.compared(places)),
        "before": plain(trial.compared_before()),
        "change": trial.change() if ended else "",
        "criteria": [_criterion(trial, label, places, ended=ended) for label in trial.criteria],
        "moves": _moves(trial),
        "shades": _shades(trial.case.criteria),
        "rows": rows,
    }


def _criterion(trial: Trial, label: str, places: Mapping[int, int], *, ended: bool) -> JsonDict:
    """What a criterion comes to; beside the edited one, where it is another wording of it."""
    one, edited = trial.criteria[label], trial.edited
    is_wording = one is not edited and one.case.criteria.name == edited.case.criteria.name
    differ = [
        places[row] + 1
        for row, said in one.verdicts.items()
        if row in places and edited.verdicts.get(row, said) != said
    ]
    return {
        "label": label,
        "compared": plain(one.compared(places)),
        "change": trial.change_from(one, places) if is_wording and ended else "",
        "differ": differ if is_wording else [],
    }


def agreement_of(trial: Trial | None, draft: Draft) -> CaseAgreement | None:
    """How far the form as it is was judged as expected; None where it was not judged, or by
    something else.
    """
    if trial is None or not trial.ended or trial.source or not _is_judged_by(trial, draft):
        return None
    found = trial.edited.compared(_expect(trial, draft))
    return CaseAgreement(agreed=found.agreed, count=found.count) if found else None


def _is_judged_by(trial: Trial, draft: Draft, *, beside: bool = False) -> bool:
    """Whether the criteria of the form are those of the trial; with those beside them, if asked."""
    case = trial.case
    try:
        if beside and draft.entries_beside() != case.beside:
            return False
        return draft.entry().criteria == case.criteria
    except AdjudgeError:
        return False


def _moves(trial: Trial) -> list[JsonDict]:
    """What the verdicts of a run's rows were and are."""
    counts = Counter(
        (trial.before[row], said)
        for row, said in trial.edited.verdicts.items()
        if row in trial.before
    )
    return [{"before": a, "after": b, "rows": rows} for (a, b), rows in counts.items()]


def _shades(criteria: Criteria) -> dict[str, float]:
    """Option → how good it is, from 0 to 1, where they have scores."""
    scores = {one.name: one.score for one in criteria.options if one.score is not None}
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    shares = {name: (score - low) / ((high - low) or 1.0) for name, score in scores.items()}
    return {
        name: share if criteria.higher_is_better else 1.0 - share for name, share in shares.items()
    }


def _row(trial: Trial, number: int, place: int) -> JsonDict:
    judged = trial.case.rows[number].fields.get(trial.case.criteria.to_evaluate_field, "")
    text = judged if isinstance(judged, str) else " | ".join(judged)
    said = [_said(label, one, number) for label, one in trial.criteria.items()]
    return {
        "index": number,
        "number": place + 1,
        "before": trial.before.get(number),
        "text": text[:_LONGEST] if trial.source else "",
        **said[0],
        "beside": said[1:],
    }


def _said(label: str, one: CriterionTrial, number: int) -> JsonDict:
    """What one criterion says of an instance."""
    result, bad = one.results.get(number), one.bad.get(number)
    bias = (
        result.positional_bias
        if isinstance(result, DirectInstanceResult | PairwiseInstanceResult)
        else None
    )
    return {
        "label": label,
        "expected": one.case.rows[number].expected,
        "verdict": one.verdict(number),
        "status": "failed" if bad else result.status.value if result else None,
        "score": result.score if result else None,
        "explanation": result.explanation if result else None,
        "feedback": result.feedback if isinstance(result, DirectInstanceResult) else None,
        "reason": bad or (result.reason if result else None),
        "bias": bool(bias and bias.detected),
        "tie": bool(result and result.tie),
        "unsure": bool(result and result.low_confidence),
        "votes": [_vote(vote) for vote in (result.votes if result else one.votes.get(number, []))],
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
