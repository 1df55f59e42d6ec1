"""The confidence from which a learned verdict may replace an expensive judge's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.stats.mean_bounds import Units

RISK = 0.02
DELTA = 0.05
# The shares of rows to test, fixed before the labels are seen.
_FIRST_SHARE, _STEP = 0.2, 0.05


class AcceptanceShape(TypedDict):
    """A confidence threshold, and the risk that it guarantees."""

    confidence: Annotated[float | None, "null: never accept"]
    risk: float
    delta: float
    rows: Annotated[int, "rows that set the threshold"]
    accepted: int
    worse: Annotated[int, "accepted rows that it gets wrong and the expensive judge right"]
    better: int
    reference: Annotated[str, "the expensive judge; empty if it is taken to be always right"]
    proven: Annotated[bool, "false if the head has learned from parts of the same rows"]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A confidence threshold, and the risk that it guarantees.

    With a probability of at least 1 − ``delta``, accepting verdicts from this confidence on adds at
    most ``risk`` errors per row to those of the expensive judge.
    """

    confidence: float | None
    """The threshold; None: never accept."""
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

    @property
    def is_justified(self) -> bool:
        """True if the counts show the risk, as they must for anyone who reads the file."""
        added = {1: self.worse, -1: self.better, 0: self.rows - self.worse - self.better}
        return _most_added(added, self.delta) <= self.risk

    def to_dict(self) -> JsonDict:
        return fill(AcceptanceShape, self)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Acceptance:
        """Rebuild an acceptance from ``to_dict``; raise a ValueError or TypeError for anything
        else.
        """
        acceptance = cls(**kept)
        shares = (
            acceptance.risk,
            acceptance.delta,
            *([] if acceptance.confidence is None else [acceptance.confidence]),
        )
        counts = (acceptance.rows, acceptance.accepted, acceptance.worse, acceptance.better)
        if not all(type(number) is float and 0 < number <= 1 for number in shares):
            raise ValueError("shares")
        if not all(type(number) is int and 0 <= number <= acceptance.rows for number in counts):
            raise ValueError("counts")
        is_set = acceptance.confidence is not None
        if acceptance.worse + acceptance.better > acceptance.accepted or is_set != bool(
            acceptance.accepted
        ):
            raise ValueError("counts")
        if is_set and not acceptance.is_justified:
            raise ValueError("the counts do not show the risk")
        if type(acceptance.reference) is not str or type(acceptance.proven) is not bool:
            raise TypeError("acceptance")
        return acceptance

    def lines(self) -> list[Message]:
        reference = self.reference or Message("the labels")
        if self.confidence is None:
            return [
                Message(
                    "never accept: {rows} rows do not show that there are at most {risk:.1%} "
                    "more errors than with {reference}",
                    rows=self.rows,
                    risk=self.risk,
                    reference=reference,
                )
            ]
        messages = [
            Message(
                "accept if the confidence is at least {confidence:.3f}: {accepted} of {rows} "
                "rows ({share:.0%}) need no call; compared with {reference}, {worse} of them get "
                "worse and {better} get better",
                **some_of(self, "confidence", "accepted", "rows", "worse", "better"),
                share=self.share,
                reference=reference,
            )
        ]
        if self.proven:
            messages.append(
                Message(
                    "promise: at most {risk:.1%} more errors than {reference} alone, except with "
                    "probability {delta:g}",
                    **some_of(self, "risk", "delta"),
                    reference=reference,
                )
            )
        else:
            messages.append(
                Message(
                    "not proven: the threshold was set by cross-validation on the rows that the "
                    "judge learned from"
                )
            )
        return messages


def acceptance(
    confidences: Sequence[float],
    harm: Sequence[int],
    *,
    reference: str,
    proven: bool,
    risk: float = RISK,
    delta: float = DELTA,
) -> Acceptance:
    """Return the lowest threshold that keeps the added errors per row within `risk`.

    Fixed-sequence testing: start with the most confident rows and stop at the first failure. `harm`
    holds, for each row, 1 if only the learned judge is wrong, −1 if only the expensive one is, else
    0.
    """
    order = sorted(range(len(harm)), key=lambda place: (-confidences[place], place))
    accepted_count: int | None = None
    for target in _counts(len(order)):
        count = target
        while count < len(order) and confidences[order[count]] == confidences[order[count - 1]]:
            count += 1  # equal confidences cannot be told apart
        added = Counter(harm[place] for place in order[:count])
        added[0] += len(order) - count
        # Stop at the first failure: testing further thresholds would break the promise.
        if _most_added(added, delta) > risk:
            break
        accepted_count = count
    accepted = order[: accepted_count or 0]
    return Acceptance(
        # rounded down, so that the row that set it is accepted
        math.floor(confidences[accepted[-1]] * 1e6) / 1e6 if accepted else None,
        risk,
        delta,
        len(order),
        len(accepted),
        sum(harm[place] == 1 for place in accepted),
        sum(harm[place] == -1 for place in accepted),
        reference,
        proven,
    )


def _most_added(added: Mapping[int, int], delta: float) -> float:
    """Return the upper limit of the added errors per row, by their number."""
    units = Units()
    for value, number in sorted(added.items()):
        if number:
            units.add(float(value), units=number)
    return units.upper(1.0, delta)


def _counts(rows: int) -> list[int]:
    """Return how many rows each test accepts."""
    steps = round((1 - _FIRST_SHARE) / _STEP)
    counts = [math.ceil(rows * (_FIRST_SHARE + _STEP * step)) for step in range(steps + 1)]
    return [count for count in dict.fromkeys(counts) if count]
