"""Decisions about a group or an eval file in pytest, and comparisons with another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import copysign
from pathlib import Path

from adjudge.errors import SetupError
from adjudge.features.integrations.pytest_text import LowestCases, Render, Undecided
from adjudge.messages import Message, Values, join, plural, term
from adjudge.runs.folder import run_info
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.results.paired_gate import check_against, paired_gates, refuse_itself
from adjudge.runs.results.pairing import pairing_message
from adjudge.runs.results.setup import Setup

GATE_ORDER = ("failed", "inconclusive", "holds")


@dataclass(frozen=True)
class Decision:
    """The decision about a group."""

    title: Message
    verdict: str
    """"holds", "failed" or "inconclusive"."""
    message: Message
    properties: Sequence[tuple[str, object]] = ()
    cases: Sequence[str] = ()
    """The cases that speak most against it, in lines to read."""
    test: str = ""
    """The test whose cases they are, with its file and its class."""

    @property
    def function(self) -> str:
        """The test function's name alone, which need not be unique."""
        return self.test.rpartition("::")[2]


@dataclass(frozen=True)
class NotWorse:
    """The result of comparing two runs; false if this one is worse."""

    gates: tuple[GateResult, ...]
    _render: Render = field(default=str, repr=False, compare=False)

    def __bool__(self) -> bool:
        return all(gate.verdict == "holds" for gate in self.gates)

    def __repr__(self) -> str:
        return self._render(join("; ", map(describe_difference, self.gates)))


@dataclass(frozen=True)
class JudgedRun:
    """An eval file that was run."""

    outcome: RunOutcome
    folder: Path
    root: Path
    _lowest: LowestCases = field(repr=False, compare=False)
    _undecided: Undecided = field(repr=False, compare=False)
    _render: Render = field(repr=False, compare=False)

    def must_hold(self) -> None:
        """Fail the test unless every gate of the file passes."""
        __tracebackhide__ = True
        self._decide(self.outcome.report().gates)

    def not_worse_than(
        self, other: str | Path, margin: float = 0.0, confidence: float = 0.95
    ) -> NotWorse:
        """Compare row by row with the run in the folder ``other``.

        The result is true or false; if it cannot be decided, the test ends undecided.
        """
        refuse_itself(self.root / other, self.folder)

        setup = replace(
            Setup.of_run(run_info(self.folder)),
            against=str(self.root / other),
            against_place=str((self.root / other).absolute()),
            margin=margin,
            confidence=confidence,
        )
        check_against(setup)
        gates = tuple(paired_gates(setup, self.folder))
        result = NotWorse(gates, self._render)
        if worst_of(gates) == "inconclusive":
            self._undecided(repr(result))
        return result

    def _decide(self, gates: Sequence[GateResult]) -> None:
        __tracebackhide__ = True
        if not gates:
            raise SetupError(
                "{path} has no gates: add gates with fail_under", path=self.outcome.plan.file.path
            )
        reasons = join(" ", (gate.sentence() for gate in gates if gate.verdict != "holds"))
        if worst_of(gates) == "failed":
            cases = self._lowest.lines(self._render)
            raise AssertionError("\n".join((self._render(reasons), *cases)))
        if reasons:
            self._undecided(reasons)


def worst_of(gates: Sequence[GateResult]) -> str:
    """Return the worst verdict: failed, else inconclusive, else holds.

    Without any gates, the result is inconclusive.
    """
    return next(
        (verdict for verdict in GATE_ORDER if verdict in {gate.verdict for gate in gates}),
        "inconclusive",
    )


def describe_difference(gate: GateResult) -> Message:
    """Describe the difference in points, and the rows that it is based on.

    With a margin, or on another scale than 0 to 1, it is the gate's sentence: "worse" and "cannot
    tell" are then not the outcome, or the difference is not in points.
    """
    if gate.baseline_stopped or gate.is_baseline_gone or gate.bar or not gate.in_points:
        return gate.sentence()
    if gate.pairing is None:
        return _points(gate)
    if not gate.pairing.paired or gate.value is None:
        return gate.sentence()
    return join("; ", (_points(gate), pairing_message(gate.pairing)))


def _points(gate: GateResult) -> Message:
    """Example: "worse by 4.1 points (95% −7.0…−1.2), 212 shared rows"."""
    shared = plural("{count:,} shared row", "{count:,} shared rows", gate.rows - gate.missing)
    if not gate.same_judge:
        shared = Message("{shared}, by another judge", shared=shared)
    if gate.value is None or not gate.sure:
        return Message(
            "{name}: indistinguishable from {against}, {shared}",
            name=gate.name,
            against=gate.against,
            shared=shared,
        )
    if gate.unchanged:
        return Message("{name}: nothing changed, {shared}", name=gate.name, shared=shared)
    values: Values = {
        "name": gate.name,
        "level": 100 * (gate.confidence or 0),
        "lower": _signed(100 * gate.lower),
        "upper": _signed(100 * gate.upper),
        "shared": shared,
    }
    if gate.lower <= 0 <= gate.upper:
        return Message(
            "{name}: cannot tell: change {change} points ({level:.0f}% {lower}…{upper}), {shared}",
            change=_signed(100 * gate.value),
            **values,
        )
    is_worse = gate.value < 0
    return Message(
        "{name}: {differs} by {points:.1f} points ({level:.0f}% {lower}…{upper}), {shared}",
        differs=term("difference", "worse") if is_worse else term("difference", "better"),
        points=abs(100 * gate.value),
        **values,
    )


def _signed(value: float) -> Message:
    return Message("{sign}{size:.1f}", sign="−" if copysign(1, value) < 0 else "+", size=abs(value))
