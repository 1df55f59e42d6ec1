"""Run folders as readers see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, RunError, ScriptedModel
from adjudge.domain.criteria import yes_no_criteria
from adjudge.runs.folder import find_runs, judgments, knows, run_differences, run_info


def made(folder: Path, texts: list[str], script: Any = None, **settings: Any) -> Path:
    AspectCritic("c", ScriptedModel(script), **settings).evaluate(texts, run=folder)
    return folder


def test_a_run_at_a_glance(tmp_path: Path) -> None:
    said = ['{"selected_option": "PASS"}', '{"selected_option": "FAIL"}', "what?", "what?", "what?", "what?"]
    info = run_info(made(tmp_path, ["a", "b", "c"], lambda request: said.pop(0)))
    assert info.judges == {"AspectCritic": {"scored": 2, "failed": 1}}
    assert info.means == {"AspectCritic": 0.5}
    assert (info.rows, info.votes, info.failed_calls, info.state) == (3, 3, 0, "complete")
    assert info.usage["scripted"].calls == 6
    assert info.facts["started"] > 1e9


def test_judgments_with_their_votes(tmp_path: Path) -> None:
    made(tmp_path, ["a", "b"], strictness=2)
    rows = list(judgments(tmp_path, votes=True))
    assert [(row["row"], row["fields"], row["verdict"]) for row in rows] == [
        (1, {"response": "a"}, "PASS"),
        (2, {"response": "b"}, "PASS"),
    ]
    assert [[vote["sample"] for vote in row["votes"]] for row in rows] == [[0, 1], [0, 1]]
    assert rows[0]["votes"][0]["text"].startswith("{")
    assert "votes" not in next(judgments(tmp_path))


def test_the_votes_of_a_judgment_are_its_own(tmp_path: Path) -> None:
    """Two criteria on one text: the votes on one are not the other's."""
    judge = DirectJudge(ScriptedModel(['{"selected_option": "Yes"}', '{"selected_option": "No"}']))
    judge.evaluate(["a", "a"], [yes_no_criteria("One?"), yes_no_criteria("Two?")], run=tmp_path)
    assert [[vote["option"] for vote in row["votes"]] for row in judgments(tmp_path, votes=True)] == [["Yes"], ["No"]]


def test_what_differs_between_two_runs(tmp_path: Path) -> None:
    one = made(tmp_path / "one", ["a", "b", "c"])
    two = made(tmp_path / "two", ["a", "b", "c"], ["PASS", "FAIL", "PASS"], name="other")
    settings, rows = run_differences(one, two)
    assert settings == ['judges.AspectCritic.settings.name: "aspect" → "other"', *settings[1:]]
    assert rows == [("AspectCritic", 2, 1.0, 0.0)]
    assert run_differences(one, one) == ([], [])


def test_runs_are_found_below_a_folder(tmp_path: Path) -> None:
    made(tmp_path / "one", ["a"])
    made(tmp_path / "deeper" / "two", ["a"])
    assert find_runs(tmp_path) == [tmp_path / "one", tmp_path / "deeper" / "two"]
    assert find_runs(tmp_path / "nowhere") == []


def test_what_is_no_run_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        run_info(tmp_path)
    (tmp_path / "ledger.sqlite").write_text("no database at all")
    with pytest.raises(RunError, match=r"ledger\.sqlite"):
        run_info(tmp_path)


def test_what_is_known_already_is_told_of_ballots(tmp_path: Path) -> None:
    critic = AspectCritic("c", "scripted")
    critic.evaluate(["a"], run=tmp_path)
    ballots = [*critic.plan(Instance({"response": "a"}), ()), *critic.plan(Instance({"response": "b"}), ())]
    keys = [critic.vote_key(ballot) for ballot in ballots]
    assert knows(tmp_path)(keys) == [True, False]
    assert knows(tmp_path / "nowhere")(keys) == [False, False]
