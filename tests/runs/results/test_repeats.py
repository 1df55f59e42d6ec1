"""pass^k: how often all of k answers pass, as the benchmarks of agents count it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.results.repeats import TrialCounts, pass_all
from adjudge.runs.results.summary import interval_of
from support.commands import adjudge


def trials(passed: int, judged: int, lost: int = 0, cluster: str = "") -> TrialCounts:
    """A task with so many passes among the judged trials, and so many lost ones."""
    return TrialCounts((cluster,) if cluster else (), judged + lost, judged, passed)


@pytest.mark.parametrize("passed", [[4, 0, 2], [1, 1], [3], [0]])
def test_the_share_is_that_of_all_draws(passed: list[int]) -> None:
    for k in range(1, 5):
        draws = [
            all(one < count for one in drawn)
            for count in passed
            for drawn in combinations(range(4), k)
        ]
        found = pass_all([trials(count, 4) for count in passed], k)
        assert found.share == pytest.approx(sum(draws) / len(draws))


def test_each_task_counts_with_its_own_number_of_trials() -> None:
    found = pass_all([trials(2, 4), trials(5, 5), trials(3, 3)], 4)
    assert (found.rows, found.fewer, found.lost) == (2, 1, 0)
    assert found.share == pytest.approx((0 + 1) / 2)
    assert pass_all([trials(3, 5), trials(2, 4)], 2).share == pytest.approx((3 / 10 + 1 / 6) / 2)


def test_lost_trials_are_bounded_and_not_dropped() -> None:
    found = pass_all([trials(2, 2, lost=2), trials(4, 4)], 4)
    assert (found.rows, found.lost, found.share) == (2, 2, None)
    assert (found.lower, found.upper) == (0.5, 1.0)


@pytest.mark.parametrize("lost_failures", [0.0, 0.3])
def test_the_interval_holds_the_truth_also_if_failures_are_lost(lost_failures: float) -> None:
    """With 30 % of the failed trials lost, pass^3 of .16 must not become .30."""
    chance = random.Random(11)
    abilities = (0.2, 0.5, 0.8)
    truth = sum(ability**3 for ability in abilities) / 3
    held = 0
    for _ in range(400):
        tasks = []
        for number in range(40):
            task = TrialCounts((f"task_id={number}",))
            for _ in range(3 + number % 2):
                passed = chance.random() < chance.choice(abilities[number % 3 : number % 3 + 1])
                lost = not passed and chance.random() < lost_failures
                task.add(passed=None if lost else passed)
            tasks.append(task)
        found = pass_all(tasks, 3)
        assert found.interval
        held += found.interval.lower <= truth <= found.interval.upper
    assert held >= 400 * 0.93


def test_the_pass_rate_of_all_trials_has_one_interval() -> None:
    """Next to the rate of 30 rows stood pass^1 of their 10 tasks with wider limits."""
    passed = [0, 1, 3, 3, 2, 3, 3, 3, 1, 3]
    rows = [float(trial < count) for count in passed for trial in range(3)]
    interval = interval_of(rows, [task for task in range(10) for _ in range(3)])
    assert pass_all([trials(count, 3) for count in passed], 1).interval == interval


def test_tasks_of_one_cluster_widen_the_interval() -> None:
    passed = [3 * (number % 20 < 10) for number in range(40)]
    apart = pass_all([trials(one, 3) for one in passed], 3)
    together = pass_all(
        [trials(one, 3, cluster=f"c{place // 5}") for place, one in enumerate(passed)], 3
    )
    assert apart.interval and together.interval
    assert together.interval.lower < apart.interval.lower


def agent_rows(folder: Path, verdicts: Mapping[str, str]) -> None:
    """Runs of tasks: a trial per letter, "+" calls pay, "-" does not, "?" cannot be told."""
    calls = {"+": '{"amount": 1}', "-": '{"amount": 2}', "?": "{not JSON"}
    rows = [
        {
            "id": f"{task}-{trial}",
            "task_id": task,
            "trial": trial,
            "messages": [
                {"role": "user", "content": f"Do {task}."},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "1", "function": {"name": "pay", "arguments": calls[letter]}}
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "done"},
                {"role": "assistant", "content": "Done."},
            ],
        }
        for task, letters in verdicts.items()
        for trial, letter in enumerate(letters, 1)
    ]
    (folder / "runs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "eval.yaml").write_text(
        "data: runs.jsonl\njudges:\n"
        "  - {kind: agent, measures: [forbidden], forbidden: [{pay: {amount: 2}}]}\n"
    )


def shown_and_counted(folder: Path) -> tuple[str, dict[str, Any]]:
    shown = adjudge("run", "eval.yaml", "--run", "run", cwd=folder)
    done = adjudge("run", "eval.yaml", "--run", "run", "--json", cwd=folder)
    (section,) = json.loads(done.stdout)["criteria"]
    (repeats,) = section["repeats"]
    return " ".join(shown.stdout.split()), repeats


def test_one_extra_trial_leaves_the_other_tasks_in(tmp_path: Path) -> None:
    agent_rows(tmp_path, {f"t{number}": "+++" if number else "++++" for number in range(10)})
    shown, repeats = shown_and_counted(tmp_path)
    assert "of 10 tasks 100% (95% interval 68%–100%) pass all 3 times (pass^3)" in shown
    assert (repeats["rows"], repeats["times"]) == (10, 3)
    assert repeats["pass_all"] == {"1": 1.0, "2": 1.0, "3": 1.0, "4": 1.0}
    assert repeats["shares"][3]["rows"] == 1


def test_a_task_with_fewer_trials_is_counted_and_said(tmp_path: Path) -> None:
    agent_rows(tmp_path, {f"t{number}": "++-" if number else "+" for number in range(9)})
    shown, _ = shown_and_counted(tmp_path)
    assert "of 8 tasks 0% (95% interval 0%–37%) pass all 3 times (pass^3); of 9 tasks 70%" in shown
    assert "pass one time; 1 task has fewer than 3 trials and is not in pass^3" in shown


def test_trials_without_a_verdict_leave_the_share_open(tmp_path: Path) -> None:
    agent_rows(tmp_path, {"a": "+++", "b": "++?", "c": "---", "d": "+?-"})
    shown, repeats = shown_and_counted(tmp_path)
    assert "of 4 tasks between 25% and 50% pass all 3 times (pass^3)" in shown
    assert "one time between 50% and 67%" in shown
    assert "2 trials have no verdict and may have passed or failed" in shown
    assert (repeats["incomplete"], repeats["lost"]) == (2, 2)
    assert repeats["pass_all"]["3"] is None


def test_a_sequential_gate_bounds_the_mean_that_it_prints(tmp_path: Path) -> None:
    """Half of the tasks pass once, the others fail four times: 20 % of the rows pass."""
    agent_rows(tmp_path, {f"t{number}": "----" if number % 2 else "+" for number in range(80)})
    done = adjudge(
        *("run", "eval.yaml", "--fail-under", "forbidden=0.3", "--confidence", "0.95"),
        *("--sequential", "--json"),
        cwd=tmp_path,
    )
    (gate,) = json.loads(done.stdout)["gates"]
    assert gate["value"] == pytest.approx(0.2)
    assert gate["lower"] < 0.2 < gate["upper"]
    assert gate["verdict"] != "holds"
    assert done.returncode != 0


@pytest.mark.parametrize("ids", [True, False])
def test_a_repeated_row_passes_when_all_its_answers_do(tmp_path: Path, ids: bool) -> None:
    (tmp_path / "app.py").write_text(
        "from pathlib import Path\n"
        "def app(question):\n"
        "    log = Path(__file__).with_name('log')\n"
        "    with log.open('a') as file: file.write(question)\n"
        "    times = log.read_text().count(question)\n"
        "    if question == 'c' and times > 1: raise ValueError('broken')\n"
        "    return 'good' if question == 'a' or times > 1 else 'bad'\n"
    )
    rows = "id,question\n1,a\n2,b\n3,c\n" if ids else "question\na\nb\nc\n"
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\ntarget: {function: 'app.py:app', name: app, max_concurrency: 1}\n"
        "repeat: 3\nchecks: {contains: good}\n"
    )
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=tmp_path)
    (section,) = json.loads(done.stdout)["criteria"]
    (found,) = section["repeats"]
    assert (found["system"], found["rows"], found["incomplete"]) == ("app", 3, 1)
    once, _, every = found["shares"]
    assert (once["lower"], once["upper"]) == pytest.approx((5 / 9, 7 / 9))
    assert (every["lower"], every["upper"], every["lost"]) == pytest.approx((1 / 3, 1 / 3, 2))
    shown = adjudge("run", "eval.yaml", cwd=tmp_path).stdout
    assert "of 3 rows 33% pass all 3 times (pass^3)" in " ".join(shown.split())
    assert "2 answers have no verdict and may have passed or failed" in " ".join(shown.split())


def test_skipped_trials_are_not_taken_for_trials_that_were_never_made(tmp_path: Path) -> None:
    """A third trial without what is expected of it is skipped; the task still has three."""
    agent_rows(tmp_path, {f"t{number}": "+++" for number in range(10)} | {"few": "+"})
    path = tmp_path / "runs.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["id"] not in ("t0-3", "t1-3"):
            row["reference_calls"] = [{"pay": {"amount": 1}}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(
        "data: runs.jsonl\njudges: [{kind: agent, measures: [calls]}]\n"
    )
    shown, repeats = shown_and_counted(tmp_path)
    assert "of 8 tasks" in shown
    assert "1 task has fewer than 3 trials and is not in pass^3" in shown
    assert (
        "2 tasks have trials that were skipped, so fewer than 3 were judged, and are not in "
        "pass^3" in shown
    )
    assert repeats["shares"][2]["fewer"] == 3
