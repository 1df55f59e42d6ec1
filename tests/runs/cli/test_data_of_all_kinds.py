"""What people hand to commands: Russian tables from Excel, other encodings, empty answers, rows
that cannot be read.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import adjudge

CHECK = ["--criterion", "It is good.", "-m", "scripted/PASS", "--no-cache", "-q"]


def test_a_russian_table_in_cp1251_is_refused_with_the_option_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(
        "Вопрос;Ответ\nКто построил?;Эйфель.\nКогда?;В 1889 году.\n", encoding="cp1251"
    )
    done = adjudge("check", "-f", "rows.csv", *CHECK, cwd=tmp_path)
    assert done.returncode == 1
    assert "--encoding cp1251" in done.stderr
    done = adjudge(
        "check", "-f", "rows.csv", *CHECK, "--encoding", "cp1251", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["attempted"] == 2


def test_a_single_text_has_an_encoding_too(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Башня построена давно.", encoding="cp1251")
    done = adjudge("check", "-f", "text.txt", *CHECK, cwd=tmp_path)
    assert (done.returncode, "--encoding cp1251" in done.stderr) == (1, True)
    done = adjudge("check", "-f", "text.txt", *CHECK, "--encoding", "cp1251", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_workbook_is_judged(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Вопрос", "Ответ"], ["Кто?", "Эйфель."], ["Когда?", "В 1889."]):
        book.active.append(row)
    book.save(tmp_path / "rows.xlsx")
    done = adjudge(
        "judge",
        "-f",
        "rows.xlsx",
        "--criterion",
        "Is it good?",
        "-m",
        "scripted",
        "--no-cache",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["results"]) == 2


@pytest.mark.parametrize("name", ["old.xls", "rows.ods"])
def test_a_spreadsheet_of_another_kind_is_refused_with_the_way_out(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1")
    done = adjudge(
        "judge", "-f", name, "--criterion", "Is it good?", "-m", "scripted", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "save the table as .xlsx, or as CSV in UTF-8" in done.stderr


def test_a_file_without_a_known_column_is_told_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("Отзыв\nХорошо\n")
    done = adjudge(
        "judge", "-f", "rows.csv", "--criterion", "Is it good?", "-m", "scripted", cwd=tmp_path
    )
    assert done.stderr == (
        "adjudge: rows.csv has no response column: name it with --column response=COLUMN "
        "(columns={'response': 'COLUMN'}). It has: Отзыв\n"
    )


def test_empty_answers_are_flagged_and_judged(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("question,answer\nq,a\nq,\n")
    done = adjudge("check", "-f", "rows.csv", *CHECK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "rows.csv: 1 answer is empty and was judged anyway (line 3)"
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_bad_rows_are_skipped_with_their_reasons_unless_they_are_to_stop_it(
    tmp_path: Path, strict: bool
) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"answer": "a"}\nnot json\n{"question": "q"}\n{"answer": "b"}\n'
    )
    done = adjudge(
        "check",
        "-f",
        "rows.jsonl",
        *CHECK,
        *(["--stop-at-bad-row"] if strict else []),
        cwd=tmp_path,
    )
    if strict:
        assert done.returncode == 1
        assert "rows.jsonl, line 2: is not JSON" in done.stderr
    else:
        assert done.returncode == 3
        assert "skipped rows.jsonl, line 2: is not JSON" in done.stderr
        assert (
            "skipped rows.jsonl, line 3: the row has no 'answer'; it has: question" in done.stderr
        )
        assert "2 rows could not be judged" in done.stderr
