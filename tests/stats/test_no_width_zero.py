"""No interval that comes of a sample has width zero, whatever the sample; and either design of
labels, the coverage benchmark's quick form included, is shown to hold.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adjudge.stats.agreement import agreement
from adjudge.stats.agreement_intervals import above_even_chance, fisher_interval, with_limits
from adjudge.stats.bootstrap import Draws
from adjudge.stats.correction import corrected_mean, labels_only, naive
from adjudge.stats.difference import compare, corrected_difference, labelled_difference
from adjudge.stats.estimate import Estimate, Figure
from adjudge.stats.intervals import rows_interval
from adjudge.stats.named_estimators import ppi_plus_plus
from adjudge.stats.probability import probability_figures
from adjudge.stats.ranking import NamedContest, rank
from adjudge.stats.sequence import sequential_difference, sequential_mean

TABLES = int(os.environ.get("ADJUDGE_TABLES", "200"))
"""Random tables of each kind; 10,000 where there is time (``ADJUDGE_TABLES=10000``)."""
ROOT = Path(__file__).parents[2]
SECTIONS = ("rates", "numbers", "one-sided", "cluster-gates")


def zeros_and_ones(choice: random.Random, count: int) -> list[float]:
    """Often all alike, or nearly so."""
    share = choice.choice([0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0])
    return [float(choice.random() < share) for _ in range(count)]


def scores(choice: random.Random, count: int) -> list[float]:
    value = choice.choice([0.0, 0.25, 0.5, 1.0])
    share = choice.choice([0.0, 0.1, 0.5, 1.0])
    return [choice.random() if choice.random() < share else value for _ in range(count)]


def rates(choice: random.Random) -> Iterator[Estimate]:
    rows, labels = choice.randint(20, 120), choice.randint(20, 60)
    verdicts = ["PASS" if one else "FAIL" for one in zeros_and_ones(choice, rows)]
    given: list[float | None] = [*zeros_and_ones(choice, min(labels, rows))]
    given += [None] * (rows - len(given))
    clusters = choice.choice([None, [place // 3 for place in range(rows)]])
    yield corrected_mean(verdicts, given, ["FAIL", "PASS"], clusters=clusters)
    known = [one for one in given if one is not None]
    yield naive(known)
    yield labels_only(known)


def graded(choice: random.Random) -> Iterator[Estimate]:
    rows = choice.randint(30, 120)
    verdicts = [str(choice.choice([1, 2, 3])) for _ in range(rows)]
    given: list[float | None] = [choice.choice([0.0, 0.5, 1.0]) for _ in range(30)]
    if choice.random() < 0.3:
        given = [given[0]] * 30
    yield corrected_mean(verdicts, [*given, *[None] * (rows - 30)], ["1", "2", "3"])


def numbers(choice: random.Random) -> Iterator[Estimate]:
    labels = scores(choice, 25)
    said, rest = (
        (labels, scores(choice, 60))
        if choice.random() < 0.5
        else (scores(choice, 25), scores(choice, 60))
    )
    yield ppi_plus_plus(labels, said, rest, with_t=True, ends=(0.0, 1.0))
    if limits := rows_interval(labels):
        yield Estimate(0.0, limits.lower, limits.upper, 25, "rows")


def differences(choice: random.Random) -> Iterator[Estimate]:
    kind = choice.choice([zeros_and_ones, scores])
    first, second = kind(choice, 40), kind(choice, 40)
    if choice.random() < 0.3:
        second = list(first)
    yield compare(first, second).estimate
    apart = [one - other for one, other in zip(first, second, strict=True)]
    yield labelled_difference(apart[:20])
    yield corrected_difference(apart[:20], apart[:20], apart[20:])


def figures(choice: random.Random) -> Iterator[Estimate]:
    judge = [str(one) for one in zeros_and_ones(choice, 40)]
    others = [str(one) for one in zeros_and_ones(choice, 40)]
    truth = judge if choice.random() < 0.5 else others
    said: list[str | None] = [*judge]
    found = agreement(said, truth, order=["0.0", "1.0"])
    yield from found.figures.values()
    for one in found.classes.values():
        yield from (one.precision, one.recall, one.f1)
    pairs = list(zip(judge, truth, strict=True))
    yield with_limits(Figure(0.5), above_even_chance(pairs, 2), 40, None, 0.95)
    passed = [int(true == "1.0") for true in truth]
    stated = list(zip(scores(choice, 40), passed, strict=True))
    yield from (one for name, one in probability_figures(stated).items() if name != "ECE by chance")
    limits = fisher_interval(choice.choice([-1.0, 0.0, 1.0]), 30)
    yield Estimate(0.0, limits.lower, limits.upper, 30, "correlation")


def sequences(choice: random.Random) -> Iterator[Estimate]:
    count = choice.randint(1, 120)
    for values in (zeros_and_ones(choice, count), scores(choice, count)):
        if limits := sequential_mean(values):
            yield Estimate(None, limits.lower, limits.upper, count, "sequential")
    rises = choice.choice([0, choice.randint(0, count)])
    both = sequential_difference(rises, choice.randint(0, count - rises), count)
    yield Estimate(None, both.lower, both.upper, count, "sequential")


KINDS: dict[str, Callable[[random.Random], Iterator[Estimate]]] = {
    "rates": rates,
    "graded": graded,
    "numbers": numbers,
    "differences": differences,
    "figures": figures,
    "sequences": sequences,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_interval_of_a_sample_has_width_zero(kind: str) -> None:
    choice, seen = random.Random(kind), 0
    for _ in range(TABLES):
        for one in KINDS[kind](choice):
            if one.lower is None or one.upper is None:
                assert one.reason, one
                continue
            seen += 1
            assert one.upper - one.lower > 1e-4, one
    print(f"{kind}: {TABLES:,} random tables, {seen:,} intervals, 0 of width zero")
    assert seen >= TABLES


def test_ratings_have_limits_with_a_width_or_none() -> None:
    choice = random.Random(3)
    for _ in range(max(5, TABLES // 40)):
        share = choice.choice([0.5, 0.9, 1.0])
        contests = [
            NamedContest("a", "b", "a" if choice.random() < share else "b") for _ in range(40)
        ]
        for place in rank(contests, draws=Draws(100)).places:
            assert place.lower is None or place.upper is None or place.upper > place.lower + 1


def test_the_coverage_benchmark_has_a_quick_form() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/coverage.py", "--quick", "--draws", "10", "--only", *SECTIONS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| worst cells | holds |" in done.stdout and "either limit of a gate" in done.stdout
