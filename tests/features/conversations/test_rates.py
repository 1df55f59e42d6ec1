"""Rates with the user's mistakes counted out, against figures that were computed by hand."""

from __future__ import annotations

import random

import pytest
from benchmarks.conversations import study

from adjudge.features.conversations.rates import (
    LabelledTrial,
    ScenarioTrial,
    compare_agents,
    labelled_rate,
    rates_of,
    spoiled_by_labels,
)


def trials(scenario: str, planned: int, judged: int, passed: int) -> list[ScenarioTrial]:
    """``judged`` valid trials of ``planned``; the others are lost."""
    return [
        ScenarioTrial(scenario, place < passed if place < judged else None, "valid")
        for place in range(planned)
    ]


def test_bounds_of_two_hundred_conversations() -> None:
    rows = [ScenarioTrial("s", True, "valid")] * 124 + [ScenarioTrial("s", True, "spoiled")] * 6
    rows += [ScenarioTrial("s", False, "valid")] * 50 + [ScenarioTrial("s", False, "spoiled")] * 20
    found = rates_of(rows)
    assert found.raw == 0.65
    assert found.corrected.low == found.corrected.high == pytest.approx(124 / 174)
    assert found.bounds == pytest.approx((0.62, 0.75))
    assert found.hinders == pytest.approx((0.65, 0.75))
    assert found.corrected_interval is None  # one scenario has no interval


def test_pass_all_with_lost_trials() -> None:
    counts = ((4, 4), (4, 3), (3, 1), (2, 2), (4, 0))
    found = rates_of(
        [one for place, (n, c) in enumerate(counts) for one in trials(str(place), 4, n, c)]
    )
    limits = [(one.low, one.high) for one in found.shares]
    wanted = [(0.5, 0.65), (1 / 3, 8 / 15), (0.25, 0.45), (0.2, 0.4)]
    assert [low for low, _ in limits] == pytest.approx([low for low, _ in wanted])
    assert [high for _, high in limits] == pytest.approx([high for _, high in wanted])


def test_the_mean_is_over_scenarios_not_over_conversations() -> None:
    rows = [ScenarioTrial("easy", True, "valid")] * 72 + [
        ScenarioTrial("easy", False, "valid")
    ] * 18
    rows += [ScenarioTrial("easy", False, "spoiled")] * 10
    rows += [ScenarioTrial("hard", True, "valid")] * 20 + [
        ScenarioTrial("hard", False, "valid")
    ] * 30
    rows += [ScenarioTrial("hard", False, "spoiled")] * 50
    assert rates_of(rows).corrected.low == pytest.approx(0.6)


def test_unclear_and_lost_conversations_widen_both_ends() -> None:
    rows = [
        ScenarioTrial("s", True, "valid"),
        ScenarioTrial("s", False, "unclear"),
        ScenarioTrial("s", None, "lost"),
    ]
    found = rates_of(rows)
    assert found.corrected == pytest.approx((1 / 3, 1.0))
    assert found.bounds == pytest.approx((1 / 3, 1.0))


def test_a_scenario_without_a_valid_conversation_may_be_anything() -> None:
    rows = [ScenarioTrial("a", True, "valid"), ScenarioTrial("b", False, "spoiled")]
    found = rates_of(rows)
    assert found.without_valid == 1
    assert found.corrected == (0.5, 1.0)


def test_nothing_has_no_rate() -> None:
    found = rates_of([])
    assert found.raw is None
    assert found.bounds == (0.0, 1.0)


def test_spoiled_failures_by_labels() -> None:
    found = spoiled_by_labels((24, 12, 10), (46, 20, 2))
    assert found.total == pytest.approx(24.6)
    assert found.error == pytest.approx(3.049857, abs=1e-6)
    assert found.precision == pytest.approx(0.833333, abs=1e-6)
    assert found.recall == pytest.approx(0.813008, abs=1e-6)


def test_labels_are_weighted_by_outcome_and_flag() -> None:
    flagged = [LabelledTrial(f"a{n}", False, True, n < 3 if n < 4 else None) for n in range(20)]
    failed = [LabelledTrial(f"b{n}", False, False, False if n < 4 else None) for n in range(30)]
    passed = [LabelledTrial(f"c{n}", True, False, True if n < 4 else None) for n in range(50)]
    found = labelled_rate([*flagged, *failed, *passed])
    assert found.value == pytest.approx((20 * 0.75 + 50) / 100)
    assert found.lower is not None and found.upper is not None
    assert found.lower < 0.65 < found.upper


def test_two_agents_are_paired_by_scenario() -> None:
    one = ((4, 4), (4, 3), (3, 2), (4, 1), (2, 2), (4, 2))
    two = ((4, 3), (4, 2), (4, 2), (3, 0), (4, 3), (4, 3))

    def agent(counts: tuple[tuple[int, int], ...]) -> dict[str, list[ScenarioTrial]]:
        return {str(place): trials(str(place), 4, n, c) for place, (n, c) in enumerate(counts)}

    found = compare_agents(("two", "one"), agent(two), agent(one))
    assert found is not None
    assert found.means[1] - found.means[0] == pytest.approx(0.152778, abs=1e-6)
    back = compare_agents(("one", "two"), agent(one), agent(two))
    assert back is not None
    assert back.means == found.means[::-1]
    assert compare_agents(("a", "b"), {"x": []}, {"y": []}) is None


def test_the_corrected_interval_holds_the_true_rate() -> None:
    """The short form of ``python benchmarks/conversations.py``, which holds 500 studies."""
    chance = random.Random(11)
    results = [study(chance, 20, 3) for _ in range(20)]
    assert sum(one[1] for one in results) >= 18
