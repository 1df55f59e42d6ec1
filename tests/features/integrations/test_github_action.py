"""The composite action: what it declares, and what its steps do when they are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
EVAL = """\
data: rows.csv
judges: [{kind: aspect, name: dates, criteria: Names a date.}]
gates: {fail_under: 0.9}
"""


def script(name: str) -> str:
    (found,) = (step["run"] for step in STEPS if step.get("name") == name)
    return str(found)


def bash(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As GitHub runs a step, with the command that a user would have installed."""
    shim = folder / "bin"
    shim.mkdir(exist_ok=True)
    (shim / "adjudge").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m adjudge "$@"\n', encoding="utf-8"
    )
    (shim / "adjudge").chmod(0o755)
    own = {**os.environ, "PATH": f"{shim}:{os.environ['PATH']}", **environment}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, check=False)


def test_every_input_that_is_used_is_declared_and_the_other_way_round() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == set(ACTION["inputs"])
    assert list(ACTION["inputs"]) == [
        "eval-file",
        "model",
        "max-usd",
        "baseline",
        "comment",
        "fail-on",
        "artifact-name",
        "version",
    ]
    assert list(ACTION["outputs"]) == ["score", "lower", "upper", "verdict", "cost", "report-path"]


def test_no_text_of_others_becomes_part_of_a_script() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", ""), step
        assert "run" not in step or step["shell"] == "bash"


def test_the_repository_uses_its_own_action_with_inputs_that_it_has() -> None:
    workflow = yaml.safe_load(
        (ROOT / ".github" / "workflows" / "adjudge.yml").read_text(encoding="utf-8")
    )
    (step,) = (step for step in workflow["jobs"]["judge"]["steps"] if step["uses"] == "./")
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert (ROOT / step["with"]["eval-file"]).is_file()
    assert workflow["permissions"] == {"contents": "read"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_steps_judge_report_and_decide(tmp_path: Path) -> None:
    tmp_path.joinpath("rows.csv").write_text("answer\none\ntwo\n", encoding="utf-8")
    tmp_path.joinpath("eval.yaml").write_text(EVAL, encoding="utf-8")
    outputs = tmp_path / "outputs"
    given = {
        "EVAL_FILE": "eval.yaml",
        "MODEL": "scripted/FAIL",
        "MAX_USD": "",
        "COMMENT": "true",
        "FROM_FORK": "false",
    }
    done = bash(tmp_path, script("Judge"), GITHUB_OUTPUT=str(outputs), **given)
    assert done.returncode == 0, done.stderr
    assert "::error file=eval.yaml,line=2" in done.stdout
    assert "verdict=failed\n" in outputs.read_text(encoding="utf-8")
    assert (
        (tmp_path / ".adjudge" / "summary.md")
        .read_text(encoding="utf-8")
        .startswith("<!-- adjudge -->")
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_spent_budget_is_reported_and_decides_no_gate(tmp_path: Path) -> None:
    tmp_path.joinpath("rows.csv").write_text("answer\none\ntwo\nthree\n", encoding="utf-8")
    tmp_path.joinpath("eval.yaml").write_text(EVAL + "budget: {max_calls: 1}\n", encoding="utf-8")
    outputs = tmp_path / "outputs"
    given = {"EVAL_FILE": "eval.yaml", "MODEL": "scripted/PASS", "MAX_USD": "", "COMMENT": "true"}
    done = bash(
        tmp_path, script("Judge"), GITHUB_OUTPUT=str(outputs), FROM_FORK="", BASELINE="", **given
    )
    assert done.returncode == 0, done.stderr
    assert "stopped=true\n" in outputs.read_text(encoding="utf-8")
    assert (tmp_path / ".adjudge" / "summary.md").is_file()
    decided = bash(tmp_path, script("Decide"), FAIL_ON="failed", VERDICT="", STOPPED="true")
    assert decided.returncode == 1
    assert "stopped before its end" in decided.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_fork_is_not_compared_with_another_judges_run(tmp_path: Path) -> None:
    tmp_path.joinpath("eval.yaml").write_text("data: nowhere.csv\njudges: []\n", encoding="utf-8")
    baseline = tmp_path / ".adjudge" / "baseline"
    baseline.mkdir(parents=True)
    given = {"EVAL_FILE": "eval.yaml", "MODEL": "x", "MAX_USD": "", "COMMENT": "false"}
    done = bash(tmp_path, script("Judge"), FROM_FORK="true", BASELINE="main", **given)
    assert "not compared with the run of main" in done.stdout
    assert not baseline.exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("fail_on", "verdict", "code"),
    [
        ("failed", "failed", 1),
        ("failed", "inconclusive", 0),
        ("inconclusive", "inconclusive", 1),
        ("never", "failed", 0),
        ("x", "", 1),
    ],
)
def test_what_fails_the_step_is_for_the_user_to_say(
    tmp_path: Path, fail_on: str, verdict: str, code: int
) -> None:
    assert bash(tmp_path, script("Decide"), FAIL_ON=fail_on, VERDICT=verdict).returncode == code
