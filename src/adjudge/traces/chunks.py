"""Pieces of streamed replies, joined by id and index before anything else is done with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from adjudge.traces.values import Object, first_of, objects, parsed

_ANTHROPIC = "message_start"
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "input",
}


def is_chunk(value: object) -> bool:
    """Whether this is a piece of a streamed reply."""
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
    """The values, with what was streamed in pieces as whole messages in the place of the first."""
    if not any(map(is_chunk, values)):
        return values
    made: list[Any] = []
    replies: dict[str, dict[str, Any]] = {}
    blocks: dict[str, Any] | None = None
    for value in values:
        if not is_chunk(value):
            made.append(value)
        elif value.get("object") == "chat.completion.chunk":
            id = str(value.get("id"))
            if id not in replies:
                replies[id] = {"role": "assistant", "content": "", "tool_calls": {}, "id": id}
                made.append(replies[id])
            _add_delta(replies[id], value)
        elif str(value["type"]).startswith("response."):
            made += _items(value)
        else:
            if value["type"] == _ANTHROPIC:
                blocks = {**_object(value.get("message")), "role": "assistant", "content": {}}
                made.append(blocks)
            if blocks is not None:
                _add_block(blocks, value)
    return [_whole(one) if isinstance(one, dict) else one for one in made]


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _add_delta(reply: dict[str, Any], chunk: Object) -> None:
    if isinstance(chunk.get("usage"), Mapping):
        reply["usage"] = chunk["usage"]
    for choice in objects(chunk.get("choices") or [])[:1]:
        delta = _object(choice.get("delta"))
        if choice.get("finish_reason"):
            reply["finish_reason"] = choice["finish_reason"]
        reply["content"] += delta.get("content") or ""
        for key in ("reasoning_content", "refusal"):
            if isinstance(delta.get(key), str):
                reply[key] = reply.get(key, "") + delta[key]
        for call in objects(delta.get("tool_calls") or []):
            place = call.get("index", len(reply["tool_calls"]))
            kept = reply["tool_calls"].setdefault(place, {"id": None, "name": "", "arguments": ""})
            function = _object(call.get("function"))
            kept["id"] = call.get("id") or kept["id"]
            kept["name"] += function.get("name") or ""
            kept["arguments"] += function.get("arguments") or ""


def _items(event: Object) -> list[Any]:
    """Of the events of the Responses API only those that hold an item, or all of them, count."""
    if event["type"] == "response.output_item.done" and isinstance(event.get("item"), Mapping):
        return [event["item"]]
    return []


def _add_block(reply: dict[str, Any], event: Object) -> None:
    blocks, place = reply["content"], event.get("index", 0)
    if event["type"] == "content_block_start":
        blocks[place] = dict(_object(event.get("content_block")))
    elif event["type"] == "content_block_delta":
        delta = _object(event.get("delta"))
        key = _DELTAS.get(str(delta.get("type")))
        if key is not None:
            block = blocks.setdefault(place, {"type": key})
            before = block.get(key)
            said = first_of(delta, key, "partial_json") or ""
            block[key] = (before if isinstance(before, str) else "") + said
    elif event["type"] == "message_delta":
        reply["usage"] = {**_object(reply.get("usage")), **_object(event.get("usage"))}
        reply["stop_reason"] = _object(event.get("delta")).get("stop_reason")


def _whole(reply: dict[str, Any]) -> dict[str, Any]:
    if isinstance(reply.get("tool_calls"), dict):
        calls = reply["tool_calls"]
        return {**reply, "tool_calls": [calls[place] for place in sorted(calls, key=str)]}
    if isinstance(reply.get("content"), dict):
        blocks = reply["content"]
        return {**reply, "content": [blocks[place] for place in sorted(blocks, key=str)]}
    return reply


def streamed_events(text: str) -> list[Any]:
    """The events of a recorded stream: lines that begin with ``data:``."""
    found: list[Any] = []
    for line in text.splitlines():
        said = line.removeprefix("data:").strip()
        if line.startswith("data:") and said != "[DONE]":
            with suppress(json.JSONDecodeError):
                found.append(parsed(said))
    return found
