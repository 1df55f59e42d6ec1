"""From which confidence on a learned verdict may stand in for an expensive judge's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.stats.mean_bounds import Units

RISK = 0.02
DELTA = 0.05
_FIRST_SHARE, _STEP = 0.2, 0.05
"""Which shares of the rows are tried: fixed before the labels are seen."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A threshold and its promise: accepting from it on adds at most ``risk`` errors per row to
    those of the expensive judge, except with probability ``delta``.
    """

    confidence: float | None
    """None: never accept."""
    risk: float
    delta: float
    rows: int
    """Rows that set the threshold."""
    accepted: int
    worse: int
    """Accepted rows that the learned judge gets wrong and the expensive one right."""
    better: int
    reference: str
    """The expensive judge; empty if it is taken to be always right."""
    proven: bool
    """False if the head has learned from other parts of the same rows (``--cross``)."""

    @property
    def share(self) -> float:
        """Expected share of rows that need no call."""
        return self.accepted / self.rows if self.rows and self.confidence is not None else 0.0

    def to_dict(self) -> JsonDict:
        return some_of(self, *self.__slots__)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Acceptance:
        """Raise a ValueError or TypeError if ``kept`` is not what ``to_dict`` gives."""
        found = cls(**kept)
        shares = (
            found.risk,
            found.delta,
            *([] if found.confidence is None else [found.confidence]),
        )
        counts = (found.rows, found.accepted, found.worse, found.better)
        if not all(type(one) is float and 0 < one <= 1 for one in shares):
            raise ValueError("shares")
        if not all(type(one) is int and 0 <= one <= found.rows for one in counts):
            raise ValueError("counts")
        if type(found.reference) is not str or type(found.proven) is not bool:
            raise TypeError("acceptance")
        return found

    def lines(self) -> list[Message]:
        reference = self.reference or Message("the labels")
        if self.confidence is None:
            return [
                Message(
                    "never accept: {rows} rows do not show that at most {risk:.1%} more "
                    "errors than {reference} are made",
                    rows=self.rows,
                    risk=self.risk,
                    reference=reference,
                )
            ]
        said = [
            Message(
                "accept from a confidence of {confidence:.3f} on: {accepted} of {rows} rows "
                "({share:.0%}) need no call; {worse} of them get worse and {better} better than by "
                "{reference}",
                **some_of(self, "confidence", "accepted", "rows", "worse", "better"),
                share=self.share,
                reference=reference,
            )
        ]
        if self.proven:
            said.append(
                Message(
                    "promise: at most {risk:.1%} more errors than {reference} alone, except with "
                    "probability {delta:g}",
                    **some_of(self, "risk", "delta"),
                    reference=reference,
                )
            )
        else:
            said.append(
                Message(
                    "not proven: the threshold was set by cross-validation on the rows that the "
                    "judge learned from"
                )
            )
        return said


def acceptance(
    confidences: Sequence[float],
    harm: Sequence[int],
    *,
    reference: str,
    proven: bool,
    risk: float = RISK,
    delta: float = DELTA,
) -> Acceptance:
    """The lowest threshold that keeps the promise, by fixed-sequence testing from the most
    confident rows down.

    ``harm``: per row 1 if only the learned judge is wrong, −1 if only the expensive one is, else 0.
    """
    order = sorted(range(len(harm)), key=lambda place: (-confidences[place], place))
    held: int | None = None
    for wanted in _counts(len(order)):
        count = wanted
        while count < len(order) and confidences[order[count]] == confidences[order[count - 1]]:
            count += 1  # equal confidences cannot be told apart
        added = Counter(harm[place] for place in order[:count])
        added[0] += len(order) - count
        units = Units()
        for value, number in sorted(added.items()):
            if number:
                units.add(float(value), units=number)
        if units.upper(1.0, delta) > risk:
            break
        held = count
    chosen = order[: held or 0]
    return Acceptance(
        # rounded down, so that the row that set it is accepted
        math.floor(confidences[chosen[-1]] * 1e6) / 1e6 if chosen else None,
        risk,
        delta,
        len(order),
        len(chosen),
        sum(harm[place] == 1 for place in chosen),
        sum(harm[place] == -1 for place in chosen),
        reference,
        proven,
    )


def _counts(rows: int) -> list[int]:
    steps = round((1 - _FIRST_SHARE) / _STEP)
    counts = [math.ceil(rows * (_FIRST_SHARE + _STEP * step)) for step in range(steps + 1)]
    return [count for count in dict.fromkeys(counts) if count]
