"""Columns by the names people give them, and nested cells as text."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import DirectJudge, Instance, ScriptedModel
from adjudge.core.data.columns import ALIASES, column_for
from adjudge.core.data.dataset import EmptyAnswers, choose_columns, read_comparisons, read_instances
from adjudge.core.data.rendering import parse_nested, render_nested
from adjudge.errors import RunError


def only(row: dict[str, Any], **settings: Any) -> Instance:
    (instance,) = read_instances([row], **settings)
    return instance


# -- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.title,
        str.lower,
        lambda name: name.replace("_", " "),
        lambda name: f" {name} ",
    ],
)
def test_a_usual_name_is_found_in_any_case(change: Any) -> None:
    for field, names in ALIASES.items():
        for alias in names:
            assert column_for(field, [change(alias)]) == change(alias)


def test_a_name_as_it_is_written_goes_before_one_in_another_case() -> None:
    assert only({"Response": "no", "answer": "yes"}).fields["response"] == "yes"
    assert only({"RESPONSE": "no", "response": "yes"}).fields["response"] == "yes"


def test_russian_columns_are_found() -> None:
    row = {
        "№": 1,
        "Вопрос": "q",
        "Ответ модели": "a",
        "Эталон": "r",
        "Контекст": "c",
        "История диалога": "h",
    }
    fields = {"response": "a", "user_input": "q", "reference": "r", "contexts": "c", "history": "h"}
    assert only(row).fields == fields


def test_a_named_column_an_id_and_a_needed_field_are_found_in_any_case() -> None:
    row = {"Bot Said": "a", "Key": "k", "Summary": "s"}
    instance = only(row, columns={"response": "bot said"}, id="KEY", needed=("response", "summary"))
    assert instance.id == "k"
    assert instance.fields == {"response": "a", "summary": "s"}
    assert (
        choose_columns(list(row), {"response": "BOT SAID"}, "x", ["summary"])["response"]
        == "Bot Said"
    )
    assert only({"Id": 5, "response": "a"}).id == "5"


def test_a_named_column_that_is_there_in_no_case_is_an_error() -> None:
    with pytest.raises(RunError, match="has no column 'bot-spoke'"):
        only({"Bot Said": "a"}, columns={"response": "bot-spoke"})


def test_columns_of_a_comparison_are_found_in_any_case() -> None:
    row = {"Вопрос": "q", "Model A": "a", "Model B": "b"}
    (by_number,) = read_comparisons([row])
    (by_name,) = read_comparisons([row], ["model a", "MODEL B"])
    assert by_number.fields == by_name.fields == {"user_input": "q", "response": ("a", "b")}


def test_python_rows_are_found_in_any_case_too() -> None:
    judge = DirectJudge(ScriptedModel())
    (result,) = judge.evaluate([{"Id": "x", "Question": "q", "Answer": "a"}], "Is it good?")
    assert result.instance.fields["response"] == "a"
    assert result.instance.id == "x"


# -- nested cells ------------------------------------------------------------------------------

MESSAGES = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MESSAGES, "user: Hi\nassistant: Hello"),
        (
            [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}],
            "human: Hi\ngpt: Yes",
        ),
        ([{"role": "assistant", "content": "Alone"}], "Alone"),
        ({"role": "assistant", "content": "Alone"}, "Alone"),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": "x"},
                        {"type": "text", "text": "This?"},
                    ],
                }
            ],
            "[image_url]\nThis?",
        ),
    ],
)
@pytest.mark.parametrize("column", ["response", "question", "chat_history"])
def test_chat_messages_are_what_was_said(column: str, value: object, text: str) -> None:
    instance = only({"response": "r", column: value})
    field = {"question": "user_input", "chat_history": "history"}.get(column, column)
    assert instance.fields[field] == text


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ([{"text": "T", "score": 0.9, "id": 3}], ("T",)),
        (
            [{"page_content": "T", "metadata": {"source": "a.pdf", "page": 4}}],
            ("T\nmetadata:\n  source: a.pdf\n  page: 4",),
        ),
        ([{"title": "Head", "text": "T"}, "plain"], ("Head\nT", "plain")),
        ([["a", "b"], ["c"]], ("- a\n- b", "- c")),
        ([{"city": "Paris", "built": 1889, "none": None}], ("city: Paris\nbuilt: 1889",)),
        (["a", "b"], ("a", "b")),
    ],
)
@pytest.mark.parametrize("written", ["as it is", "JSON", "Python"])
def test_nested_contexts_become_text_also_from_a_cell_of_a_table(
    value: object, texts: tuple[str, ...], written: str
) -> None:
    cell = {"as it is": value, "JSON": json.dumps(value), "Python": repr(value)}[written]
    assert only({"response": "r", "Retrieved_Contexts": cell}).fields["contexts"] == texts


@pytest.mark.parametrize(
    "text", ["[1] Paris is old.", "{curly}", "[unclosed", "[", "", "plain", "[" * 5000]
)
def test_a_context_that_only_begins_like_a_list_is_a_text(text: str) -> None:
    assert only({"response": "r", "contexts": text}).fields["contexts"] == text


def test_an_answer_in_json_is_what_was_answered() -> None:
    assert only({"response": '["a", "b"]'}).fields["response"] == '["a", "b"]'
    assert only({"response": {"a": 1}}).fields["response"] == '{"a": 1}'


def test_compared_responses_may_be_messages() -> None:
    row = {
        "responses": [{"role": "assistant", "content": "A"}, {"role": "assistant", "content": "B"}]
    }
    (instance,) = read_comparisons([row])
    assert instance.fields["response"] == ("A", "B")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.sampled_from(["role", "content", "text"]), inner)
    ),
)


@given(JSON)
def test_whatever_json_holds_can_be_shown(value: object) -> None:
    assert isinstance(render_nested(value), str)
    assert parse_nested(json.dumps(value)) == (
        value if isinstance(value, list | dict) else json.dumps(value)
    )


# -- encodings and empty answers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (
            "id,response\n1,Эйфелева башня построена в 1889 году.\n2,ok\n",
            "cp1251",
            "probably cp1251: --encoding cp1251",
        ),
        (
            "id,response\n1,Die Größe des Café\n2,ok\n",
            "cp1252",
            "name its encoding: --encoding cp1252",
        ),
    ],
)
def test_a_bad_byte_names_the_likely_encoding(
    tmp_path: Path, text: str, encoding: str, named: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding=encoding)
    bad: list[object] = []
    assert len(list(read_instances(path, on_bad_row=bad.append))) == 1
    assert named in str(bad[0])
    assert len(list(read_instances(path, encoding=encoding))) == 2


def test_a_russian_header_that_is_not_utf_8_names_the_likely_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Вопрос;Ответ\nКто?;Мы.\n", encoding="cp1251")
    with pytest.raises(RunError, match="probably cp1251"):
        list(read_instances(path))
    (instance,) = read_instances(path, encoding="cp1251")
    assert instance.fields == {"response": "Мы.", "user_input": "Кто?"}


def test_empty_answers_are_judged_and_said_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,answer\nq,a\nq,\nq,  \nq,b\n")
    empty: list[EmptyAnswers] = []
    assert len(list(read_instances(path, on_empty_answers=empty.append))) == 4
    assert [str(one) for one in empty] == [
        f"{path}: 2 answers are empty and were judged anyway (lines 3, 4)"
    ]


def test_marks_of_missing_values_are_judged_and_said_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,answer\nq,a\nq,NaN\nq,#N/A\nq,none of them\n")
    marks: list[EmptyAnswers] = []
    assert len(list(read_instances(path, on_empty_answers=marks.append))) == 4
    assert [str(rows) for rows in marks] == [
        f"{path}: 2 answers are only NaN, None, N/A or similar, and were judged as texts "
        "(lines 3, 4)"
    ]


def test_an_empty_response_of_a_comparison_is_told_of_too() -> None:
    empty: list[EmptyAnswers] = []
    rows = [{"response_1": "a", "response_2": "b"}, {"response_1": "a", "response_2": " "}]
    assert len(list(read_comparisons(rows, on_empty_answers=empty.append))) == 2
    assert [one.first for one in empty] == [(2,)]


def test_without_a_listener_empty_answers_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "adjudge.data"):
        list(read_instances([{"question": "q", "answer": ""}]))
    assert "1 answer is empty and was judged anyway (row 1)" in caplog.text


# -- logged chats --------------------------------------------------------------------------------

CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "How tall is it?"},
    {"role": "assistant", "content": "330 m"},
]
SPLIT = {
    "response": "330 m",
    "user_input": "How tall is it?",
    "history": "system: Be kind.\nuser: Hi\nassistant: Hello",
}


@pytest.mark.parametrize(
    "column", ["messages", "Messages", "conversation", "conversations", "Сообщения"]
)
@pytest.mark.parametrize("written", [CHAT, json.dumps(CHAT)])
def test_of_a_logged_chat_the_last_answer_is_judged_and_the_rest_is_context(
    column: str, written: object
) -> None:
    instance = only({"id": "c1", column: written})
    assert instance.fields == SPLIT
    assert instance.metadata["row"] == {"id": "c1", column: written}


def test_chats_come_from_a_file_and_from_one_line(tmp_path: Path) -> None:
    for name in ("log.jsonl", "log.json"):
        (tmp_path / name).write_text(json.dumps({"messages": CHAT}) + "\n")
        assert [one.fields for one in read_instances(tmp_path / name)] == [SPLIT]


def test_python_rows_may_be_chats() -> None:
    judge = DirectJudge(ScriptedModel())
    (result,) = judge.evaluate([{"messages": CHAT}], "Is it good?")
    assert result.instance.fields == SPLIT


def test_what_a_tool_said_before_the_answer_is_in_the_history() -> None:
    chat = [
        {"role": "user", "content": "How tall?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t1"}]},
        {"role": "tool", "content": "330"},
        {"role": "assistant", "content": "330 m"},
        {"role": "user", "content": "Thanks"},
    ]
    fields = only({"messages": chat}).fields
    assert fields["response"] == "330 m"
    assert fields["user_input"] == "How tall?"
    assert fields["history"] == 'user: How tall?\nassistant: {"id": "t1"}\ntool: 330'


def test_an_answer_with_a_column_of_its_own_is_that() -> None:
    fields = only({"messages": CHAT, "answer": "a"}).fields
    assert fields == {"response": "a"}


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            [{"role": "user", "content": "Hi"}],
            "column 'messages': there is no assistant message: the roles are user",
        ),
        ("plain text", "column 'messages' contains no chat with an answer.*--column COLUMN"),
        (None, "column 'messages' contains no chat"),
    ],
)
def test_a_chat_without_an_answer_is_a_bad_row(cell: object, said: str) -> None:
    with pytest.raises(RunError, match=f"row 1: {said}"):
        only({"id": 1, "messages": cell})


def test_a_criteria_that_judges_the_chat_itself_reads_it_whole() -> None:
    fields = only({"messages": CHAT}, needed=("messages",)).fields
    assert set(fields) == {"messages"}
    assert str(fields["messages"]).startswith("system: Be kind.\nuser: Hi\n")
