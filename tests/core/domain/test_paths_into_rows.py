"""What a row holds at a path into one of its columns."""

from __future__ import annotations

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.record import cell_of_column, column_of
from adjudge.errors import SetupError

ROW: JsonObject = {"meta": {"user": {"id": 7}}, "turns": [{"id": "a"}, {"id": "b"}], "a.b": "plain"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("meta.user.id", 7),
        ("turns[-1].id", "b"),
        ("A.B", "plain"),
        ("meta.nobody", None),
        ("turns[5].id", None),
        ("response.id", None),
    ],
)
def test_a_path_leads_into_a_column(column: str, value: object) -> None:
    assert column_of({"response": "x"}, ROW, column) == value


def test_a_path_that_leads_nowhere_is_refused() -> None:
    assert cell_of_column("1", {}, ROW, "meta.user.id") == 7
    with pytest.raises(SetupError, match=r"no column 'meta\.usr'"):
        cell_of_column("1", {}, ROW, "meta.usr")
