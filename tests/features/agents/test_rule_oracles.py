"""Every rule on random trajectories, against a second implementation that tries everything."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Any, NamedTuple

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.core.reading.values import Place
from adjudge.features.agents.alignment import assign_best, match_in_order, match_most
from adjudge.features.agents.expectation import ORDERS, Expectations, read_pairs, read_patterns
from adjudge.features.agents.matchers import ValueComparison
from adjudge.features.agents.rules import RULES, measure
from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition, Trajectory

COUNT = int(os.environ.get("ADJUDGE_TABLES", "120"))
"""``make test-oracles`` tries ten thousand."""
VALUES: list[Any] = [
    *(1, 1.0, 2, 1.5, "1", "1.0", True, False, "true", None, "null", "Paris", " paris ", ""),
    *([], [1], ["1", 1], [1, 2], [2, 1], [1, 1, 2], {}, {"t": 1}, {"t": 2, "k": "Paris"}),
    *({"t": None}, [{"t": 1}]),
]
MATCHERS: list[Any] = [
    *({"any": True}, {"is": {"any": True}}, {"one_of": [1, "Paris"]}, {"one_of": [{"above": 1}]}),
    *({"matches": "[A-Z]aris"}, {"near": 1, "within": 0.5}, {"above": 1}, {"below": 2}),
    *({"above": 0, "below": 2}, {"contains": "ari"}, {"contains": [1]}, {"contains": {"t": 1}}),
    *({"set": [2, 1]}, [{"any": True}], [1, {"above": 1}], {"t": {"any": True}}),
]
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"x": {"type": ["number", "string"]}},
    "required": ["x"],
    "additionalProperties": False,
}


class Given(NamedTuple):
    """A case as JSON: nothing of it was read by what is tested."""

    calls: list[dict[str, Any]]
    """name, arguments, result, error"""
    expected: list[Any] | None
    order: str
    required: list[Any]
    forbidden: list[Any]
    before: list[list[Any]]
    types: str
    text: str
    ignore: list[str]
    tools: list[str]
    columns: dict[str, Any]
    usages: list[tuple[int, int] | None]
    seconds: list[float | None]
    answer: str | None


def arguments(choice: random.Random, *, matchers: float = 0.0) -> dict[str, Any]:
    names = choice.sample(["x", "y", "id"], choice.choice([0, 1, 1, 2, 3]))
    pool = VALUES[:4] if choice.random() < 0.6 else VALUES
    return {name: choice.choice(MATCHERS if choice.random() < matchers else pool) for name in names}


def expected_call(choice: random.Random) -> Any:
    name = choice.choice("aab")
    kind = choice.random()
    if kind < 0.2:
        return name
    given = arguments(choice, matchers=choice.choice([0, 0.5]))
    return {name: given} if kind < 0.6 else {"name": name, "arguments": given}


def pattern(choice: random.Random) -> Any:
    name = choice.choice(["a", "b", "c", "*", "[ab]"])
    return name if choice.random() < 0.5 else {name: arguments(choice, matchers=0.5)}


def made_call(choice: random.Random, others: list[dict[str, Any]]) -> dict[str, Any]:
    if others and choice.random() < 0.4:
        return dict(choice.choice(others[-3:]))
    given: Any = arguments(choice) if choice.random() < 0.9 else choice.choice(["", "{x: 1", "1"])
    return {
        "name": choice.choice("aaabbc"),
        "arguments": given,
        "result": choice.choice([None, "r", "r", "s"]),
        "error": choice.choice([None, None, None, "", "it failed"]),
    }


def random_cases(seed: str, count: int) -> Iterator[Given]:
    choice = random.Random(seed)
    for _ in range(count):
        calls: list[dict[str, Any]] = []
        for _ in range(choice.choice([0, 1, 2, 3, 4, 5, 9])):
            calls.append(made_call(choice, calls))
        expected = [expected_call(choice) for _ in range(choice.choice([0, 1, 2, 3, 4]))]
        for call in calls:
            if choice.random() < 0.4 and isinstance(call["arguments"], dict) and len(expected) < 5:
                place = choice.randint(0, len(expected))
                expected.insert(place, {"name": call["name"], "kwargs": call["arguments"]})
        columns: dict[str, Any] = {}
        if choice.random() < 0.7:
            columns["state"] = choice.choice([*VALUES, arguments(choice)])
            columns["reference_state"] = choice.choice(
                [columns["state"], *VALUES, arguments(choice, matchers=0.5)]
            )
        yield Given(
            calls,
            None if choice.random() < 0.05 else expected,
            choice.choice(ORDERS),
            [pattern(choice) for _ in range(choice.choice([0, 1, 2]))],
            [pattern(choice) for _ in range(choice.choice([0, 1, 2]))],
            [[pattern(choice), pattern(choice)] for _ in range(choice.choice([0, 1, 2]))],
            choice.choice(["strict", "strict", "loose"]),
            choice.choice(["exact", "exact", "folded"]),
            choice.choice([[], [], ["id"], ["*.t"], ["x", "y.*"]]),
            choice.choice([[], ["a"], ["a", "b"], ["a", "b", "c"]]),
            columns,
            [choice.choice([None, (3, 4)]) for _ in calls],
            [choice.choice([None, 0.5, 2.0]) for _ in calls],
            choice.choice([None, "", " ", "It is done."]),
        )


def trajectory_of(given: Given) -> Trajectory:
    steps: list[Step] = [Step(1, "user", "said", "Please.")]
    for call, usage, seconds in zip(given.calls, given.usages, given.seconds, strict=True):
        used = None if usage is None else Usage(1, *usage)
        steps.append(
            Step(
                len(steps) + 1,
                "assistant",
                "called",
                call=ToolCall(**call),
                usage=used,
                seconds=seconds,
            )
        )
    tools = tuple(ToolDefinition(name, schema=SCHEMA) for name in given.tools)
    return Trajectory("Please.", tuple(steps), given.answer, tools=tools)


class Oracle:
    """The rules, told again: recursion and brute force over JSON."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.calls = given.calls

    # values

    def ignored(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self.given.ignore)

    def loose(self, value: Any) -> Any:
        if self.given.types != "loose" or not isinstance(value, str):
            return value
        try:
            read = json.loads(value.strip().lower())
        except ValueError:
            return value
        return value if isinstance(read, list | dict | str) else read

    def folded(self, text: str) -> str:
        return re.sub(r"\s+", " ", text.strip()).lower() if self.given.text == "folded" else text

    def same(self, one: Any, other: Any, path: str) -> bool:
        one, other = self.loose(one), self.loose(other)
        if isinstance(one, bool) or isinstance(other, bool):
            return one is other
        if isinstance(one, int | float) and isinstance(other, int | float):
            return one == other
        if isinstance(one, str) and isinstance(other, str):
            return self.folded(one) == self.folded(other)
        if isinstance(one, list) and isinstance(other, list):
            pairs = [f"{path}.{at}".lstrip(".") for at in range(max(len(one), len(other)))]
            left = [item for at, item in zip(pairs, one, strict=False) if not self.ignored(at)]
            right = [item for at, item in zip(pairs, other, strict=False) if not self.ignored(at)]
            return len(left) == len(right) and all(
                self.same(a, b, f"{path}.{at}".lstrip("."))
                for at, (a, b) in enumerate(zip(left, right, strict=True))
            )
        if isinstance(one, dict) and isinstance(other, dict):
            names = {
                name for name in {*one, *other} if not self.ignored(f"{path}.{name}".lstrip("."))
            }
            return all(
                name in one
                and name in other
                and self.same(one[name], other[name], f"{path}.{name}".lstrip("."))
                for name in names
            )
        return one is None and other is None

    def wanted(self, want: Any, value: Any, path: str) -> bool:
        if isinstance(want, dict) and len(want) in (1, 2):
            number = self.loose(value)
            if isinstance(number, bool) or not isinstance(number, int | float):
                number = None
            match want:
                case {"any": _}:
                    return True
                case {"is": literal}:
                    return self.same(literal, value, path)
                case {"one_of": options}:
                    return any(self.wanted(option, value, path) for option in options)
                case {"matches": regex}:
                    if isinstance(value, bool | int | float) and self.given.types == "loose":
                        value = json.dumps(value)
                    flags = re.I if self.given.text == "folded" else 0
                    return (
                        isinstance(value, str)
                        and re.fullmatch(regex, self.folded(value), flags) is not None
                    )
                case {"near": middle, "within": distance}:
                    return number is not None and abs(number - middle) <= distance
                case {"above": low, "below": high}:
                    return number is not None and low < number < high
                case {"above": low}:
                    return number is not None and number > low
                case {"below": high}:
                    return number is not None and number < high
                case {"contains": parts}:
                    parts = parts if isinstance(parts, list) else [parts]
                    return all(self.holds(part, value, path) for part in parts)
                case {"set": items}:
                    return (
                        isinstance(value, list)
                        and all(
                            any(self.wanted(item, one, path) for one in value) for item in items
                        )
                        and all(
                            any(self.wanted(item, one, path) for item in items) for one in value
                        )
                    )
        if isinstance(want, dict) and isinstance(value, dict):
            return self.keys_wanted(want, value, path, others=False)
        if isinstance(want, list) and isinstance(value, list):
            places = [f"{path}.{at}".lstrip(".") for at in range(max(len(want), len(value)))]
            kept = [at for at, place in enumerate(places) if not self.ignored(place)]
            return all(
                at < len(want) and at < len(value) and self.wanted(want[at], value[at], places[at])
                for at in kept
            )
        return self.same(want, value, path)

    def holds(self, part: Any, value: Any, path: str) -> bool:
        if isinstance(value, str):
            if self.given.types == "loose" and isinstance(part, bool | int | float):
                part = json.dumps(part)
            return isinstance(part, str) and self.folded(part) in self.folded(value)
        if isinstance(value, dict):
            return isinstance(part, dict) and self.keys_wanted(part, value, path, others=True)
        return isinstance(value, list) and any(self.wanted(part, one, path) for one in value)

    def keys_wanted(
        self, want: dict[str, Any], given: dict[str, Any], path: str, *, others: bool
    ) -> bool:
        at = {name: f"{path}.{name}".lstrip(".") for name in {*want, *given}}
        return all(
            (name not in want and others)
            or (name in want and name in given and self.wanted(want[name], given[name], place))
            for name, place in at.items()
            if not self.ignored(place)
        )

    # calls

    def read(self, call: Any) -> tuple[str, dict[str, Any] | None]:
        if isinstance(call, str):
            return call, None
        if "kwargs" in call:
            return call["name"], {name: {"is": one} for name, one in call["kwargs"].items()}
        if "arguments" in call:
            return call["name"], call["arguments"]
        ((name, arguments),) = call.items()
        return name, arguments

    def is_call(self, expected: Any, made: Mapping[str, Any]) -> bool:
        name, want = self.read(expected)
        if name != made["name"]:
            return False
        return want is None or (
            isinstance(made["arguments"], dict)
            and self.keys_wanted(want, made["arguments"], "", others=False)
        )

    def fits(self, pattern: Any, made: Mapping[str, Any]) -> bool:
        name, want = self.read(pattern)
        if not fnmatchcase(made["name"], name):
            return False
        return not want or (
            isinstance(made["arguments"], dict)
            and self.keys_wanted(want, made["arguments"], "", others=True)
        )

    def most(self, expected: Sequence[Any], free: frozenset[int]) -> int:
        """By trying each call, and none, for the first expected one."""
        if not expected:
            return 0
        best = self.most(expected[1:], free)
        for place in free:
            if self.is_call(expected[0], self.calls[place]):
                best = max(best, 1 + self.most(expected[1:], free - {place}))
        return best

    def in_order(self, expected: Sequence[Any], calls: Sequence[Any]) -> bool:
        if not expected:
            return True
        if not calls:
            return False
        return (
            self.is_call(expected[0], calls[0]) and self.in_order(expected[1:], calls[1:])
        ) or self.in_order(expected, calls[1:])

    def equal_calls(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        if one["name"] != other["name"]:
            return False
        first, second = one["arguments"], other["arguments"]
        if isinstance(first, str) or isinstance(second, str):
            return first == second
        return self.same(first, second, "")

    # rules

    def calls_rule(self) -> bool | None:
        expected = self.given.expected
        if expected is None:
            return None
        most = self.most(expected, frozenset(range(len(self.calls))))
        return {
            "any_order": most == len(expected),
            "only": most == len(self.calls),
            "in_order": self.in_order(expected, self.calls),
            "exact": len(expected) == len(self.calls)
            and all(map(self.is_call, expected, self.calls)),
        }[self.given.order]

    def shares(self) -> dict[str, float | None]:
        expected = self.given.expected
        if expected is None:
            return dict.fromkeys(("calls_precision", "calls_recall", "calls_f1"))
        n, m = len(expected), len(self.calls)
        most = self.most(expected, frozenset(range(m)))
        return {
            "calls_precision": most / m if m else None,
            "calls_recall": most / n if n else None,
            "calls_f1": 2 * most / (n + m) if n + m else None,
        }

    def arguments_rule(self) -> float | None:
        right = total = 0
        for name in "abc":
            wants = [
                want or {}
                for call, want in map(self.read, self.given.expected or [])
                if call == name
            ]
            made = [call["arguments"] for call in self.calls if call["name"] == name]
            best = (0, 0)
            if wants and made:
                best = max(self.pairings(wants, made))
            right, total = right + best[0], total - best[1]
        return right / total if total else None

    def pairings(self, wants: list[Any], made: list[Any]) -> Iterator[tuple[int, int]]:
        """Right, and minus the expected ones, of every way to pair."""
        for order in permutations(range(max(len(wants), len(made))), len(wants)):
            right = total = 0
            for want, place in zip(wants, order, strict=True):
                if place >= len(made):
                    continue
                names = [name for name in want if not self.ignored(name)]
                total += len(names)
                given = made[place] if isinstance(made[place], dict) else {}
                right += sum(
                    name in given and self.wanted(want[name], given[name], name) for name in names
                )
            yield right, -total

    def loops(self) -> int | None:
        best = 0
        for size in (1, 2, 3, 4):
            for start in range(len(self.calls)):
                times = 1
                while start + (times + 1) * size <= len(self.calls) and all(
                    self.equal_calls(self.calls[start + at], self.calls[start + times * size + at])
                    for at in range(size)
                ):
                    times += 1
                if times >= 3:
                    best = max(best, times * size)
        return best if self.calls else None

    def invalid(self) -> int | None:
        checked = [call for call in self.calls if call["name"] in self.given.tools]
        if not self.given.tools or (self.calls and not checked):
            return None
        return sum(
            isinstance(call["arguments"], str)
            or set(call["arguments"]) != {"x"}
            or isinstance(call["arguments"]["x"], bool)
            or not isinstance(call["arguments"]["x"], int | float | str)
            for call in checked
        )

    def too_early(self, first: Any, second: Any) -> bool:
        return any(
            self.fits(second, made)
            and not any(
                self.fits(first, earlier) and earlier["error"] is None
                for earlier in self.calls[:place]
            )
            for place, made in enumerate(self.calls)
        )

    def untold(self, pattern: Any, made: Mapping[str, Any]) -> bool:
        name, want = self.read(pattern)
        return bool(want) and isinstance(made["arguments"], str) and fnmatchcase(made["name"], name)

    def untold_too_early(self, first: Any, second: Any) -> bool:
        return any(
            self.untold(second, made)
            and not any(
                self.fits(first, earlier) and earlier["error"] is None
                for earlier in self.calls[:place]
            )
            for place, made in enumerate(self.calls)
        )

    def values(self) -> dict[str, float | bool | None]:
        given, calls = self.given, self.calls
        used = [sum(usage) for usage in given.usages if usage]
        seconds = [one for one in given.seconds if one is not None]
        repeats = sum(
            any(
                self.equal_calls(earlier, call)
                and (earlier["result"], earlier["error"]) == (call["result"], call["error"])
                for earlier in calls[:place]
            )
            for place, call in enumerate(calls)
        )
        unrecorded = [call for call in calls if call["result"] is None and call["error"] is None]
        untold_repeats = any(
            sum(self.equal_calls(call, other) for other in calls) > 1 for call in unrecorded
        )
        broken = any(self.fits(one, call) for call in calls for one in given.forbidden)
        untold_broken = any(self.untold(one, call) for call in calls for one in given.forbidden)
        early = any(self.too_early(*pair) for pair in given.before)
        untold_early = any(self.untold_too_early(*pair) for pair in given.before)
        unrecovered = sum(
            call["error"] is not None
            and not any(
                later["name"] == call["name"]
                and later["error"] is None
                and later["result"] is not None
                for later in calls[place + 1 :]
            )
            for place, call in enumerate(calls)
        )
        state, reference = (given.columns.get(name) for name in ("state", "reference_state"))
        if isinstance(state, str) and isinstance(reference, str):
            state, reference = read_text(state), read_text(reference)
        elif isinstance(state, str):
            state = read_text(state)
        elif isinstance(reference, str):
            reference = read_text(reference)
        has_state = None not in (given.columns.get("state"), given.columns.get("reference_state"))
        return {
            "calls": self.calls_rule(),
            **self.shares(),
            "arguments": None if given.expected is None else self.arguments_rule(),
            "required": all(any(self.fits(one, call) for call in calls) for one in given.required)
            if given.required
            else None,
            "forbidden": not broken if given.forbidden and (broken or not untold_broken) else None,
            "before": not early if given.before and (early or not untold_early) else None,
            "repeats": None if untold_repeats else repeats,
            "loops": self.loops(),
            "errors": sum(call["error"] is not None for call in calls),
            "unrecovered": unrecovered,
            "unknown_tools": sum(call["name"] not in given.tools for call in calls)
            if given.tools
            else None,
            "invalid_arguments": self.invalid(),
            "steps": 1 + len(calls),
            "model_calls": len(used) or None,
            "tokens": sum(used) if used else None,
            "usd": None,
            "seconds": sum(seconds) if seconds else None,
            "ended": bool((given.answer or "").strip()),
            "final_state": self.wanted(reference, state, "") if has_state else None,
        }


def read_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_every_rule_is_what_trying_everything_gives() -> None:
    place = Place("here")
    seen: dict[str, set[object]] = {name: set() for name in RULES}
    for given in random_cases("rules", COUNT):
        expectations = Expectations(
            order=given.order,  # type: ignore[arg-type]
            required=read_patterns(given.required, place) if given.required else (),
            forbidden=read_patterns(given.forbidden, place) if given.forbidden else (),
            before=read_pairs(given.before, place) if given.before else (),
            comparison=ValueComparison(given.types, given.text, tuple(given.ignore)),  # type: ignore[arg-type]
        )
        columns = {**given.columns}
        if given.expected is not None:
            columns["reference_calls"] = given.expected
        values = Oracle(given).values()
        for name, rule in RULES.items():
            measured = measure(name, trajectory_of(given), expectations, columns)
            wanted = values[name]
            assert measured.value == (None if wanted is None else pytest.approx(wanted)), given
            assert (measured.value is None) == (measured.reason is not None)
            if rule.amount == "truth" and name != "ended":
                assert bool(measured.parts) == (measured.value is False)
            seen[name].add(measured.value)
    assert all(len(values) > 1 for name, values in seen.items() if name != "usd")


def random_options(choice: random.Random) -> tuple[list[list[int]], int]:
    rights = choice.randint(0, 6)
    dense = choice.random()
    return [
        [right for right in range(rights) if choice.random() < dense]
        for _ in range(choice.randint(0, 6))
    ], rights


def test_the_matching_is_as_large_as_any() -> None:
    choice = random.Random("matching")
    for _ in range(COUNT * 4):
        options, rights = random_options(choice)
        found = match_most(options, rights)
        taken = [right for right in found if right is not None]
        assert len(set(taken)) == len(taken)
        assert all(right is None or right in options[left] for left, right in enumerate(found))
        assert len(taken) == _most_pairs(options, frozenset(range(rights)))


def _most_pairs(options: Sequence[Sequence[int]], free: frozenset[int]) -> int:
    if not options:
        return 0
    taking = (1 + _most_pairs(options[1:], free - {one}) for one in options[0] if one in free)
    return max(_most_pairs(options[1:], free), *taking, 0)


def test_the_order_is_as_long_as_any() -> None:
    choice = random.Random("order")
    for _ in range(COUNT * 4):
        options, _ = random_options(choice)
        found = [right for right in match_in_order(options) if right is not None]
        assert found == sorted(set(found))
        assert len(found) == _longest_order(options, -1)


def _longest_order(options: Sequence[Sequence[int]], last: int) -> int:
    if not options:
        return 0
    taking = (1 + _longest_order(options[1:], one) for one in options[0] if one > last)
    return max(_longest_order(options[1:], last), *taking, 0)


def test_the_assignment_is_worth_as_much_as_any() -> None:
    choice = random.Random("assignment")
    for _ in range(COUNT):
        rows, columns = choice.randint(1, 5), choice.randint(1, 5)
        worth = [[choice.randint(-3, 9) for _ in range(columns)] for _ in range(rows)]
        found = assign_best(worth)
        taken = [column for column in found if column is not None]
        assert len(set(taken)) == len(taken) == min(rows, columns)
        total = sum(worth[row][column] for row, column in enumerate(found) if column is not None)
        wide = max(rows, columns)
        assert total == max(
            sum(worth[row][column] for row, column in enumerate(order[:rows]) if column < columns)
            for order in permutations(range(wide))
        )
