"""What msgspec decodes is what the reader of values gives; all else is left to that reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading.json_decoder import JsonDecoder, hints_and_defaults, text_decoder
from adjudge.core.reading.typed_json import WrongType, read_as


@dataclass(frozen=True)
class Part:
    name: str
    size: float = 0.5


@dataclass(frozen=True)
class Whole:
    score: float | None
    word: Literal["a", "b"] | None
    texts: tuple[str, ...]
    numbers: Annotated[Mapping[str, float], "by name"]
    mixed: Mapping[str, str | tuple[str, ...]]
    anything: JsonObject
    winner: int | Literal["tie"] | None = None
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    is_right: bool = True


GOOD: dict[str, Any] = {
    "score": 1,
    "word": "a",
    "texts": ["x", "é 😀"],
    "numbers": {"one": 1, "half": 0.5, "least": 5e-324},
    "mixed": {"a": "x", "b": ["y", "z"]},
    "anything": {"deep": [{"": None}, 1, 2.0, True]},
    "winner": "tie",
    "part": {"name": "p", "size": 2},
    "parts": [{"name": "q"}],
    "is_right": False,
}


def decoded(text: str) -> Whole | None:
    hints, defaults = hints_and_defaults(Whole)
    found = JsonDecoder(hints, defaults, ["never"]).decode(text)
    return None if found is None else Whole(**{name: getattr(found, name) for name in hints})


def test_values_are_those_that_the_reader_gives() -> None:
    for change in ({}, {"score": 0.1}, {"score": None}, {"winner": 3}, {"part": None}, {"more": 1}):
        given = {**GOOD, **change}
        whole = decoded(json.dumps(given))
        assert repr(whole) == repr(read_as(Whole, given))
    fewest = {name: value for name, value in GOOD.items() if name not in ("winner", "part")}
    assert repr(decoded(json.dumps(fewest))) == repr(read_as(Whole, fewest))


@pytest.mark.parametrize(
    "change",
    [
        {"score": "1"},
        {"score": True},
        {"word": "c"},
        {"texts": "x"},
        {"texts": ["x", 1]},
        {"numbers": {"one": None}},
        {"mixed": {"a": 1}},
        {"winner": "a"},
        {"winner": 1.0},
        {"part": {}},
        {"parts": None},
        {"parts": [{"name": 1}]},
        {"is_right": 0},
        {"anything": []},
    ],
)
def test_what_the_reader_refuses_is_left_to_it(change: dict[str, Any]) -> None:
    given = {**GOOD, **change}
    assert decoded(json.dumps(given)) is None
    with pytest.raises(WrongType):
        read_as(Whole, given)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**GOOD, "texts": ["\ud83d"]}),  # half of an emoji
        json.dumps({**GOOD, "score": float("nan")}),
        json.dumps({**GOOD, "score": 10**400}),
        json.dumps({**GOOD, "never": None}),
        json.dumps(GOOD)[:-1],
        "[]",
        "",
        "[" * 100_000,
    ],
)
def test_other_texts_are_left_to_the_reader(text: str) -> None:
    assert decoded(text) is None


def test_a_column_that_holds_no_text_is_left_to_the_reader() -> None:
    decode = text_decoder(Mapping[str, str])
    assert decode('{"a": "b"}') == {"a": "b"}
    for value in (None, 1, b'{"a": "b"}', '{"a": 1}', '{"a": "\ud83d"}'):
        assert decode(value) is None
    with pytest.raises(TypeError):
        text_decoder(Part)
