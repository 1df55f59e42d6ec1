"""What is known of a run before it begins."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs import plan
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.execute import JudgmentDone, RowsReadable, execute
from adjudge.runs.folder import run_info
from adjudge.runs.plan import Plan, resolve

JUDGES = (
    "judges:\n  - {kind: aspect, criteria: It is short.}\n  - {kind: direct, name: d, criteria: "
    "['Is it?', 'Was it?']}\n"
)


def made(folder: Path, data: str = "rows.csv", more: str = "", **settings: Any) -> Plan:
    return resolve(
        parse_eval(f"data: {data}\nmodels: scripted\n{more}{JUDGES}", folder / "eval.yaml"),
        **settings,
    )


def test_the_judgments_are_counted_before_they_are_made(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\n1,one\n2,two\nx,too,many\n3,three\n")
    run = made(tmp_path)
    with execute(run) as events:
        seen = [event for event in events if isinstance(event, JudgmentDone)]
    assert run.total() == len(seen) == 9
    assert made(tmp_path, limit=2).total() == 6


def test_rows_that_are_many_or_bad_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\n1,one\nx,too,many\n")
    assert made(tmp_path, more="on_bad_row: stop\n").total() is None
    assert made(tmp_path, "none.csv").total() is None
    monkeypatch.setattr(plan, "_QUICKLY_COUNTED", 10)
    assert made(tmp_path).total() is None


def test_what_can_be_read_once_is_not_read_to_be_counted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    counted: list[int | None] = []
    counting = threading.Thread(target=lambda: counted.append(made(tmp_path).total()), daemon=True)
    counting.start()
    counting.join(120)
    assert counted == [None]


def test_nothing_is_made_before_the_rows_were_found_readable(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\n1,one\n2,two\n")
    folder = tmp_path / "runs" / "eval"
    with execute(made(tmp_path)) as events:
        assert isinstance(next(events), RowsReadable)
        time.sleep(0.1)
        assert not folder.exists()
        assert sum(isinstance(event, JudgmentDone) for event in events) == 6
    assert run_info(folder).state == "complete"


def test_whoever_leaves_early_ends_the_run_and_keeps_what_was_answered(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        "id,answer\n" + "".join(f"{n},text {n}\n" for n in range(9000))
    )
    folder = tmp_path / "runs" / "eval"
    with (
        pytest.raises(ZeroDivisionError),
        execute(made(tmp_path)) as events,
    ):
        next(event for event in events if isinstance(event, JudgmentDone))
        raise ZeroDivisionError
    held = run_info(folder)
    assert held.state == "not finished"
    assert 0 < held.rows < 9000


def test_a_file_of_criteria_is_read_once_whatever_passes_there_are_over_the_rows(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows.csv").write_text("id,answer\n1,one\n2,two\n")
    named = tmp_path / "own.yaml"
    named.write_text("name: clear\ndescription: Is it?\noptions: [{name: 'Yes'}, {name: 'No'}]\n")
    judges = "".join(f"  - {{kind: direct, name: {one}, criteria: own.yaml}}\n" for one in "ab")
    file = parse_eval(
        f"data: rows.csv\nmodels: scripted\njudges:\n{judges}", tmp_path / "eval.yaml"
    )
    run = resolve(file)
    named.unlink()
    assert run.total() == 4
    with execute(run) as events:
        assert sum(isinstance(event, JudgmentDone) for event in events) == 4
