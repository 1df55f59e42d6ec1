"""The outcome of a conversation: a program looks for the expected state, calls and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonValue
from adjudge.features.agents.trajectory import ToolCall
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.scenario import ExpectedToolCall, Scenario
from adjudge.features.conversations.values import fold, says
from adjudge.messages import Message, join


class ScenarioOutcome(NamedTuple):
    """The outcome of a conversation: reached or not, with the reason."""

    passed: bool | None
    """None if it cannot be decided."""
    reason: str


def outcome_of(scenario: Scenario, conversation: Conversation) -> ScenarioOutcome:
    """Decide whether a conversation ended as the scenario expects.

    ``passed`` is None if the scenario expects nothing, or the state that it expects was not read.
    """
    expected = scenario.expect
    if not expected.says_anything:
        return ScenarioOutcome(
            None, Message("the scenario does not say how the conversation should end")
        )
    if expected.state and conversation.state is None:
        return ScenarioOutcome(
            None,
            Message(
                "the application returned no state: set state in the target to the field that "
                "holds it"
            ),
        )
    missing = list(_missing(scenario, conversation))
    if missing:
        return ScenarioOutcome(False, join("; ", missing))
    return ScenarioOutcome(True, Message("the outcome is as expected"))


def _missing(scenario: Scenario, conversation: Conversation) -> Iterator[Message]:
    expected = scenario.expect
    for path, value in expected.state:
        actual = _at(conversation.state, path)
        if not _same(actual, value):
            yield Message(
                "{path} is {found}, not {wanted}",
                path=path,
                found=_format_value(actual),
                wanted=_format_value(value),
            )
    for call in expected.calls:
        if not any(_fits(actual_call, call) for actual_call in conversation.calls):
            yield Message("{name} was not called as expected", name=call.name)
    # another agent's calls before a continued conversation are not this agent's
    begun = len(scenario.start)
    own_calls = {
        call.name for turn in conversation.turns if turn.number > begun for call in turn.calls
    }
    for name in expected.no_calls:
        if name in own_calls:
            yield Message("{name} was called", name=name)
    agent = [turn.text for turn in conversation.spoken_by("agent")]
    for text in expected.says:
        if not any(says(said_text, text) or fold(text) in fold(said_text) for said_text in agent):
            yield Message("the agent never said: {text}", text=text)


def reaches_state(scenario: Scenario, state: JsonValue) -> bool:
    """Return True if the state matches the scenario's expected state; False if it has none."""
    expected = scenario.expect.state
    return bool(expected) and all(_same(_at(state, path), value) for path, value in expected)


class _Nothing:
    """A missing value, as distinct from None."""


_NOTHING = _Nothing()


def _at(state: object, path: str) -> object:
    """Return the value at a path such as orders.4711.status; a key may itself contain dots."""
    # first as a whole, since keys may contain dots
    if isinstance(state, Mapping) and path in state:
        return state[path]
    name, point, remainder = path.partition(".")
    while True:
        if isinstance(state, Mapping) and name in state:
            return _at(state[name], remainder) if point else state[name]
        if isinstance(state, Sequence) and not isinstance(state, str) and name.isdigit():
            place = int(name)
            if place < len(state):
                return _at(state[place], remainder) if point else state[place]
        if not point:
            return _NOTHING
        part, point, remainder = remainder.partition(".")
        name = f"{name}.{part}"


def _same(actual: object, expected: JsonValue) -> bool:
    if isinstance(actual, _Nothing):
        # an expected null also fits a missing key
        return expected is None
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        return all(_same(actual.get(name, _NOTHING), value) for name, value in expected.items())
    # True == 1 in Python, but not in an expectation
    if isinstance(actual, bool) or isinstance(expected, bool):
        return actual is expected
    if isinstance(actual, str) != isinstance(expected, str):  # a number may be written as a text
        return _plain(actual) == _plain(expected)
    return actual == expected


def _plain(value: object) -> object:
    return str(value) if isinstance(value, int | float) else value


def _fits(call: ToolCall, expected: ExpectedToolCall) -> bool:
    if call.name != expected.name or call.error is not None:
        return False
    arguments: Mapping[str, object] = call.arguments if isinstance(call.arguments, Mapping) else {}
    return all(_same(arguments.get(name, _NOTHING), value) for name, value in expected.arguments)


def _format_value(value: object) -> str:
    return str(Message("missing")) if isinstance(value, _Nothing) else repr(value)
