"""A model with scripted replies: for tests, and to try the tool without any model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence

from adjudge.core.domain.message import Capabilities, Reply, Request, Usage
from adjudge.core.gateway.providers.base import Connection

Line = str | Reply | Exception
Script = Sequence[Line] | Callable[[Request], Line]


class ScriptedModel:
    """Answers from a script: lines in turn, over and over, or a function of the request.

    A line is a reply's text, a whole ``Reply``, or an exception to raise. Without a script, it
    chooses the first offered option.

    Example: ``ScriptedModel(['{"selected_option": "PASS"}'])``
    """

    capabilities = Capabilities(json_schema=True, logprobs=True, seed=True)

    def __init__(
        self, script: Script | None = None, name: str = "scripted", *, remember: bool = True
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        """Received requests, for tests; empty without ``remember``."""
        self._remember = remember
        self._turns = 0
        self._script: Script = script if script is not None else _first_option
        self._lock = threading.Lock()

    async def complete(self, request: Request) -> Reply:
        # The model may be used from several event loops at once.
        with self._lock:
            turn, self._turns = self._turns, self._turns + 1
            if self._remember:
                self.requests.append(request)
        line = (
            self._script(request)
            if callable(self._script)
            else self._script[turn % len(self._script)]
        )
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Reply):
            return line
        return Reply(text=line, usage=Usage(1, len(request.prompt.text) // 4, len(line) // 4))


def _first_option(request: Request) -> str:
    properties = (request.schema or {}).get("properties")
    field = properties.get("selected_option") if isinstance(properties, Mapping) else None
    options = field.get("enum") if isinstance(field, Mapping) else None
    option = options[0] if isinstance(options, Sequence) and options else None
    return json.dumps({"explanation": "scripted", "selected_option": option})


def open_scripted(connection: Connection) -> ScriptedModel:
    """Open ``scripted``, or ``scripted/PASS,FAIL``: these replies in turn."""
    lines = connection.model
    return ScriptedModel(lines.split(",") if lines else None, connection.name, remember=False)
