"""Functions of the host that generated code may call: JSON in, JSON out, an
error as its message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypedDict

from adjudge.core.aio.user_functions import call_contained
from adjudge.core.domain.json_types import JsonObject
from adjudge.features.generate.sandbox.base import Tool
from adjudge.messages import Message


class SandboxMessage(TypedDict, total=False):
    """What comes from the process inside: a text it printed, a call of a tool, why the sandbox is
    open, or how the code ended.
    """

    stdout: str
    tool: str
    args: list[object]
    kwargs: dict[str, object]
    open: str
    failed: JsonObject
    output: object
    done: bool


def strict_json(message: Mapping[str, object]) -> bytes:
    """As a line; ValueError or TypeError for what would not arrive as it is."""
    text = json.dumps(message, allow_nan=False)
    json.loads(text, object_pairs_hook=unique_keys)
    return text.encode() + b"\n"


def unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """The dict, unless two keys became one: in JSON ``1`` and ``"1"`` are the same."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(Message("a dict has two keys that are both {key!r} in JSON", key=key))
        found[key] = value
    return found


async def answer(tools: Mapping[str, Tool], message: SandboxMessage) -> bytes:
    """The line that goes back to the code."""
    name = message["tool"]
    try:
        if name not in tools:
            raise LookupError(
                Message(
                    "no such tool; there are: {tools}", tools=", ".join(tools) or Message("none")
                )
            )
        value = await call_contained(partial(tools[name], *message["args"], **message["kwargs"]))
        return strict_json({"value": value})
    except Exception as error:  # noqa: BLE001 - a tool's error is its answer
        return (
            json.dumps(
                {"error": f"{name}: {error}" if str(error) else f"{name}: {type(error).__name__}"}
            ).encode()
            + b"\n"
        )
