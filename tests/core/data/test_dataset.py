"""CSV and JSONL rows as instances, and what is said of files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.data.dataset import (
    BadRow,
    choose_columns,
    field_names,
    read_comparisons,
    read_instances,
)
from adjudge.errors import RunError


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_


def test_columns_are_found_by_the_usual_names_of_other_tools(write: Callable[..., Path]) -> None:
    path = write("a.csv", "question,actual_output,expected_output,retrieval_context\nQ,A,R,C\n")
    (instance,) = read_instances(path)
    assert instance.fields == {
        "user_input": "Q",
        "response": "A",
        "reference": "R",
        "contexts": "C",
    }


def test_a_named_column_wins_over_an_alias(write: Callable[..., Path]) -> None:
    path = write("a.csv", "answer,second\none,two\n")
    (instance,) = read_instances(path, {"response": "second"})
    assert instance.fields["response"] == "two"


def test_quoted_newlines_and_a_byte_order_mark_are_read(write: Callable[..., Path]) -> None:
    path = write("a.csv", '\ufeffid,response\n7,"two\nlines, ""quoted"""\n')
    (instance,) = read_instances(path)
    assert instance.id == "7"
    assert instance.fields["response"] == 'two\nlines, "quoted"'


def test_tab_separated_files_are_read(write: Callable[..., Path]) -> None:
    (instance,) = read_instances(write("a.tsv", "response\tquestion\na, b\tq\n"))
    assert instance.fields["response"] == "a, b"


def test_rows_without_an_id_are_called_by_their_line(write: Callable[..., Path]) -> None:
    path = write("rows.jsonl", '{"response": "a"}\n\n{"response": "b"}\n')
    assert [instance.id for instance in read_instances(path)] == ["rows.jsonl:1", "rows.jsonl:3"]


def test_jsonl_values_of_other_types_become_text(write: Callable[..., Path]) -> None:
    path = write("a.jsonl", '{"response": {"x": 1}, "contexts": ["a", {"b": 2}]}\n')
    (instance,) = read_instances(path)
    assert instance.fields == {"response": '{"x": 1}', "contexts": ("a", "b: 2")}


def test_the_limit_stops_before_later_rows_are_read(write: Callable[..., Path]) -> None:
    path = write("a.jsonl", '{"response": "a"}\nnot json\n')
    assert len(list(read_instances(path, limit=1))) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "no rows"),
        ("a.csv", "response\n", "no rows"),
        ("a.csv", "x,y\n1,2\n", "no response column.*It has: x, y"),
        ("a.csv", "response,y\n1\n", "line 2: the row has 1 cell; expected 2 columns"),
        ("a.csv", "response\n1,2\n", "line 2: the row has 2 cells; expected 1 column"),
        (
            "a.csv",
            'response\n"open\n',
            "line 2: unexpected end of file: the quote opened here is never closed",
        ),
        ("a.csv", b"response\n\xff\xfe\n", "not valid UTF-8"),
        ("a.jsonl", '{"response": "a"}\n{"response": \n', "line 2: is not JSON"),
        ("a.jsonl", "[1]\n", "line 1: is not a JSON object"),
        (
            "a.jsonl",
            '{"response": "a"}\n{"question": "q"}\n',
            "a.jsonl, line 2: the row has no 'response'; it has: question",
        ),
        ("a.foo", "x", "the format of"),
        (
            "a.xls",
            "x",
            "a.xls is an old Excel workbook: save the table as .xlsx, or as CSV in UTF-8",
        ),
        (
            "a.ods",
            "x",
            "a.ods is an OpenDocument spreadsheet: save the table as .xlsx, or as CSV in UTF-8",
        ),
    ],
)
def test_a_bad_file_is_named_with_the_place(
    write: Callable[..., Path], name: str, content: str | bytes, said: str
) -> None:
    with pytest.raises(RunError, match=said):
        list(read_instances(write(name, content)))


def test_a_wrong_column_names_those_there_are(write: Callable[..., Path]) -> None:
    with pytest.raises(RunError, match=r"no column 'reply'.*it has: response, id"):
        list(read_instances(write("a.csv", "response,id\n1,2\n"), {"response": "reply"}))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"none\.csv cannot be read: No such file"):
        list(read_instances(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("name", "content", "fields"),
    [
        (
            "rows.csv",
            "question,answer,notes\na,b,\n,c,\n",
            {"question", "user_input", "answer", "response"},
        ),
        (
            "rows.jsonl",
            '{"response": "a"}\n{"response": "b", "source": "c", "contexts": []}\n',
            {"response", "source"},
        ),
        ("rows.csv", "question,answer\n", set()),
    ],
)
def test_the_fields_that_some_row_has(
    tmp_path: Path, name: str, content: str, fields: set[str]
) -> None:
    (tmp_path / name).write_text(content)
    assert field_names(tmp_path / name) == fields


def test_rows_of_equal_content_are_one_thing_with_two_names(write: Callable[..., Path]) -> None:
    one, other, third = read_instances(write("a.csv", "question,answer\nq,a\nq,a\nq,b\n"))
    assert one.identity == other.identity != third.identity
    assert (one.id, other.id) == ("a.csv:2", "a.csv:3")


def test_the_place_is_kept_beside_a_name_of_its_own(write: Callable[..., Path]) -> None:
    path = write("a.csv", "key,id,response\nk1,1,a\n,2,b\n")
    assert [(one.id, one.metadata["place"]) for one in read_instances(path)] == [
        ("1", "a.csv:2"),
        ("2", "a.csv:3"),
    ]
    assert [one.id for one in read_instances(path, id="key")] == ["k1", "a.csv:3"]
    with pytest.raises(
        RunError, match=r"no column 'nokey' \(needed as the id\); it has: key, id, response"
    ):
        list(read_instances(path, id="nokey"))


def test_a_column_that_only_later_rows_have_is_taken(write: Callable[..., Path]) -> None:
    lines = ['{"answer": "a"}'] * 200 + [
        '{"answer": "b", "text": "no", "question": "q", "source": "s"}'
    ]
    *_, last = read_instances(write("a.jsonl", "\n".join(lines)))
    assert last.fields == {"response": "b", "user_input": "q"}


def test_a_first_row_without_the_field_is_a_bad_row_when_others_have_it(
    write: Callable[..., Path],
) -> None:
    bad: list[BadRow] = []
    path = write("a.jsonl", '{"x": 1}\n{"response": "a"}\n')
    assert len(list(read_instances(path, on_bad_row=bad.append))) == 1
    assert [row.reason for row in bad] == ["the row has no 'response'; it has: x"]


def test_a_column_that_no_row_has_is_told_once_even_to_those_who_go_on(
    write: Callable[..., Path],
) -> None:
    bad: list[BadRow] = []
    with pytest.raises(RunError, match="no response column"):
        list(read_instances(write("a.jsonl", '{"x": 1}\n{"x": 2}\n'), on_bad_row=bad.append))
    assert not bad


def test_a_file_of_bad_rows_only_is_refused_after_they_were_told(
    write: Callable[..., Path],
) -> None:
    bad: list[BadRow] = []
    with pytest.raises(RunError, match=r"no row that can be judged; .*a\.csv, line 2: "):
        list(read_instances(write("a.csv", "response,x\n1\n2\n"), on_bad_row=bad.append))
    assert len(bad) == 2


def test_a_bad_row_counts_for_no_limit(write: Callable[..., Path]) -> None:
    path = write("a.jsonl", 'nonsense\n{"response": "a"}\n{"response": "b"}\n')
    assert [
        one.fields["response"] for one in read_instances(path, limit=1, on_bad_row=lambda bad: None)
    ] == ["a"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "question,Answer A,Answer B\nq,x,y\n"),
        ("a.csv", "вопрос,Ответ А,Ответ Б\nq,x,y\n"),
        ("a.csv", "вопрос,модель_1,модель_2\nq,x,y\n"),
        ("a.csv", "question,response_a,response_b,model_a,model_b\nq,x,y,m,n\n"),
        ("a.csv", "question,model_a,model_b,answer_a,answer_b\nq,,n,x,y\n"),
        ("a.json", '[{"question": "q", "responses": ["x", "y"]}]'),
        ("a.jsonl", '{"question": "q", "response": ["x", "y"]}\n'),
    ],
)
def test_comparisons_are_read_from_every_kind_of_file(
    write: Callable[..., Path], name: str, content: str
) -> None:
    (instance,) = read_comparisons(write(name, content))
    assert instance.fields == {"user_input": "q", "response": ("x", "y")}


def test_a_row_without_two_responses_is_a_bad_row(write: Callable[..., Path]) -> None:
    bad: list[BadRow] = []
    path = write("a.jsonl", '{"responses": ["x", "y"], "id": 1}\n{"responses": "x"}\n')
    assert [one.id for one in read_comparisons(path, on_bad_row=bad.append)] == ["1"]
    assert "fewer than two responses were found" in bad[0].reason
    with pytest.raises(RunError, match="has no column 'z'"):
        list(read_comparisons(path, ["z", "y"]))


def test_a_file_without_columns_to_compare_is_told_of_once(write: Callable[..., Path]) -> None:
    bad: list[BadRow] = []
    path = write("a.csv", "question,old,new\n" + "q,x,y\n" * 3)
    with pytest.raises(RunError) as told:
        list(read_comparisons(path, on_bad_row=bad.append))
    assert not bad
    assert str(told.value) == (
        f"{path} has no columns with usual names for responses: name them with "
        "--column COLUMN --column COLUMN "
        "(responses=[…]). It has: question, old, new"
    )


def test_the_row_is_kept_as_it_was_read(write: Callable[..., Path]) -> None:
    (instance,) = read_instances(
        write("a.jsonl", '{"answer": "a", "Conversation History": "h", "n": 1}\n')
    )
    assert instance.fields == {"response": "a", "history": "h"}
    assert instance.metadata["row"] == {"answer": "a", "Conversation History": "h", "n": 1}


def test_the_columns_that_would_be_taken_can_be_asked_for() -> None:
    assert choose_columns(["q", "answer", "n"], {"user_input": "q"}, "a.csv", ["n"]) == {
        "user_input": "q",
        "response": "answer",
        "n": "n",
    }
    with pytest.raises(RunError, match=r"a\.csv has no z column"):
        choose_columns(["answer"], {}, "a.csv", ["z"])


def test_rows_of_json_on_one_line_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[{"answer": "a"}, {"answer": "b"}, 3,\n{"answer": "c"}]')
    bad: list[BadRow] = []
    found = list(read_instances(path, on_bad_row=bad.append))
    assert [one.id for one in found] == ["rows.json:1", "rows.json:1 (2)", "rows.json:2"]
    assert [one.where for one in bad] == [f"{path}, line 1 (3)"]


def test_a_number_without_end_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"id": "a", "response": 1e400}\n{"id": "b", "response": -Infinity}\n'
        '{"id": "c", "response": NaN}\n{"id": "d", "response": 42}\n'
    )
    told: list[object] = []
    rows = list(read_instances(tmp_path / "rows.jsonl", on_bad_row=told.append))
    assert [one.fields["response"] for one in rows] == ["42"]
    assert "line 1: column 'response' contains a number that is too large" in str(told[0])
    assert len(told) == 3
