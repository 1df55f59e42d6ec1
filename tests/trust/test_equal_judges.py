"""Several judges beside each other: none is called worse by chance, and the best one's figure is
not what luck made of it.
"""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from adjudge.features.bench.benchmark import RowKey, chosen_judge, compare_rows
from adjudge.stats.difference import ComparisonOutcome, compare


def draw(choice: random.Random, judges: int, rows: int) -> list[dict[RowKey, float]]:
    """Judges that are all right in seven rows of ten."""
    return [
        {RowKey(f"row {place}"): float(choice.random() < 0.7) for place in range(rows)}
        for _ in range(judges)
    ]


@pytest.mark.parametrize(("judges", "rows"), [(5, 60), (12, 120)])
def test_the_best_of_equal_judges_is_as_good_as_the_others(judges: int, rows: int) -> None:
    choice, samples = random.Random(f"{judges} {rows}"), 150
    values, best, held = [], [], 0
    for _ in range(samples):
        scores = draw(choice, judges, rows)
        found = chosen_judge(scores)
        assert found is not None and found.value is not None
        assert found.lower is not None and found.upper is not None and found.lower < found.upper
        held += found.lower <= 0.7 <= found.upper
        values.append(found.value)
        best.append(max(fmean(one.values()) for one in scores))
    assert fmean(values) == pytest.approx(0.7, abs=0.015)
    assert fmean(best) > 0.74
    assert held >= 0.93 * samples


def test_of_many_equal_judges_hardly_any_is_called_worse() -> None:
    """As a ranking does: the best against each of the others, all pairs of them allowed for."""
    choice, judges, samples, called = random.Random(7), 12, 120, 0
    for _ in range(samples):
        scores = sorted(draw(choice, judges, 100), key=lambda one: -sum(one.values()))
        found = [compare([*scores[0].values()], [*one.values()]) for one in scores[1:]]
        pairs = judges * (judges - 1) / 2
        called += any(
            one.outcome is ComparisonOutcome.BETTER and (one.p_value or 0) * pairs <= 0.05
            for one in found
        )
    assert called <= 0.05 * samples + 3


def test_one_judge_alone_or_few_rows_have_no_chosen_one() -> None:
    row = RowKey("a")
    assert chosen_judge([{row: 1.0}]) is None
    assert chosen_judge([{row: 1.0}, {row: 0.0}]) is None
    assert chosen_judge([]) is None


def test_judges_are_compared_on_rows_of_which_copies_count_once() -> None:
    """A canned reply stands in 60 of 100 rows: by rows the first judge is better, by texts the
    second one. Each text counted once, whatever its last copy said.
    """
    rows = [RowKey("canned", copy) for copy in range(60)]
    rows += [RowKey(f"text {place}") for place in range(40)]
    first = {row: float(row.unit == "canned") for row in rows}
    second = {row: float(row.unit != "canned") for row in rows}
    found = compare_rows(first, second, level=0.95)
    assert found.estimate.value == pytest.approx(0.2)
    assert (found.estimate.count, found.units) == (100, 41)
    assert found.outcome is ComparisonOutcome.CANNOT_TELL
    chosen = chosen_judge([first, second])
    assert chosen is not None and chosen.count == 100
    assert chosen.lower is not None and chosen.upper is not None
    assert chosen.upper - chosen.lower > 0.5
