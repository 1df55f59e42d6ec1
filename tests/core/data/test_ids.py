"""Ids of documents, however a tool wrote them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.data.dataset import read_instances
from adjudge.core.data.ids import graded_ids, id_list

IDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp", "Cf")), min_size=1
).filter(lambda text: text[0] not in "[{" and text == text.strip())


@pytest.mark.parametrize(
    "cell",
    [
        ["d1", "d 2", "3"],
        '["d1", "d 2", 3]',
        "['d1', 'd 2', '3']",
        "d1; d 2; 3",
        "d1,d 2,3,",
        "d1|d 2|3",
        "d1\nd 2\r\n3\n",
        ['{"id": "d1", "score": 0.9}', '{"doc_id": "d 2"}', "3"],
    ],
)
def test_every_usual_way_to_write_ids_gives_the_same_list(cell: str | list[str]) -> None:
    assert id_list(cell) == ["d1", "d 2", "3"]


@pytest.mark.parametrize(
    "cell",
    ["[1.0, 2.0]", "1.0;2.0", ["1.0", "2.0"], '{"1.0": 1, "2.0": 1}', '[{"id": 1.0}, {"id": 2}]'],
)
def test_whole_numbers_are_the_same_id_however_a_table_writes_them(cell: str | list[str]) -> None:
    assert id_list(cell) == ["1", "2"]


def test_grades_are_read_from_mappings_and_objects() -> None:
    assert graded_ids('{"d1": 3, "d2": "0.5", "d3": 0}') == {"d1": 3.0, "d2": 0.5, "d3": 0.0}
    assert graded_ids('[{"id": "d1", "grade": 3}, {"_id": 7, "relevance": true}]') == {
        "d1": 3.0,
        "7": 1.0,
    }
    assert graded_ids("d1; d2") == {"d1": 1.0, "d2": 1.0}


@pytest.mark.parametrize("cell", ["", "  ", "[]", "{}", [], " ; ,"])
def test_nothing_gives_no_ids(cell: str | list[str]) -> None:
    assert id_list(cell) == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('{"d1": "high"}', "grade of 'd1' is 'high'"),
        ('{"d1": NaN}', "not a number"),
        ('[["d1"]]', "list"),
        ('[{"a": 1}]', "no id"),
    ],
)
def test_what_is_no_id_and_no_grade_is_named(cell: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        graded_ids(cell)


@given(st.lists(IDS, unique=True))
def test_a_json_list_gives_back_its_ids(ids: list[str]) -> None:
    assert id_list(json.dumps(ids)) == id_list(ids) == ids


def test_columns_of_ids_are_taken_only_where_they_are_asked_for() -> None:
    rows = [{"response": "r", "retrieved_context_ids": ["a"], "Relevant IDs": {"a": 2}}]
    (plain,) = read_instances(rows)
    assert set(plain.fields) == {"response"}
    (found,) = read_instances(rows, also=("retrieved_ids", "relevant_ids"))
    assert (found.fields["retrieved_ids"], graded_ids(found.fields["relevant_ids"])) == (
        ("a",),
        {"a": 2.0},
    )
