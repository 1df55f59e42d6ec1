"""The shape of the answer, for providers that can hold a model to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache


@lru_cache(maxsize=1024)
def answer_schema(options: tuple[str, ...]) -> Mapping[str, object]:
    """JSON schema of an answer: the explanation first, then exactly one of ``options``."""
    properties = {"explanation": {"type": "string"}, "selected_option": {"type": "string", "enum": list(options)}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
