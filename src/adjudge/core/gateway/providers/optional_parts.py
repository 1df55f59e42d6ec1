"""Optional parts of a request: which ones a server takes, and which it ignored."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError
from adjudge.messages import Message

_LOG = logging.getLogger("adjudge.gateway")
BAD_REQUEST = ("400", "422")
"""Statuses at the start of an error's message if the request was not understood."""
_NOT_ASKED: Mapping[str, Any] = {
    "schema": None,
    "temperature": None,
    "seed": None,
    "logprobs": 0,
    "max_tokens": None,
}


# Part → what happened, if a server takes the part and does nothing with it.
_IGNORED: Mapping[str, Message] = {
    "schema": Message(
        "{model} was asked for JSON with a schema but replied with something else: its replies "
        "are read as text, and requested again if they cannot be read"
    ),
    "seed": Message("{model} does not accept a seed: its replies may differ from run to run"),
    "logprobs": Message("{model} was asked for token probabilities but returned none"),
}


class OptionalParts:
    """Learns which optional parts of a request one server rejects, and leaves them out."""

    def __init__(
        self, model: str, capabilities: Capabilities, wire_names: Mapping[str, str]
    ) -> None:
        self._model, self._capabilities, self._wire_names = model, capabilities, wire_names
        self._rejected: set[str] = set()
        self._warned: set[str] = set()

    def trim(self, request: Request) -> Request:
        """Return the request without the parts that the server rejects."""
        return (
            replace(request, **{part: _NOT_ASKED[part] for part in self._rejected})
            if self._rejected
            else request
        )

    def learn(self, request: Request, error: ModelError) -> bool:
        """Return True if ``error`` rejects an optional part of ``request``. That part is left out
        from now on.
        """
        part = self._rejected_part(request, error)
        if part is not None:
            self._rejected.add(part)
        return part is not None

    def find_ignored(self, request: Request, reply: Reply) -> tuple[str, ...]:
        """Return the parts that were requested and ignored. Each is warned about once."""
        ignored = (
            {part for part in self._rejected if getattr(request, part) != _NOT_ASKED[part]}
            if self._rejected
            else set()
        )
        if request.schema is not None and reply.finish == "stop":
            text = reply.text.strip()
            if not (text.startswith("{") and text.endswith("}")):
                ignored.add("schema")
        if request.seed is not None and not self._capabilities.seed:
            ignored.add("seed")
        if request.logprobs and reply.logprobs is None:
            ignored.add("logprobs")
        if not ignored:
            return ()
        for part in ignored - self._warned:
            _LOG.warning(self._warning(part))
        self._warned |= ignored
        return tuple(sorted(ignored))

    def _warning(self, part: str) -> Message:
        """Return a warning that says how the server treats a part of the request, and the
        consequence.
        """
        values = {"model": self._model, "part": part}
        if part in self._rejected:
            return Message(
                "{model} does not accept {part} in a request: requests are sent without it from "
                "now on",
                **values,
            )
        return Message(_IGNORED[part], **values)

    def _rejected_part(self, request: Request, error: ModelError) -> str | None:
        """Return the optional part of ``request`` that the server names in its error, or None."""
        if type(error) is not ModelError or not error.message.startswith(BAD_REQUEST):
            return None
        requested = [
            part
            for part, nothing in _NOT_ASKED.items()
            if getattr(request, part) != nothing and part in self._wire_names
        ]
        return next(
            (
                part
                for part in requested
                if re.search(self._wire_names[part], error.message, re.IGNORECASE)
            ),
            None,
        )
