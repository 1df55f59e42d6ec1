"""Many parts of a row in one call: the same question about each, where all are held against the
same texts, and the two questions that read nothing but the fragments together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Choice
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.case import Case
from adjudge.core.prompts.renderer import CHECK, CHECK_JOINT, CHECK_LISTS
from adjudge.features.evidence.grouped_questions import (
    MOST_AT_ONCE,
    ChoiceOfEach,
    ChoiceOfLists,
    Listed,
    each_of,
    shared_out,
)

Checks = Literal["each", "joint"]
CHECKS: tuple[Checks, ...] = ("each", "joint")
"""One call for each fragment or sentence, or one for many."""
_FRAGMENTS = "contexts"
_OF_FRAGMENTS = "fragment_relevance"
_IN_FRAGMENTS = "statement_in_fragments"


@dataclass(frozen=True)
class JointCase:
    """What is asked in one call."""

    criteria: Criteria
    instance: Instance
    question: ChoiceOfEach
    template: str


def grouped(cases: Sequence[Case]) -> tuple[list[JointCase], list[Case]]:
    """What can be asked about in one call, two parts or more at a time, and the
    cases that cannot.
    """
    both, others = _of_the_same_fragments(cases)
    found: dict[str, list[Case]] = {}
    for case in others:
        beside = {
            name: value
            for name, value in case.instance.fields.items()
            if name != case.criteria.to_evaluate_field
        }
        key = f"{case.criteria.name}\0{Instance({'': '', **beside}).identity}"
        found.setdefault(
            key if case.template == CHECK else f"{key}\0{case.instance.identity}", []
        ).append(case)
    shares = [share for some in found.values() for share in shared_out(some)]
    return [*both, *(_together(some) for some in shares if len(some) > 1)], [
        some[0] for some in shares if len(some) == 1
    ]


def _together(cases: Sequence[Case]) -> JointCase:
    """Cases of one check that differ in what is judged alone."""
    criteria, first = cases[0].criteria, cases[0].instance.fields
    question = ChoiceOfEach(criteria.option_names, criteria.points, count=len(cases))
    return JointCase(
        criteria,
        Instance({**first, criteria.to_evaluate_field: list(map(_judged, cases))}),
        question,
        CHECK_JOINT,
    )


def _of_the_same_fragments(cases: Sequence[Case]) -> tuple[list[JointCase], list[Case]]:
    """Whether fragments help, and whether statements can be taken from them: the fragments are
    shown once for both.
    """
    help_to = [case for case in cases if case.criteria.name == _OF_FRAGMENTS]
    taken = [case for case in cases if case.criteria.name == _IN_FRAGMENTS]
    fragments = tuple(map(_judged, help_to))
    same = all(case.instance.fields[_FRAGMENTS] == fragments for case in taken)
    if not (help_to and taken and same) or len(help_to) + len(taken) > MOST_AT_ONCE:
        return [], list(cases)
    about, inside = help_to[0].criteria, taken[0].criteria
    lists = [
        Listed(about, _FRAGMENTS, len(help_to)),
        Listed(inside, inside.to_evaluate_field, len(taken)),
    ]
    beside = {name: help_to[0].instance.fields[name] for name in about.context_fields or ()}
    shown = Instance(
        {**beside, _FRAGMENTS: fragments, inside.to_evaluate_field: list(map(_judged, taken))}
    )
    criteria = Criteria(
        f"{about.name}, {inside.name}",
        f"{about.description}\n{inside.description}",
        about.options,
        to_evaluate_field=inside.to_evaluate_field,
        context_fields=[*beside, _FRAGMENTS],
    )
    asked = {id(case) for case in (*help_to, *taken)}
    return [JointCase(criteria, shown, ChoiceOfLists.of(lists), CHECK_LISTS)], [
        one for one in cases if id(one) not in asked
    ]


def _judged(case: Case) -> str:
    return str(case.instance.fields[case.criteria.to_evaluate_field])


def split(votes: Sequence[Vote]) -> list[Vote]:
    """The votes, those on several parts as one vote on each: they say what, and
    cost nothing more.
    """
    return [one for vote in votes for one in _parts(vote)]


def _parts(vote: Vote) -> Iterator[Vote]:
    ballot = vote.ballot
    if ballot.template not in (CHECK_JOINT, CHECK_LISTS):
        yield vote
        return
    shown = list(_cases_of(ballot))
    said: Sequence[str | None] = (
        each_of(vote.verdict) if isinstance(vote.verdict, Chosen) else [None] * len(shown)
    )
    for (criteria, instance), option in zip(shown, said, strict=True):
        question = Choice(criteria.option_names, criteria.points)
        own = replace(
            ballot, criteria=criteria, instance=instance, question=question, template=CHECK
        )
        yield replace(vote, ballot=own, verdict=Chosen(option) if option else None)


def _cases_of(ballot: Ballot) -> Iterator[tuple[Criteria, Instance]]:
    """What is asked of each part, and what would be shown if it were asked about by itself."""
    fields = ballot.instance.fields
    question, judged = ballot.question, ballot.criteria.to_evaluate_field
    if not isinstance(question, ChoiceOfLists):
        yield from (
            (ballot.criteria, Instance({**fields, judged: text})) for text in fields[judged]
        )
        return
    for one in question.lists:
        beside = {name: fields[name] for name in one.criteria.context_fields or ()}
        for text in fields[one.field]:
            yield one.criteria, Instance({**beside, one.criteria.to_evaluate_field: text})
