"""Panels: members that err together, weights that labels support, and what they say together
without labels.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.dawid_skene import MemberVote, dawid_skene
from adjudge.stats.panels import (
    Votes,
    Weights,
    against_best_member,
    alikeness,
    weighted_vote,
    weights_from_labels,
)

KEPT = Path(__file__).parent / "second_oracles.json"
OPTIONS = ["no", "yes"]


def panel(
    choice: random.Random, skills: dict[str, float], rows: int
) -> tuple[dict[str, list[str | None]], list[str]]:
    truth = [choice.choice(OPTIONS) for _ in range(rows)]
    other = {"no": "yes", "yes": "no"}
    votes: dict[str, list[str | None]] = {
        name: [true if choice.random() < skill else other[true] for true in truth]
        for name, skill in skills.items()
    }
    return votes, truth


def majority(said: Mapping[str, str | None]) -> str | None:
    """By weights that are all equal."""
    return weighted_vote(said, Weights(dict.fromkeys(said, 1.0), 1.0))


def test_copies_of_one_member_are_one_member() -> None:
    votes, truth = panel(random.Random(1), {"a": 0.7}, 60)
    copies: Votes = {"a": votes["a"], "b": votes["a"], "c": votes["a"]}
    found = alikeness(copies, truth)
    assert found.effective == pytest.approx(1)
    assert found.correlations["a", "b"] == pytest.approx(1)


def test_members_that_err_alone_count_fully() -> None:
    votes, truth = panel(random.Random(2), {"a": 0.7, "b": 0.7, "c": 0.7}, 2000)
    assert alikeness(votes, truth).effective == pytest.approx(3, abs=0.3)


@given(st.integers(0, 1000), st.integers(2, 5))
def test_the_effective_number_lies_between_one_and_all(seed: int, members: int) -> None:
    votes, truth = panel(random.Random(seed), {f"m{place}": 0.6 for place in range(members)}, 20)
    effective = alikeness(votes, truth).effective
    assert effective is not None and 1 <= effective <= members


def test_weights_are_equal_without_labels_and_partly_with_few() -> None:
    votes: Votes = {"good": ["yes"] * 18 + ["no"] * 12, "bad": ["yes"] * 30}
    truth: list[str] = [*["yes"] * 18, *["no"] * 12]
    none = weights_from_labels(votes, [None] * 30, OPTIONS)
    assert none.shrunk == 1 and len({*none.by_member.values()}) == 1
    some = weights_from_labels(votes, [*truth[:5], *[None] * 20, *truth[25:]], OPTIONS)
    assert 0.4 < some.shrunk < 0.6 and some.by_member["good"] > some.by_member["bad"]


def accuracies(
    votes: dict[str, list[str | None]], truth: list[str], labelled: int
) -> dict[str, float]:
    """Of two ways to pool, and the best member, on the rows after the labelled ones."""
    known = [*truth[:labelled], *[None] * (len(truth) - labelled)]
    rest = range(labelled, len(truth))
    ballots = [{name: said[row] for name, said in votes.items()} for row in rest]
    fitted = weights_from_labels(votes, known, OPTIONS)
    answers = {
        "fitted": [weighted_vote(said, fitted) for said in ballots],
        "majority": [majority(said) for said in ballots],
        **{name: [said[row] for row in rest] for name, said in votes.items()},
    }
    return {
        name: sum(one == truth[row] for one, row in zip(said, rest, strict=True)) / len(rest)
        for name, said in answers.items()
    }


def test_a_good_member_outvotes_two_bad_ones_with_labels() -> None:
    found = accuracies(
        *panel(random.Random(5), {"good": 0.95, "poor": 0.55, "coin": 0.5}, 400), labelled=60
    )
    assert found["fitted"] >= found["good"] - 0.005
    assert found["majority"] < found["good"] - 0.1


def test_copies_of_a_poor_member_do_not_outvote_a_good_one() -> None:
    votes, truth = panel(random.Random(9), {"good": 0.85, "poor": 0.7}, 600)
    votes |= {f"copy {place}": votes["poor"] for place in range(5)}
    found = accuracies(votes, truth, labelled=50)
    assert found["fitted"] >= found["good"] - 0.005


def test_level_votes_decide_nothing() -> None:
    assert majority({"a": "yes", "b": "no"}) is None
    assert majority({"a": None}) is None
    assert majority({"a": "yes", "b": "no", "c": "yes"}) == "yes"


def test_a_panel_that_is_worse_than_its_best_member_is_warned_of() -> None:
    votes, truth = panel(random.Random(7), {"good": 0.95, "poor": 0.55, "coin": 0.5}, 200)
    plain = [majority({name: said[row] for name, said in votes.items()}) for row in range(200)]
    found = against_best_member(plain, votes, truth)
    assert found.best == "good" and found.warning.startswith("the panel is worse than good alone: ")
    assert against_best_member(votes["good"], votes, truth).warning == ""


def test_dawid_and_skenes_answer_is_crowd_kits() -> None:
    """crowd-kit's answers, kept by tests/tools/second_oracles.py; it adds nothing to the counts."""
    for case in json.loads(KEPT.read_text(encoding="utf-8"))["panels"]:
        votes = [MemberVote(row, member, str(option)) for row, member, option in case["votes"]]
        found = dawid_skene(votes, smoothing=0.0)
        for row, chances in case["probabilities"].items():
            assert found.probabilities[row] == pytest.approx(chances, abs=1e-6)


def test_the_model_finds_out_who_is_good() -> None:
    votes, truth = panel(
        random.Random(11), {"good": 0.95, "fair": 0.75, "poor": 0.65, "coin": 0.5}, 150
    )
    said = [
        MemberVote(row, name, str(option))
        for name, answers in votes.items()
        for row, option in enumerate(answers)
    ]
    found = dawid_skene(said, effective=3.5)
    right = sum(found.option(row) == true for row, true in enumerate(truth)) / 150
    plain = (
        sum(
            majority({name: answers[row] for name, answers in votes.items()}) == true
            for row, true in enumerate(truth)
        )
        / 150
    )
    assert right > max(plain, 0.9)
    assert found.confusion["good"]["yes", "yes"] > 0.85
    assert sum(found.priors.values()) == pytest.approx(1)


def test_members_that_are_too_alike_are_refused() -> None:
    found = dawid_skene([MemberVote(1, "a", "yes")], effective=1.2)
    assert (
        found.probabilities == {}
        and found.reason
        == "the members make the same errors: together they are worth 1.2 independent members"
    )
    assert dawid_skene([]).reason == "no votes"
