"""A second pass over rows that are judged: what is taken from the run, and what is judged anew."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from adjudge.core.domain.vote import Vote
from adjudge.core.judges.aspect import AspectCritic
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.ledger.file import FILE, connect, read_meta
from adjudge.core.ledger.ledger import POOLED_BY
from adjudge.core.ledger.rows import insert, with_checksum
from adjudge.runs import execute
from adjudge.runs.cli.main import main
from adjudge.version import __version__

ROWS = 5
EVAL = """data: {path: rows.csv, id: id}
models: ["scripted/PASS,FAIL,PASS", "scripted/FAIL,PASS"]
judges:
  - {kind: aspect, name: short, criteria: It is short.}
  - kind: direct
    name: tone
    criteria:
      - name: tone
        description: "Is it kind?"
        options: [{name: PASS, score: 1}, {name: FAIL, score: 0}]
    check_positional_bias: true
run: runs/a
"""
Again = Callable[[], tuple[int, str]]


@pytest.fixture
def again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Again:
    """Run the eval file: the number of items that were pooled, and what was printed."""
    pooled: list[object] = []
    for kind in (AspectCritic, DirectJudge):

        def pool(
            judge: AspectCritic,
            item: object,
            votes: Sequence[Vote],
            kept: Callable[..., object] = kind.pool,
        ) -> object:
            pooled.append(item)
            return kept(judge, item, votes)

        monkeypatch.setattr(kind, "pool", pool)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eval.yaml").write_text(EVAL)
    write_rows(tmp_path)

    def run() -> tuple[int, str]:
        pooled.clear()
        monkeypatch.setattr(sys, "argv", ["adjudge", "run", "eval.yaml", "--quiet"])
        with pytest.raises(SystemExit):
            main()
        return len(pooled), capsys.readouterr().out

    return run


def write_rows(folder: Path, changed: int = -1) -> None:
    rows = [f"q{row},{'other' if row == changed else 'text'} {row}" for row in range(ROWS)]
    (folder / "rows.csv").write_text("\n".join(["id,response", *rows]))


def test_rows_that_are_judged_are_not_judged_again(
    again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert again()[0] == 2 * ROWS
    quick = again()
    monkeypatch.setattr(execute, "is_repeated", lambda _: False)
    judged, printed = again()
    assert (judged, quick) == (2 * ROWS, (0, printed))


def test_every_row_of_changed_data_is_judged_as_before(again: Again, tmp_path: Path) -> None:
    again()
    write_rows(tmp_path, changed=2)
    assert again()[0] == 2 * ROWS
    assert again()[0] == 0


def test_a_changed_eval_file_is_looked_at_row_by_row(again: Again, tmp_path: Path) -> None:
    again()
    (tmp_path / "eval.yaml").write_text(EVAL.replace("id: id", "id: id, limit: 9"))
    assert again()[0] == 2 * ROWS
    assert again()[0] == 0


def test_judgments_pooled_by_another_version_are_never_taken(
    again: Again, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again()
    monkeypatch.setattr("adjudge.core.ledger.ledger.__version__", "99.0")
    assert again()[0] == 2 * ROWS
    monkeypatch.setattr("adjudge.core.ledger.ledger.__version__", __version__)
    assert again()[0] == 2 * ROWS
    with connect(tmp_path / "runs/a" / FILE, writable=False) as connection:
        assert read_meta(connection)[POOLED_BY] == ""


def test_a_row_whose_vote_is_gone_is_judged(again: Again, tmp_path: Path) -> None:
    again()
    with closing(sqlite3.connect(tmp_path / "runs/a" / FILE)) as connection:
        connection.execute("DELETE FROM votes WHERE number = 1")
        connection.commit()
    assert again()[0] == 1
    assert again()[0] == 0


def test_a_judgment_that_was_pooled_before_its_last_vote_is_not_taken(
    again: Again, tmp_path: Path
) -> None:
    again()
    # A failed vote was asked again, and the run was killed before its judgment was written.
    with connect(tmp_path / "runs/a" / FILE) as connection:
        first = "SELECT * FROM judgments ORDER BY judge, number LIMIT 1"
        *columns, result, _ = connection.execute(first).fetchone()
        lost = json.dumps({**json.loads(result), "votes_valid": 1, "explanation": "by one vote"})
        connection.execute(insert("judgments"), with_checksum(*columns, lost))
    assert again()[0] == 1
    with connect(tmp_path / "runs/a" / FILE, writable=False) as connection:
        assert "by one vote" not in connection.execute(first).fetchone()[-2]
    assert again()[0] == 0


def test_a_resumed_run_stores_columns_that_changed(again: Again, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,response,team\nq0,one,red\nq1,two,red\n")
    again()
    rows.write_text("id,response,team\nq0,one,red\nq1,two,blue\n")
    main_of("resume", "runs/a")
    with connect(tmp_path / "runs/a" / FILE, writable=False) as connection:
        teams = "SELECT json_extract(result, '$.input.team') FROM judgments ORDER BY judge, number"
        assert [team for (team,) in connection.execute(teams)] == ["red", "blue"] * 2


def test_texts_in_another_order_are_judged(
    again: Again, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass that reads the new order may be killed: then the next one finds the same file."""
    (tmp_path / "rows.csv").write_text("id,response,one,two\nq0,text,a,b\n")
    ordered = EVAL.replace("id: id", "id: id, columns: {one: one, two: two}")
    (tmp_path / "eval.yaml").write_text(ordered)
    again()
    (tmp_path / "eval.yaml").write_text(ordered.replace("one: one, two: two", "two: two, one: one"))
    monkeypatch.setattr(execute, "is_repeated", lambda _: True)
    main_of("run", "eval.yaml", "--quiet", "--run", "runs/a")
    with connect(tmp_path / "runs/a" / FILE, writable=False) as connection:
        (prompts,) = connection.execute("SELECT count(DISTINCT ballot) FROM votes").fetchone()
    assert prompts == 2 * 6, "two models, one judge in both orders of the options"


def main_of(*words: str) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(sys, "argv", ["adjudge", *words])
        main()
