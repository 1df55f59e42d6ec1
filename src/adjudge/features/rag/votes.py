"""Group the votes on a row by what they are about, and pool some of them."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.core.domain.results import DirectInstanceResult, Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.case import Case
from adjudge.errors import SetupError
from adjudge.features.evidence.questions import TEMPLATES
from adjudge.features.evidence.result import EvidenceResult

Key = tuple[str, str]
"""The subject of a vote: the name of the criteria, and the identity of what was shown."""


def key_of(case: Case | Ballot) -> Key:
    """Return the key of a case or ballot: its criterion and its instance."""
    return case.criteria.name, case.instance.identity


def votes_by_case(votes: Sequence[Vote]) -> dict[Key, list[Vote]]:
    """Group votes by case, without those on sentences."""
    votes_by_key: dict[Key, list[Vote]] = {}
    for vote in votes:
        if vote.ballot.template not in TEMPLATES:
            votes_by_key.setdefault(key_of(vote.ballot), []).append(vote)
    return votes_by_key


def about_sentences(votes: Sequence[Vote]) -> list[Vote]:
    return [vote for vote in votes if vote.ballot.template in TEMPLATES]


def score_groundedness(case: Case, evidence: EvidenceResult) -> DirectInstanceResult:
    """Turn the result of looking up the sentences into a score of the dimension."""
    scale = evidence.scale
    return DirectInstanceResult(
        instance=case.instance,
        criteria=case.criteria,
        status=evidence.status if scale is None else Status.SCORED,
        votes=evidence.votes,
        option=None if scale is None else str(scale),
        score=None if scale is None else float(scale),
        mean_score=None if scale is None else float(scale),
        explanation=evidence.explanation,
        agreement=evidence.agreement,
        notes=evidence.notes,
    )


def status_of_row(statuses: Sequence[Status]) -> Status:
    """Return the status of an answer without a composite: abstained if all missing scores were
    declined.
    """
    missing = [status for status in statuses if status is not Status.SCORED]
    return (
        Status.ABSTAINED
        if missing and all(status is Status.ABSTAINED for status in missing)
        else Status.FAILED
    )


def nobody(prompt: str) -> str:
    """Raise a SetupError; this stands in for a model if none is asked."""
    raise SetupError("no model may be asked here: {prompt}", prompt=prompt)
