"""Many parts of a row in one call: the same question about each, where all are held against the same texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from adjudge.domain.criteria import Criteria
from adjudge.domain.each import ChoiceOfEach, each_of
from adjudge.domain.instance import Instance
from adjudge.domain.question import Choice
from adjudge.domain.verdict import Chosen
from adjudge.domain.vote import Ballot, Vote
from adjudge.judges.case import Case
from adjudge.prompts.render import CHECK, CHECK_JOINT

Checks = Literal["each", "joint"]
CHECKS: tuple[Checks, ...] = ("each", "joint")
"""One call for each fragment or sentence, or one for many."""


@dataclass(frozen=True)
class JointCase:
    """Several cases of one check that differ in what is judged alone."""

    cases: tuple[Case, ...]

    @property
    def criteria(self) -> Criteria:
        """The question."""
        return self.cases[0].criteria

    @property
    def question(self) -> ChoiceOfEach:
        """What may be answered."""
        return ChoiceOfEach(self.criteria.option_names, self.criteria.points, count=len(self.cases))

    @property
    def instance(self) -> Instance:
        """What is shown: what all are held against, then each of them."""
        judged = self.criteria.to_evaluate_field
        return Instance({**self.cases[0].instance.fields, judged: [str(case.instance.fields[judged]) for case in self.cases]})

    template = CHECK_JOINT


def grouped(cases: Sequence[Case]) -> tuple[list[JointCase], list[Case]]:
    """The cases that can be asked about in one call, two or more at a time, and those that cannot."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        beside = {name: value for name, value in case.instance.fields.items() if name != case.criteria.to_evaluate_field}
        key = f"{case.criteria.name}\0{Instance({'': '', **beside}).identity}"
        found.setdefault(key if case.template == CHECK else f"{key}\0{case.instance.identity}", []).append(case)
    several = [JointCase(tuple(some)) for some in found.values() if len(some) > 1]
    return several, [some[0] for some in found.values() if len(some) == 1]


def split(votes: Sequence[Vote]) -> list[Vote]:
    """The votes, those on several parts as one vote on each: they say what, and cost nothing more."""
    return [one for vote in votes for one in _parts(vote)]


def _parts(vote: Vote) -> Iterator[Vote]:
    ballot = vote.ballot
    if ballot.template != CHECK_JOINT:
        yield vote
        return
    judged = ballot.criteria.to_evaluate_field
    said = each_of(vote.verdict) if isinstance(vote.verdict, Chosen) else None
    for place, text in enumerate(ballot.instance.fields[judged]):
        own = replace(
            ballot, instance=Instance({**ballot.instance.fields, judged: text}), question=_plain(ballot), template=CHECK
        )
        yield replace(vote, ballot=own, verdict=Chosen(said[place]) if said else None)


def _plain(ballot: Ballot) -> Choice:
    return Choice(ballot.criteria.option_names, ballot.criteria.points)
