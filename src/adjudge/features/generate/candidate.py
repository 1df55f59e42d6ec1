"""The result of a strategy: all candidates, their tries, and the choice of the winner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.sampled import SampledResult
from adjudge.core.pooling.numbers import spread
from adjudge.errors import NoValidCandidate
from adjudge.messages import Message, join

State = Literal["won", "lost", "failed", "stopped"]


class TryShape(TypedDict):
    """One version of a candidate's code, and its checks."""

    code: str
    reasons: Annotated[Sequence[str], "why it may not be used; empty if it may"]
    cost: float | None
    no_cost: Annotated[str | None, "why the cost of a usable version is unknown"]
    results: Annotated[Sequence[object], "of every criterion, with its samples"]


class CandidateShape(TypedDict):
    """A candidate's attempts and their outcome."""

    number: int
    state: str
    why: str
    code: str
    cost: float | None
    tries: Sequence[TryShape]


class FreshCostShape(TypedDict):
    """The winner's cost from samples that had no part in its choice."""

    cost: float | None
    reason: str | None


class SelectionShape(TypedDict):
    """The code that was written for a task, and the code that was chosen."""

    task: str
    output: object
    stdout: str
    winner: int | None
    cost: float | None
    compared: Annotated[int, "candidates with a cost"]
    cost_spread: float | None
    cost_is: str
    fresh: FreshCostShape | None
    candidates: Sequence[CandidateShape]


@dataclass(frozen=True, kw_only=True)
class Try:
    """One attempt of one candidate."""

    text: str = ""
    """The written text, unchanged."""
    code: str = ""
    """The code in it; of plain text the text itself."""
    reasons: tuple[str, ...] = ()
    """Reasons against its use; empty if it may be used."""
    no_verdict: tuple[str, ...] = ()
    """Those of the reasons that are a judge's failure, not the candidate's: writers are not told.
    """
    results: tuple[SampledResult, ...] = ()
    """Results of every criterion with all samples, also of those asked inside functions and
    subclasses.
    """
    cost: float | None = None
    no_cost: str | None = None
    """The reason why the cost of a usable try is unknown; it ranks after every known cost."""

    @property
    def valid(self) -> bool:
        return not self.reasons

    @property
    def feedback(self) -> tuple[str, ...]:
        """The reasons that are reported to the writer."""
        return tuple(reason for reason in self.reasons if reason not in self.no_verdict)

    def to_dict(self) -> JsonDict:
        return fill(TryShape, self)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A series of attempts and their outcome."""

    number: int
    """Number from 1 up; of equals the earlier wins."""
    tries: tuple[Try, ...]
    state: State
    why: str
    """The reason why it won, lost, failed or was stopped."""

    @property
    def code(self) -> str:
        return self.tries[-1].code if self.tries else ""

    @property
    def cost(self) -> float | None:
        """The cost of its last try."""
        return self.tries[-1].cost if self.tries else None

    @property
    def results(self) -> tuple[SampledResult, ...]:
        """The criteria's results on its last try."""
        return self.tries[-1].results if self.tries else ()

    def to_dict(self) -> JsonDict:
        return fill(CandidateShape, self)


@dataclass(frozen=True, kw_only=True)
class FreshCost:
    """The winner's cost from samples that had no part in its choice."""

    cost: float | None
    """The cost; None if it could not be measured: then ``reason`` says why."""
    results: tuple[SampledResult, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """All candidates, the winner, and how it was chosen.

    On average, the cheapest of several noisy costs looks cheaper than it really is, and more so
    with more candidates and a wider spread. That is why ``cost`` comes with ``compared`` and
    ``cost_spread``, and why ``fresh`` can be requested.
    """

    task: str
    candidates: tuple[Candidate, ...]
    output: object = None
    """The value that the winner's code left in ``output``; for plain text the text."""
    raw: object = None
    """The output as plain JSON, before it was converted to ``output_schema``."""
    stdout: str = ""
    """Text that the winner's code printed."""
    cost_is: str = "lower"
    fresh: FreshCost | None = None

    @property
    def winner(self) -> Candidate | None:
        """The chosen candidate; None if there is none."""
        return next((candidate for candidate in self.candidates if candidate.state == "won"), None)

    @property
    def cost(self) -> float | None:
        """The winner's cost when it was chosen; None without a winner."""
        return self.winner.cost if self.winner else None

    @property
    def compared(self) -> int:
        """Number of candidates with a cost to compare."""
        return len(self._costs)

    @property
    def cost_spread(self) -> float | None:
        """Standard deviation of the candidates' costs; None with fewer than two."""
        return spread(self._costs)

    @property
    def _costs(self) -> Sequence[float]:
        return [candidate.cost for candidate in self.candidates if candidate.cost is not None]

    def to_dict(self) -> JsonDict:
        return fill(
            SelectionShape,
            self,
            output=self.raw,
            winner=self.winner.number if self.winner else None,
            fresh=fill(FreshCostShape, self.fresh) if self.fresh else None,
        )


def nothing_valid(selection: Selection) -> NoValidCandidate:
    """Return the error that lists the reasons against each try of each candidate."""
    lines = [
        Message(
            "candidate {number}, try {attempt}: {reasons}",
            number=candidate.number,
            attempt=number,
            reasons=join("; ", attempt.reasons),
        )
        for candidate in selection.candidates
        for number, attempt in enumerate(candidate.tries, 1)
    ]
    return NoValidCandidate(join("\n", [Message("no usable candidate:"), *lines]), selection)
