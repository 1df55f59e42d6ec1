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
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import call_of, read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import (
    HandedOver,
    Retrieved,
    Returned,
    Thought,
    TraceTurn,
    TurnPart,
)

_SKIPPED = (
    *("UserInputRequestedEvent", "ModelClientStreamingChunkEvent", "SelectSpeakerEvent"),
    "SelectorEvent",
)


def _text_parts(message: Object) -> list[TurnPart]:
    content = message.get("content")
    if (
        isinstance(content, list)
        and content
        and all("arguments" in call for call in objects(content))
    ):
        return [call_of(call) for call in objects(content)]
    turns = read_turns({"role": "user", "content": content})
    thought = text_at(message, "thought")
    return [*([Thought(thought)] if thought else []), *(turns[0].parts if turns else [])]


def _results(message: Object) -> list[TurnPart]:
    return [
        Returned(
            text := as_text(result.get("content")),
            id_at(result, "call_id"),
            text_at(result, "name"),
            (text or "error") if result.get("is_error") is True else None,
        )
        for result in objects(message, "content")
    ]


_KINDS: Mapping[str, Callable[[Object], list[TurnPart]]] = {
    **dict.fromkeys(
        ("TextMessage", "MultiModalMessage", "StopMessage", "ToolCallSummaryMessage"), _text_parts
    ),
    **dict.fromkeys(
        ("StructuredMessage", "UserMessage", "AssistantMessage", "SystemMessage"), _text_parts
    ),
    "HandoffMessage": lambda message: [HandedOver(text_at(message, "target"))],
    "ToolCallRequestEvent": lambda message: [call_of(call) for call in objects(message, "content")],
    **dict.fromkeys(("ToolCallExecutionEvent", "FunctionExecutionResultMessage"), _results),
    "ThoughtEvent": lambda message: [Thought(text_at(message, "content"))],
    "MemoryQueryEvent": lambda message: [
        Retrieved(as_text(memory.get("content"))) for memory in objects(message, "content")
    ],
}


def _turn(message: Object) -> TraceTurn:
    kind, source = str(message.get("type")), text_at(message, "source")
    parts = [] if kind in _SKIPPED else _KINDS.get(kind, _text_parts)(message)
    turn = TraceTurn("user" if source == "user" or kind == "UserMessage" else "assistant", parts)
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
    """Return a team's messages: the manager's thread, else the first agent's context with
    messages.
    """
    states = state.get("agent_states")
    agent_states = list(states.values()) if isinstance(states, Mapping) else []
    for agent_state in objects(agent_states):
        if messages := objects(agent_state, "message_thread"):
            return messages
    for agent_state in objects(agent_states):
        context = inner(agent_state, "agent_state", "llm_context", "messages")
        if messages := objects(context):
            return messages
    return []


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    together = documents if all(map(_is_message, documents)) else None
    for result in [{"messages": list(together)}] if together else documents:
        messages = objects(result, "messages") or _thread(result)
        trajectory = build_trajectory(
            turn for turn in map(_turn, messages) if turn.parts or turn.usage is not None
        )
        ended = text_at(result, "stop_reason") or trajectory.ended
        lasted = elapsed_over(messages, "created_at")
        yield TraceRow(
            replace(trajectory, ended=ended or None, seconds=lasted), present(id=result.get("id"))
        )


def _is_message(message: Object) -> bool:
    kind = message.get("type")
    return (
        kind in _KINDS
        and "content" in message
        and "role" not in message
        and ("source" in message or kind == "FunctionExecutionResultMessage")
    )


def _is_result(document: Object) -> bool:
    messages = objects(document, "messages")
    return document.get("type") == "TeamState" or (
        bool(messages) and any(map(_is_message, messages))
    )


AUTOGEN = TraceFormat(
    "autogen", _read, _is_result, lambda documents: all(map(_is_message, documents))
)
