"""The course of a run: usage and outcome of its votes in stretches of time."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudge.core.domain.message import Usage
from adjudge.core.ledger.file import USAGE

STRETCHES = 24
_FAILED = "('unreadable', 'refused', 'model_error')"


@dataclass
class Stretch:
    """A part of the run's time, with the votes that came in it."""

    begins: float
    """Seconds since the first vote."""
    votes: int = 0
    failed: int = 0
    """Votes without a verdict, except for abstentions."""
    seconds: float = 0.0
    """Total time of the replies."""
    used: dict[str, Usage] = field(default_factory=dict)
    """Tokens and calls of each model."""

    @property
    def latency(self) -> float | None:
        return self.seconds / self.votes if self.votes else None

    @property
    def tokens(self) -> int:
        return sum(usage.prompt_tokens + usage.completion_tokens for usage in self.used.values())


def course_of(connection: sqlite3.Connection) -> list[Stretch]:
    """Return the votes of a run in stretches of equal length; none if all votes have one time or no
    time. Every vote is read.
    """
    ends = "SELECT min(at), max(at) FROM votes WHERE at > 0"
    start, end = connection.execute(ends).fetchone()
    if start is None or end <= start:
        return []
    width = (end - start) / STRETCHES
    stretches = [Stretch(place * width) for place in range(STRETCHES)]
    query = (
        "SELECT min(CAST((at - :first) / :width AS INTEGER), :last) AS place, "  # noqa: S608
        f"model, count(*), sum(outcome IN {_FAILED}), sum(latency), {USAGE} "
        "FROM votes WHERE at > 0 GROUP BY place, model"
    )
    values: Mapping[str, float] = {"first": start, "width": width, "last": STRETCHES - 1}
    for place, model, votes, failed, seconds, *used in connection.execute(query, values):
        stretch = stretches[place]
        stretch.votes += votes
        stretch.failed += failed
        stretch.seconds += seconds or 0.0
        stretch.used[str(model)] = Usage(*used)
    return stretches
