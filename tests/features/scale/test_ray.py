"""A run over Ray workers on this machine: the same export, one rate, one budget, kills of every
part.

All of it needs Ray: ``make test-scale`` installs it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import AspectCritic, AspectResult, judge_dataset
from adjudge.core.engine.cluster import Cluster
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import BudgetSpent, SetupError
from adjudge.features.scale.partition import Partition, Progress
from adjudge.features.scale.ray_run import spread
from adjudge.runs.cli.main import app
from adjudge.runs.execute import execute
from adjudge.runs.folder import RunInfo, run_info
from adjudge.runs.plan import Plan, resolve
from support.fake_provider import KEY, FakeProvider, Status, busiest_rate
from support.lost_replies import LONGEST, MODEL, LostReplies
from support.partitions import JUDGES, exported, marked_file, on_one_machine
from support.wire import WireServer

ray = pytest.importorskip("ray", reason="needs Ray: make test-scale")
pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("ADJUDGE_SCALE"), reason="starts a Ray cluster: make test-scale"
    ),
    pytest.mark.filterwarnings("ignore"),
]
ROWS = int(os.environ.get("ADJUDGE_SCALE_ROWS", "400"))
KILLS = int(os.environ.get("ADJUDGE_SCALE_KILLS", "3"))
WINDOW = 5.0
DRIVER_KEY = f"{os.getpid()}-{time.time_ns()}"
BUFFER = 500 + 32
"""Answers of a worker that a kill may lose: what waited to be written, and what was under way."""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    os.environ["OPENAI_API_KEY"] = KEY
    ray.init(address="local", num_cpus=8, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def at(provider: FakeProvider, more: str = "") -> str:
    return f"[{{model: openai/gpt-4o-mini, base_url: {provider.base_url('openai')}{more}}}]"


def spread_over(made: Plan, workers: int, budget: Budget | None = None) -> list[Partition]:
    parts: list[Partition] = []

    def tell(event: object) -> None:
        if isinstance(event, Partition):
            parts.append(event)

    plan = made.limited_to(budget)
    spread(plan, Cluster("ray", workers), cache=False, tell=tell)
    with execute(plan) as events:
        list(events)
    return parts


def test_four_workers_export_what_one_machine_does(tmp_path: Path) -> None:
    file = marked_file(tmp_path, rows=ROWS)
    made = resolve(file, cache=False, folder=tmp_path / "run")
    parts = spread_over(made, 4)
    assert sum(part.rows for part in parts) == ROWS
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))
    assert run_info(tmp_path / "run").state == "complete"
    assert not (tmp_path / "run" / "partitions").exists()
    assert spread_over(made, 4) == []


def test_rows_that_show_the_same_are_asked_about_once(
    tmp_path: Path, provider: FakeProvider
) -> None:
    file = marked_file(tmp_path, rows=60, models=at(provider))
    spread_over(resolve(file, cache=False, folder=tmp_path / "run"), 3)
    assert len(provider.requests) == 59 * 5


def test_the_command_says_what_the_workers_did(tmp_path: Path) -> None:
    marked_file(tmp_path, rows=20)
    out = CliRunner().invoke(
        app, ["run", str(tmp_path / "eval.yaml"), "--on", "ray", "--workers", "2", "--no-cache"]
    )
    assert "the workers have judged 20 rows and asked for 95 votes" in out.stderr
    assert "1 row could not be judged" in out.output
    assert run_info(tmp_path / "runs" / "eval").state == "complete"


OWN_THEN_OTHER = """
from adjudge.features.scale.ray.connection import check_address, connected
with connected("ray"):
    pass
check_address("ray://10.0.0.7:10001")
"""


def test_a_cluster_of_our_own_does_not_vouch_for_another() -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", OWN_THEN_OTHER],
        env=alone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        "SetupError: the Ray cluster at ray://10.0.0.7:10001 lets in anyone who can reach it"
        in done.stderr
    )


def test_a_program_that_is_connected_to_an_open_cluster_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE")
    made = resolve(marked_file(tmp_path), cache=False, folder=tmp_path / "run")
    with pytest.raises(SetupError, match="lets in anyone who can reach it"):
        spread_over(made, 1)


def test_evaluate_on_a_cluster_gives_the_results_of_one_machine(tmp_path: Path) -> None:
    judge = AspectCritic("The mark must end in Y.", models="scripted", strictness=3)
    texts = [f"REC-{number % 25:05}-Y" for number in range(30)]
    told: list[AspectResult] = []
    results = judge.evaluate(
        texts, run=RunSettings(tmp_path / "run", on=Cluster("ray", 2)), progress=told.append
    )
    expected = judge.evaluate(texts, run=tmp_path / "one")
    assert [one.score for one in results] == [one.score for one in expected]
    assert sorted(one.instance.identity for one in told) == sorted(
        one.instance.identity for one in results
    )
    assert exported(tmp_path / "run") == exported(tmp_path / "one")
    assert (run_info(tmp_path / "run").state, run_info(tmp_path / "run").votes) == ("complete", 75)
    assert not (tmp_path / "run" / "partitions").exists()
    assert len(judge.evaluate(texts, run=RunSettings(tmp_path / "run", on="ray"))) == 30


def test_a_ray_data_set_is_judged_like_the_file_it_was_read_from(tmp_path: Path) -> None:
    data = pytest.importorskip("ray.data", reason="needs ray[data]: make test-scale")
    file = marked_file(tmp_path, rows=40)
    rows = [{"id": str(number), "answer": f"REC-{number % 39:05}-Y"} for number in range(40)]
    told: list[Progress] = []
    info = judge_dataset(
        data.from_items(rows),
        file,
        run=tmp_path / "run",
        on=Cluster("ray", 2),
        progress=told.append,
    )
    assert (info.state, info.rows, told[-1].judgments, told[-1].asked) == (
        "complete",
        120,
        120,
        195,
    )
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))


def test_how_far_the_workers_are_is_told_while_they_judge(
    tmp_path: Path, provider: FakeProvider
) -> None:
    file = marked_file(tmp_path, rows=40, models=at(provider, ", requests_per_minute: 3600"))
    made, told = resolve(file, cache=False, folder=tmp_path / "run"), list[object]()
    spread(made, Cluster("ray", 1), cache=False, tell=told.append)
    under_way = [
        one
        for one in told[: [type(one) for one in told].index(Partition)]
        if isinstance(one, Progress)
    ]
    assert any(
        0 < one.judgments < 120 and 0 < one.asked < 195 and one.spent.calls for one in under_way
    )
    assert [one.judgments for one in under_way] == sorted(one.judgments for one in under_way)


def test_one_budget_holds_for_all_workers_and_a_resume_spends_the_rest(
    tmp_path: Path, provider: FakeProvider
) -> None:
    file = marked_file(tmp_path, rows=100, models=at(provider))
    made = resolve(file, cache=False, folder=tmp_path / "run")
    with pytest.raises(BudgetSpent, match="max_calls=200"):
        spread_over(made, 8, Budget(max_calls=200))
    assert 150 <= len(provider.requests) <= 200
    assert run_info(tmp_path / "run").votes == len(provider.requests)
    spread_over(made, 8, Budget(max_calls=1000))
    assert len(provider.requests) == 99 * 5
    assert exported(tmp_path / "run") == exported(on_one_machine(file, tmp_path / "one"))


def test_workers_keep_to_one_dollar_limit_if_replies_are_lost(tmp_path: Path) -> None:
    bill, limit = LostReplies(), 60 * LONGEST
    judge = "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"
    with WireServer(bill.send, bill.body, latency=0.02) as server:
        models = f"[{{model: {MODEL}, base_url: {server.url}, max_concurrency: 4}}]"
        file = marked_file(tmp_path, rows=600, models=models, judges=judge)
        made = resolve(file, cache=False, folder=tmp_path / "run")
        with pytest.raises(BudgetSpent, match="replies that did not arrive count for"):
            spread_over(made, 3, Budget(max_usd=limit))
    assert limit / 3 <= bill.usd <= limit + LONGEST


def test_eight_workers_keep_to_one_rate(tmp_path: Path, provider: FakeProvider) -> None:
    per_second = 40
    judge = "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"
    file = marked_file(
        tmp_path,
        rows=400,
        models=at(provider, f", requests_per_minute: {60 * per_second}"),
        judges=judge,
    )
    spread_over(resolve(file, cache=False, folder=tmp_path / "run"), 8)
    busiest = busiest_rate(provider, WINDOW)
    print(
        f"in the busiest {WINDOW:g} s {busiest:.1f} requests a second of {per_second} "
        "allowed, by 8 workers"
    )
    assert busiest <= 1.05 * per_second


def test_too_many_seen_by_one_worker_has_all_of_them_hold_back(
    tmp_path: Path, provider: FakeProvider
) -> None:
    pause = Status(429, "slow down", {"Retry-After": "8"})
    provider.faults = lambda record, attempt: pause if record == 300 and attempt == 0 else None
    provider.latency = 0.05
    file = marked_file(
        tmp_path,
        rows=600,
        models=at(provider),
        judges="judges: [{kind: aspect, criteria: It ends in Y.}]\n",
    )
    spread_over(resolve(file, cache=False, folder=tmp_path / "run"), 4)
    told = next(one.at for one in provider.requests if one.record == 300)
    held = [one.at - told for one in provider.requests if 4 < one.at - told < 7.9]
    assert (held, len(provider.requests)) == ([], 600)
    assert any(one.at - told > 7.9 for one in provider.requests)


def _driver(words: list[str]) -> subprocess.Popen[bytes]:
    """A command in a process of its own, with a cluster of its own."""
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; from adjudge.runs.cli.main import main; "
        f"sys.argv = {['adjudge', *words]!r}; main()"
    )
    environment = {**os.environ, "ADJUDGE_TEST_DRIVER": DRIVER_KEY, "OPENAI_API_KEY": KEY}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _after(
    driver: subprocess.Popen[bytes], provider: FakeProvider, requests: int, kind: signal.Signals
) -> str:
    """What the driver said, which is sent a signal after so many more requests."""
    before = len(provider.requests)
    while len(provider.requests) < before + requests:
        time.sleep(0.05)
        assert driver.poll() is None, driver.communicate()
    driver.send_signal(kind)
    said = driver.communicate()[1].decode()
    while _processes(driver.pid)["worker"]:  # they end by themselves, not at once
        time.sleep(0.05)
    return said


def test_a_run_that_was_interrupted_then_killed_is_resumed_by_its_folder(
    tmp_path: Path, provider: FakeProvider
) -> None:
    file = marked_file(
        tmp_path, rows=120, models=at(provider, ", requests_per_minute: 3000"), judges=JUDGES
    )
    run = tmp_path / "run"
    command = [
        "run",
        str(tmp_path / "eval.yaml"),
        "--on",
        "ray",
        "--workers",
        "2",
        "--no-cache",
        "--run",
        str(run),
    ]
    _after(_driver(command), provider, 60, signal.SIGKILL)
    assert run_info_or_none(run) is None
    said = _after(_driver(["resume", str(run)]), provider, 60, signal.SIGINT)
    assert "Stopping: no more requests are sent" in said
    assert f"Continue with: adjudge resume {run}" in said
    kept, asked = run_info(run), len(provider.requests)
    assert kept.state == "not finished"
    driver = _driver(["resume", str(run)])
    said = driver.communicate()[1].decode()
    assert driver.returncode == 3, said
    again = asked - kept.votes
    print(
        f"asked again after kill -9 of the driver {again} (bound {2 * BUFFER}), after an "
        "interrupt 0"
    )
    assert 0 <= again <= 2 * BUFFER
    assert len(provider.requests) == asked + 119 * 5 - kept.votes
    assert exported(run) == exported(on_one_machine(file, tmp_path / "one"))


def run_info_or_none(folder: Path) -> RunInfo | None:
    return run_info(folder) if (folder / "ledger.sqlite").exists() else None


def _processes(driver: int) -> dict[str, list[int]]:
    """The processes that the driver's cluster consists of, by what they are."""
    found: dict[str, list[int]] = {"worker": [], "limiter": [], "driver": [driver]}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if f"ADJUDGE_TEST_DRIVER={DRIVER_KEY}".encode() not in environment:
            continue
        for name, kind in (("_Judging", "worker"), ("Limiter", "limiter")):
            if f"ray::{name}" in title:
                found[kind].append(int(folder.name))
    return found


def _kill_one(driver: int, chance: random.Random) -> str | None:
    """A process of those that are there, the workers twice as likely; None where all are gone."""
    there = _processes(driver)
    kinds = [kind for kind in ("worker", "worker", "limiter", "driver") if there[kind]]
    if not there["worker"]:  # none to be killed, or to notice
        return None
    kind = chance.choice(kinds)
    os.kill(chance.choice(there[kind]), signal.SIGKILL)
    return kind


def test_kills_of_workers_driver_and_limiter_lose_nothing(
    tmp_path: Path, provider: FakeProvider
) -> None:
    """The driver is a process of its own, with a cluster of its own; it is started again until the
    run is complete.

    A rate limit and four times as many rows as pass between two kills see to it that all kills
    happen before the end.
    """
    rows, between = 60 + 16 * KILLS, 20
    file = marked_file(
        tmp_path, rows=rows, models=at(provider, ", requests_per_minute: 3000"), judges=JUDGES
    )
    command = [
        "run",
        str(tmp_path / "eval.yaml"),
        "--on",
        "ray",
        "--workers",
        "3",
        "--no-cache",
        "-q",
    ]
    chance, killed = random.Random(7), Counter[str]()
    for _ in range(KILLS + 2):
        driver = _driver(command)
        before = len(provider.requests)
        while killed.total() < KILLS and driver.poll() is None:
            time.sleep(0.05)
            if len(provider.requests) > before + between and (
                kind := _kill_one(driver.pid, chance)
            ):
                killed[kind] += 1
                before = len(provider.requests)
        said = driver.communicate()
        if driver.returncode in (0, 3):
            break
    assert driver.returncode in (0, 3), said
    assert killed.total() == KILLS, "the rows ran out before all kills"
    again = len(provider.requests) - (rows - 1) * 5
    bound = BUFFER * (killed["worker"] + 3 * killed["driver"])
    print(f"killed {dict(killed)}; asked again {again} (bound {bound})")
    assert 0 <= again <= bound
    assert exported(tmp_path / "runs" / "eval") == exported(on_one_machine(file, tmp_path / "one"))
