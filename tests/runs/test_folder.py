"""Run folders as readers see them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, PairwiseJudge, RunError, ScriptedModel
from adjudge.domain.criteria import Criteria, CriteriaOption, yes_no_criteria
from adjudge.engine.ledger_file import FILE, connect, under_lock
from adjudge.engine.ledger_rows import seal_sql
from adjudge.engine.maybe_known import MaybeKnown
from adjudge.runs import Run
from adjudge.runs.folder import delete_run, find_runs, judgments, knows, last_written, run_differences, run_info
from adjudge.runs.recover import recover


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


def test_the_vote_that_counts_is_the_one_that_is_exported(tmp_path: Path) -> None:
    made(tmp_path, ["a"], ["what?"], max_repairs=0)
    AspectCritic("c", ScriptedModel(["PASS"]), max_repairs=0).evaluate(["a"], run=Run(tmp_path, retry_failed=True))
    assert run_info(tmp_path).votes == 2
    ((vote,),) = (row["votes"] for row in judgments(tmp_path, votes=True))
    assert (vote["outcome"], vote["option"]) == ("ok", "PASS")


def test_what_differs_between_two_runs(tmp_path: Path) -> None:
    one = made(tmp_path / "one", ["a", "b", "c"])
    two = made(tmp_path / "two", ["a", "b", "c"], ["PASS", "FAIL", "PASS"], name="other")
    settings, rows = run_differences(one, two)
    assert settings == ['judges.AspectCritic.settings.name: "aspect" → "other"', *settings[1:]]
    assert rows == [("AspectCritic", 2, ("scored", 1.0, "PASS"), ("scored", 0.0, "FAIL"))]
    assert run_differences(one, one) == ([], [])


def test_outcomes_without_a_score_differ_too(tmp_path: Path) -> None:
    bare = Criteria("register", "How formal?", [CriteriaOption("Formal"), CriteriaOption("Casual")])
    for folder, said in (("one", ["Formal", "Formal", "Formal"]), ("two", ["Formal", "Casual", "neither"])):
        model = ScriptedModel([json.dumps({"selected_option": option}) for option in said])
        DirectJudge(model, max_repairs=0).evaluate(["a", "b", "c"], bare, run=tmp_path / folder)
        scripted = ScriptedModel([json.dumps({"selected_option": "A" if folder == "one" else "B"})])
        PairwiseJudge(scripted).evaluate([["a", "b"]], "Which?", run=tmp_path / f"pairs {folder}")
    _, rows = run_differences(tmp_path / "one", tmp_path / "two")
    assert [(row, before.chosen, after.status, after.chosen) for _, row, before, after in rows] == [
        (2, "Formal", "scored", "Casual"),
        (3, "Formal", "failed", None),
    ]
    _, rows = run_differences(tmp_path / "pairs one", tmp_path / "pairs two")
    assert [(before.chosen, after.chosen) for _, _, before, after in rows] == [(0, 1)]


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


def test_a_run_behind_a_link_is_not_deleted(tmp_path: Path) -> None:
    run = made(tmp_path / "run", ["a"])
    (tmp_path / "link").symlink_to(run)
    with pytest.raises(RunError, match="link is a symbolic link"):
        delete_run(tmp_path / "link")
    assert run_info(tmp_path / "link").rows == 1


def test_the_age_of_a_run_is_that_of_what_was_written(tmp_path: Path) -> None:
    run = made(tmp_path, ["a"])
    os.utime(run / FILE, (1_000, 1_000))
    log = run / f"{FILE}-wal"
    assert last_written(run) == 1_000
    for content, written in ((b"", 1_000), (b"just written", 2_000)):  # an empty one is what a reader left
        log.write_bytes(content)
        os.utime(log, (2_000, 2_000))
        assert last_written(run) == written
    os.utime(log, (500, 500))
    assert last_written(run) == 1_000


@pytest.mark.parametrize("column", ["status", "result", "instance", "ballots", "id"])
def test_a_judgment_that_is_not_what_was_written_is_never_shown(tmp_path: Path, column: str) -> None:
    run = made(tmp_path, ["a", "b"])
    with connect(run / FILE) as ledger:
        ledger.execute(f"UPDATE judgments SET {column} = ? WHERE number = 1", (b"1" if column == "ballots" else "1",))
    for read in (run_info, lambda folder: list(judgments(folder))):
        with pytest.raises(RunError, match=r"a row of judgments \(judge 'AspectCritic', number 1\).*adjudge runs recover"):
            read(run)
    assert recover(run) == (2, 1)
    made(run, ["a", "b"])
    assert [row["score"] for row in judgments(run)] == [1.0, 1.0]


def test_a_fact_that_is_not_what_was_written_is_never_believed(tmp_path: Path) -> None:
    run = made(tmp_path, ["a"])
    with connect(run / FILE) as ledger:
        ledger.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('failed_calls', '7')")
    with pytest.raises(RunError, match=r"a row of meta \(name 'failed_calls'\) is not what was written.*adjudge runs recover"):
        made(run, ["a"])
    assert recover(run) == (1, 1)
    assert "failed_calls" not in run_info(run).facts


def test_rows_behind_the_damage_are_saved_too(tmp_path: Path) -> None:
    """Judgments lie by their number: with a page in the middle gone, both ends are there."""
    texts = [f"text {number}." for number in range(100)]
    run = made(tmp_path, texts)
    content = bytearray((run / FILE).read_bytes())
    place = content.index(b'"text 50."') // 4096 * 4096
    content[place : place + 4096] = bytes(4096)
    (run / FILE).write_bytes(content)
    votes, rows = recover(run)
    saved = [row["row"] for row in judgments(run)]
    assert (votes, rows) == (100, len(saved))
    assert 85 <= rows < 100
    assert {1, 100} <= set(saved)
    model = ScriptedModel()
    AspectCritic("c", model).evaluate(texts, run=run)
    assert (model.requests, run_info(run).rows) == ([], 100)


def test_votes_between_two_damaged_pages_are_saved_too(tmp_path: Path) -> None:
    texts = [f"{number:02}" for number in range(60)]
    run = made(tmp_path, texts, lambda request: json.dumps({"explanation": "x" * 900, "selected_option": "PASS"}))
    with connect(run / FILE) as ledger:
        order = [key for (key,) in ledger.execute("SELECT ballot FROM votes ORDER BY number")]
    content = bytearray((run / FILE).read_bytes())
    for number in (15, 45):
        place = content.index(order[number] + b"scripted") // 4096 * 4096
        content[place : place + 4096] = bytes(4096)
    (run / FILE).write_bytes(content)
    votes, rows = recover(run)
    assert 50 <= votes < 60
    assert rows == votes  # a judgment without its vote is made anew
    with connect(run / FILE) as ledger:
        assert order[30] in [key for (key,) in ledger.execute("SELECT ballot FROM votes")]


def test_what_recover_saved_is_there_when_the_first_page_is_gone(tmp_path: Path) -> None:
    run = made(tmp_path, ["a", "b", "c"])
    content = bytearray((run / FILE).read_bytes())
    content[:4096] = bytes(4096)
    (run / FILE).write_bytes(content)
    with pytest.raises(RunError, match="adjudge runs recover"):
        made(run, ["a"])
    assert recover(run) == (3, 3)
    assert (run / "ledger.damaged").read_bytes() == content
    assert {path.name for path in run.iterdir()} == {FILE, "ledger.damaged", "ledger.lock"}


def test_a_run_that_is_under_way_is_not_recovered_under_its_feet(tmp_path: Path) -> None:
    run = made(tmp_path, ["a"])
    before = (run / FILE).read_bytes()
    with under_lock(run), pytest.raises(RunError, match="under way in another process"):
        recover(run)
    assert (run / FILE).read_bytes() == before
    assert not (run / "ledger.damaged").exists()


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


def test_a_key_that_only_may_be_known_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    critic = AspectCritic("c", "scripted")
    critic.evaluate(["a"], run=tmp_path)
    monkeypatch.setattr(MaybeKnown, "__contains__", lambda self, key: True)
    ballots = [*critic.plan(Instance({"response": "a"}), ()), *critic.plan(Instance({"response": "b"}), ())]
    assert knows(tmp_path)([critic.vote_key(ballot) for ballot in ballots]) == [True, False]


def test_what_is_no_json_in_a_ledger_is_damage(tmp_path: Path) -> None:
    made(tmp_path, ["a"])
    with connect(tmp_path / FILE) as ledger:
        ledger.execute("UPDATE meta SET value = '{' WHERE name = 'ended'")
        ledger.execute(seal_sql("meta")[1])
    with pytest.raises(RunError, match="it is damaged"):
        run_info(tmp_path)
