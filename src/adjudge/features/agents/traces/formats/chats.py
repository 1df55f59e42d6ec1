"""Files of messages alone: chat completions, Anthropic, Responses, LangChain, pydantic-ai."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adjudge.core.reading.foreign_values import Object, first_of, objects, usage_of
from adjudge.features.agents.traces.builder import built
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
from adjudge.features.agents.traces.turns import Turn

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
    """The list of messages that an object holds."""
    request = value.get("request")
    holder = request if isinstance(request, Mapping) and "messages" in request else value
    for key in _LISTS:
        found = holder.get(key)
        if isinstance(found, list) and _are_said(found):
            return found
    return None


def _are_said(values: Sequence[object]) -> bool:
    """Whether these are messages, or pieces of them."""
    return bool(values) and (
        are_messages(values) or all(is_message(one) or is_chunk(one) for one in values)
    )


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    if len(given) == 1 and messages_in(given[0]) is not None:
        yield _row(given[0])
    else:
        trajectory = built(read_turns(list(given)))
        yield TraceRow(trajectory)


def _row(value: Object) -> TraceRow:
    held = messages_in(value)
    turns = read_turns(held)
    asked = value.get("input")
    is_asked = isinstance(asked, str) and held is value.get("output")
    if is_asked:
        turns = [*read_turns(asked), *turns]
    read = {*_READ, *(["input"] if is_asked else [])}
    whole = {"choices": value.get("choices"), "usage": value.get("usage")}
    for name, reply in (("choices", whole), *((name, value.get(name)) for name in _REPLIES)):
        if reply is not held and (said := _reply(reply)):
            turns = _with_reply(turns, said)
            read.add(name)
    for key in ("request", "body"):
        if isinstance(value.get(key), Mapping):
            value = {**value[key], **value}
    prompt = first_of(value, "system", "instructions", "system_prompt")
    prompts = read_turns({"role": "system", "content": prompt}) if prompt else []
    system = "\n".join(turn.text for turn in prompts)
    if (usage := usage_of(value.get("usage"))) and turns and not any(one.usage for one in turns):
        spoken = [turn for turn in turns if turn.role == "assistant"]
        if spoken:
            spoken[-1].usage = usage
    ended = first_of(value, "stop_reason", "finish_reason", "status")
    if isinstance(ended, str) and turns:
        turns[-1].ended = turns[-1].ended or ended
    tools = tools_of(first_of(value, "tools", "functions", "tool_definitions"))
    trajectory = built(turns, tools=tools, system=system)
    kept = {str(name): one for name, one in value.items() if one is not held and name not in read}
    return TraceRow(trajectory, present(**kept))


def _reply(value: object) -> list[Turn]:
    """A reply as a text, a message, messages, or what a provider sent back."""
    if isinstance(value, str):
        return read_turns({"role": "assistant", "content": value}) if value else []
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list):
        return read_turns({"choices": value["choices"], "usage": value.get("usage")})
    if isinstance(value, Mapping) and value.get("object") == "response":
        value = value.get("output")
    return read_turns(value) if are_messages(value) or is_message(value) else []


def _with_reply(turns: list[Turn], reply: list[Turn]) -> list[Turn]:
    """The turns with a reply, which may repeat the last of them, or all."""
    keys, again = [turn.key for turn in turns], [turn.key for turn in reply]
    if again[: len(keys)] == keys:
        return [*turns, *reply[len(keys) :]]
    if keys[-len(again) :] != again:
        return [*turns, *reply]
    turns[-1].usage = turns[-1].usage or reply[-1].usage
    turns[-1].ended = turns[-1].ended or reply[-1].ended
    return turns


def _some(given: Sequence[Object], has: Callable[[Object], bool]) -> bool:
    """Whether all are messages, and one of them has the mark."""
    return _are_said(given) and any(map(has, given))


def _format(name: str, has: Callable[[Object], bool]) -> TraceFormat:
    def document(value: Object) -> bool:
        found = messages_in(value)
        return found is not None and _some(objects(found), has)

    return TraceFormat(name, _read, document, lambda given: _some(given, has))


def _blocks(*kinds: str) -> Callable[[Object], bool]:
    def has(message: Object) -> bool:
        return any(one.get("type") in kinds for one in objects(message, "content"))

    return has


PYDANTIC = _format("pydantic-ai", is_pydantic)
LANGCHAIN = _format("langchain", is_langchain)
RESPONSES = _format(
    "responses", lambda one: is_item(one) or str(one.get("type", "")).startswith("response.")
)
_is_anthropic = _blocks("tool_use", "tool_result", "thinking")
ANTHROPIC = _format(
    "anthropic", lambda one: _is_anthropic(one) or one.get("type") == "message_start"
)
VERCEL_MESSAGES = _blocks("tool-call", "tool-result")


def is_vercel_chat(given: Sequence[Object]) -> bool:
    """Whether these are messages with the parts of Vercel's SDK."""
    return _some(given, lambda one: VERCEL_MESSAGES(one) or _has_page_parts(one))


def _has_page_parts(message: Object) -> bool:
    return any("toolCallId" in one for one in objects(message, "parts"))


CHAT = _format("chat", lambda one: "role" in one or "from" in one or is_chunk(one))
MESSAGES = (PYDANTIC, LANGCHAIN, RESPONSES, ANTHROPIC, CHAT)
"""Formats that are messages alone."""
read_chat = _read
