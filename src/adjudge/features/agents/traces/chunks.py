"""Join the pieces of streamed replies, by id and index."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from adjudge.core.reading.foreign_values import (
    Object,
    first_of,
    id_at,
    inner_object,
    number,
    objects,
    parse_json,
)

_ANTHROPIC = "message_start"
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "input",
}


def is_chunk(value: object) -> bool:
    """Return True for a chunk of a streamed reply."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    return value.get("object") == "chat.completion.chunk" or (
        isinstance(kind, str)
        and (kind.startswith("response.") or kind in _ANTHROPIC_EVENTS)
        and "role" not in value
    )


_ANTHROPIC_EVENTS = (
    *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
    *("message_delta", "message_stop"),
)


def joined_chunks(values: list[Any]) -> list[Any]:
    """Replace streamed chunks with whole messages, each at the position of its first chunk."""
    if not any(map(is_chunk, values)):
        return values
    joined: list[Any] = []
    replies: dict[str, dict[str, Any]] = {}
    messages: list[dict[str, Any]] = []
    response: _Response | None = None
    for value in values:
        if not is_chunk(value):
            joined.append(value)
            response = None
        elif value.get("object") == "chat.completion.chunk":
            id = str(value.get("id"))
            if id not in replies:
                replies[id] = {"role": "assistant", "content": "", "tool_calls": {}, "id": id}
                joined.append(replies[id])
            _add_delta(replies[id], value)
        elif str(value["type"]).startswith("response."):
            if response is None or value["type"] == "response.created":
                response = _Response()
                joined.append(response)
            response.add(value)
        else:
            if value["type"] == _ANTHROPIC:
                message = inner_object(value, "message")
                messages.append({**message, "role": "assistant", "content": {}})
                joined.append(messages[-1])
            if messages:
                _add_block(messages[-1], value)
    for reply in replies.values():
        reply["tool_calls"] = _in_order(reply["tool_calls"])
    for reply in messages:
        reply["content"] = _in_order(reply["content"])
    return [
        item
        for entry in joined
        for item in (_in_order(entry.items) if isinstance(entry, _Response) else [entry])
    ]


def _add_delta(reply: dict[str, Any], chunk: Object) -> None:
    if isinstance(chunk.get("usage"), Mapping):
        reply["usage"] = chunk["usage"]
    choices = objects(chunk, "choices")
    # of several alternatives, only the first is the conversation
    for choice in [option for option in choices if number(option.get("index") or 0) == 0][:1]:
        delta = inner_object(choice, "delta")
        if choice.get("finish_reason"):
            reply["finish_reason"] = choice["finish_reason"]
        reply["content"] += delta.get("content") or ""
        for key in ("reasoning_content", "refusal"):
            if isinstance(delta.get(key), str):
                reply[key] = reply.get(key, "") + delta[key]
        for call in objects(delta, "tool_calls"):
            place = call.get("index", len(reply["tool_calls"]))
            stored_call = reply["tool_calls"].setdefault(
                place, {"id": None, "name": "", "arguments": ""}
            )
            function = inner_object(call, "function")
            stored_call["id"] = call.get("id") or stored_call["id"]
            stored_call["name"] += function.get("name") or ""
            stored_call["arguments"] += function.get("arguments") or ""


@dataclass(slots=True, eq=False)
class _Response:
    """The items of a streamed Responses API reply, by position."""

    items: dict[object, dict[str, Any]] = field(default_factory=dict)

    def add(self, event: Object) -> None:
        """Add an event. A complete item replaces its chunks; a complete reply replaces
        everything.
        """
        kind, item = str(event["type"]), inner_object(event, "item")
        index = first_of(event, "output_index", "item_id")
        place = index if index is not None else id_at(item, "id") or len(self.items)
        items = objects(inner_object(event, "response").get("output"))
        if items:
            self.items = {place: dict(data) for place, data in enumerate(items)}
            self.items[len(items) - 1]["usage"] = inner_object(event, "response").get("usage")
        elif item and kind == "response.output_item.done":
            self.items[place] = dict(item)
        elif item and kind == "response.output_item.added":
            self.items.setdefault(place, dict(item))
        elif kind in _PIECES and isinstance(event.get("delta"), str):
            type, key = _PIECES[kind]
            piece_item = self.items.setdefault(place, {"type": type, "role": "assistant"})
            text = piece_item.get(key)
            piece_item[key] = (text if isinstance(text, str) else "") + event["delta"]


_PIECES = {
    "response.output_text.delta": ("message", "content"),
    "response.refusal.delta": ("message", "refusal"),
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input"),
}
"""Kind of an event that brings a piece → the item it is of, and under which key."""


def _add_block(reply: dict[str, Any], event: Object) -> None:
    blocks, place = reply["content"], event.get("index", 0)
    if event["type"] == "content_block_start":
        blocks[place] = dict(inner_object(event, "content_block"))
    elif event["type"] == "content_block_delta":
        delta = inner_object(event, "delta")
        key = _DELTAS.get(str(delta.get("type")))
        if key is not None:
            block = blocks.setdefault(place, {"type": key})
            text = block.get(key)
            addition = first_of(delta, key, "partial_json") or ""
            block[key] = (text if isinstance(text, str) else "") + addition
    elif event["type"] == "message_delta":
        reply["usage"] = {**inner_object(reply, "usage"), **inner_object(event, "usage")}
        reply["stop_reason"] = inner_object(event, "delta").get("stop_reason")


def _in_order(pieces: Mapping[Any, Any]) -> list[Any]:
    """Return the pieces sorted by their position; those without a number come last."""

    def order(place: object) -> float:
        position = number(place)
        return math.inf if position is None else position

    return [pieces[place] for place in sorted(pieces, key=order)]


def streamed_events(text: str) -> list[Any]:
    """Return the events in a recorded stream: its ``data:`` lines that hold JSON."""
    events: list[Any] = []
    for line in text.splitlines():
        payload = line.removeprefix("data:").strip()
        if line.startswith("data:") and payload != "[DONE]":
            with suppress(json.JSONDecodeError):
                events.append(parse_json(payload))
    return events
