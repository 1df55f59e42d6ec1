"""The judge as one more annotator, where people share too few rows for a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.stats.dawid_skene import MemberVote, dawid_skene
from adjudge.trust.rows import LabelledRow

LEAST_SHARED = 20
"""Rows that two people labelled: the judge is the third, and with fewer than three nobody can tell
whose error a difference is.
"""
MOST_VOTES = 5_000
JUDGE = ""
"""The judge among the annotators: nobody else has an empty name."""


@dataclass(frozen=True)
class RaterModel:
    """How often each annotator is right, by Dawid and Skene's model of them and the judge."""

    right: Mapping[str, float] = field(default_factory=dict)
    """Annotator → how often they are right; the judge under an empty name."""
    rows: int = 0
    shared: int = 0
    """Rows that two people or more labelled."""
    reason: str = ""

    def to_dict(self) -> JsonDict:
        people = {name: share for name, share in self.right.items() if name != JUDGE}
        return {
            "judge": self.right.get(JUDGE),
            "people": dict(people),
            "n": self.rows,
            "shared": self.shared,
            "reason": self.reason,
        }


def judge_among_people(rows: Sequence[LabelledRow]) -> RaterModel:
    """Of rows that were judged; nothing is taken for true, neither the judge nor any person.

    It holds if annotators err independently of each other, which the votes cannot show.
    """
    each = {one.unit: one for one in rows if one.verdict is not None}
    shared = sum(len(one.answers) > 1 for one in each.values())
    if shared < LEAST_SHARED:
        return RaterModel(
            rows=len(each),
            shared=shared,
            reason=Message(
                "{shared} rows were labelled by two people; {least} are the fewest: label them "
                "together (--overlap {least})",
                shared=shared,
                least=LEAST_SHARED,
            ),
        )
    votes = [
        MemberVote(row, name, str(said))
        for row, one in each.items()
        for name, said in ((JUDGE, one.verdict), *one.answers.items())
    ]
    if len(votes) > MOST_VOTES:
        return RaterModel(
            rows=len(each), shared=shared, reason=Message("more votes than it is made for")
        )
    found = dawid_skene(votes)
    return RaterModel(
        {
            name: math.fsum(
                share * own.get((true, true), 0.0) for true, share in found.priors.items()
            )
            for name, own in sorted(found.confusion.items())
        },
        len(each),
        shared,
    )
