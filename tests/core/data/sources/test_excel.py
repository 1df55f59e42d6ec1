"""Rows of Excel workbooks."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.data.dataset import BlankRows, EmptyAnswers, OtherSheets, read_instances
from adjudge.errors import RunError, SetupError, WrongData

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A workbook with these rows on its first sheet, and others on others."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(
        *rows: list[Any], others: dict[str, list[Any]] | None = None, name: str = "rows.xlsx"
    ) -> Path:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for title, row in (others or {}).items():
            book.create_sheet(title).append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def test_a_workbook_is_read_by_its_first_sheet(write: Write) -> None:
    path = write(
        ["ID", "Вопрос", "Ответ"],
        ["a", "Кто?", "Мы."],
        [7, "q", 3.5],
        others={"notes": ["response"]},
    )
    first, second = read_instances(path)
    assert (first.id, first.fields) == ("a", {"response": "Мы.", "user_input": "Кто?"})
    assert (second.id, second.fields) == ("7", {"response": "3.5", "user_input": "q"})
    assert first.metadata["place"] == "rows.xlsx:2"


def test_blank_rows_and_columns_of_a_sheet_are_none(write: Write) -> None:
    blank: list[BlankRows] = []
    path = write(
        ["response", None, "note"],
        ["a", None, None],
        [None, " ", None],
        [None, None, None],
        ["b", None, "n"],
    )
    rows = list(read_instances(path, on_blank_rows=blank.append))
    assert [row.fields["response"] for row in rows] == ["a", "b"]
    assert [str(one) for one in blank] == [f"{path}: 2 blank rows were skipped (rows 3, 4)"]


def test_a_cell_beyond_the_header_and_a_name_that_stands_twice_are_kept(write: Write) -> None:
    (instance,) = read_instances(write(["response", "x", "x"], ["a", 1, date(2024, 5, 6), "more"]))
    row = instance.metadata["row"]
    assert isinstance(row, Mapping)
    assert [(name, str(value)) for name, value in row.items()] == [
        ("response", "a"),
        ("x", "1"),
        ("x (2)", "2024-05-06"),
        ("column 4", "more"),
    ]


def test_an_empty_cell_is_an_empty_answer_as_in_csv(write: Write) -> None:
    empty: list[EmptyAnswers] = []
    path = write(["question", "answer", "note"], ["q", "a", 1], ["q2", None, 2], ["q3", None, None])
    rows = list(read_instances(path, on_empty_answers=empty.append))
    assert [row.fields["response"] for row in rows] == ["a", "", ""]
    assert [str(one) for one in empty] == [
        f"{path}: 2 answers are empty and were judged anyway (rows 3, 4)"
    ]


def test_what_is_called_a_workbook_and_is_none_is_said_to_be(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"response\na\n")
    with pytest.raises(RunError, match=r"a\.xlsx cannot be read as an Excel workbook"):
        list(read_instances(path))


def test_without_the_extra_a_workbook_is_refused_with_both_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(
        SetupError, match=r"pip install 'adjudge\[excel\]', or save the table as CSV in UTF-8"
    ):
        list(read_instances(path))


BOOK = {"Answers": [["Report of May"], [], ["Key", "question", "answer"], ["k1", "q", "a"]]}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    made.active.title = "Notes"
    made.active.append(["response"])
    made.active.append(["a note"])
    for title, rows in BOOK.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    made.create_sheet("Hidden").sheet_state = "hidden"
    made.save(tmp_path / "book.xlsx")
    return tmp_path / "book.xlsx"


def test_a_sheet_and_its_header_are_named(book: Path) -> None:
    (row,) = read_instances(book, sheet="answers", header_row=3, id="Key")
    assert (row.id, row.fields) == ("k1", {"response": "a", "user_input": "q"})
    assert row.metadata["place"] == "book.xlsx:4"


def test_which_sheet_was_read_is_said_where_nobody_named_one(
    book: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[OtherSheets] = []
    (row,) = read_instances(book, on_other_sheets=told.append)
    assert row.fields == {"response": "a note"}
    assert [str(one) for one in told] == [
        f"{book}: the sheet 'Notes' is read; there are also 'Answers' (--sheet NAME)"
    ]
    list(read_instances(book))
    assert "the sheet 'Notes' is read" in caplog.text
    caplog.clear()
    list(read_instances(book, sheet="Notes"))
    assert not caplog.text


def test_a_missing_column_and_a_missing_sheet_name_the_sheets(book: Path) -> None:
    with pytest.raises(WrongData, match=r"book\.xlsx, sheet 'Answers' has no response column"):
        list(read_instances(book, sheet="Answers"))
    with pytest.raises(WrongData, match=r"no sheet 'Answer'; it has: Notes, Answers, Hidden"):
        list(read_instances(book, sheet="Answer"))


def test_only_workbooks_have_sheets(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("response\na\n")
    with pytest.raises(WrongData, match=r"a\.csv is not an Excel workbook: leave --sheet"):
        list(read_instances(path, sheet="x"))


def test_a_formula_without_a_value_is_refused_on_the_sheet_that_is_read(write: Write) -> None:
    """openpyxl stores no values: the answer was judged as an empty text."""
    path = write(["response"], ["seen"], others={"sums": ["=1+1"]})
    assert [row.fields for row in read_instances(path)] == [{"response": "seen"}]
    with pytest.raises(WrongData, match="sheet 'sums': cell A1 is a formula without a stored"):
        list(read_instances(path, sheet="sums"))


@pytest.mark.parametrize(
    "cell", ['<c r="A2"><f>1+1</f><v>2</v></c>', '<c r="A2" t="str"><f>""</f><v></v></c>']
)
def test_a_formula_with_a_stored_value_is_read(write: Write, cell: str) -> None:
    path = write(["response"], ["=1+1"], ["seen"])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = re.sub(r'<c r="A2".*?</c>', cell, parts[sheet])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    assert list(read_instances(path))[-1].fields == {"response": "seen"}


def test_a_date_has_no_time(write: Write) -> None:
    """It was "2025-03-02 00:00:00", unlike in CSV, so that days were other slices."""
    path = write(
        ["answer", "day", "moment"],
        ["a", datetime(2025, 3, 2), datetime(2025, 3, 2, 13, 30)],
    )
    (row,) = read_instances(path)
    cells = row.metadata["row"]
    assert isinstance(cells, dict)
    assert (str(cells["day"]), str(cells["moment"])) == ("2025-03-02", "2025-03-02 13:30:00")
