"""What runs in a process of a cluster, without one."""

from __future__ import annotations

import pickle
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge import judge_dataset
from adjudge.core.domain.instance import Instance
from adjudge.core.engine.cluster import Cluster
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.opener import default_model
from adjudge.core.gateway.prices import Price, PriceTable
from adjudge.core.judges.aspect import AspectCritic
from adjudge.errors import HALTS, BudgetSpent, RunError, RunStopped, SetupError
from adjudge.features.local import provider as local
from adjudge.features.scale.partition import PartitionJudge, WorkerSettings, partitions
from adjudge.features.scale.ray import connection as connect
from adjudge.features.scale.ray.place import keep_facts, store_of
from adjudge.features.scale.ray.worker import Worker
from adjudge.features.scale.ray_run import work_for
from adjudge.runs.partitions import kept_facts
from adjudge.runs.plan import resolve
from support.partitions import marked_file

Started = Callable[[PartitionJudge], Worker[Any, Any, Any]]
ASPECT = "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"


@pytest.fixture
def started() -> Iterator[Started]:
    """Workers that end with the test: in a cluster their processes end."""
    workers: list[Worker[Any, Any, Any]] = []

    def start(judge: PartitionJudge) -> Worker[Any, Any, Any]:
        workers.append(Worker(judge.opened))
        return workers[-1]

    yield start
    for worker in workers:
        worker.stop("the test is over")
        with pytest.raises(HALTS):
            worker.judge(99, [(99, Instance({"response": "a row that nobody has asked about"}))])


def test_weights_are_loaded_once_however_many_chunks_a_worker_judges(
    tmp_path: Path, started: Started
) -> None:
    pytest.importorskip("onnxruntime", reason="needs the embedded model")
    file = marked_file(tmp_path, rows=4, models=default_model(), judges=ASPECT)
    worker = started(PartitionJudge(file, tmp_path / "store", WorkerSettings(cache=False)))
    local._batches.cache_clear()
    parts = [worker.judge(number, chunk) for number, chunk in enumerate(partitions(file, 2))]
    assert [part.judgments for part in parts] == [2, 2]
    assert local._batches.cache_info().misses == 1


def test_a_worker_that_is_stopped_tells_all_who_wait_and_has_kept_what_was_answered(
    tmp_path: Path, started: Started
) -> None:
    file = marked_file(tmp_path, rows=4, judges=ASPECT)
    judge = PartitionJudge(file, tmp_path / "store", WorkerSettings(cache=False))
    worker = started(judge)
    first, second = partitions(file, 2)
    worker.judge(0, first)
    worker.stop("enough")
    for number in (1, 2):
        with pytest.raises(RunStopped, match="enough"):
            worker.judge(number, second)
    assert worker.news() is None
    assert PartitionJudge(file, tmp_path / "store", WorkerSettings(cache=False)).store.begun_with()
    assert started(judge).judge(0, first).asked == 0


def test_a_worker_without_its_part_of_the_budget_asks_nothing(
    tmp_path: Path, started: Started
) -> None:
    file = marked_file(tmp_path, rows=2, judges=ASPECT)
    nothing = WorkerSettings(cache=False, budget=Budget(max_calls=0))
    worker = started(PartitionJudge(file, tmp_path / "store", nothing))
    (chunk,) = partitions(file, 9)
    with pytest.raises(BudgetSpent):
        worker.judge(0, chunk)


def test_a_worker_counts_by_the_prices_of_the_command_that_sent_it(
    tmp_path: Path, started: Started
) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("acme/dear: {input: 3, output: 4}\n")
    file = marked_file(tmp_path, rows=2, judges=ASPECT)
    made = resolve(file, folder=tmp_path / "run", cache=False, prices=PriceTable.load(own))
    work = work_for(made, Cluster("ray"), cache=False)
    assert work is not None
    own.unlink()  # no other machine has it
    sent = pickle.loads(pickle.dumps(work.open))
    settings = sent.args[1]
    judge = PartitionJudge(file, tmp_path / "store", settings)
    worker = started(judge)
    (chunk,) = partitions(file, 9)
    assert worker.judge(0, chunk).rows == 2
    assert judge.plan.prices.of("acme/dear") == Price(3, 4)


def test_what_a_cluster_needs_is_said_before_one_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)  # Ray sets it where it has started a cluster
    judge = AspectCritic("It is short.", models="scripted")
    with pytest.raises(SetupError, match="RAY_AUTH_MODE=token"):
        judge.evaluate(["x"], run=RunSettings(tmp_path / "run", on="ray://10.0.0.7:10001"))
    with pytest.raises(SetupError, match="judge_partition with that store"):
        judge.evaluate(["x"], run=RunSettings(tmp_path / "run", on="postgresql://host/db#run"))
    with pytest.raises(SetupError, match="at least 1, not -1"):
        Cluster("ray", workers=-1)
    with pytest.raises(SetupError, match=r"takes a ray\.data\.Dataset, not list"):
        judge_dataset([{"answer": "x"}], marked_file(tmp_path), run=tmp_path / "run")  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="cannot be sent to the workers"):
        AspectCritic("It is short.", models=lambda prompt: "PASS").evaluate(
            ["x"], run=RunSettings(tmp_path / "run", on="ray")
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("missing", "on"), [("ray", "ray"), ("grpc", "ray://127.0.0.1:10001")])
def test_a_cluster_that_cannot_be_used_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, on: str
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(connect, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(SetupError, match=r"pip install 'adjudge\[ray\]'"):
        AspectCritic("It is short.", models="scripted").evaluate(
            ["x"], run=RunSettings(tmp_path / "run", on=on)
        )
    assert not (tmp_path / "run").exists()


def test_a_killed_driver_left_what_its_folder_is_to_keep(tmp_path: Path) -> None:
    assert kept_facts(tmp_path) is None
    keep_facts(tmp_path, {"command": {"argv": ["run", "eval.yaml"]}})
    assert kept_facts(tmp_path) == {"command": {"argv": ["run", "eval.yaml"]}}
    assert store_of(Cluster.of("ray"), tmp_path) == str(tmp_path / "partitions")
    assert store_of(Cluster("ray", store="s3://bucket/run"), tmp_path) == "s3://bucket/run"


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_a_cluster_where_nobody_listens_is_refused_at_once(address: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        named = address.format(listener.getsockname()[1])
        with pytest.raises(
            RunError, match=re.escape(f"the Ray cluster at {named} cannot be reached")
        ):
            connect.check_reached(named)
        listener.listen()
        connect.check_reached(named)
    connect.check_reached("local")
