"""The ``--json`` output of ``adjudge follow``, as types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from adjudge.runs.exporters.documents import Envelope


class RoundShape(TypedDict):
    """The result of one round of follow."""

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
    unscored: Annotated[int, "judged, without a score"]
    skipped: Annotated[int, "rows that were not to be judged, as after a failed check"]
    without_number: Annotated[int, "rows whose verdict has no number"]
    events: Annotated[int, "of the same days, judged or not"]
    covered: Annotated[int | None, "events that the rate stands for; skipped rows are not of it"]
    mean: Annotated[float | None, "of the rows with a score"]
    lowest: Annotated[float | None, "the mean if every row without a score were the worst"]
    highest: Annotated[float | None, "the mean if every row without a score were the best"]
    lower: Annotated[float | None, "holds whatever the rows without a score are"]
    upper: float | None


class AlarmShape(TypedDict):
    """An alarm: a rate fell below its bar, or a mean count rose above it."""

    judge: str
    criteria: str
    bar: float
    evidence: Annotated[float, "from 20 on it is an alarm"]
    unscored: Annotated[int, "rows of the day without a score, each taken as good"]
    raised: bool
    above: Annotated[bool, "true: a mean count that must not be above its bar"]


class Traffic(Envelope):
    """follow: one document for each round, on a line of its own."""

    kind: Literal["traffic"]
    summary: RoundShape
    alarms: Sequence[AlarmShape]
    results: Sequence[TrafficRateShape]
