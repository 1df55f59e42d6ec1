"""Plain processes share a run by leased ranges of rows in a real Postgres."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adjudge.errors import RunError, SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.ledger.stores.store import Span
from adjudge.runs.execute import EvalRun
from adjudge.runs.partition import merge_partitions
from support.fake_provider import KEY, FakeProvider
from support.partitions import exported, marked_file, on_one_machine
from support.stores import opened, postgres_server

ROWS = int(os.environ.get("ADJUDGE_SCALE_ROWS", "600"))
CODE = """
import sys
sys.path[:0] = {paths!r}
from adjudge.cli.main import main
sys.argv = ["adjudge", "run", {file!r}, "--on", {url!r}, "--run", {run!r}, "--workers", "2", "--no-cache", "-q"]
main()
"""


def started(file: Path, url: str, run: Path) -> subprocess.Popen[bytes]:
    code = CODE.format(paths=sys.path, file=str(file), url=url, run=str(run))
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "OPENAI_API_KEY": KEY}, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate()
    assert process.returncode in (0, 3), said.decode()


def test_two_processes_make_the_run_of_one(tmp_path: Path) -> None:
    url = f"{postgres_server()}#two"
    file = marked_file(tmp_path, rows=ROWS)
    both = [started(tmp_path / "eval.yaml", url, tmp_path / name) for name in ("a", "b")]
    for one in both:
        ended(one)
    expected = exported(on_one_machine(file, tmp_path / "one"))
    assert exported(tmp_path / "a") == exported(tmp_path / "b") == expected


def test_a_killed_process_leaves_its_range_to_the_others(
    tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjudge.ledger.stores.postgres import PostgresStore

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    url = f"{postgres_server()}#killed"
    models = f"[{{model: openai/gpt-4o-mini, base_url: {provider.base_url('openai')}}}]"
    file = marked_file(tmp_path, rows=ROWS, models=models)
    first = started(tmp_path / "eval.yaml", url, tmp_path / "a")
    while len(provider.requests) < 100:
        time.sleep(0.05)
        assert first.poll() is None, first.communicate()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    store = PostgresStore(url)
    with store._open() as connection:  # five minutes later
        connection.execute("UPDATE adjudge_ranges SET until = now() - interval '1 second' WHERE until IS NOT NULL")
    ended(started(tmp_path / "eval.yaml", url, tmp_path / "b"))
    again = len(provider.requests) - 5 * (ROWS - 1)
    print(f"asked again {again} (bound {500 + 64})")
    assert 0 <= again <= 500 + 64
    assert exported(tmp_path / "b") == exported(on_one_machine(file, tmp_path / "one"))


def test_a_range_is_held_by_one_and_free_when_its_lease_has_run_out(tmp_path: Path) -> None:
    from adjudge.ledger.stores.postgres import PostgresStore

    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    store.offer([Span(0, 9), Span(10, 19)])
    store.offer([Span(0, 9)])
    assert (store.take("a"), store.take("b", 0.0), store.take("c")) == (Span(0, 9), Span(10, 19), Span(10, 19))
    store.done(Span(0, 9))
    assert (store.left(), store.take("d")) == (1, None)
    store.give_back("c")
    assert store.take("d") == Span(10, 19)


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: make test-scale")
    from adjudge.ledger.stores.postgres import PostgresStore
    from adjudge.runs.together import judge_together

    file = marked_file(tmp_path)
    made = EvalRun.of(file, cache=False, folder=tmp_path / "run")
    with pytest.raises(SetupError, match="do not know what the others spend"):
        judge_together(made, "postgresql:///x#y", share=1, budget=Budget(max_calls=1), cache=False, tell=print)
    with pytest.raises(SetupError, match="which run"):
        PostgresStore("postgresql://me:secret@host/database")
    with pytest.raises(RunError, match="cannot be used") as raised:
        merge_partitions(f"postgresql://me:secret@/x?host={tmp_path}#y", tmp_path / "run")
    assert "secret" not in str(raised.value)
