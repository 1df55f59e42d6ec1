"""Correlations: known values, laws that hold for all, and a reference implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.correlation import pearson, ranks, spearman

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40)


def test_known_values() -> None:
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert pearson([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert pearson([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert spearman([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1)


def test_equal_values_share_a_rank() -> None:
    assert ranks([5, 1, 5, 3]) == [3.5, 1.0, 3.5, 2.0]
    assert ranks([]) == []


def test_what_never_varies_has_no_correlation() -> None:
    assert pearson([0.1, 0.1, 0.1], [1, 2, 3]) is None
    assert spearman([1, 2], [4, 4]) is None
    assert spearman([1], [1]) is None
    assert spearman([], []) is None


def test_series_of_different_length_are_an_error() -> None:
    with pytest.raises(ValueError, match="of 2 and 1"):
        pearson([1, 2], [1])


@given(PAIRS)
def test_it_is_symmetric_bounded_and_blind_to_scale(pairs: list[tuple[int, int]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    value = spearman(one, other)
    assert value == spearman(other, one)
    if value is not None:
        assert -1 <= value <= 1
        assert spearman([3 * a + 7 for a in one], other) == pytest.approx(value)
        assert spearman([-a for a in one], other) == pytest.approx(-value)


@given(PAIRS)
def test_scipy_gives_the_same(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    if len(set(one)) > 1 and len(set(other)) > 1:
        assert spearman(one, other) == pytest.approx(
            stats.spearmanr(one, other).statistic, abs=1e-9
        )
        assert pearson(one, other) == pytest.approx(stats.pearsonr(one, other).statistic, abs=1e-9)
