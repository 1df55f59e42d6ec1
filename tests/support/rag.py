"""Scripted models and rows for tests of the RAG evaluator and its reports."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.features.rag.dimensions import rag_dimensions

EXAMPLE = Path(__file__).parents[2] / "examples" / "rag.csv"
ROW = {
    "user_input": "What does it cost?",
    "history": "User: Hello.\nAssistant: Hello!",
    "contexts": "It costs 5 euros.",
    "response": "Five euros.",
}
GOOD = {
    "answer_relevance": 3,
    "clarity": 4,
    "completeness": 2,
    "conciseness": 2,
    "groundedness": 2,
    "harmfulness": 2,
}


def asked_about(request: Request) -> str:
    """The dimension that a prompt is about: each has its own question."""
    system = request.prompt.messages[0].content
    (name,) = [
        one.name
        for language in ("en", "ru")
        for one in rag_dimensions(language)
        if one.criteria.description in system
    ]
    return name


def shown_fields(request: Request) -> dict[str, str]:
    """What the prompt shows of the row."""
    material = next(one.content for one in request.prompt.messages if one.role == "user")
    return dict(re.findall(r'<data-\w+ field="([^"]*)">\n(.*?)\n</data-', material, re.DOTALL))


def gives(
    scores: Mapping[str, object] | None = None, name: str = "scripted", **changed: object
) -> ScriptedModel:
    """A model that gives each dimension its score; None abstains, "-" cannot be read."""
    wanted = {**GOOD, **(scores or {}), **changed}

    def script(request: Request) -> str:
        score = wanted[asked_about(request)]
        if score == "-":
            return "I would rather talk about the weather."
        return json.dumps(
            {
                "explanation": f"because of {score}",
                "selected_option": None if score is None else str(score),
            }
        )

    return ScriptedModel(script, name)


def varied(name: str = "scripted") -> ScriptedModel:
    """A model whose scores depend on the dimension and the row alone, not on how it is asked."""

    def script(request: Request) -> str:
        properties: Mapping[str, Any] = request.schema or {}
        offered = properties["properties"]["selected_option"]["enum"]
        asked = f"{asked_about(request)} {shown_fields(request)}"
        place = int(hashlib.sha256(asked.encode()).hexdigest(), 16) % len(offered)
        return json.dumps({"explanation": f"by digest {place}", "selected_option": offered[place]})

    return ScriptedModel(script, name)
