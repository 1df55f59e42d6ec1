"""Judged rows that the data no longer has are counted and named where the number is printed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.commands import adjudge

EVAL = "data: rows.csv\nchecks: [{contains: good, name: good}]\ngates: {fail_under: 0.9}\n"


def write_rows(folder: Path, rows: Iterable[int], *, named: bool = True) -> None:
    """Rows below 20 pass, and every second one of the others."""
    lines = [
        f"{f'r{row},' if named else ''}{'good' if row < 20 or row % 2 else 'bad'} text {row}"
        for row in rows
    ]
    header = "id,response" if named else "response"
    (folder / "rows.csv").write_text("\n".join((header, *lines)), encoding="utf-8")
    (folder / "eval.yaml").write_text(EVAL, encoding="utf-8")


def notes(folder: Path) -> list[str]:
    done = adjudge("runs", "show", "run", "--json", cwd=folder)
    return [note for note in json.loads(done.stdout)["notes"] if "no longer in the data" in note]


@pytest.mark.parametrize(
    "words",
    [("run", "eval.yaml", "--run", "run", "--limit", "10"), ("run", "eval.yaml", "--run", "run")],
)
def test_rows_that_left_are_counted_and_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_rows(tmp_path, range(40))
    done = adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    assert done.returncode == 4
    write_rows(tmp_path, range(20))
    done = adjudge(*words, cwd=tmp_path)
    shown = " ".join(done.stdout.split())
    assert "20 rows judged" in shown
    assert (
        "20 judged rows are no longer in the data and do not count: "
        "r20, r21, r22, r23, r24, r25, r26, r27, r28, r29, …" in shown
    )
    assert "all of them are shown" not in done.stderr
    assert len(notes(tmp_path)) == 1  # also for whoever looks later


def test_the_note_stays_until_the_rows_are_back(tmp_path: Path) -> None:
    """The second identical command said nothing of them."""
    run = ("run", "eval.yaml", "--run", "run")
    write_rows(tmp_path, range(40))
    adjudge(*run, cwd=tmp_path)
    write_rows(tmp_path, range(20))
    for words in (run, run, ("resume", "run")):
        done = adjudge(*words, cwd=tmp_path)
        assert "20 judged rows are no longer in the data" in " ".join(done.stdout.split())
        assert len(notes(tmp_path)) == 1
    write_rows(tmp_path, range(39))
    adjudge(*run, cwd=tmp_path)
    assert notes(tmp_path) == ["1 judged row is no longer in the data and does not count: r39"]
    write_rows(tmp_path, range(40))
    adjudge(*run, cwd=tmp_path)
    assert notes(tmp_path) == []


def test_a_resumed_run_counts_them_too(tmp_path: Path) -> None:
    write_rows(tmp_path, range(40))
    adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    write_rows(tmp_path, range(39))
    done = adjudge("resume", "run", cwd=tmp_path)
    shown = " ".join(done.stdout.split())
    assert "1 judged row is no longer in the data and does not count: r39" in shown


def test_rows_without_ids_are_known_by_their_content(tmp_path: Path) -> None:
    """The first 20 rows go, so that the others have new places."""
    write_rows(tmp_path, range(40), named=False)
    adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    write_rows(tmp_path, range(20, 40), named=False)
    done = adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    assert "20 judged rows are no longer in the data" in " ".join(done.stdout.split())


def test_an_edited_or_added_row_has_not_left(tmp_path: Path) -> None:
    write_rows(tmp_path, range(10))
    adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    rows = (tmp_path / "rows.csv").read_text(encoding="utf-8")
    (tmp_path / "rows.csv").write_text(rows.replace("text 3", "words 3") + "\nr10,good text")
    adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    assert notes(tmp_path) == []


def test_a_pass_that_is_cut_off_says_nothing_of_the_rows_behind(tmp_path: Path) -> None:
    judged = EVAL.replace("gates", "models: scripted/PASS\njudges: [{criteria: It is.}]\ngates")
    write_rows(tmp_path, range(10))
    (tmp_path / "eval.yaml").write_text(judged, encoding="utf-8")
    adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    write_rows(tmp_path, range(20, 40))
    (tmp_path / "eval.yaml").write_text(judged, encoding="utf-8")
    done = adjudge(
        "run", "eval.yaml", "--run", "run", "--max-calls", "1", "--no-cache", cwd=tmp_path
    )
    assert done.returncode == 1, done.stdout
    assert "no longer in the data" not in done.stdout
