"""Rules on trajectories made by hand, with the traps of each."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import pytest

from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.domain.message import Usage
from adjudge.core.reading import patterns
from adjudge.core.reading.values import Place
from adjudge.features.agents.expectation import Expectations, Order, read_pairs, read_patterns
from adjudge.features.agents.matchers import ValueComparison
from adjudge.features.agents.rules import RULES, RuleResult, measure
from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition, Trajectory

HERE = Place("here")
AS_IT_IS = ValueComparison()


def made(*calls: ToolCall, tools: Sequence[ToolDefinition] = (), answer: str = "") -> Trajectory:
    steps = [Step(number, "bot", "called", call=call) for number, call in enumerate(calls, 2)]
    return Trajectory(
        "Do it.", (Step(1, "user", "said", "Do it."), *steps), answer or None, tools=tuple(tools)
    )


def call(name: str, /, **arguments: JsonValue) -> ToolCall:
    return ToolCall(name, arguments, "done")


def rule(
    name: str,
    trajectory: Trajectory,
    expected: JsonValue = None,
    *,
    order: Order = "in_order",
    comparison: ValueComparison = AS_IT_IS,
    **columns: JsonValue,
) -> RuleResult:
    row = dict(columns) if expected is None else {**columns, "reference_calls": expected}
    return measure(name, trajectory, Expectations(order=order, comparison=comparison), row)


def parts(measured: RuleResult) -> list[str]:
    return [str(part.sentence) for part in measured.parts]


SAME: list[tuple[JsonValue, JsonValue, bool]] = [
    (1, 1.0, True),
    (1, "1", False),
    (1, True, False),
    (0, False, False),
    (1.0, True, False),
    ("true", True, False),
    (None, "", False),
    (None, False, False),
    (None, None, True),
    ([], {}, False),
    ([1, 2], [2, 1], False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
    ({"a": None}, {}, False),
    ({"a": [True]}, {"a": [1]}, False),
    (2**53 + 1, float(2**53), False),
    (10**30, 1e30, False),
    (float("nan"), float("nan"), True),
    (10**4000, 10**4000, True),
    (10**4000, 1e308, False),
    ("Paris", "paris", False),
    ("a b", "a  b", False),
    ("é", "e\u0301", False),
]


@pytest.mark.parametrize(("expected", "given", "same"), SAME)
def test_values_are_equal_as_json(expected: JsonValue, given: JsonValue, same: bool) -> None:
    found = rule("calls", made(call("a", x=given)), [{"name": "a", "kwargs": {"x": expected}}])
    assert found.value is same


LOOSE: list[tuple[JsonValue, JsonValue, bool]] = [
    (1, "1", True),
    (1, " 1.0 ", True),
    (True, "True", True),
    (None, "null", True),
    (1, True, False),
    (1, "01", False),
    (1, "one", False),
    (None, "", False),
    ([1], ["1"], True),
    ([1], "[1]", False),
    ("1e999", "1e999", True),
    ("1e999", "2e999", False),
]


@pytest.mark.parametrize(("expected", "given", "same"), LOOSE)
def test_loose_types(expected: JsonValue, given: JsonValue, same: bool) -> None:
    found = rule(
        "calls",
        made(call("a", x=given)),
        [{"name": "a", "kwargs": {"x": expected}}],
        comparison=ValueComparison(types="loose"),
    )
    assert found.value is same


def test_folded_text() -> None:
    folded = ValueComparison(text="folded")
    run = made(call("a", city=" PARIS  Nord\n"))
    assert rule("calls", run, [{"a": {"city": "Paris nord"}}], comparison=folded).value is True
    assert rule("calls", run, [{"a": {"city": "ParisNord"}}], comparison=folded).value is False
    wanted: JsonValue = [{"a": {"city": {"matches": "paris \\w+"}}}]
    assert rule("calls", run, wanted, comparison=folded).value is True
    assert rule("calls", run, wanted).value is False


MATCHED: list[tuple[JsonValue, JsonValue, bool]] = [
    ({"any": True}, None, True),
    ({"any": None}, [1], True),
    ({"one_of": [1, "Paris"]}, "Paris", True),
    ({"one_of": [1, "Paris"]}, True, False),
    ({"one_of": [{"above": 3}, None]}, 4, True),
    ({"matches": "[0-9]{3}"}, "123", True),
    ({"matches": "[0-9]{3}"}, "1234", False),
    ({"matches": "[0-9]{3}"}, 123, False),
    ({"near": 1, "within": 0.1}, 1.1, True),
    ({"near": 0.3, "within": 0}, 0.3, True),
    ({"near": 1, "within": 0.1}, 1.1000001, False),
    ({"near": 1, "within": 1}, True, False),
    ({"near": 1, "within": 1}, "1", False),
    ({"near": 1, "within": 1}, float("nan"), False),
    ({"above": 100}, 100, False),
    ({"above": 100}, 100.5, True),
    ({"above": 100}, float("inf"), False),
    ({"above": 100}, 10**4000, True),
    ({"near": 10**4000, "within": 1}, 10**4000 + 1, True),
    ({"above": 0, "below": 2}, 1, True),
    ({"above": 0, "below": 2}, 2, False),
    ({"contains": "rump"}, "Trumpet", True),
    ({"contains": ["a", "b"]}, "cab", True),
    ({"contains": ["a", "b"]}, "can", False),
    ({"contains": 1}, [2, 1.0], True),
    ({"contains": 1}, [True], False),
    ({"contains": {"a": 1}}, {"a": 1, "b": 2}, True),
    ({"contains": {"a": 1}}, [{"a": 1, "b": 2}], False),
    ({"contains": "a"}, 1, False),
    ({"set": [1, 2]}, [2, 1, 1], True),
    ({"set": [1, 2]}, [1], False),
    ({"set": [1, 2]}, [1, 2, 3], False),
    ({"set": []}, [], True),
    ({"set": [1]}, "1", False),
    ({"is": {"any": True}}, {"any": True}, True),
    ({"is": {"any": True}}, 1, False),
    ({"is": [{"any": True}]}, [1], False),
    ({"deep": [{"any": True}]}, {"deep": [3]}, True),
    ({"deep": [{"any": True}]}, {"deep": []}, False),
    ({"any": True, "other": 1}, 1, False),
    ({"any": True, "other": 1}, {"any": True, "other": 1}, True),
]


@pytest.mark.parametrize(("expected", "given", "same"), MATCHED)
def test_matchers(expected: JsonValue, given: JsonValue, same: bool) -> None:
    run = made(call("a", x=given))
    assert rule("calls", run, [{"a": {"x": expected}}]).value is same
    assert rule("calls", run, [{"name": "a", "arguments": {"x": expected}}]).value is same


def test_what_was_recorded_is_taken_as_it_stands() -> None:
    run = made(call("a", x={"above": 3}))
    recorded = {"name": "a", "arguments": '{"x": {"above": 3}}'}
    assert rule("calls", run, [{"name": "a", "kwargs": {"x": {"above": 3}}}]).value is True
    assert rule("calls", run, [{"type": "function", "function": recorded}]).value is True
    assert rule("calls", run, [{"a": {"x": {"above": 3}}}]).value is False


def test_missing_and_null_differ_and_so_does_an_argument_too_many() -> None:
    assert rule("calls", made(call("a")), [{"a": {"x": None}}]).value is False
    assert rule("calls", made(call("a", x=None)), [{"a": {}}]).value is False
    assert rule("calls", made(call("a")), [{"a": {"x": {"any": True}}}]).value is False
    assert rule("calls", made(call("a", x=1, y=2)), [{"a": {"x": 1}}]).value is False
    assert rule("calls", made(call("a", x=1, y=2)), ["a"]).value is True


def test_parts_that_do_not_count() -> None:
    ignore = ValueComparison(ignore=("request_id", "*.timestamp"))
    run = made(call("a", request_id="7", x=[{"timestamp": 5, "y": 1}]))
    assert rule("calls", run, [{"a": {"x": [{"y": 1}]}}], comparison=ignore).value is True
    wanted: JsonValue = [{"a": {"x": [{"y": {"above": 0}}], "request_id": "8"}}]
    assert rule("calls", run, wanted, comparison=ignore).value is True
    assert (
        rule("calls", made(call("a", timestamp=1)), [{"a": {}}], comparison=ignore).value is False
    )
    assert rule("arguments", run, wanted, comparison=ignore).value == 1.0


def test_the_largest_matching_not_the_first_that_fits() -> None:
    wanted: JsonValue = [{"search": {"x": {"any": True}}}, {"search": {"x": 1}}]
    run = made(call("search", x=1), call("search", x=2))
    assert rule("calls_f1", run, wanted).value == 1.0
    assert rule("calls", run, wanted, order="any_order").value is True
    assert rule("calls", run, wanted, order="in_order").value is False


@pytest.mark.parametrize(
    ("order", "names", "value"),
    [
        *(("exact", "ab", True), ("exact", "axb", False), ("exact", "ba", False)),
        *(("exact", "a", False), ("exact", "abb", False), ("exact", "", False)),
        *(("in_order", "ab", True), ("in_order", "xaxbx", True), ("in_order", "ba", False)),
        *(("any_order", "xba", True), ("any_order", "aab", True), ("any_order", "aa", False)),
        *(("only", "ab", True), ("only", "b", True), ("only", "", True), ("only", "aab", False)),
        ("only", "abx", False),
    ],
)
def test_orders(order: Order, names: str, value: bool) -> None:
    run = made(*map(call, names))
    assert rule("calls", run, [{"a": {}}, {"b": {}}], order=order).value is value


def test_repeated_identical_calls_each_need_one() -> None:
    twice: JsonValue = [{"a": {}}, {"a": {}}]
    assert rule("calls", made(call("a")), twice, order="any_order").value is False
    assert rule("calls_recall", made(call("a")), twice).value == 0.5
    assert rule("calls_precision", made(call("a"), call("a")), [{"a": {}}]).value == 0.5


def test_nothing_expected_and_nothing_called() -> None:
    for order in ("exact", "in_order", "any_order", "only"):
        assert rule("calls", made(), [], order=order).value is True
    for name in ("calls_precision", "calls_recall", "calls_f1", "arguments"):
        found = rule(name, made(), [])
        assert found.value is None
        assert found.reason


def test_something_on_one_side_only() -> None:
    assert rule("calls_precision", made(call("a")), []).value == 0.0
    assert rule("calls_recall", made(call("a")), []).value is None
    assert rule("calls_f1", made(call("a")), []).value == 0.0
    assert rule("calls", made(call("a")), [], order="exact").value is False
    assert rule("calls_precision", made(), ["a"]).value is None
    assert rule("calls_recall", made(), ["a"]).value == 0.0
    assert rule("calls_f1", made(), ["a"]).value == 0.0


def test_without_expected_calls_there_is_no_score() -> None:
    for name in ("calls", "calls_precision", "calls_recall", "calls_f1", "arguments"):
        found = rule(name, made(call("a")))
        assert (found.value, found.parts) == (None, ())
        assert "reference_calls" in str(found.reason)
    found = rule("calls_f1", made(call("a")), "not JSON")
    assert found.value is None
    assert "the column reference_calls: is not JSON" in str(found.reason)


def test_expected_calls_of_a_task() -> None:
    calls = {"3": read_patterns(["a"], HERE)}
    for columns in ({"task_id": 3}, {"id": "3"}, {"task_id": "x", "id": "3"}):
        assert measure("calls", made(call("a")), Expectations(calls), columns).value is True
    assert measure("calls", made(call("a")), Expectations(calls), {"task_id": "4"}).value is None
    both: JsonObject = {"task_id": "4", "reference_calls": ["b"]}
    assert measure("calls", made(call("a")), Expectations(calls), both).value is False


def test_unparsed_arguments_match_nothing_but_a_name() -> None:
    run = made(ToolCall("a", '{"x": 1', "r"))
    assert rule("calls", run, ["a"]).value is True
    assert rule("calls", run, [{"a": {}}]).value is False
    assert rule("arguments", run, [{"a": {"x": 1}}]).value == 0.0
    assert rule("invalid_arguments", made(ToolCall("a", "{"), tools=[tool("a")])).value == 1
    twice = made(*[ToolCall("a", "{", "r")] * 2)
    assert rule("repeats", twice).value == 1


def test_parts_say_which_call_at_which_step() -> None:
    run = made(call("b"), call("a", x=2), call("c"))
    wanted: JsonValue = [{"a": {"x": 1}}, "b", "d"]
    assert parts(rule("calls_f1", run, wanted)) == [
        'missing: a({"x":1})',
        "missing: d",
        'step 3 was not expected: a({"x":2})',
        "step 4 was not expected: c({})",
    ]
    assert parts(rule("calls", run, ["a", "b"], order="in_order")) == [
        'step 3 is out of order: a({"x":2})'
    ]
    assert parts(rule("arguments", run, wanted)) == [
        'step 3 has different arguments: a({"x":2}): x'
    ]


def test_the_share_of_arguments_is_of_the_best_pairs() -> None:
    wanted: JsonValue = [{"a": {"x": 1, "y": 1}}, {"a": {"x": 2, "y": 2}}]
    run = made(call("a", x=2, y=3), call("a", x=1, y=1))
    assert rule("arguments", run, wanted).value == 0.75
    assert rule("arguments", made(call("b", x=1)), wanted).value is None
    assert rule("arguments", made(call("a", x=1)), ["a", {"a": {}}]).value is None


def patterned(name: str, run: Trajectory, **given: JsonValue) -> RuleResult:
    expectations = Expectations(
        required=read_patterns(given["required"], HERE) if "required" in given else (),
        forbidden=read_patterns(given["forbidden"], HERE) if "forbidden" in given else (),
        before=read_pairs(given["before"], HERE) if "before" in given else (),
    )
    return measure(name, run, expectations, {})


def test_required_and_forbidden() -> None:
    run = made(call("get_user"), call("refund", amount=150, order="7"))
    assert patterned("required", run, required=["get_*", {"refund": {"order": "7"}}]).value is True
    assert parts(patterned("required", run, required=["get_*", "pay"])) == ["missing: pay"]
    forbidden: JsonValue = ["delete_*", {"refund": {"amount": {"above": 100}}}]
    found = patterned("forbidden", run, forbidden=forbidden)
    assert found.value is False
    assert parts(found) == ['step 3 is forbidden: refund({"amount":150,"order":"7"})']
    assert patterned("forbidden", run, forbidden="refund").value is False
    assert patterned("forbidden", made(), forbidden=["a"]).value is True
    assert patterned("required", run).value is None
    assert patterned("forbidden", run).value is None


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"amount": 50}', True),
        ('{"amount": 1e400}', False),
        ('"{\\"amount\\": 1e400}"', False),
        ('{"amount": -1e400}', True),
        ('{"amount": 0e0}', True),
        ('{"amount": 1e99999}', None),
        ('{"amount": 1e-400}', None),
        ('{"amount": Infinity}', None),
        ('{"amount": NaN}', None),
        ('{"amount": 150, "amount": 50}', None),
        ({"amount": float("inf")}, None),
        ({"amount": [50, float("nan")]}, None),
    ],
)
def test_arguments_are_read_as_json_and_nothing_else(
    arguments: str | JsonObject, value: bool | None
) -> None:
    run = Trajectory.of(
        [
            {"role": "user", "content": "Refund it."},
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "function": {"name": "refund", "arguments": arguments}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "done"},
        ]
    )
    forbidden: JsonValue = [{"refund": {"amount": {"above": 100}}}]
    found = patterned("forbidden", run, forbidden=forbidden)
    assert found.value is value
    if value is None:
        assert "the arguments of step 2 cannot be read" in str(found.reason)


@pytest.mark.parametrize(
    ("names", "value"),
    [("cp", True), ("pc", False), ("cpp", True), ("p", False), ("c", True), ("", True)],
)
def test_before(names: str, value: bool) -> None:
    run = made(*map(call, names))
    assert patterned("before", run, before=["c", "p"]).value is value
    assert patterned("before", run, before=[["c", "p"], ["c", "p"]]).value is value


def test_before_says_what_has_to_come_first() -> None:
    found = patterned("before", made(call("pay")), before=["confirm", "pay"])
    assert parts(found) == ["step 2 comes too early: pay({}): confirm must come first"]
    assert patterned("before", made(call("a")), before=["a", "a"]).value is False
    assert patterned("before", made(call("a"))).value is None


def test_repeats_need_the_same_result() -> None:
    run = made(
        *(
            ToolCall("a", {"x": 1}, "r"),
            ToolCall("a", {"x": 1.0}, "r"),
            ToolCall("a", {"x": 1}, "s"),
        ),
        ToolCall("a", {"x": 1}, "r"),
    )
    found = rule("repeats", run)
    assert found.value == 2
    assert [(part.step, part.other) for part in found.parts] == [(3, 2), (5, 2)]
    ignoring = ValueComparison(ignore=("id",))
    assert rule("repeats", made(call("a", id=1), call("a", id=2)), comparison=ignoring).value == 1
    assert rule("repeats", made()).value == 0


@pytest.mark.parametrize(
    ("names", "value", "steps"),
    [
        *(("aaa", 3, (2, 4)), ("aa", 0, None), ("ababab", 6, (2, 7)), ("abab", 0, None)),
        *(("xabcabcabcx", 9, (3, 11)), ("abcdabcdabcd", 12, (2, 13))),
        *(("abcdeabcdeabcde", 0, None), ("abababa", 6, (2, 7)), ("aaab" * 3, 12, (2, 13))),
        *(("aaaaa", 5, (2, 6)), ("aaabbbb", 4, (5, 8)), ("", None, None)),
    ],
)
def test_loops(names: str, value: float | None, steps: tuple[int, int] | None) -> None:
    found = rule("loops", made(*map(call, names)))
    assert found.value == value
    assert [(part.step, part.other) for part in found.parts] == ([steps] if steps else [])


def test_errors_and_those_that_no_later_call_made_good() -> None:
    def failed(name: str) -> ToolCall:
        return ToolCall(name, {}, "Error: no", "no")

    run = made(failed("a"), failed("b"), call("a"), failed("a"), failed("c"))
    assert rule("errors", run).value == 4
    found = rule("unrecovered", run)
    assert found.value == 3
    assert [part.step for part in found.parts] == [3, 5, 6]
    assert parts(found)[0] == "step 3 failed: b({}): no"
    assert rule("errors", made()).value == rule("unrecovered", made()).value == 0


def tool(name: str, /, **schema: JsonValue) -> ToolDefinition:
    whole = {"type": "object", **schema}
    return ToolDefinition(name, schema=whole)


def test_tools_that_are_not_defined() -> None:
    run = made(call("a"), call("b"), tools=[ToolDefinition("a")])
    assert parts(rule("unknown_tools", run)) == ["step 3 calls a tool that is not defined: b({})"]
    assert rule("unknown_tools", made(call("a"))).value is None
    assert rule("invalid_arguments", run).value is None


def test_arguments_against_the_schema_of_the_tool() -> None:
    pytest.importorskip("jsonschema")
    schema = tool("a", properties={"x": {"type": "integer"}}, required=["x"])
    run = made(call("a", x=1), call("a", x="1"), call("a"), call("b"), tools=[schema])
    found = rule("invalid_arguments", run)
    assert found.value == 2
    assert parts(found)[0].startswith("step 3 has arguments that its tool does not take: a(")
    assert "$.x: '1' is not of type 'integer'" in parts(found)[0]
    assert rule("invalid_arguments", made(call("b"), tools=[schema])).value is None
    assert rule("invalid_arguments", made(tools=[schema])).value == 0


HOSTILE_SCHEMAS: Mapping[str, JsonObject] = {
    "remote": {"$ref": "http://127.0.0.1:9/schema.json"},
    "cycle": {"$ref": "#"},
    "laughs": {
        "$defs": {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 9} for n in range(12)}
        | {"l12": {}},
        "$ref": "#/$defs/l0",
    },
    "slow": {"properties": {"x": {"pattern": "^(a+)+$"}}},
    "named": {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    "wrong": {"type": "no such type"},
    "many": {"properties": {"y": {"items": {"allOf": [{"type": "string"}] * 100}}}},
    "no pattern": {"properties": {"x": {"pattern": "("}}},
}


@pytest.mark.parametrize("name", HOSTILE_SCHEMAS)
def test_a_hostile_schema_gives_no_score(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jsonschema")
    monkeypatch.setattr(patterns, "SECONDS", 0.5)
    began = time.monotonic()
    definition = ToolDefinition("a", schema=HOSTILE_SCHEMAS[name])
    found = rule(
        "invalid_arguments", made(call("a", x="a" * 40 + "!", y=["b"] * 10_000), tools=[definition])
    )
    assert found.value is None
    assert found.reason
    assert time.monotonic() - began < 20


def test_items_that_have_to_differ() -> None:
    pytest.importorskip("jsonschema")
    schema = tool("a", properties={"x": {"uniqueItems": True}})
    many: JsonValue = [{"n": number} for number in range(20_000)]
    cases: list[tuple[JsonValue, int]] = [(many, 0), ([1, 1.0], 1), ([1, True, "1"], 0)]
    for given, value in [*cases, ([{}, {}], 1)]:
        run = made(call("a", x=given), tools=[schema])
        assert rule("invalid_arguments", run).value == value


def test_recorded_figures() -> None:
    run = Trajectory(
        "Do it.",
        (
            Step(1, "bot", "called", call=call("a"), seconds=2.0, usage=Usage(1, 10, 5), usd=0.25),
            Step(2, "sub", "said", "x", depth=1, seconds=1.5, usage=Usage(0, 1, 1), usd=0.5),
            Step(3, "bot", "said", "x", seconds=0.5),
        ),
        "x",
    )
    found = {name: measure(name, run, Expectations(), {}).value for name in RULES}
    assert (found["steps"], found["model_calls"], found["tokens"]) == (3, 2, 17)
    assert (found["seconds"], found["usd"]) == (2.5, 0.75)
    assert rule("seconds", run, seconds=9).value == 9
    for name in ("model_calls", "tokens", "usd", "seconds"):
        assert rule(name, made(call("a"))).value is None
        assert measure(name, made(call("a")), Expectations(), {name: "much"}).value is None


@pytest.mark.parametrize(
    ("answer", "value"), [(None, False), ("", False), (" ", False), ("x", True)]
)
def test_ended(answer: str | None, value: bool) -> None:
    assert rule("ended", Trajectory("Do it.", (), answer)).value is value


def test_final_state() -> None:
    state: JsonValue = {"orders": {"7": "cancelled"}, "at": 5}
    ignoring = ValueComparison(ignore=("at",))

    def final(state: JsonValue, reference: JsonValue) -> RuleResult:
        return rule(
            "final_state", made(), comparison=ignoring, state=state, reference_state=reference
        )

    assert final(state, {"orders": {"7": "cancelled"}, "at": 6}).value is True
    assert final(json.dumps(state), {"orders": {"contains": {"7": "cancelled"}}}).value is True
    found = final(state, {"orders": {"7": "open"}, "users": []})
    assert found.value is False
    assert parts(found) == ["orders differs", "users differs"]
    assert final("open", "open").value is True
    assert final("open", {}).value is False
    assert final(None, {}).value is None
    assert final(state, None).value is None
    assert "near" in str(final(state, {"near": "Paris"}).reason)


def test_a_regular_expression_that_takes_too_long_gives_no_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.5)
    run = made(call("a", x="a" * 60 + "!"))
    found = rule("calls", run, [{"a": {"x": {"matches": "(a+)+"}}}])
    assert found.value is None
    assert "regular expression" in str(found.reason)


def test_arguments_nested_without_end_give_no_score() -> None:
    deep: JsonValue = 1
    for _ in range(100_000):
        deep = [deep]
    found = rule("calls_f1", made(call("a", x=deep)), [{"a": {"x": {"contains": 1}}}])
    assert found.value is None
    assert "nested too deeply" in str(found.reason)
    assert rule("errors", made(ToolCall("a", {"x": deep}, None, "no"))).value == 1


def test_many_calls_are_compared_in_time_or_not_at_all() -> None:
    many = made(*(call("a", x=number) for number in range(5000)))
    began = time.monotonic()
    literal: JsonValue = [{"a": {"x": number}} for number in reversed(range(5000))]
    assert rule("calls_f1", many, literal).value == 1.0
    assert rule("calls", many, literal, order="in_order").value is False
    same = made(*[call("a")] * 2000)
    assert rule("calls_recall", same, [{"a": {}}] * 2000).value == 1.0
    assert rule("loops", same).value == 2000
    ranges: JsonValue = [{"a": {"x": {"above": number}}} for number in range(10)]
    assert rule("calls_recall", many, ranges).value == 1.0
    for name in ("calls_f1", "arguments"):
        too_many: JsonValue = [{"a": {"x": {"above": number}}} for number in range(1000)]
        assert "too many calls to compare" in str(rule(name, many, too_many).reason)
    assert time.monotonic() - began < 60
