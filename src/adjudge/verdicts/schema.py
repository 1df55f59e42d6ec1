"""The shape of the answer, for providers that can hold a model to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from adjudge.domain.criteria import ANY_INTEGER, TIE


@lru_cache(maxsize=1024)
def answer_schema(options: tuple[str, ...], *, feedback: bool = False, ranking: bool = False) -> Mapping[str, object]:
    """JSON schema of an answer: the explanation first, what else is asked for, then exactly one of ``options``."""
    properties: dict[str, object] = {"explanation": {"type": "string"}}
    if feedback:
        properties["feedback"] = {"type": "string"}
    if ranking:
        properties["ranking"] = _ranking([option for option in options if option != TIE], TIE in options)
    any_integer = options == (ANY_INTEGER,)
    properties["selected_option"] = {"type": "integer"} if any_integer else {"type": "string", "enum": list(options)}
    return _object(properties)


@lru_cache(maxsize=1024)
def number_schema(low: float, high: float) -> Mapping[str, object]:
    """JSON schema of an answer that is a number. The bounds are said in words: some providers refuse a schema with bounds."""
    score = {"type": "number", "description": f"from {low:g} to {high:g}"}
    return _object({"explanation": {"type": "string"}, "score": score})


def _object(properties: dict[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _ranking(labels: list[str], tie: bool) -> dict[str, object]:
    one: dict[str, object] = {"type": "string", "enum": labels}
    together = {"type": "array", "items": one}
    return {"type": "array", "items": {"anyOf": [one, together]} if tie else one}
