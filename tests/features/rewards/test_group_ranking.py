"""Completions of a prompt are compared in both orders; a lost order is no outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from adjudge import PairwiseJudge
from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.errors import SetupError
from adjudge.features.rewards.ranking import GroupRanking
from adjudge.features.rewards.reward import Reward


def choose(pick: Callable[[list[int]], int | None]) -> ScriptedModel:
    """A model that sees the quality of each answer and picks a place; None: unreadable."""

    def script(request: Request) -> str:
        seen = [int(number) for number in re.findall(r"quality (\d)", request.prompt.text)]
        place = pick(seen)
        if place is None:
            return "cannot be read"
        properties = (request.schema or {})["properties"]
        assert isinstance(properties, dict)
        return json.dumps({"explanation": "e", "selected_option": "AB"[place]})

    return ScriptedModel(script)


def best(seen: list[int]) -> int | None:
    return seen.index(max(seen))


def ranking(model: ScriptedModel, **settings: object) -> GroupRanking:
    judge = PairwiseJudge(model, max_repairs=0)
    return GroupRanking(judge, "Which is better?", **settings)  # type: ignore[arg-type]


def answers(*qualities: int) -> list[str]:
    return [f"quality {one}" for one in qualities]


def test_shares_of_wins_in_both_orders() -> None:
    model = choose(best)
    values = Reward(ranking(model)).score(["q"] * 4, answers(1, 3, 2, 4))
    assert [one.value for one in values] == [0.0, pytest.approx(2 / 3), pytest.approx(1 / 3), 1.0]
    assert len(model.requests) == 12


def test_a_judge_that_likes_the_first_place_cannot_tell() -> None:
    values = Reward(ranking(choose(lambda _: 0))).score(["q"] * 3, answers(1, 2, 3))
    assert [one.value for one in values] == [0.5, 0.5, 0.5]


def test_groups_are_by_prompt_and_one_alone_has_no_reward() -> None:
    values = Reward(ranking(choose(best))).score(["a", "b", "a", "c"], answers(1, 9, 2, 3))
    assert [one.value for one in values] == [0.0, None, 1.0, None]
    assert "only completion" in str(values[1].reason)


def test_equal_answers_are_a_tie_without_a_call() -> None:
    model = choose(best)
    values = Reward(ranking(model)).score(["q", "q"], answers(2, 2))
    assert [one.value for one in values] == [0.5, 0.5]
    assert not model.requests


def test_a_lost_order_is_no_outcome() -> None:
    def loses(seen: list[int]) -> int | None:
        return None if seen == [3, 1] else best(seen)

    values = Reward(ranking(choose(loses))).score(["q"] * 3, answers(1, 2, 3))
    assert [one.value for one in values] == [None, 0.5, None]
    assert (values[0].lower, values[0].upper) == (0.0, 0.5)
    assert "1 of 2 comparisons" in str(values[0].reason)
    some = Reward(ranking(choose(loses), missing=0.5)).score(["q"] * 3, answers(1, 2, 3))
    assert [one.value for one in some] == [0.0, 0.5, 1.0]


def test_ranks_share_a_tie_and_need_the_whole_group() -> None:
    model = choose(best)
    values = Reward(ranking(model, scale="ranks")).score(["q"] * 4, answers(1, 5, 5, 9))
    assert [one.value for one in values] == [0.0, 0.5, 0.5, 1.0]
    lost = choose(lambda seen: None if 1 in seen else best(seen))
    values = Reward(ranking(lost, scale="ranks")).score(["q"] * 3, answers(1, 2, 3))
    assert [one.value for one in values] == [None, None, None]


def test_fewer_opponents_are_drawn_the_same_way_every_time() -> None:
    one, two = (ranking(choose(best), opponents=2, seed=5) for _ in range(2))
    group = list(range(8))
    assert one.pairs(group) == two.pairs(group)
    assert len(one.pairs(group)) == 8
    assert {sum(place in pair for pair in one.pairs(group)) for place in group} == {2}
    assert one.pairs(group) != ranking(choose(best), opponents=2, seed=6).pairs(group)


@pytest.mark.parametrize(
    "wrong", [{"opponents": 0}, {"missing": 1.0}, {"scale": "elo"}, {"judge": 3}]
)
def test_settings_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(SetupError):
        if "judge" in wrong:
            GroupRanking(3, "Which is better?")  # type: ignore[arg-type]
        ranking(choose(best), **wrong)
