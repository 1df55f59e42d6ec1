"""Functions of the host that generated code may call: JSON in, JSON out, an error as its message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adjudge.gateway.callers import call
from adjudge.strategy.sandbox.base import Tool


async def answer(tools: Mapping[str, Tool], message: Mapping[str, Any]) -> bytes:
    """The line that goes back to the code."""
    name = message["tool"]
    try:
        if name not in tools:
            raise LookupError(f"no such tool; there are: {', '.join(tools) or 'none'}")
        value = await call(tools[name], *message["args"], **message["kwargs"])
        return json.dumps({"value": value}, allow_nan=False).encode() + b"\n"
    except Exception as error:  # noqa: BLE001 - a tool's error is its answer
        return json.dumps({"error": f"{name}: {error}" if str(error) else f"{name}: {type(error).__name__}"}).encode() + b"\n"
