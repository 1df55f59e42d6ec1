"""Files that hold only messages: chat completions, Anthropic, Responses, LangChain, pydantic-ai."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adjudge.core.reading.foreign_values import Object, first_of, objects, usage_of
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.chunks import is_chunk
from adjudge.features.agents.traces.messages import (
    are_messages,
    is_item,
    is_langchain,
    is_message,
    is_pydantic,
    read_turns,
    tools_of,
)
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import TraceTurn

_LISTS = (
    *("messages", "conversation", "conversations", "history", "input", "items", "chat"),
    *("trajectory", "output"),
)
"""Under which names an object holds its messages."""
_REPLIES = ("output", "response", "completion")
"""Under which names it holds the reply beside them."""
_READ = (
    *("choices", "usage", "request", "body", "tools", "functions", "tool_definitions"),
    *("system", "instructions", "system_prompt"),
)
"""What is no column, since the trajectory holds it."""


def messages_in(value: Object) -> list[Any] | None:
    """Return the list of messages in an object; None if there is none."""
    request = value.get("request")
    holder = request if isinstance(request, Mapping) and "messages" in request else value
    for key in _LISTS:
        messages = holder.get(key)
        if isinstance(messages, list) and _are_messages_or_chunks(messages):
            return messages
    return None


def _are_messages_or_chunks(values: Sequence[object]) -> bool:
    """Return True if the values are messages or chunks of them."""
    return bool(values) and (
        are_messages(values) or all(is_message(value) or is_chunk(value) for value in values)
    )


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    if len(documents) == 1 and messages_in(documents[0]) is not None:
        yield _row(documents[0])
    else:
        trajectory = build_trajectory(read_turns(list(documents)))
        yield TraceRow(trajectory)


def _row(value: Object) -> TraceRow:
    messages = messages_in(value)
    turns = read_turns(messages)
    question = value.get("input")
    # some logs have the question under input and only the agent's messages under output
    is_asked = isinstance(question, str) and messages is value.get("output")
    if is_asked:
        turns = [*read_turns(question), *turns]
    read = {*_READ, *(["input"] if is_asked else [])}
    completion = {"choices": value.get("choices"), "usage": value.get("usage")}
    for name, reply in (("choices", completion), *((name, value.get(name)) for name in _REPLIES)):
        if reply is not messages and (reply_turns := _reply(reply)):
            turns = _with_reply(turns, reply_turns)
            read.add(name)
    # some loggers nest the parameters of the request; keys outside win
    for key in ("request", "body"):
        if isinstance(value.get(key), Mapping):
            value = {**value[key], **value}
    prompt = first_of(value, "system", "instructions", "system_prompt")
    prompts = read_turns({"role": "system", "content": prompt}) if prompt else []
    system = "\n".join(turn.text for turn in prompts)
    has_usage = any(turn.usage for turn in turns)
    if (usage := usage_of(value.get("usage"))) and turns and not has_usage:
        # the usage of the whole row: counted once, with the last reply
        spoken = [turn for turn in turns if turn.role == "assistant"]
        if spoken:
            spoken[-1].usage = usage
    ended = first_of(value, "stop_reason", "finish_reason", "status")
    if isinstance(ended, str) and turns:
        turns[-1].ended = turns[-1].ended or ended
    tools = tools_of(first_of(value, "tools", "functions", "tool_definitions"))
    trajectory = build_trajectory(turns, tools=tools, system=system)
    columns = {
        str(name): cell for name, cell in value.items() if cell is not messages and name not in read
    }
    return TraceRow(trajectory, present(**columns))


def _reply(value: object) -> list[TraceTurn]:
    """Return the turns of a reply: a text, one or more messages, or a provider's response."""
    if isinstance(value, str):
        return read_turns({"role": "assistant", "content": value}) if value else []
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list):
        return read_turns({"choices": value["choices"], "usage": value.get("usage")})
    if isinstance(value, Mapping) and value.get("object") == "response":
        value = value.get("output")
    return read_turns(value) if are_messages(value) or is_message(value) else []


def _with_reply(turns: list[TraceTurn], reply: list[TraceTurn]) -> list[TraceTurn]:
    """Append a reply; skip the turns in it that repeat the last turns, or all of them."""
    keys, again = [turn.key for turn in turns], [turn.key for turn in reply]
    if again[: len(keys)] == keys:
        return [*turns, *reply[len(keys) :]]
    if keys[-len(again) :] != again:
        return [*turns, *reply]
    turns[-1].usage = turns[-1].usage or reply[-1].usage
    turns[-1].ended = turns[-1].ended or reply[-1].ended
    return turns


def _are_messages_with(messages: Sequence[Object], has: Callable[[Object], bool]) -> bool:
    """Return True if all are messages or chunks, and ``has`` is true for one of them."""
    return _are_messages_or_chunks(messages) and any(map(has, messages))


def _format(name: str, has: Callable[[Object], bool]) -> TraceFormat:
    def document(value: Object) -> bool:
        messages = messages_in(value)
        return messages is not None and _are_messages_with(objects(messages), has)

    return TraceFormat(name, _read, document, lambda documents: _are_messages_with(documents, has))


def _blocks(*kinds: str) -> Callable[[Object], bool]:
    def has(message: Object) -> bool:
        return any(block.get("type") in kinds for block in objects(message, "content"))

    return has


PYDANTIC = _format("pydantic-ai", is_pydantic)
LANGCHAIN = _format("langchain", is_langchain)
RESPONSES = _format(
    "responses",
    lambda document: is_item(document) or str(document.get("type", "")).startswith("response."),
)
_is_anthropic = _blocks("tool_use", "tool_result", "thinking")
ANTHROPIC = _format(
    "anthropic", lambda document: _is_anthropic(document) or document.get("type") == "message_start"
)
VERCEL_MESSAGES = _blocks("tool-call", "tool-result")


def is_vercel_chat(messages: Sequence[Object]) -> bool:
    """Return True for messages in the format of the Vercel AI SDK."""
    return _are_messages_with(
        messages, lambda message: VERCEL_MESSAGES(message) or _has_page_parts(message)
    )


def _has_page_parts(message: Object) -> bool:
    return any("toolCallId" in part for part in objects(message, "parts"))


CHAT = _format(
    "chat", lambda document: "role" in document or "from" in document or is_chunk(document)
)
MESSAGES = (PYDANTIC, LANGCHAIN, RESPONSES, ANTHROPIC, CHAT)
"""Formats that are messages alone."""
read_chat = _read
