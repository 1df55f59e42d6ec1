"""AutoGen: the result of a task, and the state of a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    as_text,
    elapsed_over,
    id_at,
    inner,
    objects,
    text_at,
    time_at,
    usage_of,
)
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.messages import call_of, read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import (
    HandedOver,
    Retrieved,
    Returned,
    Thought,
    Turn,
    TurnPart,
)

_SKIPPED = (
    *("UserInputRequestedEvent", "ModelClientStreamingChunkEvent", "SelectSpeakerEvent"),
    "SelectorEvent",
)


def _said(message: Object) -> list[TurnPart]:
    content = message.get("content")
    if (
        isinstance(content, list)
        and content
        and all("arguments" in one for one in objects(content))
    ):
        return [call_of(one) for one in objects(content)]
    found = read_turns({"role": "user", "content": content})
    thought = text_at(message, "thought")
    return [*([Thought(thought)] if thought else []), *(found[0].parts if found else [])]


def _results(message: Object) -> list[TurnPart]:
    return [
        Returned(
            text := as_text(one.get("content")),
            id_at(one, "call_id"),
            text_at(one, "name"),
            (text or "error") if one.get("is_error") is True else None,
        )
        for one in objects(message, "content")
    ]


_KINDS: Mapping[str, Callable[[Object], list[TurnPart]]] = {
    **dict.fromkeys(
        ("TextMessage", "MultiModalMessage", "StopMessage", "ToolCallSummaryMessage"), _said
    ),
    **dict.fromkeys(
        ("StructuredMessage", "UserMessage", "AssistantMessage", "SystemMessage"), _said
    ),
    "HandoffMessage": lambda message: [HandedOver(text_at(message, "target"))],
    "ToolCallRequestEvent": lambda message: [call_of(one) for one in objects(message, "content")],
    **dict.fromkeys(("ToolCallExecutionEvent", "FunctionExecutionResultMessage"), _results),
    "ThoughtEvent": lambda message: [Thought(text_at(message, "content"))],
    "MemoryQueryEvent": lambda message: [
        Retrieved(as_text(one.get("content"))) for one in objects(message, "content")
    ],
}


def _turn(message: Object) -> Turn:
    kind, source = str(message.get("type")), text_at(message, "source")
    parts = [] if kind in _SKIPPED else _KINDS.get(kind, _said)(message)
    turn = Turn("user" if source == "user" or kind == "UserMessage" else "assistant", parts)
    if kind == "SystemMessage":
        turn.role = "system"
    elif turn.role == "assistant":
        turn.actor = source
        turn.usage = usage_of(message.get("models_usage"))
    if parts and all(isinstance(part, Returned) for part in parts):
        turn.role = "tool"
    turn.source, turn.started = id_at(message, "id"), time_at(message, "created_at")
    return turn


def _thread(state: Object) -> list[Object]:
    """The messages of a team: its manager's, else those of the one agent."""
    states = state.get("agent_states")
    found = list(states.values()) if isinstance(states, Mapping) else []
    for one in objects(found):
        if messages := objects(one, "message_thread"):
            return messages
    for one in objects(found):
        context = inner(one, "agent_state", "llm_context", "messages")
        if messages := objects(context):
            return messages
    return []


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    together = given if all(map(_is_message, given)) else None
    for one in [{"messages": list(together)}] if together else given:
        messages = objects(one, "messages") or _thread(one)
        made = built(turn for turn in map(_turn, messages) if turn.parts or turn.usage is not None)
        ended = text_at(one, "stop_reason") or made.ended
        lasted = elapsed_over(messages, "created_at")
        yield TraceRow(
            replace(made, ended=ended or None, seconds=lasted), present(id=one.get("id"))
        )


def _is_message(one: Object) -> bool:
    kind = one.get("type")
    return (
        kind in _KINDS
        and "content" in one
        and "role" not in one
        and ("source" in one or kind == "FunctionExecutionResultMessage")
    )


def _is_result(one: Object) -> bool:
    messages = objects(one, "messages")
    return one.get("type") == "TeamState" or (bool(messages) and any(map(_is_message, messages)))


AUTOGEN = TraceFormat("autogen", _read, _is_result, lambda given: all(map(_is_message, given)))
