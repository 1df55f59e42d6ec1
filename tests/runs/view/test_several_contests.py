"""Comparisons by several judges: every figure says whose it is."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge import PairwiseJudge, ScriptedModel
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import PairwiseInstance
from adjudge.runs.exporters.github import GithubReport
from support.commands import adjudge


def test_each_table_of_wins_names_its_criterion(tmp_path: Path) -> None:
    """Two tables stood one below the other and nothing said which was which."""
    criteria = [Criteria("clarity", "Which is clearer?"), Criteria("length", "Which is longer?")]

    def says(prompt: str) -> str:
        option = "A" if "clearer" in prompt else "B"
        return f'{{"explanation": "so", "selected_option": "{option}"}}'

    rows = [PairwiseInstance(responses=["one", f"two {place}"]) for place in range(10)]
    run = tmp_path / "run"
    PairwiseJudge(ScriptedModel(lambda request: says(request.prompt.text))).evaluate(
        rows * 2, [criteria[0]] * 10 + [criteria[1]] * 10, run=run
    )
    shown = " ".join(adjudge("runs", "show", run).stdout.split())
    assert "clarity wins ties losses" in shown and "length wins ties losses" in shown
    assert "system wins" not in shown
    summary = GithubReport(run).summary()
    assert "Who won: clarity" in summary and "Who won: length" in summary
    assert "clarity: response 1: win rate 1.00" in summary
    assert "length: response 2: win rate 1.00" in summary


def test_three_systems_of_which_two_are_close_are_not_all_too_close(tmp_path: Path) -> None:
    """The third loses everything: only the first place is open."""

    def ranks(prompt: str) -> str:
        letters = "ABC" if "even" in prompt else "BAC"
        return f'{{"explanation": "so", "ranking": {json.dumps(list(letters))}}}'

    rows = [
        PairwiseInstance(responses=[f"{['even', 'odd'][place % 2]} {place}", "two", "three"])
        for place in range(20)
    ]
    run = tmp_path / "run"
    model = ScriptedModel(lambda request: ranks(request.prompt.text))
    PairwiseJudge(model).evaluate(rows, Criteria("clarity", "Which is clearer?"), run=run)
    shown = " ".join(adjudge("runs", "show", run).stdout.split())
    assert "No system is clearly ahead of all others." in shown
    assert "Too close to call" not in shown
    adjudge("export", run, "-o", tmp_path / "run.html")
    assert "No system is clearly ahead of all others" in (tmp_path / "run.html").read_text()
    adjudge("export", run, "-o", tmp_path / "run.md")
    assert "No system is clearly ahead of all others" in (tmp_path / "run.md").read_text()
