"""Rewards by rank: the completions of one prompt are compared in pairs, each in both orders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.results import PairwiseInstanceResult, Status
from adjudge.core.judges.inputs import CriteriaLike, as_criteria
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.errors import SetupError
from adjudge.features.rewards.rollouts import COMPLETION
from adjudge.features.rewards.values import RewardValue
from adjudge.messages import Message

Scale = Literal["wins", "ranks"]
Pair = tuple[int, int]


@dataclass(frozen=True)
class GroupRanking:
    """Ranks the completions of each prompt by comparing them in pairs.

    Each pair is asked in both orders, so a judge that prefers the first place gives both a half.

    Parameters:
        judge: a PairwiseJudge; it is always asked in both orders, whatever its own setting.
        criteria: a question, a Criteria, or the name of a ready-made one.
        opponents: with how many others of its group each completion is compared, at least; None:
            with all. Which ones is drawn by ``seed``.
        scale: "wins": the share of comparisons that were won, a tie being half of one; "ranks":
            the rank in the group, 1 for the best and 0 for the worst, the same for the same share.
        missing: the share of a completion's comparisons that may lack a verdict; with more, it has
            no reward.
        seed: of the draw.
    """

    judge: PairwiseJudge
    criteria: CriteriaLike
    opponents: int | None = None
    scale: Scale = "wins"
    missing: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.judge, PairwiseJudge):
            raise SetupError(
                "a group must be ranked by a PairwiseJudge, not by {name}",
                name=type(self.judge).__name__,
            )
        if self.judge.on_failure != "abstain":
            raise SetupError(
                "on_failure={value!r} would replace failed verdicts: rewards need 'abstain'",
                value=self.judge.on_failure,
            )
        if self.scale not in ("wins", "ranks"):
            raise SetupError("scale must be 'wins' or 'ranks', not {scale!r}", scale=self.scale)
        if self.opponents is not None and self.opponents < 1:
            raise SetupError(
                "opponents must be at least 1, not {opponents}", opponents=self.opponents
            )
        if not 0 <= self.missing < 1:
            raise SetupError(
                "missing must be a share from 0 to below 1, not {missing}", missing=self.missing
            )
        object.__setattr__(self, "judge", replace(self.judge, check_positional_bias=True))
        object.__setattr__(
            self, "criteria", as_criteria(self.criteria, "pairwise", self.judge.language)
        )

    @property
    def name(self) -> str:
        """The ranking's name in logs, which is that of its criteria."""
        assert isinstance(self.criteria, Criteria)
        return self.criteria.name

    def pairs(self, group: Sequence[int]) -> list[Pair]:
        """Return the pairs of a group to compare: all, or those drawn for ``opponents``."""
        count = len(group)
        if self.opponents is None or self.opponents >= count - 1:
            return list(combinations(group, 2))
        order = list(group)
        # A ring through all of them gives everyone the same number of opponents.
        random.Random(f"{self.seed}:{count}").shuffle(order)  # noqa: S311
        steps = range(1, (self.opponents + 1) // 2 + 1)
        ring = {
            tuple(sorted((order[place], order[(place + step) % count])))
            for step in steps
            for place in range(count)
        }
        return sorted((place_a, place_b) for place_a, place_b in ring)

    def item(self, first: JsonDict, second: JsonDict, key: str) -> Any:
        """Return two rows of one prompt as a comparison."""
        shared_fields = {
            name: value for name, value in first.items() if name not in (COMPLETION, "id")
        }
        texts = [first[COMPLETION], second[COMPLETION]]
        row = {**shared_fields, COMPLETION: texts, "id": key}
        assert isinstance(self.criteria, Criteria)
        case = self.judge.case(self.judge.instance_of(row), self.criteria)
        self.judge.check(case)
        return case

    def share_of(self, result: PairwiseInstanceResult) -> RewardValue:
        """Return the first completion's share of a comparison, from 0 to 1.

        It is missing if one of the two orders has no verdict.
        """
        bias = result.positional_bias
        rate = result.per_system_results[0].winrate if result.per_system_results else None
        if result.status is not Status.SCORED or result.fallback or rate is None:
            return RewardValue.missing(result.reason or Message("no verdict"), 0.0, 1.0)
        if bias is None or bias.detected is None:
            return RewardValue.missing(Message("one of the two orders has no verdict"), 0.0, 1.0)
        return RewardValue.known(rate)

    def rewards(
        self, group: Sequence[int], shares: dict[Pair, RewardValue]
    ) -> dict[int, RewardValue]:
        """Return the reward of each completion in a group, from the outcomes of its pairs.

        A completion that is alone in its group has none.
        """
        if len(group) < 2:
            alone = Message("it is the only completion of its prompt in this batch")
            return {place: RewardValue.missing(alone, 0.0, 1.0) for place in group}
        wins = {place: self._wins(place, shares) for place in group}
        return wins if self.scale == "wins" else _rank_group(wins)

    def _wins(self, place: int, shares: dict[Pair, RewardValue]) -> RewardValue:
        own_shares = [
            share
            if pair[0] == place
            else (share if share.value is None else RewardValue.known(1 - share.value))
            for pair, share in shares.items()
            if place in pair
        ]
        lost = [share for share in own_shares if share.value is None]
        known_shares = [share.value for share in own_shares if share.value is not None]
        if not known_shares or len(lost) > self.missing * len(own_shares):
            return RewardValue.missing(
                Message(
                    "{lost} of {count} comparisons have no verdict: {reason}",
                    lost=len(lost),
                    count=len(own_shares),
                    reason=lost[0].reason if lost else Message("there was no verdict"),
                ),
                sum(known_shares) / len(own_shares) if own_shares else 0.0,
                (sum(known_shares) + len(lost)) / len(own_shares) if own_shares else 1.0,
            )
        return RewardValue.known(sum(known_shares) / len(known_shares))


def _rank_group(share_by_place: dict[int, RewardValue]) -> dict[int, RewardValue]:
    """Return ranks from 0 to 1; none for the group if one of its completions has no share."""
    missing = next(
        (share_value for share_value in share_by_place.values() if share_value.value is None), None
    )
    if missing is not None:
        reason = Message(
            "the group cannot be ranked: {reason}", reason=missing.reason or Message("no verdict")
        )
        return {place: RewardValue.missing(reason, 0.0, 1.0) for place in share_by_place}
    shares = [
        share_value.value
        for share_value in share_by_place.values()
        if share_value.value is not None
    ]

    def rank(share: float) -> float:
        below = sum(other_share < share for other_share in shares)
        same = sum(other_share == share for other_share in shares) - 1
        return (below + same / 2) / (len(shares) - 1)

    return {
        place: RewardValue.known(rank(share_value.value))
        for place, share_value in share_by_place.items()
        if share_value.value is not None
    }
