"""Random tables with ties, constants, empty classes and missing values, and how many of them the
tests try.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

COUNT = int(os.environ.get("ADJUDGE_TABLES", "120"))
"""``make test-oracles`` tries ten thousand."""


def two_raters(seed: str) -> Iterator[tuple[list[int], list[int]]]:
    """What two raters said of some rows, in many degrees of agreement."""
    choice = random.Random(seed)
    for _ in range(COUNT):
        rows, options = choice.randint(1, 30), choice.randint(1, 5)
        first = [choice.randrange(options) for _ in range(rows)]
        faithful = choice.choice([0, 0.5, 0.9, 1])
        second = [one if choice.random() < faithful else choice.randrange(options) for one in first]
        if choice.random() < 0.1:
            second = [choice.randrange(options)] * rows
        yield first, second


def many_raters(seed: str) -> Iterator[list[list[int | None]]]:
    """One list a rater, None where they said nothing."""
    choice = random.Random(seed)
    for _ in range(COUNT):
        rows, options, raters = choice.randint(1, 15), choice.randint(1, 4), choice.randint(2, 5)
        gaps = choice.choice([0, 0.2, 0.6])
        truth = [choice.randrange(options) for _ in range(rows)]
        yield [
            [
                None
                if choice.random() < gaps
                else one
                if choice.random() < 0.6
                else choice.randrange(options)
                for one in truth
            ]
            for _ in range(raters)
        ]
