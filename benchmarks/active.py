"""What drawing some rows oftener than others is worth, and whether its number stays right.

python benchmarks/active.py                              how often the interval holds, by simulation
python benchmarks/active.py --data ../shared/data        labels saved on recorded judges as well
python benchmarks/active.py --quick                      a few cells, in seconds

Rows are drawn and corrected by the very functions that ``adjudge label --queue random-…`` and
``calibrate`` use. A population of 2,000 rows is drawn anew for every sample; of recorded judges by
drawing their rows with replacement.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from adjudge.labels.weighting import WeightedQueue, Weighting, quotas
from adjudge.stats.correction import Stratum, post_stratified
from adjudge.stats.estimate import Estimate
from adjudge.stats.refusal import too_few

ROWS = 2000
BAR = 0.93
DOUBTFUL = 1 / 3


class JudgedText(NamedTuple):
    """A row: what people would say, what the judge says, and how much speaks against it."""

    truth: float
    verdict: str
    doubt: float


Source = Callable[[random.Random], list[JudgedText]]


def synthetic(rate: float, errors: tuple[float, float], divided: float) -> Source:
    """Rows of which a share is doubtful; ``errors``: how often the judge errs on sure ones and on
    doubtful ones.
    """

    def rows(choice: random.Random) -> list[JudgedText]:
        found = []
        for _ in range(ROWS):
            truth, doubtful = choice.random() < rate, choice.random() < divided
            wrong = choice.random() < errors[doubtful]
            found.append(
                JudgedText(float(truth), "PASS" if truth != wrong else "FAIL", 0.5 * doubtful)
            )
        return found

    return rows


def kinds(rows: Sequence[JudgedText], queue: WeightedQueue) -> list[tuple[str, str]]:
    """The verdict and the kind of each row, as the queue has them."""
    cut = sorted((row.doubt for row in rows), reverse=True)[int(len(rows) * DOUBTFUL)]
    weighting = Weighting(queue, repr(cut))
    return [(row.verdict, weighting.kind_of_signal(row.doubt)) for row in rows]


def corrected(
    rows: Sequence[JudgedText], keys: Sequence[tuple[str, str]], wanted: dict[tuple[str, str], int]
) -> Estimate | None:
    """The corrected rate by the first rows of each kind; rows lie in random order."""
    labels: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, key in zip(rows, keys, strict=True):
        if len(labels[key]) < wanted[key]:
            labels[key].append(row.truth)
    counts = Counter(keys)
    strata = [Stratum(" ".join(key), counts[key], tuple(labels[key])) for key in sorted(counts)]
    return None if too_few(strata, every=True) else post_stratified(strata, few=0).estimate


def plainly(rows: Sequence[JudgedText], count: int) -> Estimate | None:
    """By as many rows drawn among all, as ``--queue random`` does."""
    keys = [(row.verdict, "") for row in rows]
    wanted = Counter(keys[:count])
    strata = [
        Stratum(
            key[0],
            keys.count(key),
            tuple(row.truth for row, own in zip(rows[:count], keys, strict=False) if own == key),
        )
        for key in sorted(set(keys))
    ]
    return None if too_few(strata) or not wanted else post_stratified(strata).estimate


def by_weight(rows: Sequence[JudgedText], queue: WeightedQueue, count: int) -> Estimate | None:
    """By about ``count`` rows of which the doubtful ones are drawn oftener."""
    keys = kinds(rows, queue)
    return corrected(rows, keys, quotas(Counter(keys), queue, count))


def drawn(rows: Sequence[JudgedText], queue: WeightedQueue, count: int) -> int:
    """How many labels that really takes."""
    return sum(quotas(Counter(kinds(rows, queue)), queue, count).values())


def measured(
    source: Source, count: int, draws: int, seed: str
) -> Iterator[tuple[str, float, float, float]]:
    """(queue, how often the interval holds, mean width, labels) at ``count`` labels."""
    choice, truth = random.Random(seed), []
    found: dict[str, list[tuple[Estimate, float]]] = defaultdict(list)
    for _ in range(draws):
        rows = source(choice)
        truth.append(fmean(row.truth for row in rows))
        for name, one, labels in (
            ("random", plainly(rows, count), count),
            (
                "random-uncertain",
                by_weight(rows, "random-uncertain", count),
                drawn(rows, "random-uncertain", count),
            ),
        ):
            if one is not None:
                found[name].append((one, labels))
    centre = source.rate if hasattr(source, "rate") else fmean(truth)
    for name, each in found.items():
        holds = fmean(one.lower <= centre <= one.upper for one, _ in each)  # type: ignore[operator]
        yield name, holds, fmean(one.width or 0.0 for one, _ in each), fmean(n for _, n in each)
