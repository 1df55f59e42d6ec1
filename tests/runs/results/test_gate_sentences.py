"""What a gate says of how sure it is, and over what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.domain.pairing import Pairing
from adjudge.runs.folder import run_info
from adjudge.runs.results.gate import GateResult, Measure
from adjudge.runs.results.paired_gate import paired_gates
from adjudge.runs.results.setup import Setup
from adjudge.runs.view.decision import bar_text
from adjudge.stats.intervals import share_limits
from adjudge.stats.sequence import confidence_sequence

FAILED = GateResult(
    judge="dates",
    name="dates",
    measure="mean",
    value=0.5,
    bar=0.8,
    lower=0.4,
    upper=0.6,
    rows=60,
    missing=0,
    confidence=0.95,
    sure=True,
    among=3,
)


@pytest.mark.parametrize(
    ("measure", "language", "text"),
    [
        ("mean", "en", "(each of 3 criteria separately)"),
        ("mean", "ru", "(каждый критерий сам по себе, всего 3)"),
        ("difference", "en", "over all 3 criteria"),
    ],
)
def test_a_gate_over_several_criteria_says_whether_it_speaks_of_each_or_of_all(
    measure: Measure, language: str, text: str
) -> None:
    gate = replace(
        FAILED, measure=measure, against="runs/main", pairing=Pairing((60, 60), {"id": 60})
    )
    assert text in gate.sentence().render(language)
    assert text not in replace(gate, among=1).sentence().render(language)


def test_figures_have_the_decimals_that_distinguish_them_from_the_bar() -> None:
    close = replace(
        FAILED, value=0.79996, bar=0.8, lower=0.79996, upper=0.79996, confidence=None, among=1
    )
    assert close.sentence().render("en") == (
        "Gate failed: mean score of dates is 0.79996, the bar is 0.80000: missed by 0.00004. "
        "1 more of the 60 rows would have to pass."
    )
    assert "0,79996, порог 0,80000" in close.sentence().render("ru")
    assert bar_text(close) == ", bar 0.80000 missed by 0.00004"
    equal = replace(close, value=0.8, lower=0.8, upper=0.8)
    assert "is 0.800, the bar is 0.800" in equal.sentence().render("en")


def test_that_every_criteria_holds_needs_no_such_word() -> None:
    assert "by itself" not in replace(FAILED, lower=0.85, upper=0.9, value=0.88).sentence()


def test_runs_that_share_no_judge_are_said_to_share_none(tmp_path: Path) -> None:
    for name in ("dates", "tone"):
        AspectCritic("Names a date.", ScriptedModel(["FAIL"]), name=name).evaluate(
            ["Long ago."], run=tmp_path / name
        )
    setup = replace(Setup.of_run(run_info(tmp_path / "tone")), against=str(tmp_path / "dates"))
    (gate,) = paired_gates(setup, tmp_path / "tone")
    told = (
        f"Gate undecided: this run and {tmp_path / 'dates'} share no judge and criterion: there is "
        "nothing to compare."
    )
    assert (gate.verdict, gate.sentence()) == ("inconclusive", told)


MEAN_AT_THE_BAR = 0.1 + 0.2  # 0.30000000000000004


@pytest.mark.parametrize(
    ("mean", "bar"),
    [(0.7, MEAN_AT_THE_BAR + 0.4), (0.3, MEAN_AT_THE_BAR), (0.5, 0.5)],
)
def test_a_mean_at_the_bar_holds_however_it_is_rounded(mean: float, bar: float) -> None:
    gate = replace(FAILED, value=mean, lower=mean, upper=mean, bar=bar, confidence=None)
    assert gate.verdict == "holds"
    assert gate.sentence().startswith("Gate passed")


def test_29_of_100_rows_may_be_missing_where_29_percent_may() -> None:
    """0.29 times 100 is 28.999999999999996 to a computer."""
    gate = replace(FAILED, measure="missing", bar=0.29, rows=100, confidence=None)
    assert [
        (replace(gate, missing=n).verdict, replace(gate, missing=n).needed) for n in (28, 29, 30)
    ] == [
        ("holds", 0),
        ("holds", 0),
        ("failed", 1),
    ]
    assert "29 may" in replace(gate, missing=29).sentence()


def test_a_figure_that_lies_at_the_bar_needs_no_rows_and_leaves_no_blank_behind() -> None:
    at_the_bar = replace(FAILED, value=0.5, bar=0.5, among=1)
    assert at_the_bar.sentence().endswith("the bar is 0.500.")


@pytest.mark.parametrize(
    ("passed", "bar", "first"), [(15, 0.8, 276), (15, 0.9, 28), (2, 0.05, 110)]
)
def test_rows_that_would_decide_are_those_that_move_the_limit_across_the_bar(
    passed: int, bar: float, first: int
) -> None:
    """``first``: the first number of rows at which Clopper and Pearson's limits decide, by
    enumeration; the gate's are a little wider in places.
    """
    limits = share_limits(passed, 20)
    gate = replace(
        FAILED, value=passed / 20, bar=bar, rows=20, lower=limits.lower, upper=limits.upper
    )
    assert gate.verdict == "inconclusive"
    assert gate.enough == pytest.approx(first, rel=0.15)
    more = share_limits(passed / 20 * (gate.enough or 0), gate.enough or 0)
    assert replace(gate, lower=more.lower, upper=more.upper).verdict != "inconclusive"
    fewer = share_limits(passed / 20 * ((gate.enough or 0) - 1), (gate.enough or 0) - 1)
    assert replace(gate, lower=fewer.lower, upper=fewer.upper).verdict == "inconclusive"


@pytest.mark.parametrize(("bar", "rows"), [(0.55, 240), (0.45, 960)])
def test_of_scores_the_limit_on_the_side_of_the_bar_says_how_many_rows_would_decide(
    bar: float, rows: int
) -> None:
    """A mean of 0.5 between 0.3 and 0.6: the upper limit is 0.1 away, the lower one 0.2."""
    gate = replace(FAILED, bar=bar, lower=0.3, upper=0.6)
    assert gate.enough == pytest.approx(rows, abs=1)
    assert replace(gate, bar=0.5001).enough is None  # more than a million


def test_the_limits_of_every_look_say_how_many_rows_would_decide() -> None:
    limits = confidence_sequence([1.0] * 15 + [0.0] * 5)
    gate = replace(FAILED, value=0.75, bar=0.9, rows=20, sequential=True)
    gate = replace(gate, lower=limits.lower, upper=limits.upper)
    enough = gate.enough or 0
    more = confidence_sequence([0.75] * enough)
    assert replace(gate, lower=more.lower, upper=more.upper, rows=enough).verdict == "failed"
    fewer = confidence_sequence([0.75] * (enough - 1))
    assert replace(gate, lower=fewer.lower, upper=fewer.upper).verdict == "inconclusive"


def test_rows_without_a_score_are_counted_beside_those_that_would_have_to_pass() -> None:
    plain = replace(FAILED, confidence=None, sure=False, rows=10, value=0.5, lower=0.4)
    sentence = replace(plain, upper=0.7, missing=2).sentence()
    assert "Even if every row without a score (2) passed, 1 more of the 10 rows" in sentence
    assert "1 more of the 10 rows would have to pass." in replace(plain, upper=0.7).sentence()
