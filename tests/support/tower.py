"""A row about a tower and a model that knows it, for tests of measures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.features.rag.measures import check_criteria
from support.rag import GOOD, asked_about, shown_fields

ROW: Mapping[str, Any] = {
    "user_input": "How tall is the tower?",
    "contexts": ["The tower is 330 m tall.", "It opened in 1889.", "Paris is in France."],
    "response": "The tower is 330 m tall [1]. It is made of iron [2].",
    "reference": "The tower is 330 m tall. It opened in 1889.",
    "retrieved_ids": ["a", "b", "c"],
    "relevant_ids": {"a": 2, "z": 1},
}
ASKED = (
    "context_precision",
    "context_noise",
    "context_recall",
    "correctness",
    "correctness_precision",
    "correctness_recall",
    "fragment_use",
    "fragment_agreement",
    "citations",
)
Said = Callable[[str, Mapping[str, str]], bool | None]


def check_of(request: Request) -> str:
    """The check that a prompt is about."""
    system = request.prompt.messages[0].content
    found = [
        name
        for language in ("en", "ru")
        for name, one in check_criteria(language).items()
        if one.description in system
    ]
    return found[0] if found else ""


def says(answer: Said, name: str = "scripted", scores: Mapping[str, int] = GOOD) -> ScriptedModel:
    """A model that answers checks as told, None unreadably, and gives dimensions their scores."""

    def script(request: Request) -> str:
        check = check_of(request)
        if not check:
            return json.dumps(
                {"explanation": "so", "selected_option": str(scores[asked_about(request)])}
            )
        yes = answer(check, shown_fields(request))
        return (
            json.dumps({"explanation": "so", "selected_option": "Yes" if yes else "No"})
            if yes is not None
            else "?"
        )

    return ScriptedModel(script, name)


def knows(check: str, shown: Mapping[str, str]) -> bool:
    """By the words of the tower."""
    judged = shown.get("statement") or shown["fragment"]
    if check == "fragment_relevance":
        return "330" in judged
    if check == "fragments_disagree":
        return False
    if check == "fragment_used":
        return "1889" in judged
    others = " ".join(
        text for name, text in shown.items() if name not in ("statement", "fragment", "user_input")
    )
    return all(word in others for word in re.findall(r"330|1889|iron", judged))
