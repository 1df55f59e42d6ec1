"""Expected calls as people and other tools write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.features.agents.expectation import (
    ExpectedCall,
    read_calls,
    read_cell,
    read_expectations,
    read_pairs,
    read_patterns,
)
from adjudge.features.agents.matchers import Anything, Is, OneOf
from adjudge.messages import render

HERE = Place("here")
PARIS = {"city": Is("Paris")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("get_weather", ExpectedCall("get_weather")),
        ({"get_weather": None}, ExpectedCall("get_weather")),
        ({"get_weather": {}}, ExpectedCall("get_weather", {})),
        ({"get_weather": {"city": "Paris"}}, ExpectedCall("get_weather", PARIS)),
        (
            {"get_weather": {"city": {"any": True}}},
            ExpectedCall("get_weather", {"city": Anything()}),
        ),
        ({"name": "get_weather"}, ExpectedCall("get_weather")),
        ({"name": {"first": "Ann"}}, ExpectedCall("name", {"first": Is("Ann")})),
        (
            {"name": "get_weather", "arguments": {"city": "Paris"}},
            ExpectedCall("get_weather", PARIS),
        ),
        (
            {"name": "get_weather", "arguments": '{"city":"Paris"}'},
            ExpectedCall("get_weather", PARIS),
        ),
        ({"name": "get_weather", "kwargs": {"city": "Paris"}}, ExpectedCall("get_weather", PARIS)),
        ({"name": "get_weather", "args": {"city": "Paris"}}, ExpectedCall("get_weather", PARIS)),
        (
            {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Paris"}},
            ExpectedCall("get_weather", PARIS),
        ),
        (
            {"tool_name": "get_weather", "tool_input": {"city": "Paris"}},
            ExpectedCall("get_weather", PARIS),
        ),
        (
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
            },
            ExpectedCall("get_weather", PARIS),
        ),
        ("get_weather(city='Paris')", ExpectedCall("get_weather", PARIS)),
        ("get_weather('Paris')", ExpectedCall("get_weather", {}, (Is("Paris"),))),
        ("api.move(-1, to=(1, None))", ExpectedCall("api.move", {"to": Is([1, None])}, (Is(-1),))),
    ],
)
def test_shapes(given: JsonValue, expected: ExpectedCall) -> None:
    assert read_calls([given], HERE) == (expected,)
    assert read_cell(json.dumps([given]), "reference_calls") == (expected,)
    assert read_calls([[given], [], [given]], HERE) == (expected, expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "[1]: must be the name of a tool, with or without arguments, not 7"),
        (
            {},
            "[1]: must be the name of a tool, with or without arguments, not a mapping",
        ),
        (" ", "[1]: the name of the tool is missing"),
        (
            {"a": {}, "b": {}},
            "[1]: must have either one key, the name of the tool, or the keys name and",
        ),
        ({"a": [1]}, "[1].a: must map argument names to values, not a list"),
        ({"a": "x"}, "[1].a: is not JSON"),
        ({"name": "a", "arguments": "{"}, "[1].arguments: is not JSON"),
        (
            {"name": "a", "args": {}, "input": {}},
            "[1]: gives its arguments twice, as args and input",
        ),
        (
            {"a": {"x": {"near": 1}}},
            "[1].a.x: near and within must be used together, but within is missing",
        ),
        (
            {"a": {"x": {"within": 1}}},
            "[1].a.x: near and within must be used together, but near is missing",
        ),
        ({"a": {"x": {"near": 1, "within": -1}}}, "[1].a.x.within: must be a number of at least 0"),
        ({"a": {"x": {"above": "1"}}}, "[1].a.x.above: must be a number, not '1'; {is: …} quotes"),
        ({"a": {"x": {"above": True}}}, "[1].a.x.above: must be a number, not True"),
        ({"a": {"x": {"one_of": 1}}}, "[1].a.x.one_of: must be a list, not 1"),
        ({"a": {"x": {"one_of": []}}}, "[1].a.x.one_of: must not be an empty list"),
        ({"a": {"x": {"set": "ab"}}}, "[1].a.x.set: must be a list, not 'ab'"),
        ({"a": {"x": {"matches": "("}}}, "[1].a.x.matches: is not a regular expression"),
        ({"a": {"x": {"matches": 1}}}, "[1].a.x.matches: must be a string, not 1"),
        ({"a": {"x": {"any": False}}}, "[1].a.x.any: must be true, not False"),
        ({"a": {"x": [{"one_of": [{"any": 0}]}]}}, "[1].a.x[1].one_of[1].any: must be true"),
        ("a(", "[1]: must be a call with literal values"),
        ("a(x=b)", "[1]: must be a call with literal values"),
        ("a(**{})", "[1]: must be a call with literal values"),
        ("a(__import__('os'))", "[1]: must be a call with literal values"),
        ("a(b'x')", "[1]: must be a call with literal values"),
        ("(" * 5000, "[1]: must be a call with literal values"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(given: JsonValue, said: str) -> None:
    with pytest.raises(SetupError) as caught:
        read_calls([given], HERE)
    assert f"here, {said}" in str(caught.value)
    assert "here, [1]" in render(caught.value, "ru")


@pytest.mark.parametrize("given", [None, "a", {"a": 1}, 3])
def test_calls_are_a_list(given: JsonValue) -> None:
    with pytest.raises(SetupError, match="must be a list of calls"):
        read_calls(given, HERE)


def test_required_forbidden_and_before() -> None:
    assert read_patterns("get_*", HERE) == (ExpectedCall("get_*"),)
    confirm, pay = ExpectedCall("confirm"), ExpectedCall("pay")
    assert read_pairs(["confirm", "pay"], HERE) == ((confirm, pay),)
    assert read_pairs([["confirm", "pay"], ["pay", "confirm"]], HERE) == (
        (confirm, pay),
        (pay, confirm),
    )
    for wrong in ([], "confirm", ["confirm"], [["confirm"]], [["a", "b", "c"]]):
        with pytest.raises(SetupError, match=r"\[confirm, pay\]"):
            read_pairs(wrong, HERE)
    with pytest.raises(SetupError, match="must be named here"):
        read_patterns(["pay(7)"], HERE)


def test_a_file_of_tasks(tmp_path: Path) -> None:
    path = tmp_path / "expected.yaml"
    path.write_text(
        """\
weather-1:
  - get_weather: {city: {one_of: [Paris, "Paris, FR"]}}
  - book(seat=3)
7: []
yaml:
  - a: {no: no, yes: "true", truth: true, time: 12:30, zip: 010, day: 2024-05-20, n: 3, f: 1.50,
        none: null, big: 1_000, version: 1.10.1, inf: .inf, e: 1e3}
""",
        encoding="utf-8",
    )
    found = read_expectations(path)
    cities = OneOf((Is("Paris"), Is("Paris, FR")))
    assert found["weather-1"] == (
        ExpectedCall("get_weather", {"city": cities}),
        ExpectedCall("book", {"seat": Is(3)}),
    )
    assert found["7"] == ()
    (call,) = found["yaml"]
    assert {
        name: one.value for name, one in (call.arguments or {}).items() if isinstance(one, Is)
    } == {
        **{"no": "no", "yes": "true", "truth": True, "time": "12:30", "zip": "010"},
        **{"day": "2024-05-20", "n": 3, "f": 1.5, "none": None, "big": "1_000"},
        **{"version": "1.10.1", "inf": ".inf", "e": "1e3"},
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "e.yaml",
            "t1:\n  - a: {x: {near: 1}}\n",
            "line 2, t1[1].a.x: near and within must be used together",
        ),
        (
            "e.yaml",
            "t1:\n  - a: {}\n  - a: {}\n    b: {}\n",
            "line 3, t1[2]: must have either one key",
        ),
        ("e.yaml", "t1: a\n", "line 1, t1: must be a list of calls, not the string 'a'"),
        ("e.yaml", "- a\n", "the file: must be a mapping, not a list"),
        ("e.yaml", "t1: []\nt1: []\n", "the key 't1' appears twice"),
        ("e.yaml", "t1: [\n", "is not YAML"),
        ("e.yaml", "", "must be a mapping, not nothing"),
        ("e.json", '{"t1": ["a"]', "the file: is not JSON"),
        ("e.json", '{"t1": [], "t1": ["a"]}', "the key 't1' appears twice"),
        ("e.json", '{"t1": [{"a": {"x": {"any": 2}}}]}', "t1[1].a.x.any: must be true, not 2"),
        ("e.json", '{"t1": ' + "[" * 100_000, "nested too deeply"),
        ("e.yaml", "t1: " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_wrong_file_is_said_with_file_task_and_call(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        read_expectations(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_json_file_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "expected.json"
    path.write_text('{"t": [{"a": {"x": "no", "y": "010"}}]}', encoding="utf-8")
    assert read_expectations(path)["t"] == (ExpectedCall("a", {"x": Is("no"), "y": Is("010")}),)
    with pytest.raises(SetupError, match="No such file"):
        read_expectations(tmp_path / "absent.yaml")
