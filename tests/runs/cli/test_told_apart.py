"""What looks alike and is not: models of one server, names nearly right, files elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjudge import AspectCritic, Budget, DirectJudge
from adjudge.errors import BudgetSpent, SetupError
from adjudge.runs.model_overrides import _short_names
from support.commands import adjudge


@pytest.mark.parametrize(
    ("said", "near"), [("concisness", "conciseness"), ("Coherance?", "coherence")]
)
def test_a_word_that_is_nearly_a_name_is_refused_with_that_name(said: str, near: str) -> None:
    with pytest.raises(SetupError, match=f"did you mean '{near}'"):
        AspectCritic(said, models="scripted/PASS")
    for command in (["check"], ["judge"]):
        done = adjudge(*command, "--criterion", said, "a text", "-m", "scripted/PASS")
        assert done.returncode in (1, 2)
        assert f"did you mean '{near}'" in done.stderr
    with pytest.raises(SetupError, match="did you mean 'conciseness'"):
        DirectJudge("scripted/Yes").evaluate(["a"], "concisness")
    assert DirectJudge("scripted/Yes").evaluate(["a"], "Funny?")[0].option == "Yes"


def test_a_spent_budget_gives_what_it_bought() -> None:
    with pytest.raises(BudgetSpent) as spent:
        DirectJudge("scripted/Yes").evaluate(
            ["a", "b", "c"], "Is it fine?", budget=Budget(max_calls=2)
        )
    assert {number: one.option for number, one in spent.value.results.items()} == {  # type: ignore[attr-defined]
        0: "Yes",
        1: "Yes",
    }


def test_models_of_one_server_are_called_by_their_names() -> None:
    server = "http://127.0.0.1:8000/v1"
    assert _short_names([f"{server}#a", f"{server}#b"]) == ["a", "b"]
    assert _short_names([f"{server}#a", "openai/gpt"]) == ["a", "openai/gpt"]
    same = ["http://one/v1#a", "http://two/v1#a"]
    assert _short_names(same) == same


FIVE = """
data: rows.csv
models: [scripted/PASS]
judges:
  - kind: aspect
    criteria: [It is brief., It is polite., It names a number., It has no lists., It is English.]
"""


def test_rows_by_five_criteria_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,response\na,one\nb,two\nc,three\nd,four\n")
    (tmp_path / "eval.yaml").write_text(FIVE)
    environment = {**os.environ, "COLUMNS": "80"}
    shown = adjudge("run", "eval.yaml", cwd=tmp_path, environment=environment).stdout
    (line,) = [one for one in shown.splitlines() if one.startswith("a ")]
    assert line.count("PASS") == 5
    assert max(map(len, shown.splitlines())) <= 80
    done = adjudge(
        *("run", "eval.yaml", "-m", "scripted/PASS", "-m", "scripted/FAIL"),
        cwd=tmp_path,
        environment=environment,
    )
    assert "It is brief. [scripted/FAIL]" in " ".join(done.stdout.split())


def test_an_eval_file_overwrites_nothing_elsewhere_unasked(tmp_path: Path) -> None:
    folder = tmp_path / "evals"
    folder.mkdir()
    (folder / "rows.csv").write_text("id,response\na,one\n")
    (tmp_path / "mine.csv").write_text("precious")
    text = "data: rows.csv\noutputs: [../mine.csv, own.csv]\nchecks: {contains: one}\n"
    (folder / "eval.yaml").write_text(text)
    done = adjudge("run", "eval.yaml", cwd=folder, environment={"ADJUDGE_TRUST": ""})
    assert done.returncode == 1
    assert f"writes  {tmp_path / 'mine.csv'}" in done.stderr
    assert (tmp_path / "mine.csv").read_text() == "precious"
    assert adjudge("run", "eval.yaml", "--yes", cwd=folder).returncode == 0
    assert "precious" not in (tmp_path / "mine.csv").read_text()
