"""CSV and JSONL rows as instances, and what is said of files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.errors import RunError
from adjudge.runs.dataset import field_names, read_instances


@pytest.fixture
def write(tmp_path: Path):
    def write_(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_


def test_columns_are_found_by_the_usual_names_of_other_tools(write) -> None:
    path = write("a.csv", "question,actual_output,expected_output,retrieval_context\nQ,A,R,C\n")
    (instance,) = read_instances(path)
    assert instance.fields == {"user_input": "Q", "response": "A", "reference": "R", "contexts": "C"}


def test_a_named_column_wins_over_an_alias(write) -> None:
    path = write("a.csv", "answer,second\none,two\n")
    (instance,) = read_instances(path, {"response": "second"})
    assert instance.fields["response"] == "two"


def test_quoted_newlines_and_a_byte_order_mark_are_read(write) -> None:
    path = write("a.csv", '\ufeffid,response\n7,"two\nlines, ""quoted"""\n')
    (instance,) = read_instances(path)
    assert instance.id == "7"
    assert instance.fields["response"] == 'two\nlines, "quoted"'


def test_tab_separated_files_are_read(write) -> None:
    (instance,) = read_instances(write("a.tsv", "response\tquestion\na, b\tq\n"))
    assert instance.fields["response"] == "a, b"


def test_rows_without_an_id_are_called_by_their_line(write) -> None:
    path = write("rows.jsonl", '{"response": "a"}\n\n{"response": "b"}\n')
    assert [instance.id for instance in read_instances(path)] == ["rows.jsonl:1", "rows.jsonl:3"]


def test_jsonl_values_of_other_types_become_text(write) -> None:
    path = write("a.jsonl", '{"response": {"x": 1}, "contexts": ["a", {"b": 2}]}\n')
    (instance,) = read_instances(path)
    assert instance.fields == {"response": '{"x": 1}', "contexts": ("a", '{"b": 2}')}


def test_the_limit_stops_before_later_rows_are_read(write) -> None:
    path = write("a.jsonl", '{"response": "a"}\nnot json\n')
    assert len(list(read_instances(path, limit=1))) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "no rows"),
        ("a.csv", "response\n", "no rows"),
        ("a.csv", "x,y\n1,2\n", "no response column.*It has: x, y"),
        ("a.csv", "response,y\n1\n", "line 2.*as many cells"),
        ("a.csv", "response\n1,2\n", "line 2.*as many cells"),
        ("a.csv", 'response\n"open\n', "line 1: unexpected end"),
        ("a.csv", b"response\n\xff\xfe\n", "not UTF-8"),
        ("a.jsonl", '{"response": "a"}\n{"response": \n', "line 2 is not JSON"),
        ("a.jsonl", "[1]\n", "line 1 is not a JSON object"),
        ("a.jsonl", '{"response": "a"}\n{"question": "q"}\n', "a.jsonl:2.*no 'response'"),
        ("a.xlsx", "x", "neither CSV nor JSONL"),
    ],
)
def test_a_bad_file_is_named_with_the_place(write, name: str, content: str | bytes, said: str) -> None:
    with pytest.raises(RunError, match=said):
        list(read_instances(write(name, content)))


def test_a_wrong_column_names_those_there_are(write) -> None:
    with pytest.raises(RunError, match=r"no column 'reply'.*it has: response, id"):
        list(read_instances(write("a.csv", "response,id\n1,2\n"), {"response": "reply"}))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"none\.csv cannot be read: No such file"):
        list(read_instances(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("name", "content", "fields"),
    [
        ("rows.csv", "question,answer,notes\na,b,\n,c,\n", {"question", "user_input", "answer", "response"}),
        ("rows.jsonl", '{"response": "a"}\n{"response": "b", "source": "c", "contexts": []}\n', {"response", "source"}),
        ("rows.csv", "question,answer\n", set()),
    ],
)
def test_the_fields_that_some_row_has(tmp_path: Path, name: str, content: str, fields: set[str]) -> None:
    (tmp_path / name).write_text(content)
    assert field_names(tmp_path / name) == fields
