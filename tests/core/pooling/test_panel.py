"""Several models: each by its own majority, then the mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pooled import PARTLY, PASS_FAIL, votes

from adjudge.core.domain.results import Status
from adjudge.core.pooling.majority import Panel, panel, status_of


def pooled(*said: str, min_valid: int = 1) -> Panel:
    models = [f"m{number}" for number in range(len(said))]
    cast = [
        vote for model, letters in zip(models, said, strict=True) for vote in votes(letters, model)
    ]
    return panel(cast, models, PASS_FAIL, min_valid)


TABLE = [
    (["PPF", "FFP"], 0.5, ["P", "F"]),
    (["P", "P", "F", "F", "F"], 0.4, ["P", "P", "F", "F", "F"]),
    (["P"], 1.0, ["P"]),
    (["F"], 0.0, ["F"]),
    (["PF"], 0.0, ["F"]),
    (["PP-", "F--"], 0.5, ["P", "F"]),
    (["P", "-"], 1.0, ["P"]),
    (["PFP", "---", "FFF", "0E-"], 0.5, ["P", "F"]),
]


@pytest.mark.parametrize(("said", "score", "verdicts"), TABLE)
def test_the_score_is_the_mean_over_the_models_that_have_a_verdict(
    said: list[str], score: float, verdicts: list[str]
) -> None:
    result = pooled(*said)
    assert result.score == pytest.approx(score)
    assert [entry.option for entry in result.counted] == verdicts


def test_a_panel_whose_models_all_weigh_nothing_has_no_score() -> None:
    assert pooled("P", "F").weighted_score({"m0": 0.0, "m1": 0.0}) is None
    assert pooled("P", "F").weighted_score({"m0": 0.0, "m1": 0.5}) == 0.0


def test_weights_that_cancel_out_are_an_even_panel() -> None:
    """Their sum is 0.49999999999999994 for a computer, and would fail a gate at a half."""
    weights = {"m0": 0.05, "m1": 0.35, "m2": 0.2, "m3": 0.2}
    assert pooled("P", "P", "F", "F").weighted_score(weights) == 0.5


def test_an_even_tie_is_a_fail_and_says_so() -> None:
    (entry,) = pooled("PPFF").counted
    assert (entry.option, entry.score, entry.tie, entry.agreement) == ("F", 0.0, True, 0.5)


def test_a_model_entry_counts_its_votes() -> None:
    (entry,) = pooled("PPF-0").counted
    assert (entry.votes_valid, entry.votes_requested, entry.agreement) == (
        3,
        5,
        pytest.approx(2 / 3),
    )


@pytest.mark.parametrize(
    ("said", "min_valid", "reason"),
    [
        ("---", 1, "unreadable: because of -"),
        ("EE0", 1, "model_error: because of E"),
        ("0", 1, "abstained: because of 0"),
        ("P--", 2, "1 of 3 votes valid, 2 needed; unreadable: because of -"),
        ("PPE", 3, "2 of 3 votes valid, 3 needed; model_error: because of E"),
        ("", 1, "no votes"),
    ],
)
def test_a_model_without_enough_valid_votes_is_excluded_with_the_reason(
    said: str, min_valid: int, reason: str
) -> None:
    result = pooled("P" * 3, said, min_valid=min_valid)
    assert result.excluded == {"m1": reason}
    assert [entry.model for entry in result.counted] == ["m0"]
    assert result.score == 1.0


def test_a_model_whose_option_has_no_score_is_excluded_with_that_reason() -> None:
    result = panel([*votes("A", "m"), *votes("B", "n")], ["m", "n"], PARTLY)
    assert result.excluded == {"m": "the chosen option has no score"}
    assert result.score == 0.5


def test_with_every_model_excluded_there_is_no_number() -> None:
    result = pooled("---", "EEE")
    assert (result.score, result.counted, list(result.excluded)) == (None, (), ["m0", "m1"])


def test_models_stand_in_the_order_they_were_given() -> None:
    cast = [*votes("P", "b"), *votes("F", "a")]
    assert [entry.model for entry in panel(cast, ["a", "b"], PASS_FAIL).counted] == ["a", "b"]


@given(
    st.lists(
        st.lists(st.sampled_from("PF-"), min_size=1, max_size=5).map("".join),
        min_size=1,
        max_size=4,
    ),
    st.randoms(),
)
def test_the_order_of_votes_and_models_never_changes_the_score(
    said: list[str], chance: object
) -> None:
    shuffled = ["".join(chance.sample(letters, len(letters))) for letters in said]  # type: ignore[attr-defined]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert pooled(*said).score == pytest.approx(pooled(*shuffled).score)


@pytest.mark.parametrize(
    ("said", "scored", "status"),
    [
        ("P-", True, Status.SCORED),
        ("--", False, Status.FAILED),
        ("-0", False, Status.ABSTAINED),
        ("E", False, Status.FAILED),
        ("", False, Status.FAILED),
    ],
)
def test_a_judgment_is_scored_abstained_or_failed(said: str, scored: bool, status: Status) -> None:
    assert status_of(votes(said), scored) is status
