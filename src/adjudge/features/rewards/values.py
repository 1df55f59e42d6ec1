"""Rewards of single completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adjudge.messages import Message, join


@dataclass(frozen=True)
class RewardValue:
    """The reward of a completion, or the reason why it has none."""

    value: float | None
    """None if a part that counts has no verdict: never a number that stands for a failure."""
    reason: str | None = None
    lower: float | None = None
    """What the reward is at least, whatever the missing verdicts are; None if that is not known."""
    upper: float | None = None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    """Name of a part → its own value, before weights."""

    @classmethod
    def known(cls, value: float) -> RewardValue:
        """Return a reward without doubt."""
        return cls(value, None, value, value)

    @classmethod
    def missing(
        cls, reason: str, lower: float | None = None, upper: float | None = None
    ) -> RewardValue:
        """Return no reward, for a reason."""
        return cls(None, reason, lower, upper)


def combine(weighted: Sequence[tuple[str, float, RewardValue]]) -> RewardValue:
    """Return the weighted mean of parts (name, weight, value); None if one that counts is missing.

    Parts of weight 0 are kept for the record and change nothing.
    """
    values = {name: one.value for name, _, one in weighted}
    counted = [(name, weight, one) for name, weight, one in weighted if weight > 0]
    total = sum(weight for _, weight, _ in counted)

    def mean(numbers: Sequence[float | None]) -> float | None:
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            return None
        return (
            sum(weight * number for (_, weight, _), number in zip(counted, known, strict=True))
            / total
        )

    reasons = [
        Message("{name}: {reason}", name=name, reason=one.reason or Message("no verdict"))
        if len(weighted) > 1
        else one.reason or Message("no verdict")
        for name, _, one in counted
        if one.value is None
    ]
    return RewardValue(
        mean([one.value for _, _, one in counted]),
        join("; ", reasons) if reasons else None,
        mean([one.lower for _, _, one in counted]),
        mean([one.upper for _, _, one in counted]),
        values,
    )
