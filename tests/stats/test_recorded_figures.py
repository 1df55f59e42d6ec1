"""Published figures of recorded judges, from how often each said what (PandaLM, Apache-2.0; a RAG
evaluator, MIT).
"""

from __future__ import annotations

from collections import Counter

import pytest

from adjudge.stats.agreement import (
    Missing,
    Table,
    accuracy,
    f1,
    macro,
    precision,
    recall,
    rows_with_missing,
)

TIE = 0
PANDALM_7B: dict[tuple[int | None, int], int] = {
    (0, 0): 32, (0, 1): 40, (0, 2): 35,
    (1, 0): 35, (1, 1): 298, (1, 2): 100,
    (2, 0): 38, (2, 1): 84, (2, 2): 337,
}  # fmt: skip
GPT_35 = {
    (0, 0): 5, (0, 1): 13, (0, 2): 20,
    (1, 0): 42, (1, 1): 332, (1, 2): 86,
    (2, 0): 45, (2, 1): 71, (2, 2): 360,
    (None, 0): 13, (None, 1): 6, (None, 2): 6,
}  # fmt: skip


def figures(counts: dict[tuple[int | None, int], int], missing: Missing) -> list[float]:
    cells = [cell for cell, count in counts.items() for _ in range(count)]
    table = Counter(
        rows_with_missing(
            [said for said, _ in cells], [true for _, true in cells], missing, tie=TIE
        )
    )
    found = [
        accuracy(table),
        *(macro(table, figure, [0, 1, 2]) for figure in (precision, recall, f1)),
    ]
    return [round(100 * (one.value or 0), 2) for one in found]


def test_pandalms_own_figures_are_those_of_its_paper() -> None:
    assert figures(PANDALM_7B, "drop") == [66.77, 57.38, 57.5, 57.43]


@pytest.mark.parametrize(("missing", "share"), [("tie", 71.07), ("wrong", 69.77), ("drop", 71.56)])
def test_what_an_unreadable_verdict_counts_as_decides_the_figure(
    missing: Missing, share: float
) -> None:
    assert figures(GPT_35, missing)[0] == share


def test_gpt_35s_published_figures_count_unreadable_verdicts_as_ties() -> None:
    assert figures(GPT_35, "tie") == [71.07, 58.79, 57.36, 57.55]


def test_the_recorded_rag_judge() -> None:
    table: Table = {("bad", "bad"): 14, ("good", "good"): 9, ("bad", "good"): 1, ("good", "bad"): 1}
    found = [
        accuracy(table),
        precision(table, "bad"),
        recall(table, "bad"),
        f1(table, "bad"),
        recall(table, "good"),
    ]
    assert [round(100 * (one.value or 0), 1) for one in found] == [92.0, 93.3, 93.3, 93.3, 90.0]
