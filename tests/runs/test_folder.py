"""Run folders as readers see them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, Outcome, RunError, ScriptedModel
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.numbers import number_of
from adjudge.core.gateway.opener import open_model
from adjudge.core.ledger.file import FILE, connect, under_lock
from adjudge.core.ledger.ledger import BloomFilter
from adjudge.runs import RunSettings
from adjudge.runs.cli.main import main
from adjudge.runs.exporters.export import export
from adjudge.runs.folder import (
    delete_run,
    find_runs,
    last_written,
    reading,
    run_info,
    runs_inside,
)
from adjudge.runs.recovery import recover
from adjudge.runs.service.run_index import RunIndex
from adjudge.runs.stored_votes import KnownVotes
from adjudge.trust.labels.store import LabelStore
from support.asking import marked
from support.exported import judgments, reseal
from support.fake_provider import KEY, PROSE, FakeProvider, Status, always, at_first
from support.labels import label


def made(folder: Path, texts: list[str], script: Any = None, **settings: Any) -> Path:
    AspectCritic("c", ScriptedModel(script), **settings).evaluate(texts, run=folder)
    return folder


def test_a_run_at_a_glance(tmp_path: Path) -> None:
    said = [
        '{"selected_option": "PASS"}',
        '{"selected_option": "FAIL"}',
        "what?",
        "what?",
        "what?",
        "what?",
    ]
    info = run_info(made(tmp_path, ["a", "b", "c"], lambda request: said.pop(0)))
    assert info.judges == {"AspectCritic": {"scored": 2, "failed": 1}}
    assert [one.mean for one in info.criteria] == [0.5]
    assert (info.rows, info.votes, info.failed_calls, info.state) == (3, 3, 0, "complete")
    assert info.usage["scripted"].calls == 6
    assert (number_of(info.facts["started"]) or 0) > 1e9


def test_failed_calls_are_one_number_in_the_terminal_in_json_and_in_reports(
    tmp_path: Path,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One vote without an answer after three tries was 1 failed call in the terminal and in
    Markdown, and 3 in JSON.
    """
    provider.faults = always(Status(500, "no"))
    model = open_model(
        "openai/gpt-4o-mini", api_key=KEY, base_url=provider.base_url("openai"), max_retries=2
    )
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
    told = json.loads(shown[1])["run"]
    assert (told["failed_votes"], told["failed_calls"]) == (1, 3)
    for ending in ("md", "html"):
        export(run, tmp_path / f"page.{ending}")
        assert "1 without an answer; 3 failed calls" in (tmp_path / f"page.{ending}").read_text()


def test_votes_of_a_paused_model_are_no_failed_calls_and_count_once_over_resumes(
    tmp_path: Path, provider: FakeProvider
) -> None:
    """Seen: ten resumes of 40 rows at a dead model were 400 votes and 400 failed calls, where 90
    requests had been sent.
    """
    provider.faults = always(Status(500, "no"))
    for _ in range(3):
        model = open_model(
            "openai/gpt-4o-mini", api_key=KEY, base_url=provider.base_url("openai"), max_retries=0
        )
        AspectCritic("The mark must end in Y.", model).evaluate(marked(40), run=tmp_path)
    info = run_info(tmp_path)
    assert (info.votes, info.failed_votes) == (40, 40)
    assert info.failed_calls == len(provider.requests) < 40


def test_tokens_of_a_reply_whose_repair_failed_are_shown(
    tmp_path: Path, provider: FakeProvider
) -> None:
    provider.faults = at_first(PROSE, Status(500, "no"))
    model = open_model(
        "openai/gpt-4o-mini", api_key=KEY, base_url=provider.base_url("openai"), max_retries=0
    )
    (result,) = AspectCritic("The mark must end in Y.", model).evaluate(
        ["REC-00001-Y"], run=tmp_path
    )
    assert result.votes[0].outcome is Outcome.MODEL_ERROR
    info = run_info(tmp_path)
    (used,) = info.usage.values()
    assert used.prompt_tokens > 0
    assert (used.calls, info.failed_calls, info.votes) == (1, 1, 1)


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
    assert [
        [vote["option"] for vote in row["votes"]] for row in judgments(tmp_path, votes=True)
    ] == [["Yes"], ["No"]]


def test_the_vote_that_counts_is_the_one_that_is_exported(tmp_path: Path) -> None:
    made(tmp_path, ["a"], ["what?"], max_repairs=0)
    AspectCritic("c", ScriptedModel(["PASS"]), max_repairs=0).evaluate(
        ["a"], run=RunSettings(tmp_path, retry_failed=True)
    )
    assert run_info(tmp_path).votes == 1, "the first one is on record and does not count"
    ((vote,),) = (row["votes"] for row in judgments(tmp_path, votes=True))
    assert (vote["outcome"], vote["option"]) == ("ok", "PASS")


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


def test_among_other_files_a_run_goes_alone_and_exports_stay(tmp_path: Path) -> None:
    """Somebody's notes keep the folder, and a results.csv beside them may be somebody's too."""
    run = made(tmp_path / "run", ["a"])
    (run / "notes.txt").write_text("mine")
    (run / "results.csv").write_text("mine too")
    delete_run(run)
    assert {path.name for path in run.iterdir()} == {"notes.txt", "results.csv"}


def test_a_run_alone_in_its_folder_goes_with_its_exports(tmp_path: Path) -> None:
    run = made(tmp_path / "run", ["a"])
    (run / "results.csv").write_text("ours")
    delete_run(run)
    assert not run.exists()


def test_how_many_votes_counted_is_kept_with_the_judgment(tmp_path: Path) -> None:
    said = ["PASS", "what?", "FAIL", "PASS", "PASS", "PASS"]
    made(tmp_path, ["a", "b"], lambda request: said.pop(0), strictness=3, max_repairs=0)
    assert sorted(row["votes_valid"] for row in judgments(tmp_path)) == [2, 3]
    assert {row["votes_requested"] for row in judgments(tmp_path)} == {3}


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
    for content, written in (
        (b"", 1_000),
        (b"just written", 2_000),
    ):  # an empty one is what a reader left
        log.write_bytes(content)
        os.utime(log, (2_000, 2_000))
        assert last_written(run) == written
    os.utime(log, (500, 500))
    assert last_written(run) == 1_000


@pytest.mark.parametrize("column", ["status", "result", "instance", "ballots", "id"])
def test_a_judgment_that_is_not_what_was_written_is_never_shown(
    tmp_path: Path, column: str
) -> None:
    run = made(tmp_path, ["a", "b"])
    with connect(run / FILE) as ledger:
        ledger.execute(
            f"UPDATE judgments SET {column} = ? WHERE number = 1",
            (b"1" if column == "ballots" else "1",),
        )
    for read in (run_info, lambda folder: list(judgments(folder))):
        with pytest.raises(
            RunError,
            match=(
                r"checksum mismatch in table judgments \(judge 'AspectCritic', number 1\)"
                r".*adjudge runs recover"
            ),
        ):
            read(run)
    assert recover(run) == (2, 1)
    made(run, ["a", "b"])
    assert [row["score"] for row in judgments(run)] == [1.0, 1.0]


def test_a_fact_that_is_not_what_was_written_is_never_believed(tmp_path: Path) -> None:
    run = made(tmp_path, ["a"])
    with connect(run / FILE) as ledger:
        ledger.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('note', '7')")
    with pytest.raises(
        RunError,
        match=(
            r"checksum mismatch in table meta \(name 'note'\).*adjudge runs "
            r"recover"
        ),
    ):
        made(run, ["a"])
    assert recover(run) == (1, 1)
    assert "note" not in run_info(run).facts


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
    run = made(
        tmp_path,
        texts,
        lambda request: json.dumps({"explanation": "x" * 900, "selected_option": "PASS"}),
    )
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


def test_a_recovered_run_is_not_called_complete_before_what_was_lost_is_there_again(
    tmp_path: Path,
) -> None:
    texts = [f"text {number}." for number in range(100)]
    run = made(tmp_path, texts)
    assert run_info(run).state == "complete"
    content = bytearray((run / FILE).read_bytes())
    place = content.index(b'"text 50."') // 4096 * 4096
    content[place : place + 4096] = bytes(4096)
    (run / FILE).write_bytes(content)
    recover(run)
    assert run_info(run).state == "not finished"
    made(run, texts)
    assert run_info(run).state == "complete"


def test_nothing_of_the_damaged_ledger_stays_beside_the_recovered_one(tmp_path: Path) -> None:
    """A process that was killed leaves the log of the ledger and the index of that log; both belong
    to the damaged file.
    """
    run = made(tmp_path, ["a", "b"])
    for ending in ("-wal", "-shm"):
        (run / f"{FILE}{ending}").write_bytes(b"of another ledger" * 100)
    recover(run)
    assert not (run / f"{FILE}-shm").exists()
    assert not (run / f"{FILE}-wal").exists()
    assert [row["fields"]["response"] for row in judgments(run)] == ["a", "b"]


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
    (tmp_path / "circle").symlink_to("circle")
    assert find_runs(tmp_path) == [tmp_path / "one", tmp_path / "deeper" / "two"]
    assert find_runs(tmp_path / "nowhere") == []


def test_what_is_no_run_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        run_info(tmp_path)
    (tmp_path / "ledger.sqlite").write_text("no database at all")
    with pytest.raises(RunError, match=r"ledger\.sqlite"):
        run_info(tmp_path)


def test_what_is_known_already_is_told_of_ballots(tmp_path: Path) -> None:
    critic = AspectCritic("c", "scripted")
    critic.evaluate(["a"], run=tmp_path)
    ballots = [
        *critic.plan(Instance({"response": "a"}), ()),
        *critic.plan(Instance({"response": "b"}), ()),
    ]
    keys = [critic.vote_key(ballot) for ballot in ballots]
    assert [vote is not None for vote in KnownVotes(tmp_path).recall(ballots, keys)] == [
        True,
        False,
    ]
    assert KnownVotes(tmp_path / "nowhere").recall(ballots, keys) == [None, None]


def test_a_key_that_only_may_be_known_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    critic = AspectCritic("c", "scripted")
    critic.evaluate(["a"], run=tmp_path)
    monkeypatch.setattr(BloomFilter, "__contains__", lambda self, key: True)
    ballots = [
        *critic.plan(Instance({"response": "a"}), ()),
        *critic.plan(Instance({"response": "b"}), ()),
    ]
    votes = KnownVotes(tmp_path).recall(ballots, [critic.vote_key(ballot) for ballot in ballots])
    assert [vote is not None for vote in votes] == [True, False]


def test_what_is_no_json_in_a_ledger_is_damage(tmp_path: Path) -> None:
    made(tmp_path, ["a"])
    with connect(tmp_path / FILE) as ledger:
        ledger.execute("UPDATE meta SET value = '{' WHERE name = 'ended'")
        reseal(ledger, "meta")
    with pytest.raises(RunError, match="it is damaged"):
        run_info(tmp_path)


def test_a_label_that_comes_while_its_run_is_deleted_keeps_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made(tmp_path / "run", ["a"])

    def overtaken(folder: Path) -> AbstractContextManager[None]:
        LabelStore(run).add(label())
        return under_lock(folder)

    monkeypatch.setattr("adjudge.runs.folder.under_lock", overtaken)
    with pytest.raises(RunError, match="human labels"):
        delete_run(run)
    assert len([*LabelStore(run).current()]) == run_info(run).rows == 1


def test_all_that_a_reader_asks_is_of_one_moment(tmp_path: Path) -> None:
    run, count = made(tmp_path / "run", ["a"]), "SELECT count(*) FROM judgments"
    with reading(run) as ledger:
        (before,) = ledger.execute(count).fetchone()
        made(run, ["a", "b"])
        assert ledger.execute(count).fetchone() == (before,)
    assert run_info(run).rows == 2


def test_a_run_that_is_deleted_under_its_reader_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made(tmp_path / "run", ["a"])
    monkeypatch.setattr("adjudge.runs.folder.refuse_links", shutil.rmtree)
    with pytest.raises(RunError, match="is not a run folder"):
        run_info(run)


def test_the_list_of_runs_is_without_one_that_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = made(tmp_path / "run", ["a"]), made(tmp_path / "other", ["a"])
    inside = runs_inside(tmp_path)
    delete_run(run)
    monkeypatch.setattr("adjudge.runs.service.run_index.runs_inside", lambda _: inside)
    assert [one["name"] for one in RunIndex(tmp_path).runs()] == [other.name]


def test_runs_are_found_while_others_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = made(tmp_path / "run", ["a"]), made(tmp_path / "deep" / "other", ["a"])
    list_folder = os.scandir

    def overtaken(folder: str | Path) -> object:
        if Path(folder) == run:
            monkeypatch.undo()
            shutil.rmtree(run)
        return list_folder(folder)

    monkeypatch.setattr(os, "scandir", overtaken)
    assert find_runs(tmp_path) == [other]
