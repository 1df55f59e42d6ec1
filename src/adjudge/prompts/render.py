"""Ballot → Prompt: what is the same for many ballots first, evaluated text last, so that prefix caches work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files

from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance
from adjudge.domain.message import Message, Prompt
from adjudge.errors import SetupError
from adjudge.prompts.fence import fence, neutral, unfenced
from adjudge.prompts.template import load

_CUT = "\x00"
"""Marks in a rendered template where the text that is shared ends; the criterion cannot hold it, and texts come behind it."""


def render(ballot: Ballot) -> Prompt:
    """The question as the model gets it."""
    system = _stable(ballot.template, ballot.language, ballot.criteria)
    shown = shown_fields(ballot.criteria, ballot.instance)
    user = load(ballot.template, ballot.language).render("user", _criteria_values(ballot.criteria) | {"parts": fence(shown)})
    return Prompt((Message("system", system), Message("user", user)))


def render_repair(ballot: Ballot, prompt: Prompt, reply: str, reason: str) -> Prompt:
    """The conversation so far and a turn that says what was wrong with the last reply, which may quote what it judges."""
    values = {"reason": neutral(reason), "options": list(ballot.criteria.option_names)}
    (turn,) = load("repair", ballot.language).messages(values)
    return prompt.followed_by(Message("assistant", neutral(reply) or "…"), turn)


def render_likelihood(ballot: Ballot, kind: str, options: Sequence[tuple[str, str]]) -> Prompt:
    """The question for a one-token answer. ``options``: (label, option) as shown, ``kind`` the kind of label."""
    criteria = ballot.criteria
    shown = [(label, name, criteria.option(name).description) for label, name in options]
    fields = unfenced(shown_fields(criteria, ballot.instance))
    values = {"definition": criteria.description.replace(_CUT, ""), "options": shown, "fields": fields, "cut": _CUT}
    *before, last = load(f"likelihood_{kind}", ballot.language).messages(values)
    shared, _, own = last.content.partition(_CUT)
    return Prompt((*before, Message(last.role, shared + own)), shared=len(shared))


@cache
def neutral_instances(language: str, fields: tuple[str, ...]) -> tuple[Instance, ...]:
    """Ordinary texts in the given fields; what a model says of them is its prior."""
    import yaml

    path = files(__package__) / "neutral" / f"{language}.yaml"
    texts: list[dict[str, str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(Instance({name: text.get(name, text["response"]) for name in fields}) for text in texts)


def shown_fields(criteria: Criteria, instance: Instance) -> dict[str, str | Sequence[str]]:
    """The fields the criteria may read, the judged one last. A missing one is named before any call."""
    if len(instance.fields) == 1:
        return dict(instance.fields)
    judged = criteria.to_evaluate_field
    wanted = criteria.context_fields
    context = [name for name in (instance.fields if wanted is None else wanted) if name != judged]
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
