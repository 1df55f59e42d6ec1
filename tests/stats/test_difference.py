"""Two runs over the same rows: what is called better, what cannot be told, and how often that is
wrong.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.difference import (
    ComparisonOutcome,
    compare,
    corrected_difference,
    holm,
    labelled_difference,
    smallest_detectable,
    smallest_detectable_share,
)
from adjudge.stats.distributions import sign_test

BITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=8, max_size=60)
SHARES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=8, max_size=40)


def test_a_clear_difference_is_better_one_way_and_worse_the_other() -> None:
    first, second = [1.0] * 40 + [0.0] * 10, [1.0] * 20 + [0.0] * 30
    found, turned = compare(first, second), compare(second, first)
    assert (found.outcome, turned.outcome) == (ComparisonOutcome.BETTER, ComparisonOutcome.WORSE)
    assert found.estimate.value == pytest.approx(0.4)
    assert compare(first, second, margin=0.39).outcome == ComparisonOutcome.CANNOT_TELL


def test_equal_runs_cannot_be_told_apart_and_the_smallest_difference_is_stated() -> None:
    first, second = [1.0, 0.0, 1.0, 1.0] * 75, [1.0, 1.0, 0.0, 1.0] * 75
    found = compare(first, second)
    assert (found.outcome, found.estimate.value, found.units) == (
        ComparisonOutcome.CANNOT_TELL,
        0.0,
        300,
    )
    assert found.smallest == pytest.approx(0.114, abs=0.001)


def test_fewer_than_eight_rows_tell_nothing() -> None:
    found = compare([1.0] * 7, [0.0] * 7)
    assert (found.outcome, found.p_value, found.estimate.lower) == (
        ComparisonOutcome.CANNOT_TELL,
        None,
        None,
    )
    assert found.estimate.reason == "7 independent rows; a comparison needs at least 8"
    assert (
        compare([1.0] * 70, [0.0] * 70, clusters=[place % 7 for place in range(70)]).outcome
        == ComparisonOutcome.CANNOT_TELL
    )


def test_rows_without_any_difference_still_leave_a_doubt() -> None:
    found = compare([0.7] * 20, [0.7] * 20)
    assert (
        found.estimate.value == 0
        and found.estimate.width is not None
        and found.estimate.width > 0.1
    )


@given(BITS)
def test_of_passes_and_fails_the_p_value_is_mcnemars(rows: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    found = compare([float(a) for a, _ in rows], [float(b) for _, b in rows])
    only_first, only_second = sum(a > b for a, b in rows), sum(a < b for a, b in rows)
    wanted = (
        stats.binomtest(only_first, only_first + only_second).pvalue
        if only_first + only_second
        else 1.0
    )
    assert found.p_value == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("losses", [0, 1, 5, 20])
def test_changes_in_one_direction_have_clopper_and_pearsons_limit(losses: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    rows = 139
    found = compare([1.0] * (rows - losses) + [0.0] * losses, [1.0] * rows)
    wanted = stats.beta.ppf(0.975, losses + 1, rows - losses)
    assert found.estimate.lower == pytest.approx(-wanted, abs=1e-8)


@pytest.mark.parametrize(("gains", "losses", "same"), [(3, 2, 20), (10, 4, 46), (30, 45, 400)])
def test_changes_in_both_directions_have_the_limit_of_random_weights(
    gains: int, losses: int, same: int
) -> None:
    """The oracle integrates the Dirichlet distribution of the weights."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    integrate = pytest.importorskip("scipy.integrate")
    first = [1.0] * gains + [0.0] * losses + [1.0] * same
    second = [0.0] * gains + [1.0] * losses + [1.0] * same
    lower = compare(first, second).estimate.lower
    assert lower is not None

    def part(lost: float) -> float:
        rest = (lower + lost) / (1 - lost)
        return float(
            stats.beta.pdf(lost, losses + 1, gains + same) * stats.beta.cdf(rest, gains, same)
        )

    chance, _ = integrate.quad(part, 0, 1, points=[max(0.0, -lower)], limit=400)
    assert chance == pytest.approx(0.025, abs=1e-6)


def false_passes(rows: int, margin: float, chances: Sequence[float]) -> float:
    """How often a gate passes at worst if the true change is exactly ``-margin``: over every sample
    there is, with ``chances`` of a gain.
    """

    def passes(gains: int, losses: int) -> bool:
        rest = [0.0] * (rows - gains - losses)
        found = compare(
            [1.0] * gains + [0.0] * losses + rest, [0.0] * gains + [1.0] * losses + rest
        )
        return found.estimate.lower is not None and found.estimate.lower >= -margin

    fewest, gains = [], 0
    for losses in range(rows + 1):
        while gains + losses <= rows and not passes(gains, losses):
            gains += 1
        if gains + losses > rows:
            break
        fewest.append(gains)
    return max(
        math.fsum(
            math.comb(rows, lost)
            * math.comb(rows - lost, won)
            * (gain + margin) ** lost
            * gain**won
            * (1 - 2 * gain - margin) ** (rows - lost - won)
            for lost, least in enumerate(fewest)
            for won in range(least, rows - lost + 1)
        )
        for gain in chances
    )


@pytest.mark.parametrize(
    ("rows", "margin"), [(20, 0.1), (36, 0.1), (47, 0.07), (70, 0.05), (71, 0.05), (139, 0.02)]
)
def test_a_gate_passes_wrongly_in_one_run_of_forty_at_most(rows: int, margin: float) -> None:
    """Student's interval with two ends added passed 139 unchanged rows at a margin of 0.02, which
    has a probability of 0.06 if one row in fifty gets worse.
    """
    assert false_passes(rows, margin, (0.0, 0.001, 0.01, 0.05, 0.2)) <= 0.025


@pytest.mark.parametrize("step", [0.25, 0.5])
def test_a_gate_on_grades_passes_wrongly_in_one_run_of_forty_at_most(step: float) -> None:
    """Rows that lose a part of the scale, and none that gains: every sample there is."""
    rows, share = 100, 0.1
    wrong = 0.0
    for lost in range(rows + 1):
        found = compare([1 - step] * lost + [1.0] * (rows - lost), [1.0] * rows).estimate
        if found.lower is not None and found.lower > -share * step:
            wrong += math.comb(rows, lost) * share**lost * (1 - share) ** (rows - lost)
    assert wrong <= 0.025


@given(SHARES, st.sampled_from([0.8, 0.95, 0.999]), st.sampled_from([1.0, 4.0]))
def test_limits_stay_where_a_difference_can_be(
    rows: list[tuple[float, float]], level: float, reach: float
) -> None:
    first, second = ([reach * round(one) for one in side] for side in zip(*rows, strict=True))
    found = compare(first, second, level=level, reach=reach).estimate
    assert found.value is not None and found.lower is not None and found.upper is not None
    assert -reach <= found.lower <= found.value <= found.upper <= reach


@given(SHARES)
def test_turning_the_runs_round_turns_the_difference(rows: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in rows], [b for _, b in rows]
    one, other = compare(first, second), compare(second, first)
    assert one.estimate.lower == pytest.approx(-(other.estimate.upper or 0))
    assert one.p_value == pytest.approx(other.p_value)
    assert (one.outcome == ComparisonOutcome.BETTER) == (other.outcome == ComparisonOutcome.WORSE)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_exact(one: int, other: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    wanted = stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert sign_test(one, other) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
def test_two_equal_systems_are_called_different_in_one_comparison_of_twenty_at_most(
    clustered: bool,
) -> None:
    choice, wrong, runs = random.Random(7), 0, 200
    for _ in range(runs):
        groups = [place // 4 for place in range(120)]
        taste = [choice.gauss(0, 1) if clustered else 0.0 for _ in range(30)]
        first, second = (
            [float(choice.gauss(taste[g] * sign, 1) > -0.8) for g in groups] for sign in (1, -1)
        )
        found = compare(first, second, clusters=groups if clustered else None)
        wrong += found.outcome != ComparisonOutcome.CANNOT_TELL
    assert wrong <= 0.06 * runs


def test_rows_of_one_conversation_do_not_count_as_many() -> None:
    first, second = [1.0] * 40 + [0.0] * 40, [0.0] * 20 + [1.0] * 20 + [0.0] * 40
    assert compare(first, second).outcome == ComparisonOutcome.BETTER
    assert (
        compare(first, second, clusters=[place // 10 for place in range(80)]).outcome
        == ComparisonOutcome.CANNOT_TELL
    )


def test_the_smallest_difference_is_the_one_that_is_seen_in_four_of_five() -> None:
    """Simulated: 200 rows, of which a third differ."""
    rows, share = 200, 0.33
    least = smallest_detectable_share(share, rows)
    choice, seen = random.Random(11), 0
    for _ in range(400):
        draws = choice.choices(
            [1, -1, 0], [(share + least) / 2, (share - least) / 2, 1 - share], k=rows
        )
        seen += sign_test(draws.count(1), draws.count(-1)) <= 0.05
    assert 0.7 <= seen / 400 <= 0.85
    assert smallest_detectable(0.01) == pytest.approx(0.028, abs=1e-4)
    assert smallest_detectable_share(0.0, 1000) == pytest.approx(0.00784, abs=1e-3)


def test_a_judge_that_favours_one_system_is_corrected() -> None:
    choice = random.Random(13)
    systems = [(float(choice.random() < 0.7), float(choice.random() < 0.7)) for _ in range(1000)]
    truth = [one - two for one, two in systems]
    judged = [max(one, float(choice.random() < 0.5)) - two for one, two in systems]
    naive = statistics.fmean(judged)
    found = corrected_difference(truth[:150], judged[:150], judged[150:])
    assert naive > 0.1
    assert found.lower is not None and found.upper is not None and found.lower < 0 < found.upper
    alone = labelled_difference(truth[:150])
    assert alone.width is not None and found.width is not None and found.width < alone.width
    assert labelled_difference([1.0]).reason == "fewer than two labels"


def test_a_corrected_difference_never_has_width_zero_and_few_labels_are_not_too_sure() -> None:
    judged = [0.0] * 970 + [-1.0] * 30
    labels = [-1.0] * 5 + [0.0] * 25
    found, alone = (
        corrected_difference(labels, judged[:30], judged[30:]),
        labelled_difference(labels),
    )
    assert (
        found.width is not None
        and found.lower is not None
        and alone.lower is not None
        and found.upper is not None
        and alone.upper is not None
    )
    assert found.lower < -1 / 6 < found.upper and found.width > 0.9 * (alone.width or 0)
    none_differ = corrected_difference([0.0] * 30, judged[:30], judged[30:])
    assert none_differ.width is not None and none_differ.width > 0.1
    many = corrected_difference([-1.0] * 20 + [0.0] * 80, [-1.0] * 20 + [0.0] * 80, judged)
    assert many.width is not None and many.width > 0.01


def test_the_order_of_rows_and_scores_between_two_steps_change_nothing() -> None:
    choice = random.Random(3)
    rows = [(choice.random(), choice.random()) for _ in range(60)]
    clusters = [place // 3 for place in range(60)]
    found = compare([a for a, _ in rows], [b for _, b in rows], clusters=clusters).estimate
    turned = compare(
        [a for a, _ in rows[::-1]], [b for _, b in rows[::-1]], clusters=clusters[::-1]
    ).estimate
    assert (found.lower, found.upper) == (turned.lower, turned.upper)
    assert found.value == pytest.approx(statistics.fmean(a - b for a, b in rows))


def test_a_cluster_counts_as_one_unit() -> None:
    """Ten rows that change together say as much as one row that does."""
    first, second = [1.0] * 40, [0.0] * 5 + [1.0] * 35
    alone = compare(first, second).estimate
    together = compare(
        [one for one in first for _ in range(10)],
        [one for one in second for _ in range(10)],
        clusters=[place // 10 for place in range(400)],
    ).estimate
    assert (together.lower, together.upper) == (
        pytest.approx(alone.lower),
        pytest.approx(alone.upper),
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_many_p_values_are_adjusted_as_holm_says(
    p_values: list[float],
) -> None:
    ordered, adjusted = sorted(p_values), holm(p_values)
    for place, value in enumerate(p_values):
        rank = ordered.index(value)
        wanted = max(
            min(1.0, (len(ordered) - at) * ordered[at]) for at in range(rank + ordered.count(value))
        )
        assert adjusted[place] == pytest.approx(wanted)
