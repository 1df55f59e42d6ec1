"""Figures with their intervals, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypedDict

from adjudge.messages import Message

JsonFigures = dict[str, float | str | None]
"""Figures as a JSON object."""


@dataclass(frozen=True)
class Figure:
    """A number; None with a ``reason`` if the data do not define it. It is never NaN."""

    value: float | None
    reason: str = ""


NO_ROWS = Figure(None, Message("no rows"))


class FigureShape(TypedDict):
    """A figure with its interval."""

    value: Annotated[float | None, "null where it is not defined: see the reason"]
    lower: float | None
    upper: float | None
    n: Annotated[int, "rows that it stands on"]
    reason: str


@dataclass(frozen=True)
class Estimate:
    """A number and its interval. Missing parts have a ``reason``.

    Example: ``Estimate(0.8, 0.7, 0.9, 100, "share")``
    """

    value: float | None
    lower: float | None
    upper: float | None
    count: int
    """Number of rows, labels or pairs behind it."""
    method: str
    level: float = 0.95
    reason: str = ""

    @property
    def width(self) -> float | None:
        """The distance between the limits; None without limits."""
        return None if self.lower is None or self.upper is None else self.upper - self.lower

    def say(self, sentence: Message, limits: Message) -> Message:
        """Fill the value and its limits into the sentence, or say why they are missing."""
        if self.value is None or self.width is None:
            return Message("not measured: {reason}", reason=self.reason)
        between = Message(limits, lower=self.lower, upper=self.upper, count=self.count)
        return Message(sentence, value=self.value, limits=between)

    def to_dict(self) -> JsonFigures:
        return {
            "value": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "n": self.count,
            "reason": self.reason,
        }


def undefined(method: str, count: int, reason: str, *, level: float = 0.95) -> Estimate:
    """Return an estimate without a number, but with a reason."""
    return Estimate(None, None, None, count, method, level, reason)
