"""Plain processes share a run by leased ranges of rows in a real Postgres."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge.errors import RunError, SetupError
from adjudge.features.scale.partition import merge_partitions
from adjudge.features.scale.stores import postgres
from adjudge.features.scale.stores.postgres import PostgresStore
from adjudge.features.scale.stores.store import RowRange
from adjudge.runs.folder import run_info
from support.asking import wait_until
from support.fake_provider import KEY, FakeProvider, busiest_rate
from support.lost_replies import LONGEST, MODEL, LostReplies
from support.partitions import exported, marked_file, on_one_machine
from support.stores import opened, postgres_server
from support.wire import WireServer

ROWS = int(os.environ.get("ADJUDGE_SCALE_ROWS", "600"))
CODE = """
import sys
sys.path[:0] = {paths!r}
from adjudge.runs.cli.main import main
where = ["--on", {url!r}, "--run", {run!r}]
sys.argv = ["adjudge", "run", {file!r}, *where, "--workers", "2", "--no-cache", "-q", *{more!r}]
main()
"""


def started(file: Path, url: str, run: Path, *more: str) -> subprocess.Popen[bytes]:
    code = CODE.format(paths=sys.path, file=str(file), url=url, run=str(run), more=more)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "OPENAI_API_KEY": KEY},
        stderr=subprocess.PIPE,
    )


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
    before = time.monotonic()
    ended(started(tmp_path / "eval.yaml", url, tmp_path / "b"))
    assert time.monotonic() - before < postgres.LEASE_SECONDS / 2, (
        "nobody waits for the lease of one that is gone"
    )
    again = len(provider.requests) - 5 * (ROWS - 1)
    print(f"asked again {again} (bound {500 + 64})")
    assert 0 <= again <= 500 + 64
    assert exported(tmp_path / "b") == exported(on_one_machine(file, tmp_path / "one"))


def test_a_range_is_held_by_one_and_free_when_its_lease_has_run_out(tmp_path: Path) -> None:
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    store.offer([(RowRange(0, 9), "a"), (RowRange(10, 19), "b")])
    store.offer([(RowRange(0, 9), "a")])
    assert (store.take("a"), store.take("b", 0.0), store.take("c")) == (
        RowRange(0, 9),
        RowRange(10, 19),
        RowRange(10, 19),
    )
    store.done(RowRange(0, 9))
    assert (store.left(), store.take("d")) == (1, None)
    store.give_back("c")
    assert store.take("d") == RowRange(10, 19)


def test_the_range_of_a_worker_is_free_when_its_connection_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: a killed worker's range stayed its own for five minutes."""
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    dead = PostgresStore(f"{postgres_server()}#{store.run}")
    store.begin({})
    store.offer([(RowRange(0, 9), "a")])
    dead.guard("dead")
    dead.guard("dead")
    dead.join("dead", "dead")
    assert dead.take("dead") == RowRange(0, 9)
    monkeypatch.setattr(postgres, "GONE_AFTER", 0.0)
    assert store.take("b") is None, "it lives"
    with dead.server.opened() as connection:
        connection.close()
    wait_until(lambda: store.take("b") == RowRange(0, 9))
    assert store.take("b") == RowRange(0, 9)
    assert dead.hold("dead") is False


def test_a_worker_whose_connection_is_made_anew_keeps_its_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    other = PostgresStore(f"{postgres_server()}#{store.run}")
    store.begin({})
    store.offer([(RowRange(0, 9), "a")])
    store.guard("a")
    assert store.take("a") == RowRange(0, 9)
    with store.server.opened() as connection:
        connection.close()
    assert other.take("b") is None, "it may come back for a while"
    store.guard("a")
    monkeypatch.setattr(postgres, "GONE_AFTER", 0.0)
    assert other.take("b") is None


def test_a_role_that_owns_nothing_takes_part_where_the_tables_are(tmp_path: Path) -> None:
    """Seen: "must be owner of table adjudge_ranges"."""
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    with store.server.opened() as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO guest")
        connection.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO guest")
    url = f"{postgres_server().replace('user=adjudge', 'user=guest')}#guests"
    file = marked_file(tmp_path, rows=20)
    ended(started(tmp_path / "eval.yaml", url, tmp_path / "a"))
    assert exported(tmp_path / "a") == exported(on_one_machine(file, tmp_path / "one"))
    with store.server.opened() as connection:
        connection.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM guest")
        connection.execute("REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM guest")


def test_a_role_that_may_not_make_the_tables_is_told_what_to_do(tmp_path: Path) -> None:
    with PostgresStore(f"{postgres_server()}#any").server.opened() as connection:
        connection.execute("DROP DATABASE IF EXISTS empty")
        connection.execute("CREATE DATABASE empty")
        connection.execute("DROP ROLE IF EXISTS nobody")
        connection.execute("CREATE ROLE nobody LOGIN")
    url = postgres_server().replace("/postgres?", "/empty?").replace("user=adjudge", "user=nobody")
    with pytest.raises(RunError, match="lacks adjudge's tables, and this role may not create them"):
        PostgresStore(f"{url}#run").begin({})


def test_rows_that_have_changed_are_shared_out_again(tmp_path: Path) -> None:
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    ranges = [RowRange(0, 9), RowRange(10, 19), RowRange(20, 23)]
    store.offer([(span, "as before") for span in ranges])
    for span in ranges:
        assert store.take("a") == span
        store.done(span)
    store.offer(
        [(RowRange(0, 9), "as before"), (RowRange(10, 19), "changed"), (RowRange(20, 29), "longer")]
    )
    store.offer([(RowRange(10, 19), "changed")])
    assert (store.left(), store.take("a"), store.take("b")) == (
        2,
        RowRange(10, 19),
        RowRange(20, 29),
    )


def test_who_did_not_hear_that_a_range_is_theirs_is_given_it_again(tmp_path: Path) -> None:
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    store.offer([(RowRange(0, 9), "a")])
    assert [store.take("a"), store.take("a"), store.take("b")] == [
        RowRange(0, 9),
        RowRange(0, 9),
        None,
    ]


def test_a_connection_that_breaks_off_is_made_anew(tmp_path: Path) -> None:
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    store.offer([(RowRange(0, 9), "a")])
    works: list[Callable[[], bool]] = [
        lambda: store.take("a") == RowRange(0, 9),
        lambda: store.left() == 1,
        lambda: store.hold("a") is False,
    ]
    for work in works:
        with PostgresStore(f"{postgres_server()}#other").server.opened() as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid()"
            )
        assert work()


def test_a_process_that_was_away_for_too_long_is_told_so(tmp_path: Path) -> None:
    store = opened("postgres", tmp_path)
    assert isinstance(store, PostgresStore)
    store.begin({})
    store.offer([(RowRange(0, 9), "a")])
    store.join("a", "a")
    store.join("b", "b", -1.0)
    assert (store.take("a"), store.hold("a"), store.hold("b")) == (RowRange(0, 9), True, False)


def test_one_budget_holds_for_all_processes_and_a_resume_spends_the_rest(
    tmp_path: Path, provider: FakeProvider
) -> None:
    url = f"{postgres_server()}#budget"
    models = f"[{{model: openai/gpt-4o-mini, base_url: {provider.base_url('openai')}}}]"
    marked_file(tmp_path, rows=400, models=models)
    workers = [
        started(tmp_path / "eval.yaml", url, tmp_path / name, "--max-calls", "500")
        for name in "abc"
    ]
    said = [one.communicate()[1].decode() for one in workers]
    assert all("the budget is used up: max_calls=500" in one for one in said), said
    assert 450 <= len(provider.requests) <= 500
    kept = [run_info(tmp_path / name) for name in "abc"]
    assert max(one.votes for one in kept) == len(
        provider.requests
    )  # as the last of them to end knows
    assert {one.state for one in kept} == {"not finished"}
    resumed = [
        started(tmp_path / "eval.yaml", url, tmp_path / name, "--max-calls", "5000")
        for name in "ab"
    ]
    for one in resumed:
        ended(one)
    assert (
        399 * 5 <= len(provider.requests) <= 400 * 5
    )  # rows that show the same are asked about in each range
    assert exported(tmp_path / "a") == exported(tmp_path / "b")
    assert not (tmp_path / "a" / "partitions").exists()


@pytest.mark.parametrize("kills", [0, 1])
def test_processes_keep_to_one_dollar_limit_if_replies_are_lost(tmp_path: Path, kills: int) -> None:
    url = f"{postgres_server()}#money-{kills}"
    bill, limit = LostReplies(), 60 * LONGEST
    judge = "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"
    with WireServer(bill.send, bill.body, latency=0.02) as server:
        models = f"[{{model: {MODEL}, base_url: {server.url}, max_concurrency: 4}}]"
        marked_file(tmp_path, rows=600, models=models, judges=judge)
        workers = [
            started(tmp_path / "eval.yaml", url, tmp_path / name, "--max-usd", str(limit))
            for name in "abc"
        ]
        if kills:
            wait_until(lambda: server.replies > 12)
            workers[0].send_signal(signal.SIGKILL)
        ends = [worker.communicate()[1].decode() for worker in workers]
    assert all("replies that did not arrive count for" in end for end in ends[kills:])
    # A killed process may have had one request under way on each of its four connections.
    assert limit / 3 <= bill.usd <= limit + (1 + 4 * kills) * LONGEST


def test_three_processes_keep_to_one_rate(tmp_path: Path, provider: FakeProvider) -> None:
    url, per_second, window = f"{postgres_server()}#rate", 40, 5.0
    limit = f", requests_per_minute: {60 * per_second}"
    models = f"[{{model: openai/gpt-4o-mini, base_url: {provider.base_url('openai')}{limit}}}]"
    judge = "judges: [{kind: aspect, criteria: The mark must end in Y.}]\n"
    marked_file(tmp_path, rows=700, models=models, judges=judge)
    for one in [started(tmp_path / "eval.yaml", url, tmp_path / name) for name in "abc"]:
        ended(one)
    busiest = busiest_rate(provider, window)
    print(
        f"in the busiest {window:g} s {busiest:.1f} requests a second of {per_second} "
        "allowed, by 3 processes"
    )
    assert busiest <= 1.05 * per_second


def test_a_name_that_another_eval_file_has_is_refused_and_its_answers_stay_where_they_are(
    tmp_path: Path,
) -> None:
    url = f"{postgres_server()}#taken"
    for name, mark in (("a", "Y"), ("b", "N")):
        judge = (
            f"judges: [{{kind: aspect, name: {name}, criteria: The mark must end in {mark}.}}]\n"
        )
        marked_file(tmp_path / name, rows=3, judges=judge)
    ended(started(tmp_path / "a" / "eval.yaml", url, tmp_path / "a" / "run"))
    other = started(tmp_path / "b" / "eval.yaml", url, tmp_path / "b" / "run", "--language", "ru")
    said = other.communicate()[1].decode()
    assert other.returncode == 1
    assert "judges.a больше нет; judges.b раньше не было" in said and "прогон taken" in said
    assert "дайте прогону другое имя после #" in said
    assert not (tmp_path / "b" / "run").exists()


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: make test-scale")
    with pytest.raises(SetupError, match="which run"):
        PostgresStore("postgresql://me:secret@host/database")
    with pytest.raises(RunError, match="cannot be used") as raised:
        merge_partitions(f"postgresql://me:secret@/x?host={tmp_path}#y", tmp_path / "run")
    assert "secret" not in str(raised.value)
