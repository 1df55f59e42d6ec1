"""CSV in the dialects that programs write."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.data.dataset import BadRow, read_instances
from adjudge.core.data.sources.delimited import delimited_rows
from adjudge.core.data.sources.row import Origin, Row
from adjudge.core.data.sources.text import HEAD, open_text
from adjudge.errors import RunError, SetupError

CELLS = st.text(st.characters(codec="utf-8"), max_size=30)
TABLES = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=5)
)

ENDS_AND_QUOTING = [
    ("\r\n", csv.QUOTE_MINIMAL),
    *((end, csv.QUOTE_ALL) for end in ("\r\n", "\n", "\r")),
]
"""Python 3.11 leaves a \\r in a cell without quotes where lines end in \\n: nobody could read that
back.
"""


def rows_of(content: str | bytes, default: str = ",", encoding: str | None = None) -> list[Any]:
    data = content if isinstance(content, bytes) else content.encode()
    return list(
        delimited_rows(
            open_text(io.BytesIO(data), Origin("a.csv", "a.csv", "line"), encoding), default
        )
    )


def cells_of(content: str, default: str = ",") -> list[dict[str, str]]:
    found = rows_of(content, default)
    assert all(isinstance(row, Row) for row in found), found
    return [dict(row.cells) for row in found]


def written(rows: list[list[str]], **dialect: Any) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows(rows)
    return out.getvalue()


@given(
    TABLES,
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(ENDS_AND_QUOTING),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_a_writer_wrote_reads_back_equal(
    table: Any, delimiter: Any, written_with: Any, encoding: Any
) -> None:
    header = [f"column {number}" for number in range(len(table[0]))]
    end, quoting = written_with
    content = written([header, *table], delimiter=delimiter, lineterminator=end, quoting=quoting)
    found = rows_of(content.encode(encoding))
    assert [list(row.cells.values()) for row in found] == table
    assert all(list(row.cells) == header for row in found)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_quotes_behind_a_backslash_read_back_equal(table: Any) -> None:
    """The dialect shows itself by a quote that is escaped."""
    table = [['he said "no"', "x"], *table]
    content = written(
        [["a", "b"], *table], doublequote=False, escapechar="\\", quoting=csv.QUOTE_ALL
    )
    assert [list(row.values()) for row in cells_of(content)] == table


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        ("id;price,eur;x\n1;2,5;3\n", {"id": "1", "price,eur": "2,5", "x": "3"}),
        ('"a";"b"\n"1, 2, 3";"4"\n', {"a": "1, 2, 3", "b": "4"}),
        ("sep=|\na,b|c\n1,2|3\n", {"a,b": "1,2", "c": "3"}),
        ('"sep=;"\r\na;b\r\n1;2\r\n', {"a": "1", "b": "2"}),
        ("'a','b'\n'1, 2','it''s'\n", {"a": "1, 2", "b": "it's"}),
        ('a, b\n1, "2, 3"\n', {"a": "1", "b": "2, 3"}),
        ("\n\na,b\n1,2\n", {"a": "1", "b": "2"}),
        (" a , b\n1,2\n", {"a": "1", "b": "2"}),
        ("a,a,b,a\n1,2,3,4\n", {"a": "1", "a (2)": "2", "b": "3", "a (3)": "4"}),
        ("a,b\n1,x;y;z\n2,x;y;z\n", {"a": "1", "b": "x;y;z"}),
        ('response\n"it is \\"so\\""\n', {"response": 'it is "so"'}),
    ],
)
def test_a_dialect_is_known_by_its_header_and_first_rows(
    content: str, cells: dict[str, str]
) -> None:
    assert cells_of(content)[0] == cells


def test_a_tsv_with_one_column_keeps_its_commas() -> None:
    assert cells_of("response\na, b; c\n", "\t") == [{"response": "a, b; c"}]


def test_a_quoted_newline_across_the_end_of_the_head_is_read() -> None:
    long = "line\r\n" * HEAD
    found = rows_of(written([["a", "b"], ["1", long], ["2", "after"]]))
    assert [row.cells["b"] for row in found] == [long, "after"]


@pytest.mark.parametrize("head", [8, 13, 31])
def test_it_does_not_matter_where_the_head_ends(monkeypatch: pytest.MonkeyPatch, head: int) -> None:
    monkeypatch.setattr("adjudge.core.data.sources.text.HEAD", head)

    @given(
        st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4),
        st.sampled_from(["\r\n", "\n", "\r"]),
    )
    def holds(table: list[list[str]], end: str) -> None:
        content = written([["a", "b"], *table], lineterminator=end, quoting=csv.QUOTE_ALL)
        assert [list(row.cells.values()) for row in rows_of(content)] == table

    holds()


def test_a_line_end_cut_in_two_by_the_head_counts_once() -> None:
    first = "x" * (HEAD - len("a,b\r\n") - len("1,\r"))
    found = rows_of(f"a,b\r\n1,{first}\r\n2,y\r\n")
    assert [(row.number, len(row.cells["b"])) for row in found] == [(2, len(first)), (3, 1)]


def test_rows_are_counted_by_the_line_they_begin_on() -> None:
    assert [row.number for row in rows_of('a,b\n1,"two\nlines"\n\n2,x\n')] == [2, 4, 5]


def test_a_bad_row_does_not_stop_the_rest() -> None:
    content = b'a,b\n1,ok\n2\n3,"x"y\n4,ok\n5,\xe9\xe8\n6,x,y\n7,ok\n'
    found = rows_of(content)
    assert [row.cells["a"] for row in found if not isinstance(row, BadRow)] == [
        "1",
        "4",
        "7",
    ]
    bad = {row.where: row.reason for row in found if isinstance(row, BadRow)}
    assert list(bad) == ["a.csv, line 3", "a.csv, line 4", "a.csv, line 6", "a.csv, line 7"]
    assert "the row has 1 cell; expected 2 columns: no value for column 'b'" in bad["a.csv, line 3"]
    assert "expected after" in bad["a.csv, line 4"]
    assert "byte 0xe9 (character 3) is not valid UTF-8" in bad["a.csv, line 6"]
    assert "cp1252" in bad["a.csv, line 6"]
    assert "the row has 3 cells; expected 2 columns" in bad["a.csv, line 7"]


def test_a_quote_that_is_never_closed_is_told_with_where_it_opens() -> None:
    first, last = rows_of('a,b\n1,2\n3,"open\n')
    assert isinstance(first, Row)
    assert isinstance(last, BadRow)
    assert "line 3: unexpected end of file: the quote opened here is never closed" in str(last)


def test_a_cell_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    before = csv.field_size_limit(1000)
    monkeypatch.setattr("adjudge.core.data.sources.delimited._LONGEST_CELL", 1000)
    try:
        with pytest.raises(RunError, match="line 2: a cell is longer than 1,000 characters"):
            rows_of("a,b\n" + '1,"' + "x\n" * 2000 + "2,y\n")
    finally:
        csv.field_size_limit(before)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjudge.core.data.sources.text.LONGEST", 100_000)
    with pytest.raises(RunError, match="line 2: the line is longer than 100,000 characters"):
        rows_of("a\n" + "x" * 300_000)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'"a,b\n1,2\n', "line 1: the header cannot be read"),
        (b"a,\xe9\n1,2\n", "line 1: byte 0xe9 .* is not valid UTF-8"),
        (b"PK\x03\x04rest", "a.csv is an Excel workbook"),
        (b"\x1f\x8b\x08\x00", "compressed with gzip"),
        (b"PAR1....", "a Parquet file"),
        (
            "a,b\n1,2\n".encode("utf-16-le"),
            "not UTF-8: it contains zero bytes.*encoding='utf-16-le'",
        ),
        ("a,b\n1,2\n".encode("utf-16-be"), "encoding='utf-16-be'"),
        (b"\xff\xfea", "is not UTF-16"),
    ],
)
def test_a_file_that_is_no_table_is_said_to_be_none(content: bytes, said: str) -> None:
    with pytest.raises(RunError, match=said):
        rows_of(content)


@pytest.mark.parametrize(
    "encoding", ["cp1251", "utf-16-le", "utf-16-be", "utf-8", "latin-1", "utf-32"]
)
def test_another_encoding_can_be_named(tmp_path: Path, encoding: str) -> None:
    text = "ответ" if encoding != "latin-1" else "réponse"
    path = tmp_path / "a.csv"
    path.write_bytes(f"id,response\n1,{text}\n".encode(encoding))
    (instance,) = read_instances(path, encoding=encoding)
    assert instance.fields == {"response": text}


def test_an_unknown_encoding_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("response\n1\n")
    with pytest.raises(SetupError, match="unknown encoding 'utf-9'; common ones are"):
        list(read_instances(path, encoding="utf-9"))


@pytest.mark.parametrize(
    ("marked", "named"), [("utf-8-sig", "cp1251"), ("utf-16", "utf-8"), ("utf-8-sig", "utf-16")]
)
def test_an_encoding_that_the_byte_order_mark_contradicts_is_refused(
    tmp_path: Path, marked: str, named: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("response\nответ\n".encode(marked))
    said = (
        f"byte order mark of {marked.removesuffix('-sig').upper()}, so it is not "
        f"{named.upper()}: leave the encoding out"
    )
    with pytest.raises(RunError, match=said):
        list(read_instances(path, encoding=named))


@pytest.mark.parametrize(
    ("marked", "named"), [("utf-8-sig", "UTF8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16")]
)
def test_an_encoding_that_agrees_with_the_byte_order_mark_is_read(
    tmp_path: Path, marked: str, named: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("response\nответ\n".encode(marked))
    assert [one.fields for one in read_instances(path, encoding=named)] == [{"response": "ответ"}]


def test_a_column_without_a_name_is_called_by_its_place() -> None:
    (row,) = rows_of(",answer,\n0,yes,x\n")
    assert isinstance(row, Row)
    assert row.cells == {"column 1": "0", "answer": "yes", "column 3": "x"}


def test_one_name_for_two_columns_is_an_error_where_it_decides_what_is_judged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,answer,note,note,answer\n1,a,x,y,b\n")
    said = (
        r"has the columns 'answer' and 'answer \(2\)', which mean the same: rename "
        r"one.*--column response='answer \(2\)'"
    )
    with pytest.raises(RunError, match=said):
        list(read_instances(path))
    (meant,) = read_instances(path, {"response": "answer (2)"})
    assert meant.fields == {"response": "b"}


def test_a_table_has_no_more_columns_than_one_of_excel() -> None:
    """Seen: names were compared pairwise, and a header of 9 MB took an hour."""
    many = ",".join(f"c{place}" for place in range(16_385))
    with pytest.raises(RunError, match="line 1: it has more than 16,384 columns"):
        rows_of(f"{many}\n")


@pytest.mark.parametrize("name", ["c", "c (2)"])
def test_sixteen_thousand_equal_columns_take_no_time(name: str) -> None:
    header = ",".join(["c (2)", "c", *[name] * 16_000])
    started = time.process_time()
    (row,) = rows_of(f"{header}\n{','.join('1' * 16_002)}\n")
    assert len(row.cells) == 16_002
    assert time.process_time() - started < 2


def test_the_rest_of_a_cell_that_is_too_long_is_not_taken_for_rows() -> None:
    """Seen: each line of a gigabyte behind an open quote was judged as a row of its own."""
    content = 'id,response\n1,a\n2,"' + "x,y\n" * 3_000_000
    rows = delimited_rows(
        open_text(io.BytesIO(content.encode()), Origin("a.csv", "a.csv", "line"), None)
    )
    assert isinstance(next(rows), Row)
    with pytest.raises(RunError, match="line 3: a cell is longer than 10,000,000 characters"):
        next(rows)


def test_rows_behind_a_quote_that_is_never_closed_are_not_lost_unseen() -> None:
    """Seen: 31 rows were one bad row, and a gate passed without them."""
    with pytest.raises(RunError, match=r"line 3: .* lines 3 to 5 are one cell"):
        rows_of('id;answer\n1;a\n2;"open\n3;\n4;\n')
