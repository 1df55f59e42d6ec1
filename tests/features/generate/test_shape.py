"""What an output may be asked to be, and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Agent, SetupError
from adjudge.features.generate.shape import WrongShape, check_schema, conform, describe


@dataclass
class Point:
    x: int
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass
class Line:
    start: Point
    end: Point


class Person(TypedDict):
    name: str
    age: NotRequired[int]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
    },
    "required": ["name"],
    "additionalProperties": False,
}

NESTED = {
    "$defs": {"named": {"properties": {"b": {"type": "string"}}}},
    "allOf": [{"properties": {"a": {"$ref": "#/$defs/named"}}}],
}


@pytest.mark.parametrize(
    ("value", "schema", "wanted"),
    [
        (1, int, 1),
        (1, float, 1.0),
        (1.5, float, 1.5),
        ("a", str, "a"),
        (True, bool, True),
        ([1, "a"], list, [1, "a"]),
        ({"a": 1}, dict, {"a": 1}),
        ([1, 2], list[int], [1, 2]),
        ([], list[int], []),
        ([[1], []], list[list[int]], [[1], []]),
        ({"a": 1}, dict[str, int], {"a": 1}),
        ([1, "a"], tuple[int, str], (1, "a")),
        ([1, 2, 3], tuple[int, ...], (1, 2, 3)),
        ([1], tuple, (1,)),
        (None, int | None, None),
        (7, int | None, 7),
        ("7", int | str, "7"),
        (None, type(None), None),
        ("a", Literal["a", "b"], "a"),
        ("red", Colour, Colour.RED),
        ({"x": 1, "y": 2}, Point, Point(1, 2.0)),
        (
            {"start": {"x": 1}, "end": {"x": 2, "tags": ["t"]}},
            Line,
            Line(Point(1), Point(2, tags=["t"])),
        ),
        ([{"x": 1}], list[Point], [Point(1)]),
        ({"name": "Ada"}, Person, {"name": "Ada"}),
        ({"name": "Ada", "age": 36}, Person, {"name": "Ada", "age": 36}),
        ({"anything": [1]}, None, {"anything": [1]}),
        ("x", Any, "x"),
        ({"name": "Ada", "age": 36}, OBJECT, {"name": "Ada", "age": 36}),
        (3.0, {"type": "integer"}, 3.0),
        (None, {"type": ["string", "null"]}, None),
        ([1, 2], {"type": "array", "items": {"type": "number"}, "maxItems": 2}, [1, 2]),
        ("b", {"enum": ["a", "b"]}, "b"),
        (1, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1),
        ({"k": 1}, {"additionalProperties": {"type": "integer"}}, {"k": 1}),
    ],
)
def test_what_fits(value: object, schema: Any, wanted: object) -> None:
    check_schema(schema)
    found = conform(value, schema)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        ("1", int, "output is '1', a str, instead of int"),
        (1.0, int, "instead of int"),
        (True, int, "instead of int"),
        (True, float, "instead of float"),
        (1, str, "instead of str"),
        (1, bool, "instead of bool"),
        (None, int, "instead of int"),
        ({"a": 1}, list, "instead of list"),
        ([1, "2"], list[int], r"output\[1\] is '2'"),
        ({"a": "1"}, dict[str, int], r"output\['a'\] is '1'"),
        ([1], tuple[int, str], r"instead of a list \[int, str\]"),
        ("c", Literal["a", "b"], "instead of 'a' or 'b'"),
        (True, Literal[1], "instead of 1"),
        ("green", Colour, "instead of 'red' or 'blue'"),
        (1.5, int | str, "instead of int or str"),
        ({"y": 1}, Point, "output lacks x"),
        ({"x": 1, "z": 1}, Point, "has z, which was not asked for"),
        ({"start": {"x": "1"}, "end": {"x": 2}}, Line, r"output\['start'\]\['x'\] is '1'"),
        ([1, 2], Point, "instead of dict"),
        ({"age": 3}, Person, "lacks name"),
        ({"age": 3}, OBJECT, "output: 'name' is a required property"),
        ({"name": "", "age": 3}, OBJECT, r"output\['name'\]: ''"),
        ({"name": "Ada", "age": -1}, OBJECT, r"output\['age'\]: -1 is less than the minimum of 0"),
        ({"name": "Ada", "age": True}, OBJECT, "not of type 'integer'"),
        ({"name": "Ada", "job": "x"}, OBJECT, "'job' was unexpected"),
        (3.5, {"type": "integer"}, "not of type 'integer'"),
        ([1, 2, 3], {"maxItems": 2}, "too long"),
        ("c", {"enum": ["a", "b"]}, "not one of"),
        (True, {"const": 1}, "1 was expected"),
        ("x1", {"pattern": "^[a-z]+$"}, "does not match"),
        (1.5, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "any of the given schemas"),
        (1, {"oneOf": [{"type": "number"}, {"type": "integer"}]}, "valid under each of"),
        ([1, "a"], {"type": "array", "items": {"type": "integer"}}, r"output\[1\]"),
        ({"a": {"b": 1}}, NESTED, r"output\['a'\]\['b'\]: 1 is not of type 'string'"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(value: object, schema: Any, said: str) -> None:
    with pytest.raises(WrongShape, match=said):
        conform(value, schema)


def test_pydantic_models_are_taken_as_they_are() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Answer", value=(int, ...))
    assert conform({"value": 3}, model) == model(value=3)
    assert '"value"' in describe(model)
    with pytest.raises(WrongShape, match="does not fit Answer"):
        conform({"value": "x"}, model)


def test_a_pydantic_model_that_describes_nothing_is_named() -> None:
    pydantic = pytest.importorskip("pydantic")
    with pytest.raises(
        SetupError, match="output_schema BaseModel cannot be described as a JSON schema"
    ):
        Agent(output_schema=pydantic.BaseModel)
    with pytest.raises(SetupError, match="output_schema Callback cannot be described"):
        Agent(output_schema=pydantic.create_model("Callback", function=(Callable[[], int], ...)))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (int, "int"),
        (None, "any JSON value"),
        (list[int], "list[int]"),
        (dict[str, list[float]], "dict[str, list[float]]"),
        (int | None, "int or None"),
        (Point, "a dict {'x': int, 'y': float, 'tags': list[str]}"),
        (tuple[int, ...], "a list [int, …]"),
        (Colour, "'red' or 'blue'"),
        ({"type": "integer"}, 'a value that fits the JSON schema {"type": "integer"}'),
    ],
)
def test_schemas_in_words(schema: Any, words: str) -> None:
    assert describe(schema) == words


def test_a_huge_wrong_value_makes_no_huge_message() -> None:
    with pytest.raises(WrongShape) as caught:
        conform("x" * 100_000, int)
    assert len(str(caught.value)) < 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    json_values,
    st.sampled_from(
        [int, str, bool, list, dict, list[int], dict[str, int], int | None, Point, Person]
    ),
)
def test_whatever_comes_either_fits_or_is_a_wrong_shape(value: object, schema: Any) -> None:
    try:
        found = conform(value, schema)
    except WrongShape:
        return
    assert isinstance(found, Point) or json.loads(json.dumps(found)) == value


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:9/schema.json", "#/$defs/nowhere", "other.json"]
)
def test_a_reference_out_of_the_schema_is_refused_and_not_fetched(reference: str) -> None:
    with pytest.raises(SetupError, match="output_schema refers to"):
        check_schema({"properties": {"a": {"anyOf": [{"$ref": reference}]}}})
