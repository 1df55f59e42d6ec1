"""Votes as contests, contests as win rates, win rates as ranks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pooled import PASS_FAIL

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Comparison
from adjudge.core.domain.record import SystemResult
from adjudge.core.domain.verdict import TIE, Compared, Ranking
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.pooling.contests import (
    Contest,
    best_or_tie,
    certainty_of,
    contests,
    explanation_of,
    highest,
    system_results,
    value_for,
)


def vote(
    option: str | None, *order: int, ranking: Ranking | None = None, explanation: str | None = None
) -> Vote:
    """A vote on the responses of ``order``; without an option it failed."""
    ballot = Ballot(
        PASS_FAIL, Instance({"response": ["x"] * 4}), Comparison(order), "pairwise", "m"
    )
    verdict = (
        None
        if option is None
        else Compared(None if option == TIE else int(option), explanation, ranking=ranking)
    )
    return Vote(
        ballot=ballot, outcome=Outcome.UNREADABLE if option is None else Outcome.OK, verdict=verdict
    )


def ranked(*groups: tuple[int, ...]) -> Vote:
    best = str(groups[0][0]) if len(groups[0]) == 1 else TIE
    return vote(best, *sorted(index for group in groups for index in group), ranking=groups)


def pooled(votes: list[Vote], count: int, tie_enabled: bool = True) -> tuple[SystemResult, ...]:
    found = contests(votes, count, tie_enabled)
    return system_results(count, found, [None] * len(found))


@pytest.mark.parametrize(
    ("one", "first", "second", "value"),
    [
        (vote("0", 0, 1), 0, 1, 1.0),
        (vote("1", 0, 1), 0, 1, 0.0),
        (vote("1", 1, 0), 0, 1, 0.0),
        (vote(TIE, 0, 1), 0, 1, 0.5),
        (vote(None, 0, 1), 0, 1, None),
        (vote("0", 0, 1), 0, 2, None),
        (vote("2", 0, 1, 2), 0, 1, 0.5),
        (vote("2", 0, 1, 2), 0, 2, 0.0),
        (vote("2", 0, 1, 2), 1, 2, 0.0),
        (ranked((2,), (0, 1)), 0, 1, 0.5),
        (ranked((2,), (0, 1)), 0, 2, 0.0),
        (ranked((1,), (0,), (2,)), 0, 2, 1.0),
        (ranked((0, 1), (2,)), 0, 1, 0.5),
    ],
)
def test_what_a_vote_says_of_two_responses(
    one: Vote, first: int, second: int, value: float | None
) -> None:
    assert value_for(one, first, second) == value


@pytest.mark.parametrize(
    ("options", "tie_enabled", "value", "certainty", "even"),
    [
        ("0", True, 1.0, 1.0, False),
        ("001", True, 1.0, 2 / 3, False),
        ("011", True, 0.0, 2 / 3, False),
        ("01", True, 0.5, 0.0, True),
        ("0t", True, 0.5, 0.5, True),
        ("tt0", True, 0.5, 2 / 3, False),
        ("01", False, 1.0, 0.5, True),
        ("10", False, 1.0, 0.5, True),
        ("1t", False, 0.0, 0.5, True),
        ("-0", True, 1.0, 1.0, False),
        ("--", True, None, None, False),
        ("", True, None, None, False),
    ],
)
def test_most_votes_decide_a_contest(
    options: str, tie_enabled: bool, value: Any, certainty: Any, even: bool
) -> None:
    said = [vote({"t": TIE, "-": None}.get(option, option), 0, 1) for option in options]
    (contest,) = contests(said, 2, tie_enabled)
    assert (contest.value, contest.certainty, contest.even) == (
        value,
        certainty and pytest.approx(certainty),
        even,
    )


def test_the_explanation_is_that_of_a_vote_that_agrees() -> None:
    said = [
        vote("1", 0, 1, explanation="second"),
        vote("0", 0, 1, explanation="first"),
        vote("0", 1, 0, explanation="later"),
    ]
    assert contests(said, 2, True)[0].explanation == "first"


def test_a_contest_is_seen_from_both_sides() -> None:
    contest = Contest(0, 1, 1.0, 1.0, None)
    assert (contest.seen_from(0), contest.seen_from(1)) == (1.0, 0.0)
    assert Contest(0, 1, None, None, None).seen_from(1) is None


@pytest.mark.parametrize(
    ("rates", "tie_enabled", "best"),
    [
        ([0.0, 1.0], True, 1),
        ([0.5, 0.5], True, TIE),
        ([0.5, 0.5], False, 0),
        ([0.2, 0.4, 0.4], True, TIE),
        ([0.2, 0.4, 0.4], False, 1),
        ([0.1 + 0.2, 0.3], True, TIE),
        ([1.0, None], True, None),
        ([None, None], False, None),
        ([0.0, 0.0], True, TIE),
    ],
)
def test_the_highest_win_rate_is_selected_unless_one_is_missing(
    rates: Any, tie_enabled: bool, best: Any
) -> None:
    assert best_or_tie(rates, tie_enabled) == best


CYCLE = [vote("0", 0, 1), vote("1", 1, 2), vote("2", 0, 2)]


@pytest.mark.parametrize(
    ("votes", "best", "certainty"),
    [
        (CYCLE, [0, 1, 2], 0.0),
        (
            [ranked((0,), (1,), (2,)), ranked((1,), (2,), (0,)), ranked((2,), (0,), (1,))],
            [0, 1, 2],
            0.0,
        ),
        ([ranked((0, 1, 2))], [0, 1, 2], 1.0),
        ([ranked((0, 1), (2,))], [0, 1], 1.0),
        ([ranked((0, 1), (2,)), ranked((0,), (1,), (2,))], [0, 1], 0.833),
        (
            [ranked((0,), (1,), (2,)), ranked((0,), (1,), (2,)), ranked((1,), (0,), (2,))],
            [0],
            0.833,
        ),
        ([vote("0", 0, 1), vote("0", 0, 2), vote(None, 1, 2)], [], None),
    ],
)
def test_certainty_is_the_share_of_votes_that_agree_with_the_selection(
    votes: Any, best: Any, certainty: float | None
) -> None:
    found = contests(votes, 3, True)
    assert highest([system.winrate for system in pooled(votes, 3)]) == best
    assert certainty_of(best, found) == (
        None if certainty is None else pytest.approx(certainty, abs=0.001)
    )


def test_certainty_is_seen_from_the_selected_response_in_either_place() -> None:
    """The second of three was selected: it stands second in one contest and first in the other."""
    pooled = [
        Contest(0, 1, 0.0, 0.75, None, shares=(0.25, 0.0, 0.75)),
        Contest(0, 2, 1.0, 1.0, None, shares=(1.0, 0.0, 0.0)),
        Contest(1, 2, 1.0, 0.5, None, shares=(0.5, 0.25, 0.25)),
    ]
    assert certainty_of([1], pooled) == pytest.approx((0.75 + 0.5) / 2)


def test_a_tie_is_explained_only_by_who_says_that_they_are_equal() -> None:
    won = [
        vote("0", 0, 1, explanation="first"),
        vote("1", 1, 2, explanation="second"),
        vote("2", 0, 2, explanation="third"),
    ]
    assert explanation_of([0, 1, 2], contests(won, 3, True)) is None
    equal = [vote(TIE, 0, 1, explanation="equal")]
    assert explanation_of([0, 1], contests(equal, 2, True)) == "equal"


def test_ranks_are_those_of_a_competition() -> None:
    systems = pooled([ranked((1,), (0, 2), (3,))], 4)
    assert [system.ranking for system in systems] == [2, 1, 2, 4]
    assert [system.winrate for system in systems] == [0.5, 1.0, 0.5, 0.0]


def test_a_missing_contest_leaves_no_rank_and_no_win_rate_of_those_in_it() -> None:
    systems = pooled([vote("0", 0, 1), vote("1", 1, 2)], 3)
    assert [system.winrate for system in systems] == [None, 0.5, None]
    assert [system.ranking for system in systems] == [None, None, None]
    assert systems[0].contest_results == (1.0, None)


def test_each_response_has_an_entry_for_each_other_one() -> None:
    found = contests([ranked((2,), (0,), (1,))], 3, True)
    first, second, third = system_results(3, found, [True, False, None])
    assert [system.compared_to for system in (first, second, third)] == [(1, 2), (0, 2), (0, 1)]
    assert [system.selections for system in (first, second, third)] == [
        ("0", "2"),
        ("0", "2"),
        ("2", "2"),
    ]
    assert [system.positional_bias for system in (first, second, third)] == [
        (True, False),
        (True, None),
        (False, None),
    ]


# -- properties --------------------------------------------------------------------

COUNT = 4


@st.composite
def rankings(draw: Any) -> Ranking:
    """All four responses, best first, equal ones together."""
    ranks = [draw(st.integers(0, 3)) for _ in range(COUNT)]
    return tuple(
        tuple(index for index in range(COUNT) if ranks[index] == rank)
        for rank in sorted(set(ranks))
    )


RANKINGS = st.lists(rankings(), min_size=1, max_size=5)


@given(RANKINGS, st.permutations(range(COUNT)))
def test_permuting_responses_permutes_everything(said: list[Ranking], places: list[int]) -> None:
    moved = [
        tuple(tuple(sorted(places.index(index) for index in group)) for group in groups)
        for groups in said
    ]
    before, after = (
        pooled([ranked(*groups) for groups in every], COUNT) for every in (said, moved)
    )
    assert [after[place].ranking for place in range(COUNT)] == [
        before[places[place]].ranking for place in range(COUNT)
    ]
    assert [after[place].winrate for place in range(COUNT)] == [
        before[places[place]].winrate for place in range(COUNT)
    ]
    one, other = (
        best_or_tie([system.winrate for system in systems], True) for systems in (before, after)
    )
    assert one == (places[other] if isinstance(other, int) else other)


PLACES = st.permutations(range(COUNT))


@given(
    st.sampled_from([1, 3, 5]).flatmap(
        lambda count: st.lists(PLACES, min_size=count, max_size=count)
    ),
    PLACES,
)
def test_with_ties_off_it_holds_wherever_no_contest_is_even(
    said: list[list[int]], places: list[int]
) -> None:
    moved = [[places.index(index) for index in best_first] for best_first in said]
    every = [
        [ranked(*((index,) for index in best_first)) for best_first in given]
        for given in (said, moved)
    ]
    before, after = (pooled(votes, COUNT, False) for votes in every)
    assert [after[place].ranking for place in range(COUNT)] == [
        before[places[place]].ranking for place in range(COUNT)
    ]


@given(RANKINGS, st.integers(2, 4), st.booleans())
def test_copies_of_all_votes_change_nothing(
    said: list[Ranking], times: int, tie_enabled: bool
) -> None:
    votes = [ranked(*groups) for groups in said]
    assert pooled(votes * times, COUNT, tie_enabled) == pooled(votes, COUNT, tie_enabled)


@given(RANKINGS, st.randoms(use_true_random=False))
def test_the_order_of_votes_changes_nothing(said: list[Ranking], chance: Any) -> None:
    votes = [ranked(*groups) for groups in said]
    shuffled = votes[:]
    chance.shuffle(shuffled)
    assert pooled(shuffled, COUNT) == pooled(votes, COUNT)


@given(RANKINGS)
def test_win_rates_are_shares_and_sum_to_half_the_responses(said: list[Ranking]) -> None:
    rates = [system.winrate for system in pooled([ranked(*groups) for groups in said], COUNT)]
    assert all(rate is not None and 0 <= rate <= 1 for rate in rates)
    assert sum(rate or 0 for rate in rates) == pytest.approx(COUNT / 2)
    assert (
        min(system.ranking or 0 for system in pooled([ranked(*groups) for groups in said], COUNT))
        == 1
    )


def test_a_vote_that_failed_in_one_order_gives_the_other_order_no_more_weight() -> None:
    """Two models prefer whatever is listed first, and one vote failed: the first response won."""
    votes = [vote("0", 0, 1), vote("1", 1, 0), vote("0", 0, 1), vote(None, 1, 0)]
    (contest,) = contests(votes, 2, True, both_orders=True)
    assert (contest.value, contest.shares, contest.even) == (0.5, (0.5, 0.0, 0.5), True)
    (contest,) = contests(votes, 2, True)
    assert contest.value == 1.0


def test_one_order_alone_still_decides() -> None:
    votes = [vote("0", 0, 1), vote(None, 1, 0)]
    (contest,) = contests(votes, 2, True, both_orders=True)
    assert (contest.value, contest.certainty) == (1.0, 1.0)


ANSWERS = st.sampled_from(["0", "1", TIE])


@given(st.lists(st.tuples(ANSWERS, ANSWERS), min_size=1))
def test_orders_of_equal_size_are_pooled_as_before(answers: list[tuple[str, str]]) -> None:
    votes = [
        vote(option, *order)
        for pair in answers
        for option, order in zip(pair, ((0, 1), (1, 0)), strict=True)
    ]
    (weighted,) = contests(votes, 2, True, both_orders=True)
    (plain,) = contests(votes, 2, True)
    assert (weighted.value, weighted.shares, weighted.even) == (
        plain.value,
        plain.shares,
        plain.even,
    )
