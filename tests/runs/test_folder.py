"""Run folders as readers see them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, RunError, ScriptedModel
from adjudge.cli.main import main
from adjudge.domain.criteria import yes_no_criteria
from adjudge.engine.ledger_file import FILE, connect, under_lock
from adjudge.engine.maybe_known import MaybeKnown
from adjudge.gateway.open import open_model
from adjudge.reports.export import export
from adjudge.runs.folder import delete_run, find_runs, judgments, run_info
from adjudge.runs.known import KnownVotes
from support.fake_provider import KEY, FakeProvider, Status, always


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


def test_failed_calls_are_one_number_in_the_terminal_in_json_and_in_reports(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One vote without an answer after three tries was 1 failed call in the terminal and in Markdown, and 3 in JSON."""
    provider.faults = always(Status(500, "no"))
    model = open_model("openai/gpt-4o-mini", api_key=KEY, base_url=provider.base_url("openai"), max_retries=2)
    run = tmp_path / "run"
    AspectCritic("The mark must end in Y.", model).evaluate(["REC-00001-Y"], run=run)
    sent = len(provider.requests)
    info = run_info(run)
    assert (info.failed_votes, info.failed_calls, sent) == (1, 3, 3)
    assert sum(usage.calls for usage in info.usage.values()) == 0
    shown = []
    for more in ((), ("--json",)):
        monkeypatch.setattr(sys, "argv", ["adjudge", "runs", "show", str(run), *more])
        with pytest.raises(SystemExit):
            main()
        shown.append(capsys.readouterr().out)
    assert "1 vote, 1 without an answer; 3 failed calls" in shown[0]
    told = json.loads(shown[1])
    assert (told["failed_votes"], told["failed_calls"]) == (1, 3)
    for ending in ("md", "html"):
        export(run, tmp_path / f"page.{ending}")
        assert "1 without an answer; 3 failed calls" in (tmp_path / f"page.{ending}").read_text()


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


def test_a_run_is_deleted_only_when_nobody_is_at_it(tmp_path: Path) -> None:
    run = made(tmp_path / "run", ["a"])
    with under_lock(run):
        for only_try in (True, False):
            with pytest.raises(RunError, match="under way"):
                delete_run(run, only_try=only_try)
    delete_run(run, only_try=True)
    assert run_info(run).rows == 1
    delete_run(run)
    assert not run.exists()


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
    assert [vote is not None for vote in KnownVotes(tmp_path).recall(ballots, keys)] == [True, False]
    assert KnownVotes(tmp_path / "nowhere").recall(ballots, keys) == [None, None]


def test_a_key_that_only_may_be_known_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    critic = AspectCritic("c", "scripted")
    critic.evaluate(["a"], run=tmp_path)
    monkeypatch.setattr(MaybeKnown, "__contains__", lambda self, key: True)
    ballots = [*critic.plan(Instance({"response": "a"}), ()), *critic.plan(Instance({"response": "b"}), ())]
    votes = KnownVotes(tmp_path).recall(ballots, [critic.vote_key(ballot) for ballot in ballots])
    assert [vote is not None for vote in votes] == [True, False]


def test_what_is_no_json_in_a_ledger_is_damage(tmp_path: Path) -> None:
    made(tmp_path, ["a"])
    with connect(tmp_path / FILE) as ledger:
        ledger.execute("UPDATE meta SET value = '{' WHERE name = 'ended'")
    with pytest.raises(RunError, match="it is damaged"):
        run_info(tmp_path)
