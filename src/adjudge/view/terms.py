"""What people call the names that adjudge itself gives: statuses, rules, fields, parameters."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.messages import Message, term

STATUSES: Mapping[str, Message] = {
    "scored": term("status", "scored"),
    "abstained": term("status", "abstained"),
    "failed": term("status", "failed"),
}
_FIELDS: Mapping[str, Message] = {
    "user_input": Message("question"),
    "question": Message("question"),
    "history": Message("history"),
    "contexts": Message("fragments"),
    "response": Message("answer"),
    "text": Message("text"),
}
_RULES: Mapping[str, Message] = {
    "mean": Message("weighted mean"),
    "missing": term("status", "missing"),
    "harmful": Message("harmful"),
    "questionable": Message("questionable"),
}
"""By the names in ``rag.composite``, which commands that judge no RAG answers need not load."""
_PARAMETERS: Mapping[str, Message] = {
    "data": Message("data"),
    "columns": Message("columns"),
    "models": Message("models"),
    "votes per model and dimension": Message("votes per model and dimension"),
    "votes per model": Message("votes per model"),
    "temperature": Message("temperature"),
    "seed": Message("seed"),
    "mode": Message("mode"),
    "language": Message("language"),
    "weights": Message("weights"),
    "configuration": Message("configuration"),
    "judge identity": Message("judge identity"),
}


def field_title(name: str) -> str:
    """What a field is called; one of the user's own keeps its name."""
    return _FIELDS.get(name, name)


def rule_title(name: str) -> str:
    """What decided a composite: a gate by its name, or the plain mean."""
    return _RULES.get(name, name)


def parameter_title(name: str) -> str:
    """What a parameter of a run is called."""
    return _PARAMETERS.get(name, name)
