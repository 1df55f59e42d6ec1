"""Turn ballots into typed questions, and answers into the probability of each option.

An aspect and options that mean yes and no are a predicate, options with different scores are the
levels of a score, and everything else is a choice.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence

from adjudge.core.domain.decision import (
    DecisionKind,
    DecisionOption,
    DecisionQuestion,
    most_tokens,
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
    """Return the fields that all questions about a row share."""
    fields = _fields(ballot)
    # A question about one sentence or fragment has it in its instructions instead.
    if is_part(ballot):
        fields.pop(_judged_name(fields))
    return dict(fields)


def question_of_ballot(ballot: Ballot) -> DecisionQuestion:
    """Return the question of a ballot; raise a SetupError if a decision model cannot answer it."""
    if not is_part(ballot):
        return _mapped_question(ballot).question
    fields = _fields(ballot)
    judged_name = _judged_name(fields)
    text = _instructions(ballot, judged_name, has_others=len(fields) > 1)
    return _question(ballot, {"question": text, judged_name: fields[judged_name]})


def kind_of(ballot: Ballot) -> DecisionKind:
    """Return the kind of question of the ballot; raise a SetupError if it has none."""
    return _mapped_question(ballot).question.kind


def labels_of(ballot: Ballot) -> tuple[str, ...]:
    """Return the ballot's own labels in the order of the question's options.

    True comes before false, levels are sorted by score from the lowest up, and options are as
    shown.
    """
    return _mapped_question(ballot).labels


@light_dataclass(frozen=True)
class _MappedQuestion:
    """The question of a ballot, which does not depend on the judged text."""

    question: DecisionQuestion
    labels: tuple[str, ...]


_mapped_questions: dict[Hashable, _MappedQuestion] = {}
_MOST_MAPPED = 4096


def _mapped_question(ballot: Ballot) -> _MappedQuestion:
    criteria = ballot.criteria
    judged_name = judged_field(criteria, ballot.instance)
    has_others = len(ballot.instance.fields) > 1 and criteria.context_fields != ()
    key = (
        *(criteria.identity, ballot.question, ballot.template, ballot.language),
        *(judged_name, has_others),
    )
    mapped = _mapped_questions.get(key)
    if mapped is None:
        if len(_mapped_questions) >= _MOST_MAPPED:
            _mapped_questions.clear()
        question = _question(ballot, _instructions(ballot, judged_name, has_others=has_others))
        mapped = _mapped_questions[key] = _MappedQuestion(question, _labels(ballot, question.kind))
    return mapped


def _question(ballot: Ballot, instructions: JsonValue) -> DecisionQuestion:
    kind = _kind(ballot)
    labels = _labels(ballot, kind)
    values = ("true", "false") if kind == "predicate" else labels
    descriptions: dict[str, str] = {}
    if not isinstance(ballot.question, Comparison):
        # A description that only repeats the name is left out.
        descriptions = {
            option.name: option.description
            for option in ballot.criteria.options
            if option.description != option.name
        }
    options = tuple(
        DecisionOption(value, descriptions.get(label) or None)
        for value, label in zip(values, labels, strict=True)
    )
    name = content_hash(kind, instructions, [vars(option) for option in options])
    # The name is a hash of the content, so it tells the model nothing.
    return DecisionQuestion(f"q{name[:_NAME_LENGTH]}", kind, instructions, options)


def _kind(ballot: Ballot) -> DecisionKind:
    question, criteria = ballot.question, ballot.criteria
    if not question.labels or not isinstance(question, Choice | Comparison):
        raise SetupError(
            "{name!r} asks for a number or a text, but {model} is a decision model, which "
            "chooses among options",
            name=criteria.name,
            model=ballot.model,
        )
    if len(question.labels) > _MOST_OPTIONS:
        raise SetupError(
            "{name!r} has {count} options; a decision model takes at most {most}",
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
    """Return everything that decides which fields a ballot shows, for ballots of one instance."""
    criteria, question = ballot.criteria, ballot.question
    order = question.order if isinstance(question, Comparison) else None
    return criteria.context_fields, criteria.to_evaluate_field, order, is_part(ballot)


def has_order(ballot: Ballot) -> bool:
    """Return True if the question's options can be shown in another order."""
    return kind_of(ballot) == "choice"


def decision_prompt(state: str, questions: Sequence[DecisionQuestion]) -> Prompt:
    """Return a request as one text, for estimates, recordings and people; ``state`` is JSON
    already.
    """
    question_texts = ", ".join(question.text for question in questions)
    return Prompt((ChatMessage("user", f'{{"state": {state}, "questions": [{question_texts}]}}'),))


def state_text(state: JsonValue) -> str:
    """Return a state as JSON."""
    return json.dumps(state, ensure_ascii=False)


def chunks(
    members: Sequence[tuple[Ballot, DecisionQuestion]], state: JsonValue, limits: DecisionLimits
) -> list[list[tuple[Ballot, DecisionQuestion]]]:
    """Split the questions of a row into requests that a server accepts."""
    room = limits.tokens - most_tokens(state)
    parts: list[list[tuple[Ballot, DecisionQuestion]]] = []
    used = 0
    # Sorted by content, so that two runs send the same requests.
    for ballot, question in sorted(members, key=lambda pair: pair[1].name):
        if not parts or len(parts[-1]) >= limits.questions or used + question.tokens > room:
            parts.append([])
            used = 0
        parts[-1].append((ballot, question))
        used += question.tokens
    return parts


def _points(question: Choice) -> Mapping[str, float | None]:
    """Map each option to its score; to None if the question knows no scores."""
    if len(question.points) != len(question.options):
        return dict.fromkeys(question.options)
    return dict(zip(question.options, question.points, strict=True))


def _says_yes(options: Sequence[str]) -> bool:
    """Return True for Yes and No, False for PASS and FAIL: only the former answer the description
    as a question.
    """
    both = yes_and_no(options)
    return both is not None and both[0].casefold().strip() not in ("pass", "passed")


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


def _judged_name(fields: Mapping[str, str]) -> str:
    """Return the judged field: the last one."""
    return list(fields)[-1]


def _fields(ballot: Ballot) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, text in unfenced(shown_in(ballot)):
        if name in fields:
            raise SetupError(
                "two fields of the row would be named {name!r} in a request: rename one", name=name
            )
        fields[name] = text
    return fields
