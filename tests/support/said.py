"""What scripted models say, written as short as it can be read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from adjudge.core.domain.message import Reply, Request
from adjudge.core.gateway.providers.scripted import Line, ScriptedModel
from adjudge.errors import ModelError

_SHOWN = re.compile(r'field="Response (\w+)">\n(.*?)\n</data', re.DOTALL)


def says(option: object, explanation: str = "", **more: object) -> str:
    """An answer in the form that is asked for."""
    return json.dumps(
        {"explanation": explanation or f"says {option}", **more, "selected_option": option}
    )


def line(option: str) -> Line:
    """An option, or how it goes wrong: "-" cannot be read, "0" abstains, "E" is an error, "X" a
    refusal.
    """
    if option == "E":
        return ModelError("no such model")
    if option == "X":
        return Reply("I cannot help with that.", finish="refusal")
    if option == "-":
        return "I am not sure."
    return says(None if option == "0" else option)


def in_turn(*options: str, name: str = "m") -> ScriptedModel:
    """A model that answers sample i with option i, in whatever order things are shown."""
    return ScriptedModel(lambda request: line(options[request.sample % len(options)]), name=name)


def always(option: object, **more: Any) -> ScriptedModel:
    """A model that knows one answer."""
    return ScriptedModel(lambda _: says(option, **more))


def material(request: Request) -> str:
    """What is judged, with its marks."""
    return request.prompt.messages[-1].content


def responses(request: Request) -> dict[str, str]:
    """The compared responses by their labels, in the order they are shown."""
    return dict(_SHOWN.findall(material(request)))


def by(worth: Callable[[str], float]) -> Callable[[Request], str]:
    """A script that ranks responses by ``worth`` and says "tie" where the best are equal."""

    def script(request: Request) -> str:
        shown = responses(request)
        values = sorted({worth(text) for text in shown.values()}, reverse=True)
        groups = [
            [label for label, text in shown.items() if worth(text) == value] for value in values
        ]
        ranking = [group[0] if len(group) == 1 else group for group in groups]
        best = groups[0][0] if len(groups[0]) == 1 else "tie"
        return says(best, f"{best} of {', '.join(shown)}", ranking=ranking)

    return script


def likely(**shares: float) -> Reply:
    """A first token with its alternatives."""
    return Reply("", logprobs=({token: math.log(share) for token, share in shares.items()},))
