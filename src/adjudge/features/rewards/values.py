"""Rewards of single completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adjudge.messages import Message, join


@dataclass(frozen=True)
class RewardValue:
    """The reward of a completion, or the reason why it has none."""

    value: float | None
    """The reward; None if a part that counts has no verdict. A failure is never replaced by a
    number.
    """
    reason: str | None = None
    lower: float | None = None
    """Least possible reward, whatever the missing verdicts are; None if unknown."""
    upper: float | None = None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    """Name of a part → its own value, before weights."""

    @classmethod
    def known(cls, value: float) -> RewardValue:
        """Return a certain reward, whose bounds are the value itself."""
        return cls(value, None, value, value)

    @classmethod
    def missing(
        cls, reason: str, lower: float | None = None, upper: float | None = None
    ) -> RewardValue:
        """Return a missing reward with the reason and, if known, bounds."""
        return cls(None, reason, lower, upper)


def combine(weighted: Sequence[tuple[str, float, RewardValue]]) -> RewardValue:
    """Return the weighted mean of parts (name, weight, value); None if one that counts is missing.

    Parts of weight 0 are kept for the record and change nothing.
    """
    values = {name: value.value for name, _, value in weighted}
    counted = [(name, weight, value) for name, weight, value in weighted if weight > 0]
    total = sum(weight for _, weight, _ in counted)

    def mean(numbers: Sequence[float | None]) -> float | None:
        present = [number for number in numbers if number is not None]
        if len(present) < len(numbers):
            return None
        return (
            sum(weight * number for (_, weight, _), number in zip(counted, present, strict=True))
            / total
        )

    reasons = [
        Message("{name}: {reason}", name=name, reason=value.reason or Message("no verdict"))
        if len(weighted) > 1
        else value.reason or Message("no verdict")
        for name, _, value in counted
        if value.value is None
    ]
    return RewardValue(
        mean([value.value for _, _, value in counted]),
        join("; ", reasons) if reasons else None,
        mean([value.lower for _, _, value in counted]),
        mean([value.upper for _, _, value in counted]),
        values,
    )
