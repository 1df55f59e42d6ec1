"""The majority and its tie rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pooled import PARTLY, PASS_FAIL, SCORED, UNSCORED

from adjudge.core.domain.criteria import Criteria, winner
from adjudge.core.pooling.majority import majority

TABLE = [
    (PASS_FAIL, "P", "P", 1.0, False),
    (PASS_FAIL, "F", "F", 1.0, False),
    (PASS_FAIL, "PPF", "P", 2 / 3, False),
    (PASS_FAIL, "FFP", "F", 2 / 3, False),
    (PASS_FAIL, "PF", "F", 0.5, True),
    (PASS_FAIL, "PPFF", "F", 0.5, True),
    (PASS_FAIL, "PPPFF", "P", 0.6, False),
    (SCORED, "AB", "B", 0.5, True),
    (SCORED, "BA", "B", 0.5, True),
    (SCORED, "ABC", "C", 1 / 3, True),
    (SCORED, "AABBC", "B", 0.4, True),
    (SCORED, "AAB", "A", 2 / 3, False),
    (UNSCORED, "CB", "B", 0.5, True),
    (UNSCORED, "CBA", "A", 1 / 3, True),
    (UNSCORED, "CCBBA", "B", 0.4, True),
    (PARTLY, "AB", "B", 0.5, True),
    (PARTLY, "CB", "B", 0.5, True),
    (PARTLY, "AC", "C", 0.5, True),
]
criteria_and_votes = st.sampled_from([PASS_FAIL, SCORED, UNSCORED, PARTLY]).flatmap(
    lambda criteria: st.tuples(
        st.just(criteria), st.lists(st.sampled_from(criteria.option_names), min_size=1, max_size=12)
    )
)


@pytest.mark.parametrize(("criteria", "said", "option", "agreement", "tie"), TABLE)
def test_most_votes_win_and_a_tie_goes_to_the_lowest_score_then_to_the_first_listed(
    criteria: Criteria, said: str, option: str, agreement: float, tie: bool
) -> None:
    won = majority(said, criteria)
    assert won is not None
    assert (won.option, won.agreement, won.tie) == (option, pytest.approx(agreement), tie)


def test_without_votes_there_is_no_majority() -> None:
    assert majority([], PASS_FAIL) is None


@given(criteria_and_votes, st.randoms())
def test_the_order_of_votes_never_matters(case: tuple[Criteria, list[str]], chance: object) -> None:
    criteria, said = case
    shuffled = said[:]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert majority(said, criteria) == majority(shuffled, criteria)


@given(criteria_and_votes)
def test_one_more_vote_for_the_winner_never_changes_the_winner(
    case: tuple[Criteria, list[str]],
) -> None:
    criteria, said = case
    won = majority(said, criteria)
    assert won is not None
    again = majority([*said, won.option], criteria)
    assert again is not None
    assert (again.option, again.tie) == (won.option, False)
    assert again.agreement >= won.agreement


@given(criteria_and_votes)
def test_no_option_has_more_votes_than_the_winner(case: tuple[Criteria, list[str]]) -> None:
    criteria, said = case
    won = majority(said, criteria)
    assert won is not None
    counts = {name: said.count(name) for name in criteria.option_names}
    assert counts[won.option] == max(counts.values())
    assert won.agreement == counts[won.option] / len(said)
    assert won.tie == (list(counts.values()).count(max(counts.values())) > 1)


def test_an_option_without_votes_can_win_only_when_all_are_without() -> None:
    assert winner({}, PASS_FAIL) == "F"
    assert winner({"P": 1}, PASS_FAIL) == "P"
