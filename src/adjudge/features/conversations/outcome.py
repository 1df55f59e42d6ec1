"""How a conversation came out: the expected state, calls and texts, looked up by a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonValue
from adjudge.features.agents.trajectory import ToolCall
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.scenario import ExpectedCall, Scenario
from adjudge.features.conversations.values import fold, says
from adjudge.messages import Message, join


class Outcome(NamedTuple):
    """Whether the expected end was reached, and what is missing."""

    passed: bool | None
    """None: it cannot be told."""
    reason: str


def outcome_of(scenario: Scenario, conversation: Conversation) -> Outcome:
    """Look up what the scenario expects in the conversation."""
    expected = scenario.expect
    if not expected.says_anything:
        return Outcome(None, Message("the scenario does not say how it should end"))
    if expected.state and conversation.state is None:
        return Outcome(
            None, Message("the application gave no state: say in the target where it is")
        )
    missing = list(_missing(scenario, conversation))
    if missing:
        return Outcome(False, join("; ", missing))
    return Outcome(True, Message("everything that was expected is there"))


def _missing(scenario: Scenario, conversation: Conversation) -> Iterator[Message]:
    expected = scenario.expect
    for path, wanted in expected.state:
        found = _at(conversation.state, path)
        if not _same(found, wanted):
            yield Message(
                "{path} is {found}, not {wanted}",
                path=path,
                found=_shown(found),
                wanted=_shown(wanted),
            )
    for call in expected.calls:
        if not any(_fits(one, call) for one in conversation.calls):
            yield Message("{name} was not called as expected", name=call.name)
    for name in expected.no_calls:
        if any(one.name == name for one in conversation.calls):
            yield Message("{name} was called", name=name)
    agent = [one.text for one in conversation.spoken_by("agent")]
    for text in expected.says:
        if not any(says(one, text) or fold(text) in fold(one) for one in agent):
            yield Message("the agent never said: {text}", text=text)


def state_reached(scenario: Scenario, state: JsonValue) -> bool:
    """Return True if a state is the one that the scenario expects."""
    wanted = scenario.expect.state
    return bool(wanted) and all(_same(_at(state, path), value) for path, value in wanted)


class _Nothing:
    """There is nothing at the path."""


_NOTHING = _Nothing()


def _at(state: object, path: str) -> object:
    """Return the value at a path such as orders.4711.status; a key may hold points itself."""
    if isinstance(state, Mapping) and path in state:
        return state[path]
    name, point, rest = path.partition(".")
    while True:
        if isinstance(state, Mapping) and name in state:
            return _at(state[name], rest) if point else state[name]
        if isinstance(state, Sequence) and not isinstance(state, str) and name.isdigit():
            place = int(name)
            if place < len(state):
                return _at(state[place], rest) if point else state[place]
        if not point:
            return _NOTHING
        more, point, rest = rest.partition(".")
        name = f"{name}.{more}"


def _same(found: object, wanted: JsonValue) -> bool:
    if isinstance(found, _Nothing):
        return wanted is None
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return all(_same(found.get(name, _NOTHING), value) for name, value in wanted.items())
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, str) != isinstance(wanted, str):  # a number may be written as a text
        return _plain(found) == _plain(wanted)
    return found == wanted


def _plain(value: object) -> object:
    return str(value) if isinstance(value, int | float) else value


def _fits(call: ToolCall, wanted: ExpectedCall) -> bool:
    if call.name != wanted.name or call.error is not None:
        return False
    given: Mapping[str, object] = call.arguments if isinstance(call.arguments, Mapping) else {}
    return all(_same(given.get(name, _NOTHING), value) for name, value in wanted.arguments)


def _shown(value: object) -> str:
    return str(Message("missing")) if isinstance(value, _Nothing) else repr(value)
