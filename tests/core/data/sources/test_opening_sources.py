"""Whatever holds rows: Parquet, data frames, iterables, standard input."""

from __future__ import annotations

import datetime
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.data.dataset import BadRow, read_instances
from adjudge.core.domain.instance import Instance
from adjudge.errors import RunError, SetupError


class PandasLike:
    """As much of a pandas frame as is used."""

    columns = ("answer", 7)

    def itertuples(self, index: bool, name: str | None) -> Iterator[Any]:
        assert (index, name) == (False, None)
        yield ("one", 1.5)
        yield (float("nan"), 2)


class PolarsLike:
    """As much of a polars frame as is used."""

    columns = ("id", "answer")

    def iter_rows(self) -> Iterator[Any]:
        yield ("x", "one")
        yield (None, "two")


class NAType:
    """How pandas says that there is nothing."""


class Array:
    def __init__(self, *values: object) -> None:
        self.values = values

    def tolist(self) -> list[object]:
        return list(self.values)


def test_a_frame_of_pandas_is_read_row_by_row() -> None:
    bad: list[BadRow] = []
    (instance,) = read_instances(cast(Any, PandasLike()), {"reference": "7"}, on_bad_row=bad.append)
    assert instance.fields == {"response": "one", "reference": "1.5"}
    assert [str(row) for row in bad] == ["the data frame, row 2: 'answer' is empty"]


def test_a_frame_of_polars_is_read_row_by_row() -> None:
    found = read_instances(cast(Any, PolarsLike()))
    assert [(one.id, one.fields["response"]) for one in found] == [
        ("x", "one"),
        ("row 2", "two"),
    ]


class Doubled:
    """A frame after a careless join."""

    columns = ("answer", "answer")

    def itertuples(self, index: bool, name: str | None) -> Iterator[Any]:
        yield ("one", "another")


def test_of_two_columns_of_one_name_none_is_judged_unless_it_is_said_which() -> None:
    with pytest.raises(RunError, match="which mean the same"):
        list(read_instances(cast(Any, Doubled())))
    with pytest.raises(RunError, match="which mean the same"):
        AspectCritic("It is good.", ScriptedModel()).evaluate(cast(Any, Doubled()))
    (chosen,) = read_instances(cast(Any, Doubled()), {"response": "answer"})
    assert chosen.fields == {"response": "one"}


def test_columns_of_one_name_in_an_arrow_table_do_not_hide_each_other(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: make test-parquet")
    table = arrow.Table.from_arrays(
        [arrow.array(["one"]), arrow.array(["another"])], names=["answer", "answer"]
    )
    for given in (table, table.to_batches()[0]):
        (chosen,) = read_instances(given, {"response": "answer (2)"})
        assert chosen.fields == {"response": "another"}


def test_what_is_missing_in_a_list_keeps_its_place_and_is_no_text() -> None:
    (row,) = read_instances([{"answer": "a", "contexts": ["x", None, float("nan"), "y"]}])
    assert row.fields["contexts"] == ("x", "", "", "y")


def test_real_frames_are_read() -> None:
    pandas = pytest.importorskip(
        "pandas", reason="pandas is not installed: frames are tested by what is used of them"
    )
    polars = pytest.importorskip(
        "polars", reason="polars is not installed: frames are tested by what is used of them"
    )
    rows = {"id": [1, 2, 3], "answer": ["a", None, "c"], "contexts": [["x", "y"], ["z"], []]}
    for frame in (pandas.DataFrame(rows), polars.DataFrame(rows)):
        bad: list[BadRow] = []
        found = list(read_instances(frame, on_bad_row=bad.append))
        assert [one.id for one in found] == ["1", "3"]
        assert found[0].fields["contexts"] == ("x", "y")
        assert len(bad) == 1


def test_parquet_is_read(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    import pyarrow

    path = tmp_path / "a.parquet"
    day = datetime.date(2024, 5, 1)
    table = pyarrow.table(
        {
            "answer": [f"text {n}" for n in range(2500)],
            "contexts": [["c"]] * 2500,
            "reference": [day] * 2500,
        }
    )
    parquet.write_table(table, path)
    found = list(read_instances(path))
    assert len(found) == 2500
    assert found[-1].fields == {
        "response": "text 2499",
        "contexts": ("c",),
        "reference": "2024-05-01",
    }
    assert found[-1].id == "a.parquet:2500"
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(RunError, match="cannot be read as Parquet"):
        list(read_instances(path))
    with pytest.raises(RunError, match=r"none\.parquet cannot be read: No such file"):
        list(read_instances(tmp_path / "none.parquet"))


def test_without_pyarrow_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        SetupError, match=r"a\.parquet: to read Parquet, pip install 'adjudge\[parquet\]'"
    ):
        list(read_instances(tmp_path / "a.parquet"))


def test_anything_that_can_be_gone_through_is_read_as_it_is_asked_for() -> None:
    own = Instance({"response": "mine"}, "own")
    asked = []

    def items() -> Iterator[Any]:
        for number, item in enumerate(
            ["a text", {"answer": "b", "id": 7}, own, None, b"x", {"answer": "c"}] * 50
        ):
            asked.append(number)
            yield item

    bad: list[BadRow] = []
    found = list(read_instances(items(), limit=4, on_bad_row=bad.append))
    assert [one.fields["response"] for one in found] == ["a text", "b", "mine", "c"]
    assert [one.id for one in found] == ["row 1", "7", "own", "row 6"]
    assert found[2] is own
    assert [row.reason.rpartition(", ")[2] for row in bad] == ["not NoneType", "not bytes"]
    assert len(asked) <= 100


def test_values_of_other_kinds_become_text() -> None:
    row = {
        "response": Array("a", 2, None),
        "reference": NAType(),
        "user_input": 3,
        "contexts": ({"x": 1}, "y"),
    }
    (instance,) = read_instances([row])
    assert instance.fields == {
        "response": ("a", "2", ""),
        "user_input": "3",
        "contexts": ("x: 1", "y"),
    }
    with pytest.raises(RunError, match="the data, row 1: column 'response' contains bytes"):
        list(read_instances([{"response": b"x"}]))


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ('{"response": "a"}\n{"response": "b"}\n', ["a", "b"]),
        ('\n [{"response": "a"},\n{"response": "b"}]', ["a", "b"]),
        ('{"data": [{"response": "a"}]}', ["a"]),
        ("\ufeffid;response\n1;a\n2;b\n", ["a", "b"]),
        ('response\n"a, {b}"\n', ["a, {b}"]),
    ],
)
def test_standard_input_is_known_by_how_it_begins(
    content: str, fields: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert [one.fields["response"] for one in read_instances("-")] == fields


def test_rows_come_through_a_real_pipe() -> None:
    code = (
        "from adjudge.core.data.dataset import read_instances\n"
        "for one in read_instances('-', on_bad_row=lambda bad: print(bad)): print(one.id, "
        "one.fields['response'])"
    )
    data = b'{"response": "\xd0\xb0"}\nnonsense\n{"response": "b", "id": 9}\n'
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=data,
        capture_output=True,
        check=True,
        timeout=300,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    first, second, third = done.stdout.decode().splitlines()
    assert (first, third) == ("stdin:1 а", "9 b")
    assert second.startswith("standard input, line 2: is not JSON")


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("a.foo", {}, "its name must end in one of"),
        ("a.csv", {"format": "xml"}, "unknown format 'xml'; known: csv, tsv, jsonl, json, parquet"),
        (7, {}, "not from int"),
        (b"bytes", {}, "not from bytes"),
        ("-", {"format": "parquet"}, "from standard input: save it"),
        ([], {}, "the data has no rows"),
        (".", {"format": "csv"}, "cannot be read: Is a directory"),
    ],
)
def test_what_holds_no_rows_is_told(source: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(RunError, match=said):
        list(read_instances(source, **options))


def test_the_format_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text('{"response": "a"}\n')
    assert len(list(read_instances(path, format="jsonl"))) == 1
