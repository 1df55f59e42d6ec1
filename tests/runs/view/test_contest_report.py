"""Who won: names, wins, ties, losses, win rates with intervals, and what the order of the responses
does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Instance, PairwiseJudge, ScriptedModel
from adjudge.core.domain.message import Reply
from adjudge.runs.results.contests import ContestSummary, ContestTally, OrderEffect
from adjudge.runs.results.order_rates import order_rates
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.view.reasons import reason_of


def compared(
    said: Sequence[str], names: Sequence[str] = ("answer_a", "answer_b"), **settings: object
) -> ContestSummary:
    """A row for each reply."""
    judge = PairwiseJudge(ScriptedModel(said), max_repairs=0, **settings)  # type: ignore[arg-type]
    votes = 2 if settings.get("check_positional_bias") else 1
    rows = [
        Instance({name: f"{name} {row}" for name in names}) for row in range(len(said) // votes)
    ]
    tally = ContestTally()
    for number, result in enumerate(judge.evaluate(rows, "Which is better?")):
        tally.add(result.record("j", number))
    return tally.summary()


def test_wins_ties_and_losses_of_named_systems_the_best_first() -> None:
    summary = compared(["B", "B", "tie", "A"])
    shown = [(one.name, one.wins, one.ties, one.losses, one.winrate) for one in summary.systems]
    assert shown == [("answer_b", 2, 1, 1, 0.625), ("answer_a", 1, 1, 2, 0.375)]
    assert all(one.interval is None for one in summary.systems), (
        "four rows are too few for an interval"
    )
    assert summary.leader is None
    assert summary.order is None


def test_a_winner_beyond_doubt_is_named() -> None:
    leader = compared(["B"] * 12).leader
    assert leader is not None
    assert leader.name == "answer_b"
    assert compared(["A", "B"] * 8).leader is None


def test_a_row_without_an_outcome_is_no_loss_and_bounds_the_win_rate() -> None:
    best = compared(["B", "B", "B", "huh"]).systems[0]
    assert (best.wins, best.losses, best.winrate, best.missing) == (3, 0, 1.0, 1)
    assert best.bounds == (0.75, 1.0)


def test_the_order_effect_comes_with_its_noise_floor() -> None:
    biased = compared(["A"] * 8, check_positional_bias=True).order
    assert biased is not None
    assert (biased.rows, biased.turned, biased.flip_rate, biased.noise_rate) == (4, 4, 1.0, None)
    assert biased.excess is None, "one vote per order does not tell noise from bias"
    assert biased.strong


def test_a_bias_no_larger_than_the_noise_is_not_strong() -> None:
    assert not OrderEffect(10, 3, order_rates([0.4], [0.35])).strong
    assert OrderEffect(10, 6, order_rates([0.6], [0.2])).strong
    assert not OrderEffect(10, 1, order_rates([0.1], [None])).strong


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_contest_has_one_outcome(count: int) -> None:
    letters = "ABCD"[:count]
    said = json.dumps({"selected_option": "A", "ranking": list(letters)})
    summary = compared([said], [f"answer_{letter}" for letter in letters.lower()])
    assert (
        sum(one.wins for one in summary.systems)
        == sum(one.losses for one in summary.systems)
        == count * (count - 1) // 2
    )


@given(st.lists(st.sampled_from(["A", "B", "tie"]), min_size=1, max_size=30))
def test_the_win_rates_of_two_systems_add_up_to_one(said: list[str]) -> None:
    one, other = compared(said).systems
    assert one.winrate is not None
    assert other.winrate is not None
    assert one.winrate + other.winrate == pytest.approx(1)
    assert (one.wins, one.ties) == (other.losses, other.ties)


def test_a_tie_that_no_vote_chose_shows_the_probability_of_none(tmp_path: Path) -> None:
    """The first response wins in either order; then the tie itself is the likeliest."""
    for first, reason in (("A", "depends on order"), ("C", "p = 0.83")):
        shares = {one: -0.1 if one == first else -2.0 - (one == "B") for one in "ABC"}
        model = ScriptedModel([Reply("", logprobs=(shares,))])
        judge = PairwiseJudge(model, mode="likelihood", check_positional_bias=True)
        judge([["a", "b"]], "Which is kinder?", run=tmp_path / first)
        report = report_of_run(tmp_path / first)
        assert [str(reason_of(one, report)) for one in report.entries] == [reason]
