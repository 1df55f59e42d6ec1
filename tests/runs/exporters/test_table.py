"""Rows for spreadsheets and scripts."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.data.cells import cell, text_of
from adjudge.runs.exporters.table import write_rows
from support.commands import adjudge
from support.tables import read_rows

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text(
    "'=+-@\t\r\n\",;x\0", max_size=8
)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_a_spreadsheet_would_run_is_defused(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), (1.5, "1.5"), (-1.5, "-1.5"), (True, "True"), ("x", "x"), ({"a": 1}, '{"a": 1}')],
)
def test_other_values_are_shown_as_they_are(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_rows_with_different_columns_share_one_header(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.csv", [{"a": 1, "b": "x,\ny"}, {"c": "ю"}])
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"a": "1", "b": "x,\ny", "c": ""},
            {"a": "", "b": "", "c": "ю"},
        ]


def test_half_a_character_is_written_as_its_escape(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [{"text": "so \ud83d"}])
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8"))["text"] == "so \ud83d"


@given(TEXTS)
def test_what_was_defused_can_be_told_from_what_was_not(text: str) -> None:
    assert text_of(cell(text)) == text
    assert not cell(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(rows=st.lists(st.fixed_dictionaries({"=a": TEXTS, "b": TEXTS}), min_size=1, max_size=5))
def test_rows_read_back_as_they_were(
    rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    write_rows(path, rows)
    assert list(read_rows(path)) == rows


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_output_replaces_a_link_and_leaves_what_it_points_to(
    tmp_path: Path, ending: str
) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / f"out.{ending}"
    theirs.write_text("theirs")
    link.symlink_to(theirs)
    write_rows(link, [{"a": "x"}])
    assert theirs.read_text() == "theirs"
    assert not link.is_symlink()
    assert "x" in link.read_text()


def test_the_systems_own_links_are_written_through(tmp_path: Path) -> None:
    """/dev/stdout that goes into a file must stay what it is, also for root."""
    code = (
        "import pathlib, sys; from adjudge.runs.exporters import table; "
        "table.write_rows(pathlib.Path(sys.argv[1]), [{'a': 1}])"
    )
    for link in ("/dev/stdout", "/dev/fd/1"):
        with (tmp_path / "out").open("wb") as out:
            subprocess.run([sys.executable, "-c", code, link], stdout=out, check=True)
        assert (tmp_path / "out").read_text() == '{"a": 1}\n'
        assert Path(link).is_symlink()


def test_a_column_of_the_input_named_like_ours_keeps_every_value(tmp_path: Path) -> None:
    """A human's verdict must not be lost on the rows on which the judge agrees."""
    people = ["PASS", "FAIL", "PASS", "FAIL"]
    lines = "".join(f"r{n},text {n},{verdict},scored\n" for n, verdict in enumerate(people))
    (tmp_path / "rows.csv").write_text(f"id,answer,verdict,status\n{lines}")
    asked = ("check", "-f", "rows.csv", "--criterion", "It is polite.", "-m", "scripted/PASS")
    adjudge(*asked, "--run", "kept", "-o", "out.csv", cwd=tmp_path)
    adjudge("export", "kept", "--to", "csv", "-o", "again.csv", cwd=tmp_path)
    for name in ("out.csv", "again.csv"):
        rows = list(read_rows(tmp_path / name))
        assert [row["input_verdict"] for row in rows] == people
        assert [row["verdict"] for row in rows] == ["PASS"] * 4
        assert [row["input_status"] for row in rows] == ["scored"] * 4
        assert "input_id" not in rows[0]


def test_an_answer_that_equals_a_column_is_written(tmp_path: Path) -> None:
    """The cell of a right answer was empty, since the expected answer has the same text."""
    (tmp_path / "app.py").write_text("def say(question):\n    return 'Paris'\n")
    (tmp_path / "rows.csv").write_text("question,gold\nFrance?,Paris\nSpain?,Madrid\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\ntarget: app.py:say\n"
        "judges:\n- {kind: check, checks: [{words: {most: 6}}]}\n"
    )
    adjudge("run", "eval.yaml", "--yes", "--run", "asked", cwd=tmp_path)
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Paris"}]
    lines = [json.dumps({"messages": messages, "gold": gold}) for gold in ("Paris", "Madrid")]
    (tmp_path / "talks.jsonl").write_text("\n".join(lines))
    adjudge("check", "-f", "talks.jsonl", "--contains", "P", "--run", "talks", cwd=tmp_path)
    for run in ("asked", "talks"):
        adjudge("export", run, "--to", "csv", "-o", "out.csv", cwd=tmp_path)
        rows = list(read_rows(tmp_path / "out.csv"))
        assert [row["response"] for row in rows] == ["Paris", "Paris"], run
        assert [row["gold"] for row in rows] == ["Paris", "Madrid"], run


def test_a_column_of_numbers_is_not_written_again_where_another_text_differs(
    tmp_path: Path,
) -> None:
    """A column "reference" beside "expected" was blank where the reference equals the answer."""
    pairs = [("7", 7), ("8", 9), ("0.5", 0.5), ("1", 2.5)]
    lines = [json.dumps({"answer": answer, "expected": gold}) for answer, gold in pairs]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    check = ("check", "-f", "rows.jsonl", "--check", "equals: {field: reference}")
    adjudge(*check, "--run", "kept", cwd=tmp_path)
    adjudge("export", "kept", "--to", "csv", "-o", "out.csv", cwd=tmp_path)
    rows = list(read_rows(tmp_path / "out.csv"))
    assert [row["expected"] for row in rows] == ["7", "9", "0.5", "2.5"]
    assert [row["verdict"] for row in rows] == ["PASS", "FAIL", "PASS", "FAIL"]
    assert not {"reference", "response"} & rows[0].keys()
