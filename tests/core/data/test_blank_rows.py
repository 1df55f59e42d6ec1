"""Rows that hold nothing, as spreadsheets leave them behind a table: no answers
to judge, and said.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from adjudge.core.data.dataset import BadRow, BlankRows, read_comparisons, read_instances
from adjudge.core.domain.instance import Instance
from adjudge.errors import RunError

NOTHING = ["", "   ", "\t", "\u00a0", " \u00a0 ", "\u200b", "\ufeff", "\u3000"]


def read(source: object, **options: object) -> tuple[list[str], list[BlankRows]]:
    told: list[BlankRows] = []
    found = list(read_instances(source, on_blank_rows=told.append, **options))  # type: ignore[arg-type]
    return [str(one.fields["response"]) for one in found], told


def file(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_blank_rows_that_excel_left_are_no_answers(tmp_path: Path) -> None:
    texts, told = read(file(tmp_path, "a.csv", "question,answer\nQ1,A1\n,\n,\nQ2,A2\n,\n"))
    assert texts == ["A1", "A2"]
    (blank,) = told
    assert (blank.count, blank.first) == (3, (3, 4, 6))
    assert str(blank) == f"{tmp_path / 'a.csv'}: 3 blank rows were skipped (lines 3, 4, 6)"


def test_one_blank_row_is_said_as_one(tmp_path: Path) -> None:
    _, (blank,) = read(file(tmp_path, "a.csv", "answer,x\nA,1\n,\n"))
    assert str(blank).endswith("a.csv: 1 blank row was skipped (line 3)")


def test_of_very_many_blank_rows_only_the_first_are_named(tmp_path: Path) -> None:
    _, (blank,) = read(file(tmp_path, "a.csv", "answer;x\nA;1\n" + ";\n" * 20_000))
    assert str(blank).endswith("20000 blank rows were skipped (lines 3, 4, 5, 6, 7, …)")


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_white_space_of_any_kind_is_nothing(tmp_path: Path, delimiter: str, nothing: str) -> None:
    lines = [
        f"answer{delimiter}x",
        f"A{delimiter}1",
        f'"{nothing}"{delimiter}"{nothing}"',
        f"B{delimiter}2",
    ]
    texts, told = read(file(tmp_path, "a.csv", "\n".join(lines) + "\n"))
    assert (texts, [one.count for one in told]) == (["A", "B"], [1])


@pytest.mark.parametrize("line", [",,,,,", "   ", "\u00a0", ", ,\u00a0,"])
def test_a_blank_row_with_more_or_fewer_cells_than_the_header_is_blank_and_not_bad(
    tmp_path: Path, line: str
) -> None:
    bad: list[BadRow] = []
    texts, told = read(
        file(tmp_path, "a.csv", f"question,answer\nQ,A\n{line}\nQ,B\n"), on_bad_row=bad.append
    )
    assert (texts, [one.count for one in told], bad) == (["A", "B"], [1], [])


def test_blank_rows_before_the_header_are_passed_over(tmp_path: Path) -> None:
    texts, _ = read(file(tmp_path, "a.csv", ",\n \n,\nquestion,answer\nQ,A\n"))
    assert texts == ["A"]


def test_a_hundred_blank_rows_on_top_do_not_hide_the_columns(tmp_path: Path) -> None:
    texts, (blank,) = read(file(tmp_path, "a.csv", "answer,x\n" + ",\n" * 300 + "A,1\n"))
    assert (texts, blank.count) == (["A"], 300)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"answer": ""},
        {"answer": None, "contexts": []},
        {"answer": " ", "contexts": ["", "\u00a0"], "x": {}},
    ],
)
def test_blank_rows_of_json_are_skipped(tmp_path: Path, row: dict[str, object]) -> None:
    rows = [{"answer": "A"}, row, {"answer": "B"}]
    lines = file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    document = file(tmp_path, "a.json", json.dumps(rows, indent=1))
    for path in (lines, document):
        texts, told = read(path)
        assert (texts, [one.count for one in told]) == (["A", "B"], [1])


def test_blank_rows_of_a_list_are_skipped() -> None:
    texts, (blank,) = read([{"answer": "A"}, {"answer": None}, {"answer": "B"}])
    assert (texts, str(blank)) == (["A", "B"], "the data: 1 blank row was skipped (row 2)")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_blank_rows_of_a_data_frame_are_skipped(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"answer": ["A", None, " ", "B"], "n": [1.0, None, float("nan"), 2.0]})
    texts, (blank,) = read(frame)
    assert (texts, blank.first) == (["A", "B"], (2, 3))


def test_blank_rows_of_parquet_are_skipped(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"answer": ["A", None, "", "B"], "contexts": [["c"], None, [], ["d"]]})
    parquet.write_table(table, tmp_path / "a.parquet")
    texts, (blank,) = read(tmp_path / "a.parquet")
    assert (texts, blank.first) == (["A", "B"], (2, 3))


@pytest.mark.parametrize("row", ["7,", "0,", ",x", "-,"])
def test_a_row_that_holds_anything_is_judged(tmp_path: Path, row: str) -> None:
    """An assistant that answered nothing is judged for it: only a row without anything is none."""
    texts, told = read(file(tmp_path, "a.csv", f"id,answer\n1,A\n{row}\n"))
    assert (len(texts), told) == (2, [])


def test_zero_and_false_are_something(tmp_path: Path) -> None:
    texts, told = read(
        file(tmp_path, "a.jsonl", '{"answer": "", "n": 0}\n{"answer": "", "n": false}\n')
    )
    assert (len(texts), told) == (2, [])


def test_instances_that_the_caller_made_are_kept() -> None:
    texts, told = read([Instance({"response": ""}), Instance({"response": "A"})])
    assert (texts, told) == (["", "A"], [])


def test_blank_rows_do_not_count_towards_the_limit(tmp_path: Path) -> None:
    texts, _ = read(file(tmp_path, "a.csv", "answer,x\n,\nA,1\n,\nB,2\nC,3\n"), limit=2)
    assert texts == ["A", "B"]


def test_a_file_of_blank_rows_only_has_nothing_to_judge(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"a\.csv has only blank rows"):
        read(file(tmp_path, "a.csv", "question,answer\n,\n \n"))


def test_blank_comparisons_are_skipped_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = file(tmp_path, "a.csv", "response_1,response_2\nA,B\n,\nC,D\n")
    with caplog.at_level(logging.WARNING):
        assert len(list(read_comparisons(path))) == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: 1 blank row was skipped (line 3)"
    ]
