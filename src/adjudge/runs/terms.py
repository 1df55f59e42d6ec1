"""Titles of the names that adjudge itself gives: statuses, rules, fields, parameters."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message, term

STATUSES: Mapping[str, Message] = {
    "scored": term("status", "scored"),
    "abstained": term("status", "abstained"),
    "failed": term("status", "failed"),
    "skipped": term("status", "skipped"),
}
_FIELDS: Mapping[str, Message] = {
    "user_input": Message("question"),
    "question": Message("question"),
    "history": Message("history"),
    "contexts": Message("fragments"),
    "response": Message("answer"),
    "text": Message("text"),
    "system": Message("system prompt"),
    "reference": Message("reference answer"),
}
_RULES: Mapping[str, Message] = {
    "mean": Message("weighted mean"),
    "missing": term("status", "missing"),
    "harmful": Message("harmful"),
    "questionable": Message("questionable"),
}
"""Titles by the names in ``rag.composite``. Commands without RAG answers need not load that
module.
"""
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

_FIGURES: Mapping[str, Message] = {
    "accuracy": term("figure", "accuracy"),
    "balanced accuracy": Message("balanced accuracy"),
    "kappa": Message("kappa"),
    "linear kappa": Message("linear kappa"),
    "quadratic kappa": Message("quadratic kappa"),
    "weighted kappa": Message("weighted kappa"),
    "ECE by chance": Message("ECE by chance"),
    "macro precision": Message("macro precision"),
    "macro recall": Message("macro recall"),
    "macro F1": Message("macro F1"),
    "precision": term("figure", "precision"),
    "recall": term("figure", "recall"),
    "majority": Message("majority"),
    "longest": Message("longest"),
    "random": term("baseline", "random"),
    "wrong step": Message("the step where it went wrong"),
    "wrong step ±1": Message("that step, at most one away"),
}
_ALPHAS: Mapping[str, Message] = {
    "nominal": Message("alpha (nominal)"),
    "ordinal": Message("alpha (ordinal)"),
    "interval": Message("alpha (interval)"),
}
_OUTCOMES: Mapping[str, Message] = {"failed": term("status", "failed"), TIE: Message("tie")}

_LEANINGS: Mapping[str, Message] = {
    "position": term("leaning", "position"),
    "length": term("leaning", "length"),
    "family": term("leaning", "family"),
    "order": term("leaning", "order"),
    "verbosity": term("leaning", "verbosity"),
}
_STATES: Mapping[str, Message] = {
    "complete": term("run", "complete"),
    "not finished": Message("not finished"),
    "imported": term("run", "imported"),
}


def leaning_title(name: str) -> str:
    """Return the title of a leaning of a judge."""
    return _LEANINGS.get(name, name)


def run_state(state: str) -> str:
    """Return the display text of a run's state or of the reason why it stopped."""
    return _STATES.get(state, state)


def figure_title(name: str, alpha_level: str = "nominal") -> str:
    """Return the title of an agreement figure. A figure named after a person keeps that name.

    ``alpha_level``: the level of measurement that alpha assumes.
    """
    return _ALPHAS[alpha_level] if name == "alpha" else _FIGURES.get(name, name)


def option_title(name: str) -> str:
    """Return an option as its criterion names it, or our word for a failure or a tie."""
    return _OUTCOMES.get(name, name)


def field_title(name: str) -> str:
    """Return the title of a field. User-defined fields keep their names."""
    return _FIELDS.get(name, name)


def rule_title(name: str) -> str:
    """Return the title of a rule of the composite score."""
    return _RULES.get(name, name)


def parameter_title(name: str) -> str:
    """Return the title of a run parameter."""
    return _PARAMETERS.get(name, name)
