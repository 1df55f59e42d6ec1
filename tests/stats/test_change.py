"""The sequential test of changed answers: no false alarms, and alarms that come."""

from __future__ import annotations

import math
import random
from itertools import product

from adjudge.stats.change import AnchorAnswer, change_evidence

YES, NO = AnchorAnswer("yes", 1.0), AnchorAnswer("no", 0.0)


def drawn(chance: random.Random, shares: list[float]) -> dict[str, AnchorAnswer]:
    return {str(n): YES if chance.random() < one else NO for n, one in enumerate(shares)}


def test_the_evidence_is_one_in_the_mean_over_all_orders_of_the_answers() -> None:
    """Exactly, whatever was answered: the answers of each question in each order."""
    bags = [(YES, NO, NO), (YES, YES, NO), (AnchorAnswer("so", 0.25), NO, YES)]
    orders = [
        [(bag[i], bag[j], bag[3 - i - j]) for i, j in product(range(3), repeat=2) if i != j]
        for bag in bags
    ]
    evidence = [
        change_evidence([{str(n): one[look] for n, one in enumerate(each)} for look in range(3)])[
            -1
        ]
        for each in product(*orders)
    ]
    assert math.isclose(math.fsum(evidence) / len(evidence), 1.0, rel_tol=1e-12)


def test_false_alarms_over_sixty_looks() -> None:
    chance = random.Random(5)
    alarms = 0
    for _ in range(60):
        shares = [chance.random() for _ in range(40)]
        alarms += max(change_evidence([drawn(chance, shares) for _ in range(60)])) >= 20
    assert alarms <= 6


def test_five_points_are_found_within_a_few_looks() -> None:
    before = {str(n): YES for n in range(100)}
    after = before | {str(n): NO for n in range(5)}
    evidence = change_evidence([before, *[before] * 5, after, after])
    assert max(evidence[:5]) <= 1
    assert evidence[5] >= 20


def test_options_without_scores_are_told_apart_too() -> None:
    before = {str(n): AnchorAnswer("abc"[n % 3]) for n in range(60)}
    after = {str(n): AnchorAnswer("abc"[(n + (n < 12)) % 3]) for n in range(60)}
    assert change_evidence([before] * 6 + [after])[-1] >= 20


def test_nothing_to_compare_is_no_evidence() -> None:
    assert change_evidence([]) == []
    assert change_evidence([{"a": YES}]) == []
    assert change_evidence([{"a": YES}, {"b": NO}, {}]) == [1.0, 1.0]
