"""Trials of one task count as one unit, for every kind of judge and in every interval."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.folder import records_of
from adjudge.runs.results.score_slices import score_slices_by_judge
from support.commands import adjudge

EVAL = """\
data: {path: runs.jsonl, as: chat}
models: own.py:says
checks: [{contains: good, name: good}]
judges:
  - {kind: aspect, name: whole, per: trajectory, criteria: The run is good.}
  - {kind: aspect, name: answer, criteria: The answer is good.}
  - {kind: agent, measures: [forbidden], forbidden: [refund]}
"""
LIMITS = "gates: {fail_under: 0.66, confidence: 0.95}\n"
OWN = """\
def says(prompt):
    return "PASS" if "this is good" in prompt else "FAIL"
"""


def write_trials(folder: Path, is_good: Callable[[int], bool], *, tasks: int = 12) -> None:
    """Ten trials per task, all trials of a task alike; every trial is a conversation of its own."""
    rows = []
    for task in range(tasks):
        tool, text = ("cancel", "this is good") if is_good(task) else ("refund", "this is bad")
        for trial in range(1, 11):
            call = {"id": "c", "function": {"name": tool, "arguments": "{}"}}
            rows.append(
                {
                    "id": f"{task}-{trial}",
                    "task_id": f"t{task}",
                    "trial": trial,
                    "talk": f"{task}/{trial}",
                    "tool": "orders",
                    "messages": [
                        {"role": "user", "content": f"Cancel order {task}."},
                        {"role": "assistant", "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "c", "content": "ok"},
                        {"role": "assistant", "content": f"Order {task}: {text}, try {trial}."},
                    ],
                }
            )
    (folder / "runs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "own.py").write_text(OWN, encoding="utf-8")


def sections(folder: Path, *options: str, judges: str = EVAL + LIMITS) -> dict[str, Any]:
    (folder / "eval.yaml").write_text(judges, encoding="utf-8")
    done = adjudge("run", "eval.yaml", "--json", *options, cwd=folder)
    found = json.loads(done.stdout)
    return {one["criteria"]: one for one in found["criteria"]} | {"gates": found["gates"]}


@pytest.mark.parametrize("options", [(), ("--sequential",), ("--cluster", "talk")])
def test_all_kinds_of_judges_have_the_interval_of_tasks(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    write_trials(tmp_path, lambda task: task % 4 != 0)
    found = sections(tmp_path, *options)
    intervals = [found[name]["interval"] for name in ("good", "whole", "answer", "forbidden")]
    assert intervals[0]["lower"] < 0.5
    assert intervals == [intervals[0]] * 4
    limits = {(gate["lower"], gate["upper"], gate["verdict"]) for gate in found["gates"]}
    assert len(limits) == 1 and {verdict for *_, verdict in limits} == {"inconclusive"}


def test_aspects_and_checks_of_trials_have_pass_all(tmp_path: Path) -> None:
    write_trials(tmp_path, lambda task: task % 4 != 0)
    found = sections(tmp_path)
    shares = [found[name]["repeats"] for name in ("good", "whole", "answer", "forbidden")]
    assert shares[0][0]["pass_all"]["10"] == 0.75
    assert shares == [shares[0]] * 4


def test_two_runs_are_compared_by_task(tmp_path: Path) -> None:
    """Three of twelve tasks got worse: 30 rows, but three units, which cannot tell."""
    write_trials(tmp_path, lambda _: True)
    sections(tmp_path, "--run", "one")
    write_trials(tmp_path, lambda task: task > 2)
    found = sections(tmp_path, "--run", "two", "--not-worse-than", "one", judges=EVAL)
    assert [gate["verdict"] for gate in found["gates"]] == ["inconclusive"] * 4
    done = adjudge("runs", "diff", "one", "two", "--json", cwd=tmp_path)
    for one in json.loads(done.stdout)["comparisons"]:
        assert (one["independent"], one["outcome"]) == (12, "cannot tell")


def test_slices_take_trials_together(tmp_path: Path) -> None:
    """Seven tasks are too few units for an interval, though they have 70 rows."""
    write_trials(tmp_path, lambda task: task % 2 == 0, tasks=7)
    sections(tmp_path, "--run", "one")
    records = list(records_of(tmp_path / "one"))
    for slices in score_slices_by_judge(records, "tool", (), {}):
        (only,) = slices.slices
        assert (only.rows, only.interval) == (70, None)


def write_groups(folder: Path, cells: list[str]) -> None:
    """Four rows per group, all alike."""
    rows = [f"r{n},{'good' if n % 8 < 4 else 'bad'} {n},{cell}" for n, cell in enumerate(cells)]
    text = "\n".join(("id,response,talk", *rows)) + "\n"
    (folder / "rows.csv").write_text(text, encoding="utf-8")
    (folder / "eval.yaml").write_text(
        "data: rows.csv\nchecks: [{contains: good, name: good}]\n"
        "gates: {fail_under: 0.1, confidence: 0.95, cluster: talk}\n",
        encoding="utf-8",
    )


def limits(folder: Path, run: str) -> tuple[float, float]:
    done = adjudge("run", "eval.yaml", "--json", "--run", run, cwd=folder)
    (gate,) = json.loads(done.stdout)["gates"]
    return gate["lower"], gate["upper"]


def test_blanks_around_a_group_do_not_matter(tmp_path: Path) -> None:
    write_groups(tmp_path, [f"c{n // 4}" for n in range(80)])
    plain = limits(tmp_path, "one")
    write_groups(tmp_path, [f"{' ' * (n % 2)}c{n // 4}{' ' * (n % 3)}" for n in range(80)])
    assert limits(tmp_path, "two") == plain


def test_rows_without_a_group_are_counted(tmp_path: Path) -> None:
    note = "3 rows have no value in the column 'talk'; each counts as a separate group"
    write_groups(tmp_path, ["", " ", "", *(f"c{n // 4}" for n in range(77))])
    for run in ("one", "two"):
        done = adjudge("run", "eval.yaml", "--run", run, "--no-cache", cwd=tmp_path)
        assert note in " ".join(done.stdout.split())
    text = (tmp_path / "rows.csv").read_text(encoding="utf-8")
    (tmp_path / "rows.csv").write_text(text.replace("good 8,", "bad 8,"), encoding="utf-8")
    adjudge("run", "eval.yaml", "--run", "three", cwd=tmp_path)
    done = adjudge("runs", "diff", "one", "three", "--cluster", "talk", cwd=tmp_path)
    assert note in " ".join(done.stdout.split())
