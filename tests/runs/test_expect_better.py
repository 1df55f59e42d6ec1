"""``runs diff --expect-better``: passed, failed, or cannot tell, and never a verdict that the rows
do not carry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, Criteria, CriteriaOption, DirectJudge, Instance
from adjudge.runs.diff import run_diff
from adjudge.runs.results.better import BetterVerdict, expect_better
from adjudge.trust.comparison import ComparisonSettings, compare_runs
from support.commands import adjudge
from support.labels import model


def run(folder: Path, passes: Sequence[bool], definition: str = "It is good.") -> Path:
    """A run of rows q0, q1, … with these verdicts, and texts of its own."""
    critic = AspectCritic(
        definition, model(lambda text: "PASS" if "fine" in text else "FAIL"), name="good"
    )
    critic.evaluate(
        [
            Instance(
                {"response": f"{folder.name} {'fine' if good else 'poor'} {number}"}, f"q{number}"
            )
            for number, good in enumerate(passes)
        ],
        run=folder,
    )
    return folder


def expected(one: Path, two: Path, margin: float = 0.0) -> BetterVerdict:
    with run_diff(one, two) as diff:
        compared = compare_runs(one, two, diff, ComparisonSettings(margin=margin))
        return expect_better(compared, margin, 0.95)


def test_a_criterion_that_only_the_first_run_has_cannot_pass(tmp_path: Path) -> None:
    options = [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
    first, second = (Criteria(name, f"Is it {name}?", options) for name in ("good", "polite"))
    for folder, text, criteria in (("both", "poor", [first, second]), ("one", "fine", [first])):
        judge = DirectJudge(model(lambda text: "Yes" if "fine" in text else "No"))
        rows = [Instance({"response": f"{text} {at}"}, f"q{at}") for at in range(40)]
        judge.evaluate_multi_criteria(rows, criteria, run=tmp_path / folder)
    done = adjudge("runs", "diff", tmp_path / "both", tmp_path / "one", "--expect-better")
    last = "cannot tell by DirectJudge: polite: only the first run was judged by it"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (5, last)


def test_the_reason_is_why_it_cannot_be_told(runs: Path) -> None:
    assert "the judges differ" in expected(runs / "low", runs / "other").reason
    assert "there is no interval" in expected(runs / "none", runs / "few").reason
    assert "more rows would narrow it" in expected(runs / "high", runs / "same").reason


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expected")
    run(folder / "low", [number < 6 for number in range(40)])
    run(folder / "high", [number < 30 for number in range(40)])
    run(folder / "same", [number < 30 for number in range(40)])
    run(folder / "few", [number < 5 for number in range(5)])
    run(folder / "none", [False] * 5)
    run(folder / "other", [number < 30 for number in range(40)], "It is long.")
    return folder


@pytest.mark.parametrize(
    ("one", "two", "margin", "verdict"),
    [
        ("low", "high", 0.0, "passed"),
        ("low", "high", 0.3, "passed"),
        ("low", "high", 0.6, "inconclusive"),
        ("low", "high", 0.9, "failed"),
        ("high", "low", 0.0, "failed"),
        ("high", "same", 0.0, "inconclusive"),
        ("high", "same", 0.5, "failed"),
        ("none", "few", 0.0, "inconclusive"),  # below eight rows nothing is known
        ("few", "none", 0.0, "inconclusive"),
        ("low", "other", 0.0, "inconclusive"),  # another judge may be what differs
        ("other", "low", 0.0, "inconclusive"),
    ],
)
def test_the_verdict_is_what_the_interval_carries(
    runs: Path, one: str, two: str, margin: float, verdict: str
) -> None:
    assert expected(runs / one, runs / two, margin).verdict == verdict


def test_every_criterion_must_be_better_and_none_worse(runs: Path) -> None:
    def compared(one: str, two: str, name: str) -> object:
        with run_diff(runs / one, runs / two) as diff:
            (comparison,) = compare_runs(runs / one, runs / two, diff)
            return replace(comparison, criteria=name)

    up, down, flat = (
        compared("low", "high", "up"),
        compared("high", "low", "down"),
        compared("high", "same", "flat"),
    )
    for group, verdict, named in (
        ([up], "passed", "up"),
        ([up, flat], "inconclusive", "flat"),
        ([up, flat, down], "failed", "down"),
        ([], "inconclusive", "no criterion"),
    ):
        result = expect_better(group, 0.0, 0.95)  # type: ignore[arg-type]
        assert result.verdict == verdict and named in result.reason
    assert expect_better([up], 0.0, 0.95, unfinished="x").verdict == "inconclusive"  # type: ignore[list-item]


def test_rows_without_a_counterpart_can_go_either_way(tmp_path: Path) -> None:
    one = run(tmp_path / "one", [False] * 20)
    two = run(tmp_path / "two", [True] * 12)
    assert expected(one, two).verdict in ("passed", "inconclusive")
    fewer = run(tmp_path / "fewer", [True] * 8)
    assert expected(one, fewer).verdict == "inconclusive"


def test_the_command_says_it_by_its_exit_code(runs: Path, tmp_path: Path) -> None:
    for one, two, code, word in (
        ("low", "high", 0, "passed: better by AspectCritic: good"),
        ("high", "low", 4, "failed: not better by AspectCritic: good"),
        ("high", "same", 5, "cannot tell by AspectCritic: good"),
    ):
        done = adjudge("runs", "diff", runs / one, runs / two, "--expect-better")
        assert done.returncode == code and done.stdout.splitlines()[-1].startswith(word)
        as_json = adjudge("runs", "diff", runs / one, runs / two, "--expect-better", "--json")
        assert as_json.returncode == code
        verdict = json.loads(as_json.stdout)["expectation"]
        assert verdict == {0: "passed", 4: "failed", 5: "inconclusive"}[code]
    done = adjudge("runs", "diff", runs / "high", runs / "low", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["expectation"] is None
