"""How often an attack on a deaf but noisy judge cries wolf: ``python benchmarks/attack_errors.py``.

Each history draws rows with noise of their own, asks them twice, and once under each family; no
family has an effect. Printed: the share of histories in which a family is said to move the judge.
Then every family moves exactly the share of rows that ``--fail-over`` allows. Printed: the share of
histories in which the gate fails.
"""

from __future__ import annotations

import argparse
import random
from statistics import fmean

from adjudge.stats.difference import holm
from adjudge.stats.noise_test import beyond_noise


def false_alarm(chance: random.Random, rows: int, families: int, texts: int, noise: float) -> bool:
    """Whether one history shows a family that moves the judge."""
    shares = [chance.betavariate(noise, 1) / 2 for _ in range(rows)]
    first = [chance.random() < share for share in shares]
    room = [(share, said) for share, said in zip(shares, first, strict=True) if not said]
    again = [float(chance.random() < share) for share, _ in room]
    found = []
    for _ in range(families):
        moved = [fmean(chance.random() < share for _ in range(texts)) for share, _ in room]
        p_value = beyond_noise(moved, again).p_value
        if p_value is not None:
            found.append(p_value)
    return any(one <= 0.05 for one in holm(found))


def false_failure(chance: random.Random, rows: int, families: int, most: float) -> bool:
    """Return True if the gate fails although every family moves just the share ``most``."""
    strict = 1 - 0.05 / families
    again = [0.0] * rows
    for _ in range(families):
        moved = [float(chance.random() < most) for _ in range(rows)]
        lower = beyond_noise(moved, again, level=strict).estimate.lower
        if lower is not None and lower > most:
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("rows  texts  noise  false alarms")
    for rows, texts, noise in ((40, 1, 0.5), (40, 1, 5.0), (100, 1, 1.0), (40, 3, 1.0)):
        chance = random.Random(given.seed)
        alarms = [false_alarm(chance, rows, 19, texts, noise) for _ in range(given.histories)]
        print(f"{rows:4}  {texts:5}  {noise:5}  {fmean(alarms):.4f}")
    print("rows  families  bar    gate fails")
    for rows, families, most in ((20, 19, 0.2), (50, 19, 0.1), (50, 38, 0.2), (200, 19, 0.05)):
        chance = random.Random(given.seed)
        alarms = [false_failure(chance, rows, families, most) for _ in range(given.histories)]
        print(f"{rows:4}  {families:8}  {most:5}  {fmean(alarms):.4f}")


if __name__ == "__main__":
    main()
