"""Ask about many parts of a row in one call: one question about each part, if all are compared with
the same texts; and the two questions that read only the fragments.
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
    split_evenly,
    split_options,
)

Checks = Literal["each", "joint"]
CHECKS: tuple[Checks, ...] = ("each", "joint")
"""One call for each fragment or sentence, or one for many."""
_FRAGMENTS = "contexts"
_OF_FRAGMENTS = "fragment_relevance"
_IN_FRAGMENTS = "statement_in_fragments"


@dataclass(frozen=True)
class JointCase:
    """The content of one call."""

    criteria: Criteria
    instance: Instance
    question: ChoiceOfEach
    template: str


def group_cases(cases: Sequence[Case]) -> tuple[list[JointCase], list[Case]]:
    """Group cases that can share a call; return the groups, and the separate cases."""
    joint, remaining = _of_the_same_fragments(cases)
    groups: dict[str, list[Case]] = {}
    for case in remaining:
        shared_fields = {
            name: value
            for name, value in case.instance.fields.items()
            if name != case.criteria.to_evaluate_field
        }
        key = f"{case.criteria.name}\0{Instance({'': '', **shared_fields}).identity}"
        groups.setdefault(
            key if case.template == CHECK else f"{key}\0{case.instance.identity}", []
        ).append(case)
    shares = [share for group in groups.values() for share in split_evenly(group)]
    return [*joint, *(_together(group) for group in shares if len(group) > 1)], [
        group[0] for group in shares if len(group) == 1
    ]


def _together(cases: Sequence[Case]) -> JointCase:
    """Join cases of one check that differ only in what is judged."""
    criteria, fields = cases[0].criteria, cases[0].instance.fields
    question = ChoiceOfEach(criteria.option_names, criteria.points, count=len(cases))
    return JointCase(
        criteria,
        Instance({**fields, criteria.to_evaluate_field: list(map(_judged_text, cases))}),
        question,
        CHECK_JOINT,
    )


def _of_the_same_fragments(cases: Sequence[Case]) -> tuple[list[JointCase], list[Case]]:
    """Join the cases on the fragments' relevance with those on statements in them.

    The fragments are then shown only once. Also return the cases that were not joined.
    """
    relevance = [case for case in cases if case.criteria.name == _OF_FRAGMENTS]
    inclusion = [case for case in cases if case.criteria.name == _IN_FRAGMENTS]
    fragments = tuple(map(_judged_text, relevance))
    share_fragments = all(case.instance.fields[_FRAGMENTS] == fragments for case in inclusion)
    if (
        not (relevance and inclusion and share_fragments)
        or len(relevance) + len(inclusion) > MOST_AT_ONCE
    ):
        return [], list(cases)
    relevance_criteria, inclusion_criteria = relevance[0].criteria, inclusion[0].criteria
    lists = [
        Listed(relevance_criteria, _FRAGMENTS, len(relevance)),
        Listed(inclusion_criteria, inclusion_criteria.to_evaluate_field, len(inclusion)),
    ]
    shared_fields = {
        name: relevance[0].instance.fields[name] for name in relevance_criteria.context_fields or ()
    }
    instance = Instance(
        {
            **shared_fields,
            _FRAGMENTS: fragments,
            inclusion_criteria.to_evaluate_field: list(map(_judged_text, inclusion)),
        }
    )
    criteria = Criteria(
        f"{relevance_criteria.name}, {inclusion_criteria.name}",
        f"{relevance_criteria.description}\n{inclusion_criteria.description}",
        relevance_criteria.options,
        to_evaluate_field=inclusion_criteria.to_evaluate_field,
        context_fields=[*shared_fields, _FRAGMENTS],
    )
    # by identity: cases of equal content are still two cases
    joined = {id(case) for case in (*relevance, *inclusion)}
    return [JointCase(criteria, instance, ChoiceOfLists.of(lists), CHECK_LISTS)], [
        case for case in cases if id(case) not in joined
    ]


def _judged_text(case: Case) -> str:
    return str(case.instance.fields[case.criteria.to_evaluate_field])


def split(votes: Sequence[Vote]) -> list[Vote]:
    """Split votes on several parts into one vote per part, without any cost of their own."""
    return [part for vote in votes for part in _parts(vote)]


def _parts(vote: Vote) -> Iterator[Vote]:
    ballot = vote.ballot
    if ballot.template not in (CHECK_JOINT, CHECK_LISTS):
        yield vote
        return
    cases = list(_cases_of(ballot))
    options: Sequence[str | None] = (
        split_options(vote.verdict) if isinstance(vote.verdict, Chosen) else [None] * len(cases)
    )
    for (criteria, instance), option in zip(cases, options, strict=True):
        question = Choice(criteria.option_names, criteria.points)
        part_ballot = replace(
            ballot, criteria=criteria, instance=instance, question=question, template=CHECK
        )
        yield replace(vote, ballot=part_ballot, verdict=Chosen(option) if option else None)


def _cases_of(ballot: Ballot) -> Iterator[tuple[Criteria, Instance]]:
    """Yield each part's criteria, and the instance that a separate question would show."""
    fields = ballot.instance.fields
    question, judged_field = ballot.question, ballot.criteria.to_evaluate_field
    if not isinstance(question, ChoiceOfLists):
        yield from (
            (ballot.criteria, Instance({**fields, judged_field: text}))
            for text in fields[judged_field]
        )
        return
    for listed in question.lists:
        shared_fields = {name: fields[name] for name in listed.criteria.context_fields or ()}
        for text in fields[listed.field]:
            yield (
                listed.criteria,
                Instance({**shared_fields, listed.criteria.to_evaluate_field: text}),
            )
