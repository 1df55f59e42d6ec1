"""Columns that are paths into a cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.core.data.dataset import read_comparisons, read_instances
from adjudge.errors import WrongData

LOGGED = {
    "meta": {"uid": 7},
    "input": {"query": "Who?"},
    "messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "We."}],
}
COLUMNS = {"response": "messages[-1].content", "user_input": "input.query"}


def test_a_path_leads_into_a_cell() -> None:
    (row,) = read_instances([LOGGED], COLUMNS, id="meta.uid")
    assert (row.id, row.fields) == ("7", {"response": "We.", "user_input": "Who?"})
    (row,) = read_instances([LOGGED], {**COLUMNS, "id": "meta.uid"})
    assert row.id == "7"


def test_json_in_a_cell_of_a_table_is_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    cells = [json.dumps({"text": "We."}).replace('"', '""'), json.dumps(["a", "b"])]
    path.write_text('Out,tags\n"{}","{}"\n'.format(cells[0], cells[1].replace('"', '""')))
    (row,) = read_instances(path, {"response": "out.text", "reference": "tags[1]"})
    assert row.fields == {"response": "We.", "reference": "b"}


def test_a_column_that_is_called_like_a_path_comes_first() -> None:
    (row,) = read_instances([{"a.b": "the column", "a": {"b": "the path"}}], {"response": "a.b"})
    assert row.fields["response"] == "the column"


@pytest.mark.parametrize("path", ["messages[9].content", "messages[-1].contents", "input.query.x"])
def test_a_path_that_leads_nowhere_is_a_missing_text(path: str) -> None:
    with pytest.raises(WrongData, match=r"row 1: the row has no '.*'; it has: meta, input, messag"):
        list(read_instances([LOGGED], {"response": path}))


@pytest.mark.parametrize("path", ["nobody.x", "[0].x", "input[", "nobody"])
def test_a_path_from_no_column_is_refused(path: str) -> None:
    with pytest.raises(WrongData, match=r"the data has no column '.*' \(needed for response\)"):
        list(read_instances([LOGGED], {"response": path}))


def test_compared_responses_may_be_paths() -> None:
    row = {"input": {"q": "Who?"}, "old": {"text": "A"}, "new": {"text": "B"}}
    (one,) = read_comparisons([row], ["old.text", "new.text"], {"user_input": "input.q"})
    assert one.fields == {"user_input": "Who?", "response": ("A", "B")}
    with pytest.raises(WrongData, match=r"no 'new\.text'"):
        list(read_comparisons([{**row, "new": {}}], ["old.text", "new.text"]))
