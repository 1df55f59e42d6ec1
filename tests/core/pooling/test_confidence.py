"""How sure votes are: by probability, by their share, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import question_of
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.pooling.confidence import confidence

ASKED = yes_no_criteria("Is it good?")


def vote(
    said: str | None, sample: int = 0, temperature: float = 1.0, probability: float | None = None
) -> Vote:
    ballot = Ballot(
        ASKED,
        Instance({"response": "x"}),
        question_of(ASKED),
        "direct",
        "m",
        sample=sample,
        temperature=temperature,
    )
    shares = None if probability is None or said is None else {said: probability}
    verdict = None if said is None else Chosen(said)
    return Vote(
        ballot=ballot,
        outcome=Outcome.OK if said else Outcome.UNREADABLE,
        verdict=verdict,
        distribution=shares,
    )


def test_the_probability_of_the_option_comes_first() -> None:
    assert confidence([vote("Yes", probability=0.9)], "Yes") == 0.9
    assert confidence(
        [vote("Yes", 0, probability=0.9), vote("Yes", 1, probability=0.7)], "Yes"
    ) == pytest.approx(0.8)


def test_else_the_share_of_all_votes_and_one_that_failed_is_not_for_it() -> None:
    assert confidence([vote("Yes", 0), vote("Yes", 1), vote("No", 2), vote(None, 3)], "Yes") == 0.5


def test_probabilities_of_some_votes_do_not_speak_for_the_others() -> None:
    """A panel of which one member states probabilities: two of three votes are for it."""
    votes = [vote("Yes", 0, probability=0.9), vote("Yes", 1), vote("No", 2)]
    assert confidence(votes, "Yes") == pytest.approx(2 / 3)


def test_a_vote_at_temperature_0_counts_among_others() -> None:
    votes = [vote("Yes", 0, 0.0), vote("Yes", 1), vote("No", 2)]
    assert confidence(votes, "Yes") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("votes", "option"),
    [
        ([], None),
        ([vote(None)], None),
        ([vote("Yes")], "Yes"),
        ([vote("Yes", 0, 0.0), vote("Yes", 1, 0.0)], "Yes"),
        ([vote("Yes", 0), vote("Yes", 0)], "Yes"),
    ],
    ids=["no vote", "no verdict", "one vote", "copies at temperature 0", "two orders of one vote"],
)
def test_votes_that_say_nothing_of_it_give_none(votes: list[Vote], option: str | None) -> None:
    assert confidence(votes, option) is None


@given(st.lists(st.sampled_from(["Yes", "No", None]), min_size=2, max_size=9))
def test_it_is_a_share(said: list[str | None]) -> None:
    votes = [vote(one, number) for number, one in enumerate(said)]
    found = confidence(votes, "Yes")
    assert found is None if not any(said) else found is not None and 0 <= found <= 1
