"""Mistral's API: OpenAI's shape with its own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import Capabilities, Request
from adjudge.core.gateway.providers.openai_compatible import OpenAICompatible


class Mistral(OpenAICompatible):
    """``random_seed`` for the seed; no log-probabilities."""

    capabilities = Capabilities(json_schema=True, seed=True)
    wire_names: ClassVar[Mapping[str, str]] = {**OpenAICompatible.wire_names, "seed": "random_seed"}

    def _body(self, request: Request) -> JsonDict:
        body = super()._body(request)
        for unknown in ("logprobs", "top_logprobs"):
            body.pop(unknown, None)
        if "seed" in body:
            body["random_seed"] = body.pop("seed")
        return body
