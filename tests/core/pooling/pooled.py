"""Votes for the tests of pooling, written as short as they can be read."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import question_of
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote


def criteria(name: str, **scores: float | None) -> Criteria:
    """Criteria whose options have these scores."""
    return Criteria(
        name, "Which?", [CriteriaOption(option, score=score) for option, score in scores.items()]
    )


PASS_FAIL = criteria("pass or fail", P=1.0, F=0.0)
SCORED = criteria("scored", A=1.0, B=0.5, C=0.0)
UNSCORED = criteria("unscored", A=None, B=None, C=None)
PARTLY = criteria("partly scored", A=None, B=0.5, C=0.5)
INVALID = "-"


def votes(said: Sequence[str], model: str = "m") -> list[Vote]:
    """One vote for each letter; "-" is an unreadable one, "0" an abstention, "E" a model error."""
    return [_vote(option, sample, model) for sample, option in enumerate(said)]


def _vote(option: str, sample: int, model: str) -> Vote:
    ballot = Ballot(
        PASS_FAIL,
        Instance({"response": "x"}),
        question_of(PASS_FAIL),
        "aspect",
        model,
        sample=sample,
    )
    failures = {INVALID: Outcome.UNREADABLE, "0": Outcome.ABSTAINED, "E": Outcome.MODEL_ERROR}
    if option in failures:
        return Vote(ballot=ballot, outcome=failures[option], reason=f"because of {option}")
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=Chosen(option))
