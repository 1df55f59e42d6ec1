"""``adjudge agent`` and ``kind: agent``, as people use them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.features.agents.record import AgentDetail
from adjudge.runs.folder import records_of
from support import commands
from support.agents import MESSAGES

MODEL = """
import json
def judge(prompt):
    cited = [{"step": 3, "quote": "no money left", "absent": None}]
    option = "Not reached" if "Not reached" in prompt else "ignored error"
    return json.dumps({"explanation": "it failed", "evidence": cited, "step": 3,
                       "agent": "assistant", "selected_option": option})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of one task, a policy, expected calls and a model."""
    runs = [
        {"id": f"a{trial}", "task_id": "t", "trial": trial, "messages": MESSAGES}
        for trial in range(3)
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, runs)))
    (tmp_path / "policy.md").write_text("Be kind.\n\nAsk before you pay.\n")
    (tmp_path / "expected.yaml").write_text("t:\n  - pay: {to: Bob, amount: {above: 1}}\n")
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def adjudge(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(*args, cwd=folder)


def write_eval(folder: Path, judges: str, gates: str = "{}") -> Path:
    path = folder / "eval.yaml"
    path.write_text(
        f"data: runs.jsonl\nmodels: [model.py:judge]\njudges:\n{judges}\ngates: {gates}\n"
    )
    return path


def test_rules_need_no_model(folder: Path) -> None:
    done = adjudge(
        folder,
        "agent",
        "runs.jsonl",
        "--measure",
        "calls,calls_f1,steps",
        "--expect",
        "expected.yaml",
    )
    assert done.returncode == 0, done.stderr
    assert "3 rows judged by 3 criteria" in done.stdout
    assert "0 calls" in done.stdout
    assert "pass all 3 times (pass^3)" in done.stdout


def test_without_measures_there_are_rules(folder: Path) -> None:
    done = adjudge(folder, "agent", "runs.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    said = {one["criteria"]: one["mean"] for one in json.loads(done.stdout)["criteria"]}
    assert said["steps"] == 4
    assert said["ended"] == 1


def test_the_number_of_calls_is_said_before(folder: Path) -> None:
    done = adjudge(
        folder,
        "agent",
        "runs.jsonl",
        "--measure",
        "goal,steps",
        "-m",
        "scripted/Reached",
        "--dry-run",
    )
    assert done.returncode == 0, done.stderr
    assert "judgments: 6" in done.stdout
    assert "calls: 1 to 3" in done.stdout, "equal runs are asked once"


def test_one_trajectory_as_a_judge_is_shown_it(folder: Path) -> None:
    done = adjudge(folder, "agent", "runs.jsonl", "--show", "2")
    assert done.returncode == 0, done.stderr
    assert "trajectory 2: a1" in done.stdout
    shown = (
        r'\[step 3 [0-9a-f]{12}\] assistant called pay\(\{"amount":5,"to":"Bob"\}\)\nno money left'
    )
    assert re.search(shown, done.stdout)
    assert adjudge(folder, "agent", "runs.jsonl", "--show", "9").returncode == 2


def test_an_eval_file_with_rules_questions_and_gates(folder: Path) -> None:
    judges = (
        "  - {kind: agent, measures: [calls_f1, unrecovered, goal], expect: expected.yaml,"
        " forbidden: [delete_account, {pay: {amount: {above: 100}}}],"
        " before: [[ask, pay]], ignore: [request_id]}\n"
        "  - {kind: agent, name: why, measures: [blame], only: {goal: Not reached}}"
    )
    path = write_eval(
        folder,
        judges,
        "{fail_under: {goal: 0.8, calls_f1: 0.9}, max: {unrecovered: 0}, cluster: task_id}",
    )
    done = adjudge(folder, "run", str(path), "--yes", "--run", "runs/one")
    assert done.returncode == 4, done.stderr
    said = done.stdout + done.stderr
    assert "Gate failed: mean score of goal" in said
    assert "Gate passed: mean score of calls_f1" in said
    assert "Gate passed: the mean of unrecovered" in said
    kept = list(records_of(folder / "runs" / "one"))
    goal = next(one for one in kept if one.criterion == "goal")
    assert isinstance(goal.detail, AgentDetail)
    assert goal.verdict == "Not reached"
    assert goal.detail.evidence[0]["step"] == 3
    assert goal.detail.evidence[0]["found"] == "proven"
    blame = next(one for one in kept if one.criterion == "blame")
    assert isinstance(blame.detail, AgentDetail)
    assert blame.detail.place == {"step": 3, "agent": "assistant", "paragraph": None}
    calls = sum(one.usage.calls for one in kept)
    assert calls <= 3, "three equal trajectories are one question, and only asks no other"
    again = adjudge(folder, "run", str(path), "--yes", "--run", "runs/one")
    assert again.returncode == 4
    shown = adjudge(folder, "runs", "show", "runs/one")
    assert "unrecovered" in shown.stdout


def test_a_run_of_agents_can_be_measured_again(folder: Path) -> None:
    assert adjudge(folder, "agent", "runs.jsonl", "--run", "runs/one").returncode == 0
    done = adjudge(folder, "agent", "runs/one", "--measure", "steps", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["criteria"][0]["scored"] == 3


def test_other_judges_take_all_steps_as_one_text(folder: Path) -> None:
    judges = "  - {kind: aspect, name: asked, per: trajectory, criteria: It asked before it paid.}"
    path = write_eval(folder, judges)
    path.write_text(
        path.read_text()
        .replace("data: runs.jsonl", "data: {path: runs.jsonl, as: chat}")
        .replace("model.py:judge", "scripted/FAIL")
    )
    done = adjudge(folder, "run", str(path), "--run", "runs/two")
    assert done.returncode == 0, done.stderr
    record = next(iter(records_of(folder / "runs" / "two")))
    assert "[step 3] assistant called pay" in str(record.fields["response"])


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ("{fail_under: {steps: 0.5}}", "fail_under cannot be used for 'steps', which is a count"),
        ("{fail_under: 0.5}", "which is a count"),
        ("{max: {goal: 0}}", "max cannot be used for 'goal'"),
        ("{max: {nothing: 0}}", "nothing"),
    ],
)
def test_gates_that_cannot_hold_are_refused(folder: Path, gates: str, said: str) -> None:
    path = write_eval(folder, "  - {kind: agent, measures: [goal, steps]}", gates)
    done = adjudge(folder, "run", str(path), "--yes")
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nowhere.json"], "nowhere.json"),
        (["policy.md"], "policy.md"),
        (["runs.jsonl", "--measure", "gaol"], "did you mean 'goal'"),
        (["runs.jsonl", "--as", "nonsense"], "nonsense"),
        (["runs.jsonl", "--per", "step", "--measure", "steps"], "per: step needs steps"),
        (["runs.jsonl", "--at-most", "errors"], "NAME=NUMBER"),
    ],
)
def test_mistakes_are_one_line(folder: Path, args: list[str], said: str) -> None:
    done = adjudge(folder, "agent", *args)
    assert done.returncode not in (0, 4)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_in_russian(folder: Path) -> None:
    done = adjudge(
        folder,
        "agent",
        "runs.jsonl",
        "--measure",
        "goal,steps,calls",
        "-m",
        "scripted/Достигнута",
        "--language",
        "ru",
    )
    assert done.returncode == 0, done.stderr
    assert "Достигнута" in done.stdout
    assert "нет значения" in done.stdout


def test_a_gate_on_counts_says_that_no_confidence_is_applied(folder: Path) -> None:
    words = ("agent", "runs.jsonl", "--measure", "errors", "--at-most", "errors=3")
    plain, sure = adjudge(folder, *words), adjudge(folder, *words, "--confidence", "0.95")
    said = "The confidence is not applied, because counts have no limits, only a mean."
    assert (plain.returncode, said in plain.stderr) == (0, False), plain.stderr
    assert (sure.returncode, said in sure.stderr) == (0, True), sure.stderr


def write_calls(folder: Path, *results: tuple[str | None, ...]) -> None:
    """Runs that make one call again and again, with these results; None: not recorded."""
    runs = []
    for number, texts in enumerate(results):
        messages: list[dict[str, object]] = [{"role": "user", "content": "Go."}]
        for place, text in enumerate(texts):
            call = {"id": f"c{place}", "function": {"name": "get", "arguments": "{}"}}
            messages.append({"role": "assistant", "tool_calls": [call]})
            if text is not None:
                messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": text})
        runs.append({"id": f"r{number}", "messages": messages})
    (folder / "calls.jsonl").write_text("\n".join(map(json.dumps, runs)))


@pytest.mark.parametrize(
    ("results", "most", "code", "verdict", "missing"),
    [
        ([("ok",), ("ok", None), ("ok", None, None)], 0, 5, "inconclusive", 2),
        ([("ok",), ("ok", None)], 100, 5, "inconclusive", 1),
        ([("ok", "ok", "ok"), ("ok", None)], 0.9, 4, "failed", 1),
        ([("ok", "ok"), ("ok", None)], 0.9, 5, "inconclusive", 1),
        ([("ok",), (None,), ()], 0, 0, "holds", 0),
    ],
)
def test_a_count_that_nobody_can_tell_passes_no_gate(
    tmp_path: Path,
    results: list[tuple[str | None, ...]],
    most: float,
    code: int,
    verdict: str,
    missing: int,
) -> None:
    write_calls(tmp_path, *results)
    words = ("calls.jsonl", "--measure", "repeats", "--at-most", f"repeats={most}", "--json")
    done = adjudge(tmp_path, "agent", *words)
    assert done.returncode == code, done.stderr
    (gate,) = json.loads(done.stdout)["gates"]
    assert (gate["verdict"], gate["rows"], gate["missing"]) == (verdict, len(results), missing)
    assert ("no value" in gate["message"]) == bool(missing)


def test_a_cost_that_one_run_does_not_record_passes_no_gate(tmp_path: Path) -> None:
    write_calls(tmp_path, ("ok",), ("ok",))
    known, unknown = map(json.loads, (tmp_path / "calls.jsonl").read_text().splitlines())
    rows = ({**known, "usd": 0.1}, unknown)
    (tmp_path / "calls.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("agent", "calls.jsonl", "--measure", "usd", "--at-most", "usd=1", "--json")
    done = adjudge(tmp_path, *words)
    assert done.returncode == 5, done.stderr
    assert json.loads(done.stdout)["gates"][0]["missing"] == 1


def test_a_comparison_of_counts_says_what_its_bounds_rest_on(tmp_path: Path) -> None:
    words = ("agent", "calls.jsonl", "--measure", "repeats", "--id", "id", "--run")
    write_calls(tmp_path, *[("ok",)] * 10)
    assert adjudge(tmp_path, *words, "old").returncode == 0
    write_calls(tmp_path, *[("ok",) * 4] * 10)
    done = adjudge(tmp_path, *words, "new", "--not-worse-than", "old")
    assert done.returncode == 4, done.stderr
    assert "the bounds hold if no row changes by more than 3." in done.stderr
    write_calls(tmp_path, *[("ok",)] * 9, ("ok", None))
    done = adjudge(tmp_path, *words, "unknown", "--not-worse-than", "old", "--margin", "0.5")
    assert done.returncode == 5, done.stderr
    assert "rows without a number in one of the runs could have any count" in done.stderr


def test_resume_holds_counts_to_the_same_most(folder: Path) -> None:
    words = ("agent", "runs.jsonl", "--measure", "steps", "--at-most", "steps=1", "--run", "kept")
    assert adjudge(folder, *words).returncode == 4
    assert adjudge(folder, "resume", "kept").returncode == 4


WITHOUT_LOCAL = """
import sys
sys.modules["onnxruntime"] = None  # as if adjudge[local] were not installed
from adjudge.runs.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("agent", "runs.jsonl", "--measure", "steps"),
        ("check", "hello world", "--contains", "hello"),
    ],
)
def test_rules_run_without_the_embedded_model(folder: Path, words: tuple[str, ...]) -> None:
    argv = [sys.executable, "-c", WITHOUT_LOCAL, *words]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
