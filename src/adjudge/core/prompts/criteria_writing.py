"""Request better criteria, given the rows on which a judge and people disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Prompt
from adjudge.core.prompts.fence import fence, neutral
from adjudge.core.prompts.renderer import load, shown_fields

_LONGEST_TEXT = 4000


class DisputedRow(NamedTuple):
    """A row on which judge and people disagree."""

    instance: Instance
    said: str
    truth: str
    explanation: str = ""
    """The judge's explanation of its verdict."""


@dataclass(frozen=True)
class _ShownCase:
    said: str
    truth: str
    parts: Sequence[str]


def render_criteria_improvement(
    criteria: Criteria,
    cases: Sequence[DisputedRow],
    language: str,
    *,
    wording: bool,
    examples: int,
    compares: bool,
) -> Prompt:
    """Return a request for better criteria.

    ``wording``: ask for better words; ``examples``: the most cases to propose as examples.
    """
    values = {
        "name": criteria.name,
        "description": criteria.definition,
        "options": [] if compares else list(criteria.options),
        "cases": [
            _ShownCase(neutral(case.said), neutral(case.truth), fence(_fields(criteria, case)))
            for case in cases
        ],
        "wording": wording,
        "examples": examples,
    }
    return Prompt(load("improve_criteria", language).messages(values))


def _fields(criteria: Criteria, case: DisputedRow) -> dict[str, str | Sequence[str]]:
    readable = shown_fields(criteria, case.instance)
    fields = {
        name: _short(value) if isinstance(value, str) else [_short(text) for text in value]
        for name, value in readable.items()
    }
    return {
        **fields,
        **({"explanation of the judge": _short(case.explanation)} if case.explanation else {}),
    }


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
