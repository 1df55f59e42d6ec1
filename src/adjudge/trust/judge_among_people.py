"""The judge as one more annotator, for rows that too few people share for a test."""

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
    """Each annotator's accuracy, by a Dawid–Skene model of people and judge."""

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
    """Fit the model on rows with a verdict, treating neither the judge nor any person as the truth.

    It assumes independent errors, which the votes cannot verify. With too few shared rows or too
    many votes, the result only has a reason.
    """
    rows_by_unit = {row.unit: row for row in rows if row.verdict is not None}
    shared = sum(len(row.answers) > 1 for row in rows_by_unit.values())
    if shared < LEAST_SHARED:
        return RaterModel(
            rows=len(rows_by_unit),
            shared=shared,
            reason=Message(
                "{shared} rows were labelled by two people; at least {least} are needed: label "
                "them together (--overlap {least})",
                shared=shared,
                least=LEAST_SHARED,
            ),
        )
    votes = [
        MemberVote(unit, name, str(answer))
        for unit, row in rows_by_unit.items()
        for name, answer in ((JUDGE, row.verdict), *row.answers.items())
    ]
    if len(votes) > MOST_VOTES:
        return RaterModel(
            rows=len(rows_by_unit),
            shared=shared,
            reason=Message("more votes than the method supports"),
        )
    model = dawid_skene(votes)
    return RaterModel(
        {
            name: math.fsum(
                share * cells.get((true, true), 0.0) for true, share in model.priors.items()
            )
            for name, cells in sorted(model.confusion.items())
        },
        len(rows_by_unit),
        shared,
    )
