"""Blank rows that a spreadsheet left in the file: every command skips them and says so."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support import commands
from support.tables import read_rows

ROWS = "question,response,contexts\nQ1,A1,C1\n,,\n \u00a0,,\nQ2,A2,C2\n,,,,,\n"
PAIRS = "question,response_1,response_2\nQ1,A1,B1\n,,\n \u00a0,,\nQ2,A2,B2\n,,,,,\n"
SAID = "3 blank rows were skipped (lines 3, 4, 6)"


def adjudge(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(*args, cwd=folder)


@pytest.mark.parametrize(
    ("rows", "args"),
    [
        (
            ROWS,
            ("check", "--criterion", "Is it short?", "--file", "rows.csv", "-m", "scripted/PASS"),
        ),
        (
            ROWS,
            ("judge", "--criterion", "Is it short?", "--file", "rows.csv", "-m", "scripted/Yes"),
        ),
        (
            PAIRS,
            (
                "compare",
                "--criterion",
                "Which is shorter?",
                "--file",
                "rows.csv",
                "-m",
                "scripted/A",
            ),
        ),
    ],
)
def test_a_command_skips_blank_rows_and_says_so(
    tmp_path: Path, rows: str, args: tuple[str, ...]
) -> None:
    (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
    done = adjudge(tmp_path, *args, "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    assert f"rows.csv: {SAID}" in done.stderr
    assert len(list(read_rows(tmp_path / "out.csv"))) == 2


def test_a_run_skips_blank_rows_and_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    judges = [
        {"kind": "aspect", "name": name, "criteria": f"Is it {name}?"} for name in ("short", "true")
    ]
    wanted = {"data": "rows.csv", "models": ["scripted/PASS"], "judges": judges}
    (tmp_path / "eval.yaml").write_text(json.dumps(wanted), encoding="utf-8")
    done = adjudge(tmp_path, "run", "eval.yaml", "--run", "run")
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr.count(SAID) == 1


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "3 blank rows were skipped: 3, 4, 6."), ("ru", "Пропущены 3 пустые строки: 3, 4, 6.")],
)
def test_blank_rows_do_not_lower_the_composite_and_every_report_says_so(
    tmp_path: Path, language: str, said: str
) -> None:
    """0.92 became 0.62: five blank rows out of Excel were judged as answers."""
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    done = adjudge(tmp_path, "rag", "--csv", "rows.csv", "-m", "scripted/2", "--language", language)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    paths = [tmp_path / word for word in done.stdout.split() if "rag_evaluation" in word]
    assert len(list(read_rows(paths[1]))) == 2
    assert all(
        said.removesuffix(".") in path.read_text(encoding="utf-8") for path in (paths[0], paths[2])
    )


def test_empty_lines_are_counted_as_blank_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("answer\none\n\ntwo\n")
    done = adjudge(tmp_path, "check", "-f", "rows.csv", "--contains", "o")
    assert "1 blank row was skipped (line 3)" in done.stderr
    assert "2 rows judged" in done.stdout


def test_a_rag_row_without_a_question_is_skipped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        "question,answer,contexts\n ,So.,Because.\nWhy?,So.,Because.\n"
    )
    done = adjudge(tmp_path, "rag", "-f", "rows.csv", "-m", "scripted/2")
    assert done.returncode == 3
    assert "skipped rows.csv, line 2: 'question' is empty" in done.stderr
    assert "1 row could not be judged" in done.stderr
