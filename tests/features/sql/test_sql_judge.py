"""The judge of SQL in Python, in eval files and in runs; each row is run in a process."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from adjudge import RunSettings, SqlJudge, run
from adjudge.core.domain.results import Status
from adjudge.errors import SandboxError, SetupError, Timeout
from adjudge.features.sql import judge as judge_module
from adjudge.features.sql.database import find_database, read_database
from adjudge.runs.folder import records_of

SCRIPT = "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'x');"
GOLD = "SELECT a FROM t WHERE b = 'x'"


def judge(**settings: Any) -> SqlJudge:
    return SqlJudge(**{"sandbox": "none", "copies": 2, **settings})


def row(response: str, **more: str) -> dict[str, str]:
    return {"response": response, "reference": GOLD, "database": SCRIPT, **more}


def test_rows_bring_their_database_and_get_pass_fail_or_a_failure() -> None:
    right, wrong, broken = judge(copies=8).evaluate(
        [
            row(f"```sql\n{GOLD};\n```"),
            row("SELECT a FROM t WHERE a <> 2"),
            row(GOLD, database="CREATE TABL t"),
        ]
    )
    assert (right.verdict, right.score) == ("PASS", 1.0)
    assert right.explanation == "the same 2 rows; also on 8 changed copies"
    assert (wrong.verdict, wrong.score) == ("FAIL", 0.0)
    assert "by accident" in (wrong.explanation or "")
    # A database that cannot be built is never a verdict.
    assert (broken.status, broken.score) == (Status.FAILED, None)
    assert "the database cannot be built" in (broken.reason or "")


def test_a_file_or_a_folder_holds_the_database(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(SCRIPT)
    connection.close()
    (tmp_path / "cars").mkdir()
    (tmp_path / "cars" / "cars.sql").write_text(SCRIPT)
    pair = {"response": GOLD, "reference": GOLD}
    assert judge(database=tmp_path / "shop.db").evaluate(pair).verdict == "PASS"
    folder = judge(database=tmp_path)
    named, lost = folder.evaluate(
        [{**pair, "database": "cars"}, {**pair, "database": "../../etc/passwd"}]
    )
    assert named.verdict == "PASS"
    assert (lost.status, lost.verdict) == (Status.FAILED, None)
    assert "is not the name of a database" in (lost.reason or "")


def test_names_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "databases"
    inside.mkdir()
    (tmp_path / "secret.db").write_bytes(b"SQLite format 3\0")
    (inside / "link.db").symlink_to(tmp_path / "secret.db")
    for name in ("../secret", "link", "/etc/passwd", "..", ""):
        with pytest.raises(SetupError):
            find_database(inside, name)


def test_files_that_are_no_databases_are_named(tmp_path: Path) -> None:
    (tmp_path / "picture.db").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(SetupError, match="neither an SQLite database nor a script"):
        judge(database=tmp_path / "picture.db")
    with pytest.raises(SetupError, match=r"cannot be read: No such file"):
        judge(database=tmp_path / "none.db")
    (tmp_path / "open.db").write_text(SCRIPT)
    (tmp_path / "open.db-wal").write_text("changes")
    with pytest.raises(SetupError, match="not in the file yet"):
        read_database(tmp_path / "open.db")


def test_settings_that_make_no_sense_are_refused() -> None:
    for settings, text in (
        ({"copies": -1}, "copies"),
        ({"copies": 101}, "at most 100"),
        ({"seconds": 0}, "above 0"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"votes": 3}, "leave out votes"),
        ({"check_positional_bias": True}, "leave out votes"),
    ):
        with pytest.raises(SetupError, match=text):
            judge(**settings)


def test_a_run_executes_nothing_twice_unless_the_database_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.sql").write_text(SCRIPT)
    jobs = []
    original = SqlJudge._run_in_sandbox

    async def counted(self: SqlJudge, job: Any) -> Any:
        jobs.append(job)
        return await original(self, job)

    monkeypatch.setattr(SqlJudge, "_run_in_sandbox", counted)
    pair = {"response": GOLD, "reference": GOLD}
    sql_judge = judge(database=tmp_path / "shop.sql", copies=0)
    sql_judge.evaluate([pair], run=tmp_path / "run")
    sql_judge.evaluate([pair], run=tmp_path / "run")
    assert len(jobs) == 1
    (tmp_path / "shop.sql").write_text(SCRIPT.replace("'x'), (2", "'z'), (2"))
    changed = judge(database=tmp_path / "shop.sql", copies=0)
    changed.evaluate([pair], run=RunSettings(tmp_path / "new", fork_of=tmp_path / "run"))
    assert len(jobs) == 2
    (record,) = records_of(tmp_path / "run")
    assert (record.verdict, record.score) == ("PASS", 1.0)


def test_a_crash_is_the_fault_of_the_part_that_was_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Crashing:
        part = "response"

        async def run(self, code: str, *, tools: Any, **_: Any) -> Any:
            tools["tell"]("database")
            tools["tell"](self.part)
            error: SandboxError = Timeout("30 s of wall-clock time", stdout="", stderr="")
            raise error

    sandbox = Crashing()
    monkeypatch.setattr(judge_module, "find_sandbox", lambda name: sandbox)
    result = judge().evaluate(row(GOLD))
    assert (result.verdict, result.explanation) == (
        "FAIL",
        "it stopped the sandbox (Timeout: 30 s of wall-clock time)",
    )
    sandbox.part = "reference"
    result = judge().evaluate(row(GOLD))
    assert (result.verdict, result.status) == (None, Status.FAILED)


def test_an_eval_file_judges_queries(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(SCRIPT)
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [
                ("question", "response", "gold"),
                ("all x", GOLD, GOLD),
                ("all x", "SELECT a FROM t", GOLD),
                ("all x", "", GOLD),
            ]
        )
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nrun: run\njudges:\n"
        "  - {kind: sql, database: shop.sql, reference_field: gold, copies: 1, sandbox: none}\n"
    )
    report = run(tmp_path / "eval.yaml")
    assert [record.verdict for record in records_of(tmp_path / "run")] == ["PASS", "FAIL", "FAIL"]
    assert report.cost.cost_usd == 0.0


def test_the_file_says_what_is_wrong_in_it(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("response,reference\nSELECT 1,SELECT 1\n")
    for keys, text in (
        ("votes: 3", "leave votes out"),
        ("models: [scripted/PASS]", "leave models out"),
        ("database: missing.db", "missing.db"),
        ("copies: 1000", "copies"),
        ("sandbox: chroot", "sandbox"),
    ):
        (tmp_path / "eval.yaml").write_text(f"data: rows.csv\njudges: [{{kind: sql, {keys}}}]\n")
        with pytest.raises(SetupError, match=text):
            run(tmp_path / "eval.yaml")


def test_numbers_beyond_floats_do_not_stop_the_run() -> None:
    """They could not be sent to the sandbox as JSON, and one such answer ended the whole run."""
    queries = ("SELECT 1e999", "SELECT " + "9" * 400, f"{GOLD} AND a < 1e999")
    results = judge().evaluate([row(query) for query in queries])
    assert [result.verdict for result in results] == ["FAIL", "FAIL", "PASS"]


def test_semicolons_and_comments_after_a_query_do_no_harm() -> None:
    assert judge().evaluate(row(f"{GOLD};; -- done\n; /* ok */")).verdict == "PASS"
    assert judge().evaluate(row(f"{GOLD}; SELECT 1;")).verdict == "FAIL"


def test_a_database_that_is_called_sandbox_fails_its_row_only(tmp_path: Path) -> None:
    (tmp_path / "cars.sql").write_text(SCRIPT)
    pair = {"response": GOLD, "reference": GOLD}
    lost, found = judge(database=tmp_path).evaluate(
        [{**pair, "database": "sandbox"}, {**pair, "database": "cars"}]
    )
    assert (lost.status, found.verdict) == (Status.FAILED, "PASS")
