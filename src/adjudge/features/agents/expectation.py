"""Expected calls of an agent: calls per task, and calls that must or must not occur.

They are read from files and columns in the usual formats.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.reading.values import (
    Place,
    Scalar,
    load_yaml,
    mapping,
    nearest,
    text_in,
    unique_keys,
    what,
)
from adjudge.features.agents.matchers import (
    Anything,
    Between,
    Containing,
    Is,
    ListOf,
    Matcher,
    Matches,
    Near,
    ObjectOf,
    OneOf,
    SetOf,
    ValueComparison,
    read_matcher,
)
from adjudge.messages import Message

Order = Literal["exact", "in_order", "any_order", "only"]
ORDERS: tuple[Order, ...] = ("exact", "in_order", "any_order", "only")
COLUMN = "reference_calls"
TASK_COLUMNS = ("task_id", "id")
_NAMES = ("name", "tool_name", "function_name", "tool")
_WITH_MATCHERS = "arguments"
_ARGUMENTS = (
    _WITH_MATCHERS,
    "kwargs",
    "args",
    "input",
    "parameters",
    "tool_input",
    "input_parameters",
)
"""How others name them: tau-bench, LangChain and Ragas, Anthropic, Llama, ADK, DeepEval."""
_WRAPPERS = ("function", "functionCall", "function_call", "toolUse")
"""Under which others keep name and arguments: chats, Gemini, Bedrock."""
_BESIDE = (
    *("id", "call_id", "tool_call_id", "toolUseId", "action_id", "index", "type", "status"),
    *("requestor", "caller", "info", "description", "reasoning", "output", "result"),
    *("cache_control", "thoughtSignature", "thought_signature"),
)
"""What recorded calls hold beside name and arguments: nothing that is compared."""
_LONGEST_PYTHON = 100_000
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that is expected, required or forbidden."""

    name: str
    """The tool; ``get_*`` is a pattern among required and forbidden ones."""
    arguments: Mapping[str, Matcher] | None = None
    """None: any arguments will do."""
    unnamed: tuple[Matcher, ...] = ()
    """The first arguments, if they were written without names: ``sort('a.txt')``."""

    @property
    def line(self) -> str:
        """The call as text, with its arguments as JSON."""
        if self.arguments is None:
            return self.name
        arguments = {name: shown(matcher) for name, matcher in sorted(self.arguments.items())}
        named_arguments = [arguments] if arguments or not self.unnamed else []
        parts = [*map(shown, self.unnamed), *named_arguments]
        texts = (json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in parts)
        return f"{self.name}({', '.join(texts)})"

    def with_names(self, parameters: Sequence[str]) -> ExpectedCall:
        """Return this call with all arguments named.

        Raise a ValueError if there are too few names, or an argument is already named.
        """
        first_arguments = dict(zip(parameters, self.unnamed, strict=False))
        named_arguments = self.arguments or {}
        if (
            len(first_arguments) < len(self.unnamed)
            or first_arguments.keys() & named_arguments.keys()
        ):
            raise ValueError
        return ExpectedCall(self.name, {**first_arguments, **named_arguments})


@dataclass(frozen=True)
class Expectations:
    """The expected calls and rules that a trajectory is measured by."""

    calls: Mapping[str, tuple[ExpectedCall, ...]] = field(default_factory=lambda: NOTHING)
    """By task, of a file; a row may have them in a column instead."""
    order: Order = "in_order"
    required: tuple[ExpectedCall, ...] = ()
    forbidden: tuple[ExpectedCall, ...] = ()
    before: tuple[tuple[ExpectedCall, ExpectedCall], ...] = ()
    """``(confirm, pay)``: no ``pay`` before a ``confirm``."""
    comparison: ValueComparison = ValueComparison()

    def of(self, columns: JsonObject) -> tuple[ExpectedCall, ...] | None:
        """Return the calls expected for a row, from the file or else from the row's column.

        Return None if neither has any. Raise a WrongValue if the column cannot be read.
        """
        for name in TASK_COLUMNS:
            task = columns.get(name)
            if task is not None and (calls := self.calls.get(str(task))) is not None:
                return calls
        cell = columns.get(COLUMN)
        return None if cell is None else read_cell(cell, COLUMN)


def read_expectations(path: Path) -> Mapping[str, tuple[ExpectedCall, ...]]:
    """Read the expected calls per task from a YAML or JSON file, or from BFCL JSONL with ``id``
    and ``ground_truth``.
    """
    place = Place(str(path), Message("the file"))
    content = text_in(path)
    if content.lstrip().startswith("{") and '"ground_truth"' in content.partition("\n")[0]:
        return dict(_read_lines(content, str(path)))
    place = (
        _load_json(content, place) if path.suffix.lower() == ".json" else load_yaml(content, place)
    )
    try:
        tasks = mapping(place.value, place)
        top = replace(place, entry="", field="")
        return {task: read_calls(tasks[task], top.at(task)) for task in tasks}
    except RecursionError:
        raise place.wrong("is nested too deeply") from None


def _read_lines(content: str, name: str) -> Iterator[tuple[str, tuple[ExpectedCall, ...]]]:
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            place = Place(name, Message("line {number}", number=number))
            row = mapping(_load_json(line, place).value, place)
            if not isinstance(row.get("id"), str):
                raise place.wrong("has no id")
            yield str(row["id"]), read_calls(row.get("ground_truth"), place.at(str(row["id"])))


def read_cell(cell: JsonValue, column: str) -> tuple[ExpectedCall, ...]:
    """Read the expected calls in a column's cell: a list, or a list as JSON text."""
    place = Place(Message("the column {name}", name=column))
    if isinstance(cell, str):
        cell = _load_json(cell, place).value
    return read_calls(cell, place)


def _load_json(content: str, place: Place) -> Place:
    try:
        value = json.loads(content, object_pairs_hook=unique_keys)
    except RecursionError:
        raise place.wrong("is nested too deeply") from None
    except ValueError as error:
        raise place.wrong("is not JSON: {reason}", reason=str(error)) from error
    return replace(place, value=value)


def read_calls(items: JsonValue, place: Place) -> tuple[ExpectedCall, ...]:
    """Read a list of calls in any of the usual formats, or a list of such lists, one per turn.

    An empty list expects no call at all.
    """
    if not isinstance(items, list | tuple):
        raise place.wrong("must be a list of calls, not {what}", what=what(items))
    calls: list[ExpectedCall] = []
    for number, entry in enumerate(items, 1):
        at = place.item(number)
        calls += (
            read_calls(entry, at) if isinstance(entry, list | tuple) else [read_call(entry, at)]
        )
    return tuple(calls)


def read_call(given: JsonValue, place: Place) -> ExpectedCall:
    """Read one expected call.

    A call is ``name``, ``{name: {argument: value}}``, ``{name: …, arguments: {…}}``, a tau-bench
    action, a chat tool call, or Python such as ``sort('a.txt', reverse=True)``. Matchers are
    recognised in the second and third form, which are written by hand. Calls recorded by other
    tools are taken literally.
    """
    if isinstance(given, str):
        return (
            _read_python(given, place) if "(" in given else ExpectedCall(_read_name(given, place))
        )
    if not isinstance(given, Mapping) or not given:
        raise place.wrong(
            "must be the name of a tool, with or without arguments, not {what}",
            what=what(given),
        )
    for wrapper in _WRAPPERS:
        inner = given.get(wrapper)
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            _check_keys(given, (wrapper,), place)
            return _read_named_call(inner, "name", place.at(wrapper), literal=True)
    key = next((key for key in _NAMES if isinstance(given.get(key), str)), None)
    if key is not None:
        return _read_named_call(given, key, place, literal=False)
    if len(given) != 1:
        raise place.wrong(
            "must have either one key, the name of the tool, or the keys name and arguments; it "
            "has {keys}",
            keys=", ".join(sorted(map(str, given))),
        )
    ((name, arguments),) = given.items()
    at = place.at(name)
    if arguments is None:
        return ExpectedCall(_read_name(name, place))
    return ExpectedCall(_read_name(name, place), _read_arguments(arguments, at, literal=False))


def _read_named_call(given: JsonObject, key: str, place: Place, *, literal: bool) -> ExpectedCall:
    name = _read_name(given[key], place.at(key))
    _check_keys(given, (key, *_ARGUMENTS), place)
    there = [word for word in _ARGUMENTS if given.get(word) is not None]
    if not there:
        return ExpectedCall(name)
    if len(there) > 1:
        raise place.wrong(
            "gives its arguments twice, as {first} and {second}", first=there[0], second=there[1]
        )
    (word,) = there
    literal = literal or word != _WITH_MATCHERS
    return ExpectedCall(name, _read_arguments(given[word], place.at(word), literal=literal))


def _check_keys(given: JsonObject, known: Sequence[str], place: Place) -> None:
    """Raise a WrongValue for an unknown key: it may hold the arguments under another name, and
    ignoring it would accept any arguments.
    """
    for key, value in given.items():
        if value is not None and key not in known and key not in _BESIDE:
            hint = nearest(str(key), known)
            raise place.at_key(str(key)).wrong("is not a valid key here; {hint}", hint=hint)


def _read_python(text: str, place: Place) -> ExpectedCall:
    """Parse a call in Python syntax without executing it."""
    try:
        with warnings.catch_warnings():
            # Python warns of odd literals and escapes in the text.
            warnings.simplefilter("ignore")
            call = ast.parse(text.strip()[:_LONGEST_PYTHON], mode="eval").body
        if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
            raise ValueError
        unnamed = tuple(Is(_literal(argument)) for argument in call.args)
        named_arguments = {str(word.arg): Is(_literal(word.value)) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise place.wrong(
            "must be a call with literal values, such as sort(file='a.txt'), not {what}",
            what=what(text),
        ) from error
    return ExpectedCall(ast.unparse(call.func), named_arguments, unnamed)


def _literal(node: ast.expr) -> JsonValue:
    """Evaluate a Python literal and convert it to JSON types: a tuple becomes a list."""
    literal: JsonValue = json.loads(json.dumps(ast.literal_eval(node)))
    return literal


def _read_name(value: JsonValue, place: Place) -> str:
    name = str(value).strip() if isinstance(value, str) else ""
    if not name:
        raise place.wrong("the name of the tool is missing")
    return name


def _read_arguments(value: JsonValue, place: Place, *, literal: bool) -> Mapping[str, Matcher]:
    if isinstance(value, str):
        value = _load_json(value, place).value
    if not isinstance(value, Mapping):
        raise place.wrong("must map argument names to values, not {what}", what=what(value))
    arguments = {str(name): _as_json(below) for name, below in value.items()}
    if literal:
        return {name: Is(below) for name, below in arguments.items()}
    return {name: read_matcher(below, place.at(name)) for name, below in arguments.items()}


def _as_json(value: JsonValue) -> JsonValue:
    """Convert a YAML value to its JSON equivalent.

    A scalar stays a number or a boolean only if JSON would read it as one: ``no``, ``12:30``,
    ``010`` and dates become strings.
    """
    if isinstance(value, Mapping):
        return {str(name): _as_json(below) for name, below in value.items()}
    if isinstance(value, list):
        return [_as_json(below) for below in value]
    if not isinstance(value, Scalar):
        return value
    text, parsed = str(value), value.meant
    if isinstance(parsed, bool):
        return parsed if text.lower() in ("true", "false") else text
    if isinstance(parsed, int | float):
        return json.loads(text) if _NUMBER.fullmatch(text) else text
    return text


def read_patterns(items: JsonValue, place: Place) -> tuple[ExpectedCall, ...]:
    """Read required or forbidden calls; a single one needs no list."""
    items = items if isinstance(items, list | tuple) else [items]
    return tuple(_read_pattern(entry, place.item(number)) for number, entry in enumerate(items, 1))


def _read_pattern(given: JsonValue, place: Place) -> ExpectedCall:
    call = read_call(given, place)
    if call.unnamed:
        raise place.wrong("the arguments of {call} must be named here", call=call.line)
    return call


def read_pairs(items: JsonValue, place: Place) -> tuple[tuple[ExpectedCall, ExpectedCall], ...]:
    """Read pairs of calls, the first of which must come before the second. A single pair needs
    no outer list.
    """
    if not isinstance(items, list | tuple) or not items:
        raise place.wrong("must be pairs such as [confirm, pay], not {what}", what=what(items))
    if not isinstance(items[0], list | tuple):
        items = [items]
    pairs = []
    for number, pair in enumerate(items, 1):
        at = place.item(number)
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise at.wrong("must be a pair such as [confirm, pay], not {what}", what=what(pair))
        pairs.append((_read_pattern(pair[0], at), _read_pattern(pair[1], at)))
    return tuple(pairs)


def shown(matcher: Matcher) -> JsonValue:  # noqa: PLR0911 - one for each kind
    """Return a matcher in the notation in which expected calls are written."""
    match matcher:
        case Is(value):
            return value
        case Anything():
            return {"any": True}
        case OneOf(options):
            return {"one_of": [shown(option) for option in options]}
        case Matches(pattern):
            return {"matches": pattern}
        case Near(number, within):
            return {"near": number, "within": within}
        case Between(above, below):
            limits = {"above": above, "below": below}
            return {name: limit for name, limit in limits.items() if limit is not None}
        case Containing(parts):
            return {"contains": [shown(part) for part in parts]}
        case SetOf(items):
            return {"set": [shown(item) for item in items]}
        case ListOf(items):
            return [shown(item) for item in items]
        case ObjectOf(keys):
            return {name: shown(below) for name, below in keys}
