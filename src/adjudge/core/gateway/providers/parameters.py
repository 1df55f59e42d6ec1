"""Parameters of a provider's own protocol that a user adds to every request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.errors import SetupError
from adjudge.messages import Message

EFFORTS: Final = ("none", "minimal", "low", "medium", "high")
"""How long a model may think before it answers, from not at all to very long."""
BUDGETS: Final[Mapping[str, int]] = {
    "none": 0,
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 24576,
}
"""Effort → tokens, for providers that want a number."""
# Parameters that adjudge sets itself, also if a request does not have them → our setting for it, if
# there is one. ``merged`` refuses all others that a request has already.
_OURS: Final[Mapping[str, str]] = {
    "model": "",
    "messages": "",
    "contents": "",
    "system": "",
    "stream": "",
    "n": "votes",
    "candidateCount": "votes",
    "num_samples": "votes",
    "temperature": "temperature",
    "seed": "seed",
    "random_seed": "seed",
    "reasoning_effort": "reasoning_effort",
    "cache_control": "prompt_caching",
    "response_format": "",
    "logprobs": "",
    "top_logprobs": "",
}
# Objects of a request in which providers put such parameters.
_GROUPS: Final = ("options", "generationConfig", "inferenceConfig")
# Parameters that a user may set higher than we do, e.g. for a model that thinks.
_LIMITS: Final = (
    "max_tokens",
    "max_completion_tokens",
    "maxOutputTokens",
    "maxTokens",
    "num_predict",
)


def check_parameters(parameters: Mapping[str, object], model: str) -> JsonObject:
    """Return the parameters as JSON-ready data.

    Raises SetupError for a value that is not JSON and for a parameter that adjudge sets itself:
    a second value for it would change verdicts without a trace in the judge's identity.
    """
    try:
        checked = json.loads(json.dumps(plain(parameters), allow_nan=False))
    except (TypeError, ValueError):
        raise SetupError("parameters of {model}: a value is not JSON", model=model) from None
    groups = (checked, *(checked[name] for name in _GROUPS if isinstance(checked.get(name), dict)))
    taken = next((name for group in groups for name in group if name in _OURS), None)
    if taken is not None:
        raise _set_by_us(taken, model)
    return dict(checked)


def check_effort(effort: str | None, model: str) -> None:
    """Raise SetupError unless ``effort`` is one of EFFORTS or None."""
    if effort is not None and effort not in EFFORTS:
        raise SetupError(
            "reasoning_effort of {model} must be one of {efforts}, not {effort}",
            model=model,
            efforts=", ".join(EFFORTS),
            effort=repr(effort),
        )


def merged(body: JsonDict, parameters: JsonObject, model: str) -> JsonDict:
    """Return the body with the parameters added. Objects are merged, and token limits replaced.

    Raises SetupError for any other parameter that the body has with another value: if it were
    dropped, the model's identity would name a setting that the model never saw.
    """
    result = dict(body)
    for name, value in parameters.items():
        own = result.get(name)
        if isinstance(own, dict) and isinstance(value, Mapping):
            result[name] = merged(own, value, model)
        elif name in _LIMITS or name not in result:
            result[name] = value
        elif own != value:
            raise _set_by_us(name, model)
    return result


def _set_by_us(name: str, model: str) -> SetupError:
    setting = _OURS.get(name)
    return SetupError(
        "parameters of {model}: {name} is set by adjudge{advice}",
        model=model,
        name=repr(name),
        advice=Message("; use the setting {setting}", setting=setting) if setting else "",
    )
