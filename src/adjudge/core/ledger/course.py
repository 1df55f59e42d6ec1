"""How a run went: what its votes took, and how they ended, stretch by stretch of its time."""

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
    """A part of the time in which votes came."""

    begins: float
    """Seconds since the first vote."""
    votes: int = 0
    failed: int = 0
    """Votes that brought no verdict and did not say so."""
    seconds: float = 0.0
    """That replies took, all together."""
    used: dict[str, Usage] = field(default_factory=dict)
    """Tokens and calls of each model."""

    @property
    def latency(self) -> float | None:
        return self.seconds / self.votes if self.votes else None

    @property
    def tokens(self) -> int:
        return sum(one.prompt_tokens + one.completion_tokens for one in self.used.values())


def course_of(connection: sqlite3.Connection) -> list[Stretch]:
    """The votes of a run in stretches of equal length; none where no time is kept, or one moment
    alone. Every vote is read.
    """
    ends = "SELECT min(at), max(at) FROM votes WHERE at > 0"
    first, last = connection.execute(ends).fetchone()
    if first is None or last <= first:
        return []
    width = (last - first) / STRETCHES
    found = [Stretch(place * width) for place in range(STRETCHES)]
    query = (
        "SELECT min(CAST((at - :first) / :width AS INTEGER), :last) AS place, "  # noqa: S608
        f"model, count(*), sum(outcome IN {_FAILED}), sum(latency), {USAGE} "
        "FROM votes WHERE at > 0 GROUP BY place, model"
    )
    values: Mapping[str, float] = {"first": first, "width": width, "last": STRETCHES - 1}
    for place, model, votes, failed, seconds, *used in connection.execute(query, values):
        own = found[place]
        own.votes += votes
        own.failed += failed
        own.seconds += seconds or 0.0
        own.used[str(model)] = Usage(*used)
    return found
