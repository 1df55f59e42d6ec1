"""Exact tests of many rows: the values beyond the size up to which whole numbers are added up."""

from __future__ import annotations

import math

import pytest

from adjudge.stats.distributions import LARGEST_EXACT, fisher_greater, sign_test

BOUND = 1e-9
"""The relative error that the docs state."""


def _exact_sign_test(fewer: int, count: int) -> float:
    ways = tail = 1
    for k in range(fewer):
        ways = ways * (count - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << count))


def _exact_fisher(both: int, first: int, second: int, count: int) -> float:
    ways = math.comb(first, both) * math.comb(count - first, second - both)
    tail = ways
    for k in range(both, min(first, second)):
        ways = ways * (first - k) * (second - k) // ((k + 1) * (count - first - second + k + 1))
        tail += ways
    return tail / math.comb(count, second)


@pytest.mark.parametrize("count", [LARGEST_EXACT + 1, LARGEST_EXACT + 2, 16_000, 40_001])
@pytest.mark.parametrize("apart", [0, 1, 30, 100, 300, 1500])
def test_the_sign_test_of_many_pairs_is_that_of_whole_numbers(count: int, apart: int) -> None:
    fewer = count // 2 - apart
    wanted = _exact_sign_test(fewer, count)
    assert sign_test(fewer, count - fewer) == pytest.approx(wanted, rel=BOUND)
    assert sign_test(count - fewer, fewer) == sign_test(fewer, count - fewer)


@pytest.mark.parametrize("count", [1_000_000, 10_000_000])
@pytest.mark.parametrize("apart", [1, 500, 2000, 6000])
def test_the_sign_test_of_millions_is_scipys(count: int, apart: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    fewer = count // 2 - apart
    wanted = 2 * stats.binom.cdf(fewer, count, 0.5)
    assert sign_test(fewer, count - fewer) == pytest.approx(wanted, rel=BOUND)


def test_the_sign_test_does_not_jump_at_the_size_where_it_changes() -> None:
    below, above = (
        sign_test(count // 2 - 100, count - count // 2 + 100)
        for count in (LARGEST_EXACT, LARGEST_EXACT + 2)
    )
    assert below == pytest.approx(above, rel=1e-2)
    assert sign_test(0, LARGEST_EXACT + 1) == 0.0
    assert sign_test(6000, 6000) == 1.0


@pytest.mark.parametrize("first", [40, 3000, 9000])
@pytest.mark.parametrize("second", [25, 5000, 10_001])
@pytest.mark.parametrize("errors", [-6.0, -1.0, 0.0, 0.5, 3.0, 9.0])
def test_fishers_test_of_many_rows_is_that_of_whole_numbers(
    first: int, second: int, errors: float
) -> None:
    count = LARGEST_EXACT + 1
    middle = first * second / count
    spread = math.sqrt(middle * (1 - first / count) * (1 - second / count))
    both = max(first + second - count, 0, min(first, second, round(middle + errors * spread)))
    table = (both, first - both, second - both, count - first - second + both)
    assert fisher_greater(*table) == pytest.approx(
        _exact_fisher(both, first, second, count), rel=BOUND
    )


def test_fishers_test_of_a_hundred_thousand_rows_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    for both in (24_000, 25_000, 25_100, 26_000):
        wanted = stats.hypergeom.sf(both - 1, 100_000, 50_000, 50_000)
        table = (both, 50_000 - both, 50_000 - both, both)
        assert fisher_greater(*table) == pytest.approx(wanted, rel=BOUND)
