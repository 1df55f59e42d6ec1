"""Judgments in the terms of other tools: a score is from 0 to 1."""

from __future__ import annotations

import pytest

from adjudge import Criteria, CriteriaOption, DirectJudge, Instance, ScriptedModel, Status
from adjudge.core.domain.sampled import QuantitativeResult
from adjudge.features.integrations.adapters import Verdict


@pytest.mark.parametrize(("score", "share"), [(0.0, 0.0), (7.0, 0.7), (10.0, 1.0)])
def test_a_rating_is_a_share_of_its_range(score: float, share: float) -> None:
    """7 of 10 went out as 7, where 1 is the best."""
    rating = QuantitativeResult(
        instance=Instance({"response": "r"}),
        criteria=Criteria("rating", "How good is it?", ()),
        status=Status.SCORED,
        score=score,
        numbers=(score,),
        range=(0.0, 10.0),
    )
    assert Verdict(rating).score == share


def test_an_option_is_a_share_of_the_scale_of_all() -> None:
    stars = Criteria("stars", "How good?", [CriteriaOption(str(n), "", n) for n in range(1, 6)])
    judged = DirectJudge(ScriptedModel(['{"selected_option": "4"}'])).evaluate("text", stars)
    assert (Verdict(judged).score, Verdict(judged).label) == (0.75, "4")
