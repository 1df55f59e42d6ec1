"""Intervals that may be looked at after every label: held against another way to compute them, and
against streams.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from statistics import NormalDist, fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.stats.correction import labels_only
from adjudge.stats.difference import PairedScores
from adjudge.stats.distributions import bisect
from adjudge.stats.intervals import Interval
from adjudge.stats.sequence import (
    ClusterSizes,
    Stream,
    confidence_sequence,
    sequential_difference,
    sequential_interval,
    sequential_mean,
    sequential_rate,
)


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (3, 10), (40, 50), (200, 200), (12.5, 40)])
def test_the_interval_is_where_the_mixture_of_bets_has_not_reached_its_bound(
    hits: float, of: int
) -> None:
    """The mixture integrated numerically: ∫ Π (q/p)^x ((1-q)/(1-p))^(1-x) dBeta(q; ½, ½)."""
    scipy = pytest.importorskip("scipy.integrate", reason="an oracle for development only")
    values = [1.0] * math.floor(hits) + [hits % 1] * (hits % 1 > 0)
    values += [0.0] * (of - len(values))
    found = confidence_sequence(values)

    def capital(share: float) -> float:
        def bet(angle: float) -> float:  # q = sin² makes Beta(½, ½) even
            q = math.sin(angle) ** 2
            logs = (hits * math.log(q / share) if hits else 0.0) + (
                (of - hits) * math.log((1 - q) / (1 - share)) if of > hits else 0.0
            )
            return math.exp(logs) * 2 / math.pi

        edge = 1e-12
        whole, _ = scipy.quad(bet, edge, math.pi / 2 - edge, limit=400)
        return float(whole)

    if found.lower > 0:
        assert capital(found.lower) == pytest.approx(20, rel=1e-3)
    if found.upper < 1:
        assert capital(found.upper) == pytest.approx(20, rel=1e-3)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0.05, 1), st.integers(0, 30), st.integers(0, 30), st.sampled_from([1, 0.4])
        ),
        min_size=2,
        max_size=2,
    )
)
def test_the_limits_of_two_verdicts_are_those_of_a_search_over_both_shares(
    parts: list[tuple[float, int, int, float]],
) -> None:
    total = sum(weight for weight, *_ in parts)
    one, two = (Stream(weight / total, hits, misses, fill) for weight, hits, misses, fill in parts)
    found = sequential_interval([one, two])
    steps = [(step + 0.5) / 80 for step in range(80)]
    tried = [
        one.weight * p + two.weight * q
        for p in steps
        for q in steps
        if one.log_capital(p) + two.log_capital(q) < math.log(20)
    ]
    assert found.lower <= min(tried) + 1e-9 and max(tried) - 1e-9 <= found.upper
    assert min(tried) - found.lower < 0.03 and found.upper - max(tried) < 0.03


def test_looked_at_after_every_label_it_misses_in_one_stream_of_twenty_at_most() -> None:
    """A labelled rate, and a corrected one; one for one look misses more often. 400 streams under
    ``make test-oracles``.
    """
    choice = random.Random(19)
    missed = {"labels": 0, "corrected": 0, "one look": 0}
    streams = min(int(os.environ.get("ADJUDGE_TABLES", "40")), 400)
    for _ in range(streams):
        counts = {True: [0, 0], False: [0, 0]}
        wrong = dict.fromkeys(missed, False)
        labels: list[float] = []
        for place in range(1, 121):
            label = choice.random() < 0.8
            verdict = choice.random() < (0.9 if label else 0.3)
            labels.append(float(label))
            counts[verdict][not label] += 1
            if place % 4:
                continue
            shares = {True: 0.8 * 0.9 + 0.2 * 0.3, False: 0.8 * 0.1 + 0.2 * 0.7}
            parts = [Stream(shares[side], *counts[side]) for side in shares]
            once = labels_only(labels)
            looks = {
                "labels": confidence_sequence(labels),
                "corrected": sequential_interval(parts),
                "one look": Interval(once.lower or 0.0, once.upper or 1.0),
            }
            for name, limits in looks.items():
                wrong[name] |= not limits.lower <= 0.8 <= limits.upper
        for name in missed:
            missed[name] += wrong[name]
    assert missed["labels"] <= 0.05 * streams + 3
    assert missed["corrected"] <= 0.05 * streams + 3
    assert missed["one look"] > missed["labels"]


def test_rows_that_are_a_sample_too_widen_it_and_nothing_known_is_everything() -> None:
    parts = [Stream(0.3, 4, 16), Stream(0.7, 60, 5)]
    plain, wide = sequential_interval(parts), sequential_rate(parts, 200)
    assert wide.lower < plain.lower and plain.upper < wide.upper
    assert confidence_sequence([]) == Interval(0.0, 1.0)
    assert confidence_sequence([0.9] * 500).lower > 0.8
    half = sequential_interval([Stream(0.5, 50, 0), Stream(0.5, 0, 0)])
    assert half.upper == 1.0 and 0.4 < half.lower < 0.5


def test_labels_and_rows_share_the_risk_and_labels_have_most_of_it() -> None:
    """With rows without end the doubt is all about labels, with labels without end all about rows:
    the risks of both come to that of the interval. Labels are dear, so that theirs is the larger.
    """
    parts = [Stream(0.3, 4, 16), Stream(0.7, 60, 5)]
    lower = sequential_rate(parts, 10**15).lower
    of_labels = bisect(lambda risk: sequential_interval(parts, level=1 - risk).lower < lower)
    sure = [Stream(0.3, 0.2 * 10**14, 0.8 * 10**14), Stream(0.7, 0.9 * 10**14, 0.1 * 10**14)]
    mean = 0.3 * 0.2 + 0.7 * 0.9
    error = math.sqrt((0.3 * (0.2 - mean) ** 2 + 0.7 * (0.9 - mean) ** 2) / 1000)
    reach = (sequential_rate(sure, 1000).upper - mean) / error
    of_rows = 2 * (1 - NormalDist().cdf(reach))
    assert of_labels + of_rows == pytest.approx(0.05, abs=1e-4)
    assert 8 * of_rows < of_labels < 10 * of_rows
    assert sequential_rate(parts, 1000, level=0.9).upper < sequential_rate(parts, 1000).upper


@pytest.mark.parametrize(
    ("rises", "falls", "count"), [(0.0, 0.0, 50), (9.0, 2.0, 60), (1.5, 8, 40)]
)
def test_the_limits_of_a_difference_are_those_of_its_rises_and_falls(
    rises: float, falls: float, count: int
) -> None:
    """Against the mixture of bets, integrated on a grid of stakes."""
    found = sequential_difference(rises, falls, count)
    grid = [step / 400 for step in range(1, 400)]
    ends = [
        [share for share in grid if _mixed(part, count - part, share) < 40]
        for part in (rises, falls)
    ]
    assert found.lower == pytest.approx(ends[0][0] - ends[1][-1], abs=0.006)
    assert found.upper == pytest.approx(ends[0][-1] - ends[1][0], abs=0.006)


def _mixed(hits: float, misses: float, share: float) -> float:
    """The capital of bets against a share, with stakes mixed by the arcsine law."""
    steps = [math.sin(math.pi / 2 * (k + 0.5) / 500) ** 2 for k in range(500)]
    return math.fsum(
        math.exp(hits * math.log(p / share) + misses * math.log((1 - p) / (1 - share)))
        for p in steps
    ) / len(steps)


def test_rows_of_one_cluster_count_as_their_mean() -> None:
    found = sequential_mean([1.0, 1.0, 0.0, 0.0], clusters=["a", "a", "b", "b"])
    apart = sequential_mean([1.0, 0.0])
    assert found and apart
    assert (found.lower, found.upper) == pytest.approx((apart.lower, apart.upper))
    assert sequential_mean([]) is None


def test_clusters_of_unequal_sizes_bound_the_mean_over_rows() -> None:
    """Half of the tasks have one trial and pass in .9, the others four that pass in .3 together: of
    all rows .42 pass, while the mean over tasks is .6.
    """
    chance, missed, missed_difference = random.Random(3), 0, 0
    streams_drawn = 4 * min(int(os.environ.get("ADJUDGE_TABLES", "10")), 400)
    for _ in range(streams_drawn):
        values: list[float] = []
        clusters: list[int] = []
        scores = PairedScores()
        is_missed = is_missed_difference = False
        for task in range(160):
            size, rate = ((1, 0.9), (4, 0.3))[chance.random() < 0.5]
            rows = [float(chance.random() < rate)] * size
            values += rows
            clusters += [task] * size
            scores.add((one, 0.0) for one in rows)
            if task % 16 == 15:
                limits = sequential_mean(values, clusters=clusters)
                assert limits and limits.lower <= fmean(values) <= limits.upper
                is_missed |= not limits.lower <= 0.42 <= limits.upper
                found = scores.looked_at_often(level=0.95).estimate
                assert found.lower is not None and found.upper is not None
                is_missed_difference |= not found.lower <= 0.42 <= found.upper
        missed, missed_difference = missed + is_missed, missed_difference + is_missed_difference
    assert missed <= 0.05 * streams_drawn
    assert missed_difference <= 0.05 * streams_drawn


def test_verdicts_of_tasks_with_unequal_trials_bound_the_mean_over_rows() -> None:
    """As above, for labels of two verdicts: of the rows .42 pass, of the tasks .6. Limits of the
    mean over tasks miss in nearly all of ten streams; 400 streams under ``make test-oracles``.
    """
    chance, missed = random.Random(4), 0
    streams_drawn = min(int(os.environ.get("ADJUDGE_TABLES", "10")), 400)
    for _ in range(streams_drawn):
        totals, sizes = [0.0, 0.0], [Counter[int](), Counter[int]()]
        is_missed = False
        for task in range(160):
            size, rate = ((1, 0.9), (4, 0.3))[chance.random() < 0.5]
            passes = chance.random() < rate
            verdict = int(passes if chance.random() < 0.8 else not passes)
            totals[verdict] += passes * size
            sizes[verdict][task] = size
            if task % 16 == 15:
                rows = [own.total() for own in sizes]
                streams = [
                    Stream.of_clusters(
                        rows[each] / sum(rows),
                        totals[each],
                        ClusterSizes(rows[each], len(sizes[each]), 4),
                    )
                    for each in (0, 1)
                ]
                limits = sequential_rate(streams, len(sizes[0]) + len(sizes[1]))
                is_missed |= not limits.lower <= 0.42 <= limits.upper
        missed += is_missed
    assert missed <= 0.05 * streams_drawn


def test_gates_that_are_looked_at_daily_are_ever_wrong_in_one_run_of_twenty_at_most() -> None:
    """Of systems that are equal too, whatever day it is."""
    choice, wrong, apart, runs = random.Random(5), 0, 0, 60
    for _ in range(runs):
        values: list[float] = []
        rises = falls = 0
        missed = called = False
        for day in range(1, 7):
            values += [float(choice.random() < 0.9) for _ in range(20)]
            gained = sum(choice.random() < 0.1 for _ in range(20))
            rises, falls = rises + gained, falls + sum(choice.random() < 0.1 for _ in range(20))
            limits = sequential_mean(values)
            assert limits is not None
            missed = missed or not limits.lower <= 0.9 <= limits.upper
            found = sequential_difference(rises, falls, 20 * day)
            called = called or not found.lower <= 0 <= found.upper
        wrong, apart = wrong + missed, apart + called
    assert wrong / runs <= 0.12  # 0.05, and what 60 runs leave to chance
    assert apart / runs <= 0.12
