"""One run, judged by several processes: the same export, nothing asked twice, nothing lost."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adjudge import Instance, judge_partition
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.gateway.layers.account import Account
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, OtherConfiguration, RunError, SetupError
from adjudge.features.scale.partition import Partition, merge_partitions, partitions
from adjudge.features.scale.ray.place import keep_facts
from adjudge.features.scale.stores.merger import merge
from adjudge.features.scale.stores.segments import BEGUN, SegmentStore
from adjudge.features.scale.stores.shared_ledger import Buffer
from adjudge.features.scale.stores.store import AccountRecord, RowRange, WriterSession
from adjudge.runs.cli.main import app
from adjudge.runs.folder import run_info
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.stored_eval import write_eval
from support.fake_provider import KEY, FakeProvider
from support.partitions import JUDGES, exported, marked_file, on_one_machine
from support.stores import opened

ONE = "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"


def at(provider: FakeProvider, more: str = "") -> str:
    return f"[{{model: openai/gpt-4o-mini, base_url: {provider.base_url('openai')}{more}}}]"


def test_partitions_are_exported_like_one_run(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    expected = exported(on_one_machine(file, tmp_path / "one"))
    for rows in (5, 100):
        store, run = tmp_path / f"store-{rows}", tmp_path / f"run-{rows}"
        found = [judge_partition(part, file, store, cache=False) for part in partitions(file, rows)]
        assert sum(one.rows for one in found) == 12
        assert sum(one.judgments for one in found) == 36
        merge_partitions(store, run)
        assert exported(run) == expected
        assert run_info(run).state == "complete"


def test_the_order_of_the_partitions_makes_no_difference(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    for part in reversed(list(partitions(file, 5))):
        judge_partition(reversed(part), file, tmp_path / "store", cache=False)
    merge_partitions(tmp_path / "store", tmp_path / "run")
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))


def test_what_was_answered_is_not_asked_again_however_the_rows_are_split(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    file = marked_file(tmp_path, models=at(provider))
    first = [
        judge_partition(part, file, tmp_path / "store", cache=False) for part in partitions(file, 5)
    ]
    asked = len(provider.requests)
    assert sum(one.asked for one in first) == asked
    again = [
        judge_partition(part, file, tmp_path / "store", cache=False) for part in partitions(file, 7)
    ]
    assert [one.asked for one in again] == [0, 0]
    assert len(provider.requests) == asked
    merge_partitions(tmp_path / "store", tmp_path / "run")
    info = run_info(tmp_path / "run")
    assert sum(usage.calls for usage in info.usage.values()) == asked
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))


def test_a_merged_run_groups_rows_as_the_eval_file_says(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(
        f"models: scripted\n{ONE}data: rows.csv\n"
        "gates: {fail_under: 0.1, confidence: 0.95, cluster: team}\n"
    )
    rows = [(number, {"answer": f"{number}", "team": f"{number // 4}"}) for number in range(48)]
    judge_partition(rows, tmp_path / "eval.yaml", tmp_path / "store", cache=False)
    text = (tmp_path / "eval.yaml").read_text()
    (tmp_path / "eval.yaml").write_text(text.replace("0.1", "0.2"))  # the same store takes it
    judge_partition(rows, tmp_path / "eval.yaml", tmp_path / "store", cache=False)
    merge_partitions(tmp_path / "store", tmp_path / "run")
    info = run_info(tmp_path / "run")
    assert grouping_column(info.facts) == "team"
    assert [*info.configuration] == ["judges"]


def test_a_merged_run_is_resumed_on_one_machine_and_not_merged_over(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    first, *_ = partitions(file, 5)
    judge_partition(first, file, tmp_path / "store", cache=False)
    merge_partitions(tmp_path / "store", tmp_path / "run", complete=False)
    assert run_info(tmp_path / "run").state == "not finished"
    merge_partitions(tmp_path / "store", tmp_path / "run", complete=False)
    on_one_machine(file, tmp_path / "run")
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))
    with pytest.raises(RunError, match="was not made from this store alone"):
        merge_partitions(tmp_path / "store", tmp_path / "run")
    with pytest.raises(RunError, match="was not made from this store alone"):
        merge(SegmentStore(tmp_path / "store"), tmp_path / "run", {})  # workers that end now
    assert exported(tmp_path / "run") == exported(tmp_path / "one")


def test_rows_of_another_engine_are_mappings_with_their_numbers(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    rows = [
        (7, {"answer": "REC-00007-Y"}),
        (3, {"answer": "REC-00003-Y", "id": "three"}),
        (5, {"question": "?"}),
    ]
    found = judge_partition(
        rows, replace(file, data=replace(file.data, id="id")), tmp_path / "store", cache=False
    )
    assert (found.rows, found.judgments) == (2, 6)
    assert [str(bad) for bad in found.bad_rows] and "row 6" in str(found.bad_rows[0])
    merge_partitions(tmp_path / "store", tmp_path / "run")
    _, lines = exported(tmp_path / "run")
    assert [json.loads(line)["id"] for line in lines.splitlines()[:2]] == ["three", "row 8"]


def test_another_eval_file_does_not_go_on_with_a_store(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    judge_partition(enumerate([{"answer": "x"}]), file, tmp_path / "store", cache=False)
    other = marked_file(tmp_path / "other", judges=JUDGES.replace("strictness: 3", "strictness: 5"))
    with pytest.raises(OtherConfiguration, match="strictness"):
        judge_partition(enumerate([{"answer": "x"}]), other, tmp_path / "store", cache=False)


def test_a_budget_of_the_whole_run_is_not_taken_for_each_partition(tmp_path: Path) -> None:
    file = marked_file(tmp_path, more="budget: {max_calls: 4}\n")
    with pytest.raises(SetupError, match="a partition does not know"):
        judge_partition(enumerate([{"answer": "x"}]), file, tmp_path / "store")
    rows = [{"answer": f"REC-{n:05}-Y"} for n in range(4)]
    with pytest.raises(BudgetSpent):
        judge_partition(
            enumerate(rows), file, tmp_path / "store", budget=Budget(max_calls=4), cache=False
        )
    merged = merge_partitions(tmp_path / "store", tmp_path / "run", complete=False)
    assert merged.votes == 4
    assert merged.account.settled_calls == 4


@pytest.mark.parametrize("kind", ["objects", "s3"])
def test_partitions_in_a_bucket_are_exported_like_one_run(tmp_path: Path, kind: str) -> None:
    file, store = marked_file(tmp_path), opened(kind, tmp_path)
    found = [judge_partition(part, file, store, cache=False) for part in partitions(file, 5)]
    again = [judge_partition(part, file, store, cache=False) for part in partitions(file, 7)]
    shown_twice = 5  # votes: a row of one partition shows what one of another does
    assert [sum(one.asked for one in parts) for parts in (found, again)] == [55 + shown_twice, 0]
    merge_partitions(store, tmp_path / "run")
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    with pytest.raises(SetupError, match="a store is a folder"):
        judge_partition([], file, "ftp://bucket/run")
    with pytest.raises(RunError, match="contains no partitions"):
        merge_partitions(tmp_path / "nothing", tmp_path / "run")
    with pytest.raises(SetupError, match="share"):
        judge_partition([], file, tmp_path / "store", share=0)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"answer": "x"}], r"rows must be \(number, row\) pairs.* not \{'answer': 'x'\}"),
        ([("1", {"answer": "x"})], "rows must be .* not"),
        ([(1, None)], "rows must be .* not"),
        ([(-1, {"answer": "x"})], "-1 is not a valid row number .row numbers must be from 0"),
        (
            [(4, {"answer": "x"}), (4, {"answer": "y"})],
            "4 is not a valid row number .it is used twice",
        ),
        ([(4, {"answer": "x"}), (5, Instance({"response": "y"}))], "must be either all mappings"),
    ],
)
def test_rows_that_could_not_stand_in_a_run_are_refused(
    tmp_path: Path, rows: list[Any], said: str
) -> None:
    with pytest.raises(SetupError, match=said):
        judge_partition(rows, marked_file(tmp_path), tmp_path / "store", cache=False)


def test_a_store_of_an_older_version_goes_on_and_one_of_a_newer_is_refused(tmp_path: Path) -> None:
    file, begun = marked_file(tmp_path), tmp_path / "store" / BEGUN
    judge_partition(enumerate([{"answer": "x"}]), file, tmp_path / "store", cache=False)
    known = json.loads(begun.read_text())
    begun.write_text(json.dumps({name: value for name, value in known.items() if name != "format"}))
    assert (
        judge_partition(enumerate([{"answer": "x"}]), file, tmp_path / "store", cache=False).asked
        == 0
    )
    begun.write_text(json.dumps({**known, "format": known["format"] + 1}))
    with pytest.raises(RunError, match="was written by a newer version of adjudge"):
        judge_partition(enumerate([{"answer": "x"}]), file, tmp_path / "store", cache=False)


def _work(job: tuple[list[tuple[int, Instance]], str, str]) -> Partition:
    rows, file, store = job
    return judge_partition(rows, file, store, share=2, cache=False)


@pytest.mark.skipif(not os.environ.get("ADJUDGE_SCALE"), reason="starts processes: make test-scale")
def test_a_pool_of_processes_makes_the_same_run(tmp_path: Path) -> None:
    file = marked_file(tmp_path, rows=40)
    path, store = str(tmp_path / "eval.yaml"), str(tmp_path / "store")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_work, [(part, path, store) for part in partitions(file, 10)], 1)
    assert sum(one.rows for one in found) == 40
    merge_partitions(store, tmp_path / "run")
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))


def test_every_answer_is_in_the_store_before_anybody_sees_it_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    file = marked_file(tmp_path)
    strict, loose = tmp_path / "strict", tmp_path / "loose"
    judge_partition(enumerate([{"answer": "x"}]), file, strict, buffer=Buffer(1), cache=False)
    judge_partition(enumerate([{"answer": "x"}]), file, loose, cache=False)
    kinds = [
        Counter(type(one).__name__ for one in SegmentStore(store).records())
        for store in (strict, loose)
    ]
    assert kinds[0]["StoredVote"] == kinds[1]["StoredVote"] == 5
    counts = [len(list(store.rglob("*.gz"))) for store in (strict, loose)]
    assert counts[0] > counts[1]


def test_a_damaged_segment_is_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = marked_file(tmp_path)
    rows = list(enumerate([{"answer": "x"}]))
    assert judge_partition(rows, file, tmp_path / "store", cache=False).asked == 5
    for segment in (tmp_path / "store").rglob("*.gz"):
        segment.write_bytes(segment.read_bytes()[:-7])
    assert judge_partition(rows, file, tmp_path / "store", cache=False).asked == 5
    assert "is damaged: its contents are asked again" in caplog.text
    assert json.loads((tmp_path / "store" / "store.json").read_bytes())["configuration"]


def test_a_run_on_one_machine_takes_over_what_killed_workers_were_answered(tmp_path: Path) -> None:
    file = marked_file(tmp_path)
    folder = tmp_path / "runs" / "eval"
    first, *_ = partitions(file, 5)
    judge_partition(first, file, folder / "partitions", cache=False)
    assert (
        CliRunner()
        .invoke(app, ["run", str(tmp_path / "eval.yaml"), "--no-cache", "--max-calls", "60"])
        .exit_code
        == 0
    )
    info = run_info(folder)
    assert (info.state, sum(usage.calls for usage in info.usage.values())) == ("complete", 55)
    assert info.facts["merged_votes"] == 25


def test_a_folder_that_a_killed_driver_left_is_resumed(tmp_path: Path) -> None:
    file, folder = marked_file(tmp_path), tmp_path / "run"
    first, *_ = partitions(file, 5)
    judge_partition(first, file, folder / "partitions", cache=False)
    kept: JsonDict = {"eval": write_eval(file), "options": {"no_cache": True}, "project": {}}
    keep_facts(folder, {"resume": kept})
    with pytest.raises(RunError, match="adjudge resume"):
        run_info(folder)
    for _ in range(2):
        assert CliRunner().invoke(app, ["resume", str(folder), "--yes"]).exit_code == 0
    info = run_info(folder)
    assert (info.state, info.facts["merged_votes"], info.votes) == ("complete", 25, 55)
    assert exported(folder) == exported(on_one_machine(file, tmp_path / "one"))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--workers", "2"), "add --on ray"),
        (("--on", "ray", "--batch"), "cannot be combined with --batch"),
        (("--on", "ray", "--fork", "other"), "cannot reuse the answers"),
        (("--on", "dask"), "--on must be ray, ray://"),
        (("--on", "ray://10.0.0.7:10001"), "RAY_AUTH_MODE=token"),
    ],
)
def test_what_a_cluster_cannot_do_is_said(
    tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    marked_file(tmp_path)
    out = CliRunner().invoke(app, ["run", str(tmp_path / "eval.yaml"), *flags])
    assert said in (out.output + str(out.exception))
    assert not (tmp_path / "runs").exists()


def test_rows_far_apart_are_kept_and_read_again(tmp_path: Path) -> None:
    """As an engine numbers them that gives each of its tasks a range of its own."""
    file = marked_file(tmp_path, judges=ONE)
    rows = [(2**33 * task, {"answer": f"REC-{task:05}-Y"}) for task in (0, 1, 300, 2**29)]
    assert judge_partition(rows, file, tmp_path / "store", cache=False).asked == 4
    for row in rows:
        assert judge_partition([row], file, tmp_path / "store", cache=False).asked == 0
    assert merge_partitions(tmp_path / "store", tmp_path / "run").judgments == 4
    with pytest.raises(SetupError, match="9223372036854775808 is not a valid row number"):
        judge_partition([(2**63, {"answer": "x"})], file, tmp_path / "store")


def test_a_segment_is_read_however_many_were_written_before(tmp_path: Path) -> None:
    store = SegmentStore(tmp_path / "store")
    store._numbers = count(999_999)
    store.begin({"judges": {}})
    for _ in range(2):
        account = AccountRecord("0", Account().to_dict())
        store.append(WriterSession("a", "0" * 12), RowRange(0, 0), [account])
    assert len(list(store.records())) == 2


def test_a_partition_without_a_row_that_can_be_judged_says_so_and_is_done(tmp_path: Path) -> None:
    file = marked_file(tmp_path, judges=ONE)
    part = judge_partition(
        [(7, {"id": "x", "answer": None})], file, tmp_path / "store", cache=False
    )
    assert (part.rows, part.judgments, [str(row) for row in part.bad_rows]) == (
        0,
        0,
        ["the data, row 8: 'answer' is empty"],
    )


def test_a_run_that_was_made_of_another_store_is_not_replaced(tmp_path: Path) -> None:
    file = marked_file(tmp_path, judges=ONE)
    for name in ("a", "b"):
        judge_partition([(0, {"answer": name})], file, tmp_path / name, cache=False)
    merge_partitions(tmp_path / "a", tmp_path / "run")
    merge_partitions(tmp_path / "a", tmp_path / "run")
    with pytest.raises(RunError, match="was not made from this store alone"):
        merge_partitions(tmp_path / "b", tmp_path / "run")


def test_rows_that_cannot_be_read_are_said_where_the_partitions_are_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = marked_file(tmp_path, 4)
    told: list[object] = []
    assert [len(part) for part in partitions(file, 9, tell=told.append)] == [4]
    assert (len(told), caplog.messages) == (1, [])
    list(partitions(file, 9))
    assert caplog.messages == [str(told[0])] and "line 4" in caplog.messages[0]
