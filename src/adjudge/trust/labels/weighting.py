"""Draw rows with different but known chances.

The kind of a row decides how often it is drawn: whether the judge is unsure of it, whether its
votes contradict each other, or its value in a column; within its verdict. Within a verdict and a
kind, rows come in the order of the one permutation of all rows. So the labels of a verdict and a
kind are a random sample of its rows wherever labelling stops, and remain one if rows are added that
were drawn among all rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.slices import value_in
from adjudge.errors import SetupError

WeightedQueue = Literal["random-uncertain", "random-disagreement", "random-stratified"]
WEIGHTED: tuple[WeightedQueue, ...] = get_args(WeightedQueue)
OFTENER = 1.5
"""How many times as often a row is drawn that the judge is unsure of, or that votes differ on: more
leaves too few of the others, whose rare errors then have wide limits (``benchmarks/active.py``).
"""
FEWEST = 5
"""Rows of each verdict and kind that are drawn at least, where there are so many."""
MOST_KINDS = 8
"""Values of a column that rows may be drawn apart by."""
_ABOVE, _BELOW = ("unsure", "sure"), ("divided", "united")


@dataclass(frozen=True)
class Weighting:
    """The basis of the rows' chances."""

    queue: WeightedQueue
    by: str = ""
    """Above which doubt rows are drawn more often, or by which column they are drawn apart."""

    @classmethod
    def read(cls, text: str) -> Weighting:
        """Parse the output of ``str``. Raises a SetupError for anything else."""
        name, _, by = text.partition(":")
        for queue in WEIGHTED:
            if name == queue and (queue == "random-stratified" or _is_number(by)):
                return cls(queue, by)
        raise SetupError(
            "drawn_by is {text!r}, which no queue of adjudge writes: take it from an export of "
            "labels",
            text=text,
        )

    def __str__(self) -> str:
        return f"{self.queue}:{self.by}"

    @property
    def reads_votes(self) -> bool:
        """True if the kind of a row depends on its votes."""
        return self.queue == "random-uncertain"

    def kind(self, record: JudgmentRecord) -> str:
        """Return the kind of a row with a verdict. Rows without a verdict have the empty kind."""
        if self.queue == "random-stratified":
            return value_in(record, self.by) if self.by else ""
        return self.kind_of_signal(signal(record, self.queue))

    def kind_of_signal(self, doubt: float) -> str:
        """Like ``kind``, but based on the doubt about the verdict."""
        above, below = _ABOVE if self.reads_votes else _BELOW
        return above if doubt > float(self.by) else below


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def signal(record: JudgmentRecord, queue: str) -> float:
    """Return the doubt about a verdict: how unsure the votes are for ``random-uncertain``, else how
    much they differ.
    """
    return doubt(record) if queue == "random-uncertain" else dispute(record)


def dispute(result: JudgmentRecord) -> float:
    """Return how much the votes on a row conflict: through splits, order effects, ties, or a
    divided panel.
    """
    bias = result.positional_bias
    flipped = bias is not None and bool(bias.detected)
    divided = len(set(result.model_scores.values())) > 1
    return _doubt_of_share(result.agreement) + flipped + divided + result.tie


def doubt(result: JudgmentRecord) -> float:
    """Return how unsure the votes are, from their verdicts' probabilities if known, else from their
    agreement.
    """
    read = [vote for vote in result.votes or () if vote.distribution is not None]
    doubts = [_doubt_of_share(vote.probability) for vote in read]
    return max(doubts or [_doubt_of_share(result.agreement)]) + result.low_confidence


def _doubt_of_share(share: float | None) -> float:
    return 0.0 if share is None else 1 - share


Kind = tuple[str, str]
"""A verdict, and the kind of its rows."""


def quotas(rows: Mapping[Kind, int], queue: WeightedQueue, count: int) -> dict[Kind, int]:
    """Return how many rows of each verdict and kind make up about ``count``.

    A larger ``count`` never reduces any of them.
    """
    if queue == "random-stratified":
        weights = {kind: math.sqrt(number) for kind, number in rows.items()}
    else:
        oftener = (_ABOVE[0], _BELOW[0])
        weights = {
            kind: number * (OFTENER if kind[1] in oftener else 1.0) for kind, number in rows.items()
        }
    total = math.fsum(weights.values())
    return {
        kind: min(number, max(FEWEST, math.ceil(count * weights[kind] / total)))
        for kind, number in rows.items()
    }


def turn(seed: int, identity: str, rank: int, quota: int) -> float:
    """Return a row's position in the queue, from 0 to 1, based on its rank within its kind.

    Kinds are spread over the queue, so that the position does not reveal the verdict.
    """
    digest = hashlib.sha256(f"{seed} turn:{identity}".encode()).digest()
    return (rank + int.from_bytes(digest[:7]) / 2**56) / quota
