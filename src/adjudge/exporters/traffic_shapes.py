"""What ``follow`` prints, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict


class RoundShape(TypedDict):
    """What one round of follow came to."""

    day: str
    events: Annotated[int, "new ones"]
    duplicates: Annotated[int, "events that were known"]
    chosen: int
    late: Annotated[int, "spans of traces that had been taken for whole"]
    bad: Annotated[Sequence[str], "what could not be read: where, and why"]
    judged: int
    waiting: Annotated[int, "chosen rows that are not judged, since the budget is spent"]
    away: Annotated[str | None, "why the source gave or took nothing, where it should have"]
    sent: Annotated[int, "verdicts that were written back"]


class TrafficRateShape(TypedDict):
    """The mean score of the traffic by one criterion."""

    judge: str
    criteria: str
    rows: Annotated[int, "judged, with a score"]
    unscored: int
    events: Annotated[int, "of the same days, judged or not"]
    mean: float | None
    lower: float | None
    upper: float | None


class AlarmShape(TypedDict):
    """Whether a rate has fallen below its bar, or a mean count has risen above it."""

    judge: str
    criteria: str
    bar: float
    evidence: Annotated[float, "from 20 on it is an alarm"]
    raised: bool
    above: Annotated[bool, "true: a mean count that must not be above its bar"]
