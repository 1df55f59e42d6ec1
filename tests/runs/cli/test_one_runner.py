"""What every command that judges does alike, since one runner does it for all of them: a real
process each time.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge.runs.cli.main import app
from adjudge.runs.exporters.export import to_markdown
from adjudge.runs.folder import run_info
from support import commands

ROWS = "id,question,answer,contexts\na,Q1,one,C1\nb,Q2,two,C2,too,many\nc,Q3,three,C3\n"
PAIRS = (
    "id,question,response_a,response_b\na,Q1,one,eins\nb,Q2,two,zwei,too,many\nc,Q3,three,drei\n"
)
COMMANDS = {
    "check": (ROWS, ("check", "-f", "rows.csv", "--criterion", "It is short.", "-m", "scripted")),
    "judge": (
        ROWS,
        (
            "judge",
            "-f",
            "rows.csv",
            "--criterion",
            "Is it short?",
            "--criterion",
            "Is it true?",
            "-m",
            "scripted",
        ),
    ),
    "compare": (
        PAIRS,
        ("compare", "-f", "rows.csv", "--criterion", "Which is shorter?", "-m", "scripted"),
    ),
    "rag": (ROWS, ("rag", "-f", "rows.csv", "-m", "scripted/2", "-o", "reports")),
}
JUDGMENTS = {"check": 2, "judge": 4, "compare": 2, "rag": 2}


def adjudge(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(*args, cwd=folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_row_is_skipped_and_said_and_the_others_are_judged(tmp_path: Path, name: str) -> None:
    rows, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text(rows)
    done = adjudge(tmp_path, *args, "--run", "kept")
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("skipped rows.csv") == 1
    assert "1 row could not be judged" in done.stderr
    info = run_info(tmp_path / "kept")
    assert (info.rows, info.state) == (JUDGMENTS[name], "complete")
    votes = info.votes
    again = adjudge(tmp_path, *args, "--run", "kept")
    assert again.returncode == 3
    assert run_info(tmp_path / "kept").votes == votes, "nothing is asked twice"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_row_stops_a_run_that_is_to_be_strict(tmp_path: Path, name: str) -> None:
    rows, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text(rows)
    done = adjudge(tmp_path, *args, "--stop-at-bad-row")
    assert done.returncode == 1
    assert "rows.csv" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_wrong_with_the_whole_file_leaves_no_run_folder_behind(
    tmp_path: Path, name: str
) -> None:
    _, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text("id,question\na,Q1\n")
    done = adjudge(tmp_path, *args, "--run", "kept")
    assert done.returncode == 1, done.stdout
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_budget_stops_it_and_the_rest_is_asked_when_it_is_resumed(
    tmp_path: Path, name: str
) -> None:
    rows, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text(rows)
    stopped = adjudge(tmp_path, *args, "--run", "kept", "--max-calls", "1", "-j", "1", "--no-cache")
    assert stopped.returncode == 1
    assert "budget is used up" in stopped.stderr
    assert run_info(tmp_path / "kept").votes == 1
    whole = adjudge(tmp_path, "resume", "kept", "--", "--max-calls", "100")
    assert whole.returncode == 3, whole.stderr
    assert run_info(tmp_path / "kept").rows == JUDGMENTS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_spent_budget_names_the_command_that_resumes_it(tmp_path: Path, name: str) -> None:
    rows, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text(rows)
    stopped = adjudge(
        tmp_path, *args, "--run", "a run", "--max-calls", "1", "--no-cache", "-j", "1"
    )
    assert stopped.returncode == 1
    said = (
        "adjudge: the budget is used up: max_calls=1. Continue with a larger limit: adjudge "
        "resume 'a run' -- --max-calls 2"
    )
    assert stopped.stderr.splitlines()[-1] == said
    unkept = adjudge(tmp_path, *args, "--max-calls", "1", "--no-cache")
    told = unkept.stderr
    assert (
        told.count("Budget of 1 call used up") + told.count("budget is used up: max_calls=1") == 1
    )


@pytest.mark.parametrize("name", [*COMMANDS, "run"])
def test_what_there_is_of_a_kept_run_that_stopped_is_told_and_no_gate_is_decided(
    tmp_path: Path, name: str
) -> None:
    rows, args = COMMANDS.get(name, (ROWS, ("run", "eval.yaml")))
    (tmp_path / "rows.csv").write_text(rows.replace(",too,many", ""))
    judges = [{"kind": "direct", "criteria": "Is it short?"}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    bar = "response_a=0.5" if name == "compare" else "0.5"
    calls = {"rag": "6", "judge": "4", "compare": "2"}.get(name, "1")
    if "-o" in args:  # an output is named once
        place = args.index("-o")
        args = (*args[:place], *args[place + 2 :])
    stopped = adjudge(
        tmp_path,
        *args,
        "--run",
        "kept",
        "--max-calls",
        calls,
        "--no-cache",
        "--json",
        "--fail-under",
        bar,
        "-o",
        "out.csv",
    )
    assert (stopped.returncode, bool(stopped.stdout)) == (1, True), stopped.stderr
    found = json.loads(stopped.stdout)
    assert found["results"]
    assert found["notes"][0].startswith(f"Budget of {calls} call")
    assert {gate["verdict"] for gate in found["gates"]} == {"inconclusive"}
    assert found["run"]["state"] == f"the budget is used up: max_calls={calls}"
    advice = f"Continue with a larger limit: adjudge resume kept -- --max-calls {2 * int(calls)}"
    assert stopped.stderr.splitlines()[-1].endswith(advice)
    assert "Undecided" in _page(tmp_path)
    assert not [
        path for path in tmp_path.rglob("*.csv") if path.is_file() and path.name != "rows.csv"
    ], "it is written when whole"


def _page(folder: Path) -> str:
    to_markdown(folder / "kept", folder / "page.md")
    return (folder / "page.md").read_text()


def test_a_run_of_one_row_tells_what_came_of_it(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\na,one\n")
    judges = [{"kind": "direct", "criteria": "Is it short?"}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    assert "Yes 1" in adjudge(tmp_path, "run", "eval.yaml").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_only_to_be_resumed_must_be_there(tmp_path: Path, name: str) -> None:
    rows, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text(rows)
    unnamed = adjudge(tmp_path, *args, "--resume")
    assert (unnamed.returncode, "add --run FOLDER" in unnamed.stderr) == (2, True)
    missing = adjudge(tmp_path, *args, "--resume", "--run", "kept")
    assert (missing.returncode, "kept has no run to resume" in missing.stderr) == (1, True)
    assert not (tmp_path / "kept").exists()
    adjudge(tmp_path, *args, "--run", "kept", "--max-calls", "1", "--no-cache")
    assert adjudge(tmp_path, *args, "--run", "kept", "--resume").returncode == 3
    assert run_info(tmp_path / "kept").rows == JUDGMENTS[name]


def test_an_eval_file_is_resumed_in_the_folder_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\na,one\nb,two\n")
    judges = [{"kind": "aspect", "criteria": "It is short."}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    assert (
        "runs/eval has no run to resume" in adjudge(tmp_path, "run", "eval.yaml", "--resume").stderr
    )
    stopped = adjudge(tmp_path, "run", "eval.yaml", "--max-calls", "1")
    assert (
        "max_calls=1. Continue with a larger limit: adjudge resume runs/eval --"
        in stopped.stderr.splitlines()[-1]
    )
    assert adjudge(tmp_path, "run", "eval.yaml", "--resume").returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_asks_nothing_and_keeps_nothing(tmp_path: Path, name: str) -> None:
    rows, args = COMMANDS[name]
    (tmp_path / "rows.csv").write_text(rows)
    done = adjudge(tmp_path, *args, "--run", "kept", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"judgments: {JUDGMENTS[name]}" in done.stdout
    assert done.stderr.splitlines()[0].startswith("skipped rows.csv, line 3")
    assert "1 row could not be judged" in done.stderr
    assert not (tmp_path / "kept").exists()


def test_a_file_in_another_encoding_is_read_when_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\na,Größe\n", encoding="cp1252")
    done = adjudge(
        tmp_path,
        "check",
        "-f",
        "rows.csv",
        "--criterion",
        "It is.",
        "-m",
        "scripted",
        "--encoding",
        "cp1252",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["id"] == "a"


def test_the_judges_of_a_command_are_filed_as_they_always_were(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,question,answer,contexts\na,Q1,one,C1\n")
    labels = {"check": "AspectCritic", "judge": "DirectJudge", "rag": "RagEvaluator"}
    for name, label in labels.items():
        assert adjudge(tmp_path, *COMMANDS[name][1], "--run", name).returncode == 0
        assert list(run_info(tmp_path / name).judges) == [label]


def test_a_gate_on_comparisons_is_refused_before_anything_is_asked() -> None:
    done = adjudge(
        Path.cwd(),
        "compare",
        "a",
        "b",
        "--criterion",
        "Which?",
        "-m",
        "scripted",
        "--fail-under",
        "0.5",
    )
    assert done.returncode == 2
    assert "it compares responses" in done.stderr


@pytest.mark.parametrize(
    ("flag", "code"), [((), 3), (("--skip-bad-rows",), 3), (("--stop-at-bad-row",), 1)]
)
def test_the_command_line_says_what_becomes_of_bad_rows_of_an_eval_file(
    tmp_path: Path, flag: tuple[str, ...], code: int
) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    judges = [{"kind": "aspect", "criteria": "It is short."}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    assert adjudge(tmp_path, "run", "eval.yaml", *flag).returncode == code


def test_prices_of_one_command_are_not_those_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.yaml").write_text("scripted: {input: 1, output: 2}\n")
    for before in ({}, {"ADJUDGE_PRICES": "mine.yaml"}):
        monkeypatch.delenv("ADJUDGE_PRICES", raising=False)
        for name, value in before.items():
            monkeypatch.setenv(name, value)
        words = [
            "check",
            "Turn left.",
            "--criterion",
            "Is it clear?",
            "-m",
            "scripted",
            "--prices",
            str(tmp_path / "prices.yaml"),
        ]
        assert not CliRunner().invoke(app, words).exception
        assert os.environ.get("ADJUDGE_PRICES") == before.get("ADJUDGE_PRICES")


def test_a_run_costs_the_same_wherever_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "prices.yaml").write_text("scripted: {input: 1000, output: 2000}\n")
    judges = [{"kind": "aspect", "criteria": "It is short."}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    dear = ("run", "eval.yaml", "--prices", "prices.yaml", "--json")
    spent = adjudge(tmp_path, *dear, "--max-usd", "0.0001", "--run", "stopped")
    assert (spent.returncode, "max_usd" in spent.stderr) == (1, True)
    cost = json.loads(adjudge(tmp_path, *dear).stdout)["summary"]["cost_usd"]
    assert cost > 0
    again = json.loads(adjudge(tmp_path, "run", "eval.yaml", "--json").stdout)
    shown = json.loads(adjudge(tmp_path, "runs", "show", "runs/eval", "--json").stdout)
    listed = json.loads(adjudge(tmp_path, "runs", "list", "--json").stdout)
    assert {again["summary"]["cost_usd"], shown["summary"]["cost_usd"]} == {cost}
    assert [one["cost_usd"] for one in listed["results"]] == [cost]


def test_a_run_that_keeps_no_prices_is_counted_by_the_projects(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    judges = [{"kind": "aspect", "criteria": "It is short."}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    begun = adjudge(tmp_path, "run", "eval.yaml", "--max-calls", "1")
    assert (begun.returncode, "max_calls" in begun.stderr) == (1, True)
    (tmp_path / "own.yaml").write_text("scripted: {input: 1000, output: 2000}\n")
    (tmp_path / "adjudge.toml").write_text('prices = "own.yaml"\n')
    again = adjudge(tmp_path, "run", "eval.yaml", "--json")
    assert json.loads(again.stdout)["summary"]["cost_usd"] > 0


@pytest.mark.parametrize(
    "words",
    [
        ("attack", "eval.yaml", "--sample", "2"),
        ("bench", "rows.csv", "--human", "ann", "--criterion", "Short?", "-m", "scripted"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_counts_by_the_projects_prices(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "rows.csv").write_text("id,response,ann\na,one,Yes\nb,two,No\n")
    judges = [{"kind": "aspect", "criteria": "It is short."}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "rows.csv", "models": ["scripted"], "judges": judges})
    )
    (tmp_path / "own.yaml").write_text("scripted: {input: 1000, output: 2000}\n")
    (tmp_path / "adjudge.toml").write_text('prices = "own.yaml"\n')
    done = adjudge(tmp_path, *words, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["cost_usd"]["upper"] > 0


def test_a_resumed_run_counts_the_answers_of_its_target_by_the_prices_it_keeps(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows.csv").write_text("id,question\na,Q1\nb,Q2\nc,Q3\n")
    (tmp_path / "prices.yaml").write_text("scripted: {input: 1000, output: 2000}\n")
    (tmp_path / "ask.txt").write_text("{question}")
    asked = {"target": {"model": "scripted", "prompts": ["ask.txt"]}, "data": "rows.csv"}
    judges = [{"kind": "aspect", "criteria": "It is short."}]
    (tmp_path / "eval.yaml").write_text(
        json.dumps({**asked, "models": ["scripted"], "judges": judges})
    )
    run = ("run", "eval.yaml", "--yes")
    adjudge(tmp_path, *run, "--prices", "prices.yaml", "--max-calls", "2")
    done = adjudge(tmp_path, *run, "-o", "out.jsonl")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["input"]["cost"] > 0 for row in rows] == [True] * 3
