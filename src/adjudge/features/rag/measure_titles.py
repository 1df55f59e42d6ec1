"""Titles for the section "retriever or generator"."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.messages import Message, term

_TITLES: Mapping[str, Message] = {
    "retriever": Message("retriever"),
    "generator": Message("generator"),
    "both": Message("both"),
    "neither": Message("neither"),
    "unknown": term("blame", "cannot tell"),
    "fragment_relevance": Message("no relevant fragment"),
    "groundedness": Message("groundedness"),
    "statement_in_fragments": Message("in the reference, not in the fragments"),
    "statement_in_answer": Message("in the reference, not in the answer"),
    "statement_in_reference": Message("in the answer, not in the reference"),
    "citation_supports": Message("in the answer, not in the cited fragments"),
}


def measure_title(name: str) -> str:
    """Return the title of a side, blame or check; any other name is unchanged."""
    return _TITLES.get(name, name)


def yes_or_no(answer: bool | None) -> str:
    """Return yes, no, or a dash if it is unknown."""
    return "–" if answer is None else Message("yes") if answer else Message("no")
