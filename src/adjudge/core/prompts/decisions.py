"""Ballot → typed question, and its answer → probability of each option.

An aspect and options that mean yes and no are a predicate, options with different scores are the
levels of a score, everything else is a choice.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.decision import (
    DecisionKind,
    DecisionOption,
    DecisionQuestion,
)
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import ChatMessage, DecisionLimits, Prompt
from adjudge.core.domain.options import yes_and_no
from adjudge.core.domain.question import Choice, Comparison
from adjudge.core.domain.verdict import TIE
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts.fence import unfenced
from adjudge.core.prompts.renderer import is_part, judged_field, load, shown_in
from adjudge.errors import SetupError

_ASPECT = "aspect"
_MOST_OPTIONS = 255
_MOST_LEVELS = 10
_NAME_LENGTH = 16


def state_of(ballot: Ballot) -> JsonDict:
    """The fields that are shared by all questions about a row.

    A question about one sentence or fragment has that in its instructions.
    """
    fields = _fields(ballot)
    if is_part(ballot):
        fields.pop(_judged(fields))
    return dict(fields)


def question_of_ballot(ballot: Ballot) -> DecisionQuestion:
    """The question that a ballot asks; its name is a hash of its content, so that it tells nothing.

    Raises SetupError if a decision model cannot be asked it.
    """
    if not is_part(ballot):
        return _asked(ballot).question
    fields = _fields(ballot)
    judged = _judged(fields)
    text = _instructions(ballot, judged, has_others=len(fields) > 1)
    return _question(ballot, {"question": text, judged: fields[judged]})


def kind_of(ballot: Ballot) -> DecisionKind:
    """Which kind of question the ballot is, or SetupError if it is none."""
    return _asked(ballot).question.kind


def labels_of(ballot: Ballot) -> tuple[str, ...]:
    """The ballot's own labels in the order of the question's options: true before false, levels
    from the lowest score up, options as they are shown.
    """
    return _asked(ballot).labels


@light_dataclass(frozen=True)
class _Asked:
    """What a ballot asks, whatever is judged."""

    question: DecisionQuestion
    labels: tuple[str, ...]


_known: dict[Hashable, _Asked] = {}
_MOST_KNOWN = 4096


def _asked(ballot: Ballot) -> _Asked:
    criteria = ballot.criteria
    judged = judged_field(criteria, ballot.instance)
    has_others = len(ballot.instance.fields) > 1 and criteria.context_fields != ()
    key = (
        *(criteria.identity, ballot.question, ballot.template, ballot.language),
        *(judged, has_others),
    )
    asked = _known.get(key)
    if asked is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        question = _question(ballot, _instructions(ballot, judged, has_others=has_others))
        asked = _known[key] = _Asked(question, _labels(ballot, question.kind))
    return asked


def _question(ballot: Ballot, instructions: JsonValue) -> DecisionQuestion:
    kind = _kind(ballot)
    labels, descriptions = _labels(ballot, kind), _descriptions(ballot)
    options = tuple(
        DecisionOption(value, descriptions.get(label) or None)
        for value, label in zip(_values(kind, labels), labels, strict=True)
    )
    name = content_hash(kind, instructions, [vars(option) for option in options])
    return DecisionQuestion(f"q{name[:_NAME_LENGTH]}", kind, instructions, options)


def _kind(ballot: Ballot) -> DecisionKind:
    question, criteria = ballot.question, ballot.criteria
    if not question.labels or not isinstance(question, Choice | Comparison):
        raise SetupError(
            "{name!r} asks for a number or a text, and {model} is a decision model: it chooses "
            "among options",
            name=criteria.name,
            model=ballot.model,
        )
    if len(question.labels) > _MOST_OPTIONS:
        raise SetupError(
            "{name!r} has {count} options; a decision model takes {most}",
            name=criteria.name,
            count=len(question.labels),
            most=_MOST_OPTIONS,
        )
    if isinstance(question, Comparison):
        return "choice"
    if yes_and_no(question.options) and (ballot.template == _ASPECT or _says_yes(question.options)):
        return "predicate"
    points = _points(question).values()
    is_scale = None not in points and len({*points}) == len(points) <= _MOST_LEVELS
    return "score" if is_scale else "choice"


def _labels(ballot: Ballot, kind: DecisionKind) -> tuple[str, ...]:
    question = ballot.question
    if kind == "predicate":
        both = yes_and_no(question.labels)
        if both is None:
            raise ValueError("a predicate has two options")
        return both
    if kind == "score":
        points = _points(question) if isinstance(question, Choice) else {}
        return tuple(sorted(question.labels, key=lambda label: points[label] or 0.0))
    return tuple(question.labels)


def shares_state(other: Ballot, ballot: Ballot, state: JsonDict) -> bool:
    """Return True if another ballot is about the same state."""
    if other.instance is ballot.instance and _reads(other) == _reads(ballot):
        return True
    return state_of(other) == state


def _reads(ballot: Ballot) -> tuple[object, ...]:
    """What decides which fields a ballot shows, for ballots of one instance."""
    criteria, question = ballot.criteria, ballot.question
    order = question.order if isinstance(question, Comparison) else None
    return criteria.context_fields, criteria.to_evaluate_field, order, is_part(ballot)


def has_order(ballot: Ballot) -> bool:
    """Return True if the question's options can be shown in another order."""
    return kind_of(ballot) == "choice"


def decision_prompt(state: str, questions: Sequence[DecisionQuestion]) -> Prompt:
    """A request as one text, for estimates, recordings and people; ``state`` is JSON already."""
    asked = ", ".join(map(_question_text, questions))
    return Prompt((ChatMessage("user", f'{{"state": {state}, "questions": [{asked}]}}'),))


def state_text(state: JsonValue) -> str:
    """A state as JSON."""
    return json.dumps(state, ensure_ascii=False)


def _question_text(question: DecisionQuestion) -> str:
    return json.dumps(question.to_dict(), ensure_ascii=False)


def chunks(
    ballots: Sequence[tuple[Ballot, DecisionQuestion]], state: JsonValue, limits: DecisionLimits
) -> list[list[Ballot]]:
    """Cut the questions of a row into requests that a server takes.

    The order comes from the questions' content, so that two runs ask alike.
    """
    room = limits.tokens - _tokens(state)
    parts: list[list[Ballot]] = []
    taken = 0
    for ballot, question in sorted(ballots, key=lambda pair: pair[1].name):
        size = _tokens([question.instructions, [vars(option) for option in question.options]])
        if not parts or len(parts[-1]) >= limits.questions or taken + size > room:
            parts.append([])
            taken = 0
        parts[-1].append(ballot)
        taken += size
    return parts


def _tokens(value: object) -> int:
    """Tokens of a text, on the high side."""
    text = str(value)
    plain = sum(map(str.isascii, text))
    return plain // 3 + len(text) - plain


def _points(question: Choice) -> Mapping[str, float | None]:
    """Option → its score; empty if the question does not know any."""
    if len(question.points) != len(question.options):
        return dict.fromkeys(question.options)
    return dict(zip(question.options, question.points, strict=True))


def _says_yes(options: Sequence[str]) -> bool:
    """Return True for Yes and No, False for PASS and FAIL: only the former answer the question that
    the description asks.
    """
    both = yes_and_no(options)
    return both is not None and both[0].casefold().strip() not in ("pass", "passed")


def _values(kind: DecisionKind, labels: Sequence[str]) -> Sequence[str]:
    return ("true", "false") if kind == "predicate" else labels


def _descriptions(ballot: Ballot) -> Mapping[str, str]:
    if isinstance(ballot.question, Comparison):
        return {}
    return {option.name: _about(option) for option in ballot.criteria.options}


def _about(option: CriteriaOption) -> str:
    return "" if option.description == option.name else option.description


def _instructions(ballot: Ballot, judged: str, *, has_others: bool) -> str:
    question = ballot.question
    return load("decision", ballot.language).render(
        "user",
        {
            "definition": ballot.criteria.definition,
            "field": judged,
            "others": has_others,
            "aspect": ballot.template == _ASPECT,
            "compared": bool(question.compared_responses),
            "tie": TIE in question.labels,
        },
    )


def _judged(fields: Mapping[str, str]) -> str:
    """The field that is judged is the last."""
    return list(fields)[-1]


def _fields(ballot: Ballot) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, text in unfenced(shown_in(ballot)):
        if name in fields:
            raise SetupError(
                "two fields of the row are called {name!r} in a request: rename one", name=name
            )
        fields[name] = text
    return fields
