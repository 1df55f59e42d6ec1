"""Which columns are taken, and what is said of files that cannot be judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import Instance, SetupError
from adjudge.errors import RunError
from adjudge.features.rag.dimensions import rag_dimensions
from adjudge.features.rag.rows import needed_fields, read_rows
from support.rag import EXAMPLE, ROW
from support.records import rag_rows

SIX = rag_dimensions()


def test_the_seeds_columns_are_known() -> None:
    rows = read_rows(EXAMPLE, SIX)
    assert rows.columns == {
        "response": "Assistant Answer",
        "user_input": "Current User Question",
        "contexts": "Fragment Texts",
        "history": "Conversation History",
    }
    assert len(rows.instances) == 12
    assert [row.id for row in rows.instances][6:8] == ["injection", "history"]


@pytest.mark.parametrize(
    ("question", "answer", "fragments", "history"),
    [
        ("user_input", "response", "retrieved_contexts", "history"),
        ("question", "answer", "contexts", "chat_history"),
        ("input", "actual_output", "retrieval_context", "conversation_history"),
        ("query", "output", "context", "conversation"),
    ],
)
def test_other_tools_names_are_known(
    tmp_path: Path, question: str, answer: str, fragments: str, history: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{question},{answer},{fragments},{history}\nq,a,f,h\n")
    rows = read_rows(path, SIX)
    assert rows.columns == {
        "user_input": question,
        "response": answer,
        "contexts": fragments,
        "history": history,
    }
    assert rows.instances[0].fields == {
        "user_input": "q",
        "response": "a",
        "contexts": "f",
        "history": "h",
    }


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("frage,antwort,quellen,answer\nq,a,f,other\n")
    rows = read_rows(
        path, SIX, {"user_input": "frage", "response": "antwort", "contexts": "quellen"}
    )
    assert rows.instances[0].fields == {"user_input": "q", "response": "a", "contexts": "f"}
    assert rows.columns["response"] == "antwort"


@pytest.mark.parametrize("missing", ["question", "answer", "contexts"])
def test_a_missing_column_is_an_error_that_names_those_found(tmp_path: Path, missing: str) -> None:
    columns = [name for name in ("question", "answer", "contexts", "other") if name != missing]
    path = tmp_path / "rows.csv"
    path.write_text(",".join(columns) + "\n" + ",".join("x" * len(columns)) + "\n")
    field = {"question": "user_input", "answer": "response"}.get(missing, missing)
    with pytest.raises(RunError, match=f"no {field} column") as caught:
        read_rows(path, SIX)
    assert ", ".join(columns) in str(caught.value)


def test_a_conversation_is_never_needed_and_fragments_only_by_those_who_read_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,answer\nq,a\n")
    some = [one for one in SIX if one.name in ("answer_relevance", "clarity")]
    assert read_rows(path, some).instances[0].fields == {"response": "a", "user_input": "q"}
    assert needed_fields(SIX) == ["user_input", "response", "contexts"]


def test_json_lines_with_lists_and_gaps(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"question": "q", "answer": "a", "contexts": ["f", "g"]},
        {"question": "q", "answer": "a", "contexts": None},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = read_rows(path, SIX).instances
    assert first.fields["contexts"] == ("f", "g")
    assert "contexts" not in second.fields


def test_the_row_comes_along_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('question,answer,contexts,team\nq,a,"1. x\\n2. y",blue\n')
    (instance,) = read_rows(path, SIX).instances
    assert instance.metadata["row"] == {
        "question": "q",
        "answer": "a",
        "contexts": "1. x\\n2. y",
        "team": "blue",
    }


def test_mappings_and_instances_are_rows_too() -> None:
    given = [
        {"question": "q", "answer": "a", "context": "f", "id": "mine"},
        Instance(ROW, id="second"),
    ]
    rows = read_rows(given, SIX)
    assert [row.id for row in rows.instances] == ["mine", "second"]
    assert rows.instances[0].fields == {"user_input": "q", "response": "a", "contexts": "f"}
    with pytest.raises(SetupError, match=r"the data has no user_input column.*answer"):
        read_rows([{"answer": "a"}], SIX)


def test_no_rows_is_an_error() -> None:
    with pytest.raises(RunError, match="no rows"):
        read_rows([], SIX)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.csv", b"", "has no rows"),
        ("rows.csv", b"question,answer,contexts\n", "has no rows"),
        ("rows.csv", b"question,answer,contexts\nq,caf\xe9,f\n", "is not valid UTF-8"),
        ("rows.csv", b"question,answer,contexts\nq,a\n", "line 2"),
        ("rows.docx", b"question", "rows.docx"),
        ("rows.jsonl", b'{"question": ', "line 1.* is not JSON"),
        ("rows.jsonl", b"[1, 2]\n", "not a JSON object"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(RunError, match=message):
        read_rows(path, SIX)


def test_only_the_first_rows() -> None:
    assert len(read_rows(EXAMPLE, SIX, limit=2).instances) == 2
    assert len(read_rows([ROW, ROW, ROW], SIX, limit=2).instances) == 2


@rag_rows
def test_recorded_rows_are_read(source: Path, count: int) -> None:
    assert len(read_rows(source, SIX).instances) == count
