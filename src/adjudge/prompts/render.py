"""Ballot → Prompt: what is the same for many ballots first, evaluated text last, so that prefix caches work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.domain.message import Message, Prompt
from adjudge.errors import SetupError
from adjudge.prompts.fence import fence
from adjudge.prompts.template import load


def render(ballot: Ballot) -> Prompt:
    """The question as the model gets it."""
    system = _stable(ballot.template, ballot.language, ballot.criteria)
    shown = shown_fields(ballot.criteria, ballot.instance)
    user = load(ballot.template, ballot.language).render("user", _criteria_values(ballot.criteria) | {"parts": fence(shown)})
    return Prompt((Message("system", system), Message("user", user)))


def render_repair(ballot: Ballot, prompt: Prompt, reply: str, reason: str) -> Prompt:
    """The conversation so far and a turn that says what was wrong with the last reply."""
    values = {"reason": reason, "options": list(ballot.criteria.option_names)}
    (turn,) = load("repair", ballot.language).messages(values)
    return prompt.followed_by(Message("assistant", reply or "…"), turn)


def shown_fields(criteria: Criteria, instance: Instance) -> dict[str, str | Sequence[str]]:
    """The fields the criteria may read, the judged one last. A missing one is named before any call."""
    if len(instance.fields) == 1:
        return dict(instance.fields)
    judged = criteria.to_evaluate_field
    wanted = criteria.context_fields
    context = [name for name in instance.fields if name != judged] if wanted is None else list(wanted)
    for name in (*context, judged):
        if name not in instance.fields:
            found = ", ".join(sorted(instance.fields))
            raise SetupError(f"criteria {criteria.name!r} reads the field {name!r}; the instance has only: {found}")
    return {name: instance.fields[name] for name in (*context, judged)}


@lru_cache(maxsize=1024)
def _stable(template: str, language: str, criteria: Criteria) -> str:
    return load(template, language).render("system", _criteria_values(criteria) | {"parts": []})


def _criteria_values(criteria: Criteria) -> dict[str, object]:
    return {
        "definition": criteria.description,
        "options": list(criteria.option_names),
        "field": criteria.to_evaluate_field,
    }
