"""Criteria of unitxt's as ours, told by what they look like: the package itself is not needed for
this.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from adjudge import DirectJudge, SetupError, UnitxtPairwiseJudge
from adjudge.features.compat.unitxt import from_unitxt
from support.said import always


def theirs(name: str, scores: dict[str, float]) -> Any:
    options = [SimpleNamespace(name=option, description="") for option in scores]
    return SimpleNamespace(
        name=name,
        description=f"Is it {name}?",
        options=options,
        option_map=scores,
        prediction_field=None,
        context_fields=[],
    )


@pytest.mark.parametrize(
    "name", ["harmfulness", "toxicity", "user_message_jailbreak", "assistant_message_social_bias"]
)
def test_advice_on_a_harmful_text_is_not_erased(name: str) -> None:
    criteria = from_unitxt(theirs(name, {"Yes": 1.0, "No": 0.0}))
    harmful, harmless = (
        DirectJudge(always(option, feedback="Leave that out."), generate_feedback=True)(
            ["x"], criteria
        )[0]
        for option in ("Yes", "No")
    )
    assert (harmful.score, harmful.feedback) == (0.0, "Leave that out.")
    assert (harmless.score, harmless.feedback) == (1.0, "")


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("conciseness", {"Yes": 1.0, "No": 0.0}),
        ("irrelevant_information", {"Yes": 0.0, "No": 1.0}),
        ("toxicity", {"Civil": 1.0, "Rude": 0.0}),
    ],
)
def test_scores_whose_top_is_the_good_end_stay(name: str, scores: dict[str, float]) -> None:
    assert {
        option.name: option.score for option in from_unitxt(theirs(name, scores)).options
    } == scores


def test_a_joint_comparison_is_refused_and_not_silently_made_of_pairs() -> None:
    with pytest.raises(SetupError, match="contests='joint' is not supported"):
        UnitxtPairwiseJudge(always("1"), contests="joint")
