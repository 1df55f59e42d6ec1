"""Rows without a score never make a limit narrower than the scores that they could have had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.domain.repetition import Unit
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.paired_gate import paired_gates
from adjudge.runs.results.setup import Setup
from adjudge.runs.results.summary import GateConfidence, LostRows
from adjudge.stats.difference import ComparisonOutcome, Difference, PairedScores
from adjudge.stats.distributions import beta_quantile
from support.labels import model

Pairs = Sequence[tuple[float, float] | None]
WORSE, BETTER, SAME = (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)


def lost_rows(units: Sequence[Unit], *, of: tuple[float, float]) -> LostRows:
    lost = LostRows()
    for unit in units:
        lost.add(unit, of)
    return lost


def test_a_failed_row_counts_like_a_fail_in_the_lower_limit() -> None:
    limits = GateConfidence(0.95).interval([1.0] * 368, [], lost_rows([()] * 32, of=(0.0, 1.0)))
    assert limits is not None
    assert limits.lower == pytest.approx(beta_quantile(0.025, 368, 33), abs=5e-4)
    assert limits.lower < 0.9 and limits.upper == 1.0


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("values", [[1.0, 0.0, 1.0, 1.0] * 10, [0.9, 0.5, 0.25, 1.0] * 10])
def test_each_limit_of_a_gate_is_that_of_its_worst_case(
    values: list[float], *, clustered: bool, sequential: bool
) -> None:
    units: list[Unit] = [(f"group={place // 4}",) if clustered else () for place in range(40)]
    of_lost: list[Unit] = [(f"group={one}",) if clustered else () for one in (0, 0, 1, 12, 12)]
    sure = GateConfidence(0.95, "group" if clustered else "", sequential)
    limits = sure.interval(values, units, lost_rows(of_lost, of=(0.0, 1.0)))
    low, high = (
        sure.interval([*values, *[end] * 5], units + of_lost, LostRows()) for end in (0.0, 1.0)
    )
    assert limits is not None and low is not None and high is not None
    assert (limits.lower, limits.upper) == (low.lower, high.upper)


def test_a_lost_row_is_no_worse_than_the_least_it_can_score() -> None:
    sure = GateConfidence(0.95)
    limits = sure.interval([0.9] * 20, [], lost_rows([()] * 4, of=(0.3, 0.8)))
    low, high = (sure.interval([0.9] * 20 + [end] * 4, [], LostRows()) for end in (0.3, 0.8))
    assert limits is not None and low is not None and high is not None
    assert (limits.lower, limits.upper) == (low.lower, high.upper)


def compared(units: Iterable[Pairs], *, sequential: bool = False) -> Difference:
    scores = PairedScores()
    for unit in units:
        scores.add(unit)
    return scores.looked_at_often(level=0.95) if sequential else scores.compared()


@pytest.mark.parametrize(
    ("seen", "other", "outcome"),
    [
        (WORSE, BETTER, ComparisonOutcome.WORSE),
        (BETTER, WORSE, ComparisonOutcome.BETTER),
    ],
)
def test_ten_changes_and_three_lost_rows_decide_nothing(
    seen: tuple[float, float], other: tuple[float, float], outcome: ComparisonOutcome
) -> None:
    """McNemar's exact test of 10 to 3 has p = 0.092."""
    rows: list[Pairs] = [*[[seen]] * 10, *[[SAME]] * 50]
    assert compared(rows).outcome is outcome
    found = compared([*rows, *[[None]] * 3])
    assert found.outcome is ComparisonOutcome.CANNOT_TELL
    assert found.p_value == pytest.approx(0.0923, abs=1e-4)
    assert found.p_value == pytest.approx(compared([*rows, *[[other]] * 3]).p_value or 0.0)


@pytest.mark.parametrize("sequential", [False, True])
def test_lost_rows_change_inside_their_clusters(*, sequential: bool) -> None:
    def units(lost: tuple[float, float] | None) -> list[Pairs]:
        whole: list[Pairs] = [[SAME, SAME], [BETTER, SAME], [WORSE, WORSE]] * 5
        return [*whole, [SAME, lost, lost], [lost]]

    found = compared(units(None), sequential=sequential).estimate
    low, high = (compared(units(end), sequential=sequential).estimate for end in (WORSE, BETTER))
    assert (found.lower, found.upper) == (low.lower, high.upper)


def judged_run(folder: Path, answers: Sequence[str]) -> Path:
    """A run over five questions per chat; "yes" passes, "no" fails, "none" has no verdict, and an
    empty answer is not in the run.
    """
    judge = model(
        lambda prompt: "" if "said none" in prompt else "PASS" if "said yes" in prompt else "FAIL"
    )
    rows = [
        Instance({"user_input": f"chat {n // 5}", "response": f"{n} said {answer}"}, f"q{n}")
        for n, answer in enumerate(answers)
        if answer
    ]
    AspectCritic("Says yes.", judge, name="dates", max_repairs=0).evaluate(rows, run=folder)
    return folder


def gate_of(
    one: Path, two: Path, *, margin: float = 0.0, cluster: str = "", sequential: bool = False
) -> GateResult:
    setup = Setup(
        against=str(one), margin=margin, confidence=0.95, cluster=cluster, sequential=sequential
    )
    (gate,) = paired_gates(setup, two)
    return gate


@pytest.mark.parametrize(
    ("cluster", "sequential"), [("", False), ("user_input", False), ("", True)]
)
@pytest.mark.parametrize("lost", ["", "none"])
def test_a_deleted_or_failed_row_counts_like_a_fail(
    tmp_path: Path, lost: str, cluster: str, *, sequential: bool
) -> None:
    before = judged_run(tmp_path / "before", ["yes"] * 400)
    gaps, fails = (
        gate_of(
            before,
            judged_run(tmp_path / name, ["yes"] * 364 + [answer] * 36),
            margin=0.1,
            cluster=cluster,
            sequential=sequential,
        )
        for name, answer in (("gaps", lost), ("fails", "no"))
    )
    assert (gaps.rows, gaps.missing, gaps.verdict) == (400, 36, "inconclusive")
    assert gaps.lower == pytest.approx(fails.lower)
    assert gaps.lower < -0.12
