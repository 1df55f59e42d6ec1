"""One run folder, written by a program or by a command: each goes on where the other stopped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, PairwiseJudge
from adjudge.errors import BudgetSpent, RunError
from adjudge.features.rag import RagEvaluator
from adjudge.runs import Budget
from adjudge.runs.folder import run_info
from support import commands

TEXTS = [Instance({"response": f"text {number}"}, id=f"r{number}") for number in range(4)]
PAIRS = [[f"text {number}", f"other {number}"] for number in range(4)]
CHECK = ("check", "-f", "rows.csv", "--criterion", "It is short.", "-m", "scripted")
JUDGE = ("judge", "-f", "rows.csv", "--criterion", "Is it short?", "-m", "scripted")
COMPARE = (
    "compare",
    "-f",
    "pairs.jsonl",
    "--criterion",
    "Which is shorter?",
    "-m",
    "scripted",
    "--order",
    "one",
)
RAG = ("rag", "-f", "rag.csv", "-m", "scripted/2", "--dimensions", "clarity", "-q")
Evaluate = Callable[..., Any]


def _check(**options: Any) -> Any:
    return AspectCritic("It is short.", "scripted", name="It is short.").evaluate(TEXTS, **options)


def _judge(**options: Any) -> Any:
    return DirectJudge("scripted").evaluate(TEXTS, "Is it short?", **options)


def _compare(**options: Any) -> Any:
    return PairwiseJudge("scripted").evaluate(PAIRS, "Which is shorter?", **options)


def _rag(**options: Any) -> Any:
    return RagEvaluator("scripted/2", dimensions=["clarity"]).evaluate("rag.csv", **options)


WAYS = {
    "check": (CHECK, _check),
    "judge": (JUDGE, _judge),
    "compare": (COMPARE, _compare),
    "rag": (RAG, _rag),
}


@pytest.fixture(autouse=True)
def _rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = range(len(TEXTS))
    (tmp_path / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{number},text {number}\n" for number in numbers)
    )
    (tmp_path / "rag.csv").write_text(
        "question,answer,contexts\n" + "".join(f"Q{number},text {number},C\n" for number in numbers)
    )
    pairs = [json.dumps({"response_a": one, "response_b": other}) for one, other in PAIRS]
    (tmp_path / "pairs.jsonl").write_text("\n".join(pairs) + "\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", WAYS)
def test_a_command_goes_on_with_what_a_program_began(tmp_path: Path, name: str) -> None:
    words, evaluate = WAYS[name]
    with pytest.raises(BudgetSpent):
        evaluate(run="kept", budget=Budget(max_calls=2))
    assert run_info("kept").votes == 2
    done = commands.adjudge(*words, "--run", "kept", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (run_info("kept").votes, run_info("kept").state) == (4, "complete")


@pytest.mark.parametrize("name", WAYS)
def test_a_program_goes_on_with_what_a_command_began(tmp_path: Path, name: str) -> None:
    words, evaluate = WAYS[name]
    stopped = commands.adjudge(*words, "--run", "kept", "--max-calls", "2", cwd=tmp_path)
    assert stopped.returncode == 1, stopped.stderr
    assert len(evaluate(run="kept")) == 4
    info = run_info("kept")
    assert (info.votes, info.state) == (4, "complete")
    assert (
        commands.adjudge("resume", "kept", "--", "--max-calls", "4", cwd=tmp_path).returncode == 0
    )


@pytest.mark.parametrize("name", WAYS)
def test_both_folders_are_shown_exported_and_compared_alike(tmp_path: Path, name: str) -> None:
    words, evaluate = WAYS[name]
    evaluate(run="program")
    commands.adjudge(*words, "--run", "command", cwd=tmp_path)
    for folder in ("program", "command"):
        assert commands.adjudge("export", folder, "--to", "csv", cwd=tmp_path).returncode == 0
    shown = [
        _figures(commands.adjudge("runs", "show", folder, cwd=tmp_path).stdout)
        for folder in ("program", "command")
    ]
    assert shown[0] == shown[1]
    diff = json.loads(
        commands.adjudge("runs", "diff", "program", "command", "--json", cwd=tmp_path).stdout
    )
    assert diff["settings"] == []
    assert diff["summary"] == {"compared": 4, "changed": 0, "only_in_one": 0, "only_in_two": 0}


@pytest.mark.parametrize("called", ["criterion", "aspect"])
def test_a_check_goes_on_with_a_run_that_calls_its_criterion_otherwise(
    tmp_path: Path, called: str
) -> None:
    AspectCritic("It is short.", "scripted", name=called).evaluate(TEXTS, run="kept")
    done = commands.adjudge(*CHECK, "--run", "kept", "--fail-under", "0.5", cwd=tmp_path)
    assert (done.returncode, run_info("kept").votes) == (0, 4), done.stderr
    assert f"mean score of {called} (judge AspectCritic)" in done.stderr
    compared = commands.adjudge(*CHECK, "--run", "other", "--not-worse-than", "kept", cwd=tmp_path)
    assert compared.returncode == 0, compared.stderr
    assert (
        f"Gate passed: nothing changed for {called} (judge AspectCritic): all 4 judged answers are "
        "the same as in kept, with the same results."
    ) in compared.stderr


def test_a_check_is_called_by_what_it_asks(tmp_path: Path) -> None:
    done = commands.adjudge(*CHECK, "--fail-under", "0.5", cwd=tmp_path)
    assert "mean score of It is short. (judge AspectCritic)" in done.stderr


def _figures(shown: str) -> str:
    """What it came to and what it took: a program's rows have no file to be named by, and its
    responses no columns.
    """
    shown = shown.replace("response_a", "response 1").replace("response_b", "response 2")
    tables = re.findall(r"^(?:criterion|system|dimension) .*?\n\n", shown, re.S | re.M)
    (cost,) = re.findall(r"^Cost .*$", shown, re.M)
    return "".join((*tables, cost))


def test_self_consistency_is_the_same_however_its_votes_are_said() -> None:
    DirectJudge("scripted", self_consistency=True).evaluate(["a text"], "Is it short?", run="kept")
    DirectJudge("scripted", self_consistency=3).evaluate(["a text"], "Is it short?", run="kept")
    with pytest.raises(RunError, match="self_consistency"):
        DirectJudge("scripted", self_consistency=1).evaluate(["a text"], "Is it short?", run="kept")
