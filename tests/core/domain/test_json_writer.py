"""JSON that is written past the class that makes it is what the class would have made."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pytest

from adjudge.core.domain.json_writer import json_writer


class _Text(str):
    def __str__(self) -> str:
        return "another"


class _Whole(int):
    def __repr__(self) -> str:
        return "another"


class _Real(float):
    def __repr__(self) -> str:
        return "another"


class _Level(IntEnum):
    LOW = 1


VALUES: list[object] = [
    *(0.1, -0.0, 1e16, 5e-324, float("nan"), -float("inf"), 2**70, -(2**64), True, None, ""),
    'é\u2028\ud800😀\x00\x7f"\\/',
    *(_Text("t"), _Whole(3), _Real(2.5), _Level.LOW, b"\xff", (), [], {}, {1, 2}, object()),
    {True: 1, None: 2, 1.5: 3, 2**70: 4, _Text("k"): 5, _Whole(6): 6, "a": {"b": [{}, (1,)]}},
    *({float("nan"): 1}, {b"k": 1}, {(1,): 2}),
]


def _outcome(write: Callable[[object], str], value: object) -> object:
    try:
        return write(value)
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize("allow_nan", [True, False])
@pytest.mark.parametrize("default", [None, bytes.hex, repr])
def test_every_value_is_written_as_by_json_dumps(
    default: Any, allow_nan: bool, separators: tuple[str, str]
) -> None:
    settings: dict[str, Any] = {"allow_nan": allow_nan, "separators": separators}
    write = json_writer(*([default] if default else []), **settings)
    for value in VALUES:
        for inside in (value, [value, value], {"key": value, "other": 1}):
            expected = _outcome(lambda one: json.dumps(one, default=default, **settings), inside)
            assert _outcome(write, inside) == expected


def test_a_circle_is_an_error() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(RecursionError):
        json_writer()(circle)
