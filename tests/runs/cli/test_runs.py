"""``adjudge run``, ``resume``, ``runs`` and ``export``, as a person and a script see them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.runs.folder import run_info
from support import commands
from support.asking import wait_until
from support.fake_provider import KEY, FakeProvider


def adjudge(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(
        *args, cwd=cwd, environment={**os.environ, "COLUMNS": "120", **environment}
    )


EVAL = """
data: rows.csv
models: [{model}]
judges:
  - kind: aspect
    name: dates
    criteria: The response gives a date.
    strictness: {strictness}
    seed: 1
  - {{kind: direct, name: kind, criteria: ["Is it kind?", "Is it short?"]}}
run: runs/one
outputs: [out/results.csv, out/results.jsonl, out/report.md, out/report.html]
{more}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rows = "".join(
        f"r{number},REC-{number:05}-{'N' if number % 3 == 0 else 'Y'}\n" for number in range(12)
    )
    (tmp_path / "rows.csv").write_text("id,answer\n" + rows)
    write(tmp_path)
    return tmp_path


def write(project: Path, model: str = "scripted", strictness: int = 1, more: str = "") -> None:
    (project / "eval.yaml").write_text(EVAL.format(model=model, strictness=strictness, more=more))


def test_an_eval_file_is_carried_out_and_written_out(project: Path) -> None:
    done = adjudge("run", "eval.yaml", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["r0", "✓", "PASS", "Yes", "1.00", "Yes", "1.00"] in lines
    assert ["dates", "100%", "pass", "72%–100%", "12", "PASS", "12"] in lines
    mean = ["mean", "1.000", "0.72–1.00", "12"]
    assert ["kind:", "Is", "it", "kind?", *mean, "Yes", "12"] in lines
    assert ["Report", "out/results.csv"] in lines
    assert ["Next", "adjudge", "view", "runs/one"] in lines
    assert run_info(project / "runs/one").judges == {
        "dates": {"scored": 12},
        "kind": {"scored": 24},
    }
    assert len((project / "out/results.jsonl").read_text().splitlines()) == 36
    assert (project / "out/results.csv").read_text(encoding="utf-8-sig").startswith("answer,")
    assert "<!doctype html>" in (project / "out/report.html").read_text()


def test_a_budget_stops_it_and_resume_goes_on(project: Path) -> None:
    stopped = adjudge("run", "eval.yaml", "--max-calls", "5", cwd=project)
    assert stopped.returncode == 1
    assert (
        "max_calls=5. Continue with a larger limit: adjudge resume runs/one -- --max-calls 10"
    ) in stopped.stderr
    assert run_info(project / "runs/one").votes == 5
    again = adjudge("resume", str(project / "runs/one"), cwd=Path("/"))
    assert again.returncode == 1
    done = adjudge("resume", str(project / "runs/one"), "--", "--max-calls", "100", cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    assert run_info(project / "runs/one").votes == 36


def test_bad_rows_are_told_of_and_the_rest_is_judged(project: Path) -> None:
    with (project / "rows.csv").open("a") as file:
        file.write("x,too,many\n")
    done = adjudge("run", "eval.yaml", cwd=project)
    assert done.returncode == 3
    assert "rows.csv, line 14" in done.stderr
    assert "1 row could not be judged" in done.stderr
    write(project, more="on_bad_row: stop")
    stopped = adjudge("run", "eval.yaml", "--run", "runs/strict", cwd=project)
    assert stopped.returncode == 1
    assert "rows.csv, line 14" in stopped.stderr


@pytest.mark.parametrize(
    ("model", "more", "code"),
    [
        ("scripted", "gates: {fail_under: 0.5}", 0),
        ("scripted/huh", "gates: {max_failed: 0.5}", 4),
        ("scripted/huh", "gates: {fail_under: 0.5}", 5),
        ("scripted/FAIL", "gates: {fail_under: 0.5}", 4),
        ("scripted/huh", "", 3),
    ],
)
def test_gates_decide_the_exit_code(project: Path, model: str, more: str, code: int) -> None:
    one_judge = "\n".join(line for line in EVAL.splitlines() if "kind: direct" not in line)
    (project / "eval.yaml").write_text(one_judge.format(model=model, strictness=1, more=more))
    assert adjudge("run", "eval.yaml", cwd=project).returncode == code


def test_a_dry_run_asks_nothing_and_says_what_it_would_take(
    project: Path, provider: FakeProvider
) -> None:
    write(
        project, model=f"{{model: openai/gpt-4o-mini, base_url: '{provider.base_url('openai')}'}}"
    )
    done = adjudge("run", "eval.yaml", "--dry-run", cwd=project, OPENAI_API_KEY="")  # nor a key
    assert done.returncode == 0, done.stderr
    assert "calls: 36 to 39" in done.stdout
    refused = adjudge("run", "eval.yaml", cwd=project, OPENAI_API_KEY="")
    assert "eval.yaml, models: openai/gpt-4o-mini needs a key" in refused.stderr
    assert "cost: $0.0" in done.stdout
    assert "prices of 20" in done.stdout
    assert provider.requests == []
    assert not (project / "runs").exists()


def test_a_price_that_is_not_known_is_said(project: Path) -> None:
    write(project, model="'https://models.example.com/v1#m'")
    assert (
        "no price for model 'https://models.example.com/v1#m'"
        in adjudge("run", "eval.yaml", "--dry-run", cwd=project).stdout
    )
    refused = adjudge("run", "eval.yaml", "--max-usd", "1", cwd=project)
    assert refused.returncode == 1
    assert "max_usd cannot be enforced" in refused.stderr
    (project / "prices.yaml").write_text("'https://models.example.com/*': {input: 1, output: 1}")
    assert (
        "cost: $"
        in adjudge("run", "eval.yaml", "--dry-run", "--prices", "prices.yaml", cwd=project).stdout
    )


def test_the_same_request_is_paid_once_across_runs_unless_told_otherwise(
    project: Path, provider: FakeProvider
) -> None:
    write(
        project, model=f"{{model: openai/gpt-4o-mini, base_url: '{provider.base_url('openai')}'}}"
    )
    keys = {"OPENAI_API_KEY": KEY, "ADJUDGE_CACHE": str(project / "cache")}
    for folder, flags in (("a", ()), ("b", ()), ("c", ("--no-cache",))):
        done = adjudge("run", "eval.yaml", "--run", folder, *flags, cwd=project, **keys)
        assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 72
    assert run_info(project / "a").judges == run_info(project / "b").judges


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_gently(
    project: Path, provider: FakeProvider, how: signal.Signals
) -> None:
    provider.latency = 0.5
    write(
        project,
        model=(
            f"{{model: openai/gpt-4o-mini, base_url: '{provider.base_url('openai')}', "
            f"max_concurrency: 2}}"
        ),
    )
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    child = commands.start("run", "eval.yaml", "--no-cache", cwd=project, environment=environment)
    assert wait_until(lambda: len(provider.requests) >= 2, 20)
    child.send_signal(how)
    _, said = child.communicate(timeout=20)
    assert child.returncode == 1
    assert "adjudge resume" in said
    assert run_info(project / "runs/one").votes == len(provider.requests)


@pytest.mark.parametrize("command", ["run", "check", "judge"])
def test_sigterm_ends_it_gently_also_behind_an_ampersand_in_a_script(
    project: Path, provider: FakeProvider, command: str
) -> None:
    """Seen: such a run, whose Ctrl-C the shell ignores, did not end at all; the other commands lost
    what was under way.
    """
    provider.latency = 0.5
    write(
        project,
        model=(
            f"{{model: openai/gpt-4o-mini, base_url: '{provider.base_url('openai')}', "
            f"max_concurrency: 2}}"
        ),
    )
    rows = [
        "-f",
        "rows.csv",
        "--criterion",
        "It is short.",
        "-m",
        "openai/gpt-4o-mini",
        "-j",
        "2",
        "--run",
        "runs/one",
    ]
    words = [command, *(["eval.yaml"] if command == "run" else rows), "--no-cache"]
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", ignoring, sys.executable, "-m", "adjudge", *words],
        cwd=project,
        env={**os.environ, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.base_url("openai")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert wait_until(lambda: len(provider.requests) >= 2, 20)
    child.terminate()
    _, said = child.communicate(timeout=20)
    assert child.returncode == 1
    assert "stopped early: answers so far are in" in said
    assert run_info(project / "runs/one").votes == len(provider.requests) < 36


def test_the_schema_is_printed_for_editors(tmp_path: Path) -> None:
    assert json.loads(adjudge("run", "--schema", cwd=tmp_path).stdout)["type"] == "object"


def test_a_wrong_file_names_the_line_and_the_nearest_key(project: Path) -> None:
    text = (project / "eval.yaml").read_text().replace("models:", "modles:")
    (project / "eval.yaml").write_text(text)
    done = adjudge("run", "eval.yaml", cwd=project)
    assert done.returncode == 1
    assert "line 3" in done.stderr
    assert "models" in done.stderr
    assert adjudge("run", cwd=project).returncode == 2


def test_run_folders_are_listed_shown_compared_and_collected(project: Path) -> None:
    adjudge("run", "eval.yaml", cwd=project)
    adjudge("run", "eval.yaml", "--run", "runs/two", "--limit", "5", cwd=project)
    listed = adjudge("runs", "list", cwd=project).stdout
    assert "runs/one" in listed
    assert "complete" in listed
    assert len(json.loads(adjudge("runs", "list", "--json", cwd=project).stdout)["results"]) == 2
    shown = adjudge("runs", "show", "runs/one", cwd=project).stdout
    assert "12 rows judged by 3 criteria." in shown
    assert ["dates", "100%", "pass", "72%–100%", "12", "PASS", "12"] in [
        line.split() for line in shown.splitlines()
    ]
    assert "adjudge label runs/one" in shown
    assert "strictness" not in shown
    configured = adjudge("runs", "show", "runs/one", "--config", cwd=project).stdout
    assert "      strictness: 1\n" in configured
    assert (
        json.loads(adjudge("runs", "show", "runs/one", "--json", cwd=project).stdout)["run"][
            "votes"
        ]
        == 36
    )
    assert (
        "0 settings and 0 judgments differ"
        in adjudge("runs", "diff", "runs/one", "runs/two", cwd=project).stdout
    )
    assert "would delete runs/two" in adjudge("runs", "gc", "--older-than", "0", cwd=project).stdout
    assert (project / "runs/two/ledger.sqlite").exists()
    adjudge("runs", "gc", "--older-than", "0", "--yes", cwd=project)
    assert not (project / "runs/two").exists()


def test_any_command_may_keep_a_run_and_be_resumed(project: Path) -> None:
    for command in (
        ("check", "-f", "rows.csv", "--criterion", "has a date"),
        ("judge", "-f", "rows.csv", "--criterion", "Is it kind?"),
    ):
        done = adjudge(
            *command,
            "-m",
            "scripted",
            "--run",
            f"kept-{command[0]}",
            "--max-calls",
            "4",
            cwd=project,
        )
        assert done.returncode == 1
        assert "max_calls=4" in done.stderr
        again = adjudge("resume", f"kept-{command[0]}", "--", "--max-calls", "50", cwd=project)
        assert again.returncode == 0, again.stderr
        assert run_info(project / f"kept-{command[0]}").rows == 12


def test_a_run_that_a_program_made_is_gone_on_with_by_the_program(tmp_path: Path) -> None:
    from adjudge import AspectCritic

    AspectCritic("c", "scripted").evaluate(["x"], run=tmp_path / "run")
    done = adjudge("resume", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "run that program again" in done.stderr


def test_export_writes_beside_the_ledger_or_where_it_is_told(project: Path) -> None:
    adjudge("run", "eval.yaml", cwd=project)
    assert (
        "36 judgments written to runs/one/results.csv"
        in adjudge("export", "runs/one", cwd=project).stdout
    )
    assert "36 judgments" in adjudge("export", "runs/one", "-o", "there.html", cwd=project).stdout
    assert (project / "there.html").exists()
    assert adjudge("export", "nowhere", cwd=project).returncode == 1


def test_rows_from_standard_input_are_read_for_every_judge(project: Path) -> None:
    text = (project / "eval.yaml").read_text().replace("data: rows.csv", "data: '-'")
    (project / "eval.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", "run", "eval.yaml"],
        input=(project / "rows.csv").read_text(),
        capture_output=True,
        text=True,
        cwd=project,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert run_info(project / "runs/one").judges == {
        "dates": {"scored": 12},
        "kind": {"scored": 24},
    }


def test_a_stopped_run_does_not_say_that_all_rows_were_judged_by_all_criteria(
    tmp_path: Path,
) -> None:
    rows = "".join(f"text {number}\n" for number in range(8))
    (tmp_path / "rows.csv").write_text(f"answer\n{rows}")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted/PASS\njudges:\n"
        "  - {kind: check, checks: [{words: {most: 6}}]}\n"
        "  - {kind: aspect, name: polite, criteria: It is polite.}\n"
    )
    asked = ("run", "eval.yaml", "--no-cache", "-j", "1", "--max-calls", "3", "--run", "kept")
    adjudge(*asked, cwd=tmp_path)
    shown = adjudge("runs", "show", "kept", cwd=tmp_path).stdout
    assert "11 judgments by 2 criteria, at most 8 rows by one" in shown
