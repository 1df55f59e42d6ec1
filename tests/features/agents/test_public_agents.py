"""Figures of public sets, by the rules alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.features.agents.expectation import Expectations, read_expectations
from adjudge.features.agents.rules import measure
from adjudge.features.agents.trajectory import Trajectory

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from benchmarks import bfcl, tau_bench, who_and_when  # noqa: E402 - not part of the package

DATA = ROOT.parent / "shared" / "data" / "agents"
TAU_BENCH = DATA / "tau-bench-gpt-4o-airline.json.gz"
BFCL = DATA / "bfcl-multi-turn-expected.json"
WHO_AND_WHEN = DATA / "who-and-when"


@pytest.fixture(scope="module")
def runs() -> list[tau_bench.Run]:
    if not TAU_BENCH.exists():
        pytest.skip(f"{TAU_BENCH} is not here")
    return tau_bench.read_runs(TAU_BENCH)


def test_tau_bench_passes(runs: list[tau_bench.Run]) -> None:
    assert len(runs) == 200
    assert sum(len(run.trajectory.calls) for run in runs) == 1164
    found = tau_bench.passes_by_task(runs)
    assert [round(one.lower, 6) for one in found] == [0.42, 0.273333, 0.22, 0.2]


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        *(("names: exact", 14), ("names: in order", 113), ("names: any order", 114)),
        ("calls: exact", 12),
    ],
)
def test_tau_bench_calls(runs: list[tau_bench.Run], rule: str, passed: int) -> None:
    assert tau_bench.agreement_with_reward(rule, runs).passed == passed


def test_the_same_writing_calls_agree_best_with_the_reward(runs: list[tau_bench.Run]) -> None:
    found = {name: tau_bench.agreement_with_reward(name, runs) for name in tau_bench.PREDICTORS}
    best = max(found.values(), key=lambda one: one.share)
    assert (best.name, best.share) == ("writing calls: the same", 0.975)
    assert best.interval is not None
    assert found["names: any order"].share < best.interval.lower
    assert found["calls: exact"].share < best.interval.lower


def test_tau_bench_by_one_command() -> None:
    if not TAU_BENCH.exists():
        pytest.skip(f"{TAU_BENCH} is not here")
    done = subprocess.run(
        [sys.executable, "benchmarks/tau_bench.py", str(TAU_BENCH)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pass^4 0.200000" in done.stdout
    assert "nearest to the reward: writing calls: the same" in done.stdout


def test_bfcl() -> None:
    if not BFCL.exists():
        pytest.skip(f"{BFCL} is not here")
    rows = dict(bfcl.read_turns(BFCL))
    calls = [call for turns in rows.values() for turn in turns for call in turn]
    assert (len(rows), sum(map(len, rows.values())), len(calls)) == (200, 734, 1142)
    assert sum(bool(call.unnamed) for call in calls) == 40
    for id, turns in rows.items():
        expected = tuple(call for turn in turns for call in turn)
        run = bfcl.made(expected)
        exact = Expectations({id: expected}, "exact")
        assert measure("calls", run, exact, {"id": id}).value is True
        less = replace(run, steps=run.steps[1:])
        recall = measure("calls_recall", less, exact, {"id": id}).value
        assert recall == (len(expected) - 1) / len(expected)


def test_arguments_without_names_need_a_schema() -> None:
    if not BFCL.exists():
        pytest.skip(f"{BFCL} is not here")
    rows = dict(bfcl.read_turns(BFCL))
    expected = tuple(call for turn in rows["multi_turn_base_0"] for call in turn)
    run = replace(bfcl.made(expected), tools=())
    found = measure("calls", run, Expectations({"0": expected}), {"id": "0"})
    assert found.value is None
    assert 'sort("final_report.pdf") is expected with unnamed arguments' in str(found.reason)


def test_blame_by_rules_of_thumb() -> None:
    if not WHO_AND_WHEN.exists():
        pytest.skip(f"{WHO_AND_WHEN} is not here")
    runs = who_and_when.read_runs(WHO_AND_WHEN)
    assert (len(runs), sum(len(run.trajectory.steps) for run in runs)) == (126, 1099)
    assert round(who_and_when.by_chance(runs)[0], 3) == 0.120
    found = {
        name: who_and_when.figures(name, runs, [thumb(run) for run in runs])
        for name, thumb in who_and_when.THUMBS.items()
    }
    assert sum(found["the first step"].steps) == 20
    before = found["the step before the first failure"]
    assert (sum(before.steps), sum(before.agents)) == (38, 67)


def test_a_number_inside_another_is_no_hit() -> None:
    run = who_and_when.BlamedRun(Trajectory("", (), None), 2, "a", "")
    found = who_and_when.figures("x", [run] * 2, [11, 2])
    assert (found.steps, found.as_published) == ([0.0, 1.0], [1.0, 1.0])


def test_what_bfcl_expects_is_read_as_it_is() -> None:
    if not BFCL.exists():
        pytest.skip(f"{BFCL} is not here")
    found = read_expectations(BFCL)
    assert (len(found), sum(map(len, found.values()))) == (200, 1142)
