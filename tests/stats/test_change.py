"""The sequential test of changed answers: no false alarms, and alarms that come."""

from __future__ import annotations

import math
import os
import random
import time
from itertools import permutations, product

import pytest

from adjudge.stats import change
from adjudge.stats.change import AnchorAnswer, change_evidence

YES, NO, HALF = AnchorAnswer("yes", 1.0), AnchorAnswer("no", 0.0), AnchorAnswer("half", 0.5)
BAR = 20.0


def draw(chance: random.Random, shares: list[float]) -> dict[str, AnchorAnswer]:
    return {str(n): YES if chance.random() < one else NO for n, one in enumerate(shares)}


@pytest.mark.parametrize(
    "answers",
    [
        [(YES, NO, NO, NO)] * 4,
        [(YES, YES, NO, NO), (NO, NO, NO, YES), (YES, YES, YES, NO)],
        [(HALF, NO, YES, NO), (YES, YES, HALF, HALF)],
        # options without scores, more of them than are told apart
        [tuple(AnchorAnswer(name) for name in "abcde"), (YES, YES, NO, NO, NO)],
    ],
)
def test_evidence_over_all_orders_of_the_answers(answers: list[tuple[AnchorAnswer, ...]]) -> None:
    """For every bar: at most 1 / bar of the orders ever reach it, counted over all of them."""
    looks = len(answers[0])
    highest = [
        max(
            change_evidence(
                [{str(n): each[look] for n, each in enumerate(order)} for look in range(looks)],
                math.inf,
            )
        )
        for order in product(*(sorted(set(permutations(each)), key=repr) for each in answers))
    ]
    for bar in set(highest):
        assert sum(one >= bar for one in highest) <= len(highest) / bar


def test_a_tail_is_the_share_of_orders_that_are_as_extreme() -> None:
    """One look after nine: eight answers turn at once, each by a chance of 1 in 10, and each look
    of the first ten has a tenth of half the risk.
    """
    before = {str(n): YES for n in range(8)}
    evidence = change_evidence([before] * 9 + [dict.fromkeys(before, NO)], math.inf)
    part = 10 / (18 * 19) / 3
    weights = sum(1 / place for place in (1, 2, 3, 4)) * 2
    assert evidence[-1] == pytest.approx(part / weights * 10.0**8)


@pytest.mark.parametrize(
    ("anchors", "share", "looks", "histories"), [(4, 0.01, 366, 20), (12, 0.4, 60, 10)]
)
def test_false_alarms_with_few_anchors_that_waver(
    anchors: int, share: float, looks: int, histories: int
) -> None:
    """Daily looks over a year at anchors that seldom differ: a product of what each look wins
    gave an alarm in .09 of these histories. More of them under ``make test-oracles``.
    """
    chance = random.Random(f"{anchors} {share}")
    alarms = 0
    histories *= min(int(os.environ.get("ADJUDGE_TABLES", "1")), 10)
    for _ in range(histories):
        history = [draw(chance, [share] * anchors) for _ in range(looks)]
        alarms += change_evidence(history, BAR)[-1] >= BAR
    assert alarms <= 0.05 * histories


def test_five_points_are_found_at_once_after_some_looks() -> None:
    before = {str(n): YES for n in range(100)}
    after = before | {str(n): NO for n in range(5)}
    evidence = change_evidence([before, *[before] * 5, after, after], BAR)
    assert evidence[:5] == [1.0] * 5
    assert evidence[5] >= BAR
    assert evidence[6] == evidence[5]


def test_a_change_among_noise_is_found_within_ten_looks() -> None:
    chance, found = random.Random(2), 0
    for _ in range(20):
        shares = [chance.random() if n < 10 else 1.0 for n in range(100)]
        before = [draw(chance, shares) for _ in range(6)]
        after = [draw(chance, [*shares[:95], *[0.0] * 5]) for _ in range(10)]
        found += change_evidence([*before, *after], BAR)[-1] >= BAR
    assert found >= 16


def test_options_without_scores_are_told_apart_too() -> None:
    before = {str(n): AnchorAnswer("abc"[n % 3]) for n in range(60)}
    after = {str(n): AnchorAnswer("abc"[(n + (n < 12)) % 3]) for n in range(60)}
    assert change_evidence([before] * 6 + [after], BAR)[-1] >= BAR


def test_an_anchor_that_is_missing_at_some_looks_counts_where_it_was_answered() -> None:
    before = {str(n): YES for n in range(12)}
    some = {str(n): YES for n in range(6)}
    after = {str(n): NO for n in range(12)}
    assert change_evidence([before, some, {}, before, some, before, after], BAR)[-1] >= BAR


def scored(chance: random.Random, questions: int, looks: int) -> list[dict[str, AnchorAnswer]]:
    """Draw looks at questions with five scores; from the middle on, three answers in ten are 0."""
    usual = [chance.randrange(5) for _ in range(questions)]
    drawn = []
    for look in range(looks):
        share = 0.3 if look >= looks // 2 else 0.0
        steps = [one if chance.random() < 0.7 else chance.randrange(5) for one in usual]
        steps = [0 if chance.random() < share else step for step in steps]
        drawn.append({str(n): AnchorAnswer(step, step / 4) for n, step in enumerate(steps)})
    return drawn


@pytest.mark.parametrize("seed", range(3))
def test_a_limit_stands_for_orders_that_are_too_many_to_count(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never says more than the count would, and not much less."""
    looks = scored(random.Random(seed), questions=30, looks=16)
    counted = change_evidence(looks, math.inf)
    monkeypatch.setattr(change, "_MOST_STEPS", 0)
    limited = change_evidence(looks, math.inf)
    assert max(counted) > BAR
    for exact, limit in zip(counted, limited, strict=True):
        assert limit <= exact * (1 + 1e-9)
        assert limit >= min(1.0, exact / 20)
    assert max(limited) > max(counted) / 20


def test_many_questions_and_looks_take_seconds() -> None:
    """200 questions with five scores took minutes, and 1,000 over 100 looks did not end."""
    looks = scored(random.Random(1), questions=100, looks=20)
    began = time.process_time()
    assert max(change_evidence(looks, math.inf)) > BAR
    assert time.process_time() - began < 20


def test_later_looks_do_not_change_the_evidence_of_earlier_ones() -> None:
    """Not even an option without a score, after which scores are no longer compared."""
    chance = random.Random(6)
    looks = [draw(chance, [0.9] * 20) for _ in range(8)]
    looks.append({str(n): NO if n < 10 else YES for n in range(20)})
    later = {str(n): AnchorAnswer("unsure") for n in range(20)}
    before = change_evidence(looks, math.inf)
    assert before[-1] > 1
    assert change_evidence([*looks, later, later], math.inf)[: len(before)] == before


def test_nothing_to_compare_is_no_evidence() -> None:
    assert change_evidence([], BAR) == []
    assert change_evidence([{"a": YES}], BAR) == []
    assert change_evidence([{"a": YES}, {"b": NO}, {}], BAR) == [1.0, 1.0]
