"""JSON: a line each, or one document read piece by piece."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.core.data.dataset import BadRow, read_instances
from adjudge.core.data.sources import json_rows
from adjudge.core.data.sources.row import Origin, Row
from adjudge.core.data.sources.text import open_text
from adjudge.errors import RunError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), min_size=1, max_size=6)


def document(content: str | bytes) -> list[Any]:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return list(
        json_rows.document_rows(
            open_text(io.BytesIO(data), Origin("a.json", "a.json", "line"), None)
        )
    )


def small_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("adjudge.core.data.sources.text.HEAD", size)
    monkeypatch.setattr("adjudge.core.data.sources.json_rows.HEAD", size)


@pytest.mark.parametrize("piece", [1, 3, 64, 65_536])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_reads_back_equal_whatever_the_pieces(
    monkeypatch: pytest.MonkeyPatch, piece: int, indent: int | None
) -> None:
    small_pieces(monkeypatch, piece)

    @settings(max_examples=15)
    @given(OBJECTS, st.booleans())
    def holds(rows: list[dict[str, object]], plain: bool) -> None:
        text = json.dumps(rows, indent=indent, ensure_ascii=plain)
        assert [row.cells for row in document(text)] == rows
        inside = json.dumps(
            {"n": 12.5, "tags": ["a", 1], "none": [], "data": rows, "more": {"x": [1]}},
            indent=indent,
        )
        assert [row.cells for row in document(inside)] == rows

    holds()


@given(st.text(alphabet='[]{}",:\\ \n1truefalsn\u0430', max_size=40))
def test_any_text_gives_rows_or_an_error_with_a_place(text: str) -> None:
    """What json.loads refuses is refused, and the other way round."""
    try:
        found: list[object] | None = [
            getattr(row, "cells", None) for row in document("[" + text + "]")
        ]
    except RunError as error:
        assert "a.json, line" in str(error)
        found = None
    try:
        expected = json.loads("[" + text + "]")
    except ValueError:
        assert found is None
    else:
        assert found == [value if isinstance(value, dict) else None for value in expected]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"a": 1},\n {"a": }]', "line 2: column 8: Expecting value"),
        ('[{"a": 1}\n {"a": 2}]', "line 2: column 2: expected ',' or ']', not '{'"),
        ('[{"a": 1}', ", not 'the end'"),
        ('[{"a": "open', "line 1: column 8: Unterminated string"),
        ('[{"a": 1}] x', "more text after the end.*format='jsonl'"),
        ('{"a": 1, "b": {"c": []}}', "contains no list of rows"),
        ('{"a": [{"x": 1}], "b": [{"y": 1}]}', "'b' and 'a' are both lists of rows"),
        ('"text"', "expected a list of rows"),
        ("", ", not 'the end'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_document_is_told_with_line_and_column(
    content: str, said: str
) -> None:
    with pytest.raises(RunError, match=said):
        document(content)


def test_the_column_is_right_after_pieces_were_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch, 16)
    text = "[" + ", ".join(['{"a": 1}'] * 50) + ", nonsense]"
    with pytest.raises(RunError, match=f"line 1: column {text.index('nonsense') + 1}:"):
        document(text)


def test_items_that_are_no_objects_are_bad_rows_and_the_rest_is_read() -> None:
    found = document('[{"a": 1},\n 7,\n null,\n {"a": 2}]')
    assert [str(row) if isinstance(row, BadRow) else row.number for row in found] == [
        1,
        "a.json, line 2: is not a JSON object",
        "a.json, line 3: is not a JSON object",
        4,
    ]


def test_bytes_that_are_no_text_cost_one_row_of_a_document() -> None:
    found = document(b'[{"a": "\xc3\xa9"},\n {"a": "\xe9"},\n {"a": "\xc3\xa9"}]')
    assert [isinstance(row, BadRow) for row in found] == [False, True, False]
    assert "line 2: byte 0xe9" in str(found[1])


def test_an_escaped_half_character_is_a_value_like_any_other() -> None:
    assert document('[{"a": "\\ud83d"}]')[0].cells == {"a": "\ud83d"}


def test_bad_lines_do_not_stop_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"response": "a"}\n{"response": \n[1]\n{"response": "\xff"}\n'
        + b"[" * 100_000
        + b'\n{"response": "b"}\n'
    )
    bad: list[BadRow] = []
    assert [one.fields["response"] for one in read_instances(path, on_bad_row=bad.append)] == [
        "a",
        "b",
    ]
    assert [row.where.rpartition(" ")[2] for row in bad] == ["2", "3", "4", "5"]
    assert "is not JSON: Expecting value" in bad[0].reason
    assert "byte 0xff" in bad[2].reason
    assert "nested too deeply" in bad[3].reason


@pytest.mark.parametrize("head", [1, 17, 65_536])
def test_lines_read_back_equal_wherever_the_head_ends(
    monkeypatch: pytest.MonkeyPatch, head: int
) -> None:
    monkeypatch.setattr("adjudge.core.data.sources.text.HEAD", head)

    @settings(max_examples=15)
    @given(OBJECTS, st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
    def holds(rows: list[dict[str, object]], plain: bool, end: str) -> None:
        data = "".join(json.dumps(row, ensure_ascii=plain) + end for row in rows).encode()
        text = open_text(io.BytesIO(data), Origin("a.jsonl", "a.jsonl", "line"), None)
        assert [row.cells for row in json_rows.line_rows(text) if isinstance(row, Row)] == rows

    holds()


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ('{"response": "a"}\n{"response": "b"}\n', True),
        ('{"response": "a"}', True),
        ('{"data": [{"response": "a"}]}', False),
        ('{"data": [\n{"response": "a"}\n]}', False),
        ('{\n"data": [{"response": "a"}]}', False),
        ('[{"response": "a"}]', False),
    ],
)
def test_a_json_file_may_hold_lines(tmp_path: Path, content: str, lines: bool) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    assert json_rows.is_lines(content) is lines
    assert next(one.fields["response"] for one in read_instances(path)) == "a"


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.csv"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, name: str) -> None:
    peaks = []
    for count in (1_000, 8_000):
        path = tmp_path / f"{count}-{name}"
        rows = [
            {"id": str(number), "response": f"{number} " + "x" * 200} for number in range(count)
        ]
        if name.endswith(".json"):
            path.write_text(json.dumps(rows))
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text(
                "id,response\n" + "".join(f"{row['id']},{row['response']}\n" for row in rows)
            )
        del rows
        tracemalloc.start()
        assert sum(1 for _ in read_instances(path)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 2_000_000
    assert peaks[1] < peaks[0] * 1.5


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_row_has_no_more_keys_than_a_table_has_columns(tmp_path: Path, ending: str) -> None:
    row = json.dumps({f"k{place}": 1 for place in range(16_385)})
    (tmp_path / f"rows.{ending}").write_text(f"[{row}]" if ending == "json" else row)
    bad: list[BadRow] = []
    with pytest.raises(RunError, match="has more than 16,384 keys"):
        list(read_instances(tmp_path / f"rows.{ending}", on_bad_row=bad.append))


def test_a_number_without_end_is_a_bad_row_in_our_words(tmp_path: Path) -> None:
    """Seen: "use sys.set_int_max_str_digits() to increase the limit"."""
    (tmp_path / "rows.jsonl").write_text(f'{{"response": {"9" * 5000}}}\n')
    with pytest.raises(RunError, match="is not JSON: it contains a number with too many digits"):
        list(read_instances(tmp_path / "rows.jsonl", on_bad_row=lambda row: None))
