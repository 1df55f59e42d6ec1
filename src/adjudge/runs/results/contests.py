"""Wins, ties and losses of the compared systems, and the effect of the order in which the judge
sees them.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord, OrderCheck
from adjudge.core.domain.repetition import Unit
from adjudge.messages import Message, join, plural
from adjudge.runs.numbers import figure
from adjudge.runs.results.order_rates import order_rates
from adjudge.runs.results.summary import (
    NONE_OPEN,
    UNSURE,
    GateConfidence,
    IntervalShape,
    LostRows,
    OpenScores,
    interval_dict,
    interval_of,
    mean_bounds,
)

if TYPE_CHECKING:
    from adjudge.runs.results.order_rates import OrderRates
    from adjudge.stats.intervals import Interval

_OUTCOMES: Mapping[float, str] = {1.0: "wins", 0.5: "ties", 0.0: "losses"}
_STRONG = 0.2
"""The share of verdicts that may turn with the order before it has to be said wherever a decision
is.
"""


class SystemShape(TypedDict):
    """The results of one of the compared systems."""

    system: str
    wins: int
    ties: int
    losses: int
    win_rate: float | None
    interval: IntervalShape | None
    missing: int


@dataclass(frozen=True)
class SystemSummary:
    """The results of one system against the others, on rows with a score.

    If one contest of a row has no outcome, none of its contests counts.
    """

    name: str
    wins: int
    ties: int
    losses: int
    winrate: float | None
    """Mean over the rows; a tie counts a half. None without a row that has an outcome."""
    interval: Interval | None
    """The interval of the win rate; None with too few rows."""
    missing: int
    """Rows without an outcome."""
    rows: int
    confident: Interval | None = None
    """Limits of the win rate, at the confidence that gates ask for. They hold whatever the rows
    without an outcome are.
    """
    one_order: int = 0
    """Rows with an outcome that were asked in both orders and have a verdict in one only."""
    one_order_wins: float = 0.0
    """Sum of the win rates on these rows."""
    opened: OpenScores = NONE_OPEN
    """Win rates of rows that lost votes could change, but for rows on one order."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The win rate if all rows without an outcome were lost, and if all were won.

        The bounds also cover changes that lost votes could cause.
        """
        bounds = mean_bounds(self.winrate, self.rows, self.missing)
        return self.opened.widen(bounds, self.rows + self.missing)

    def to_dict(self) -> JsonDict:
        interval = interval_dict(self.interval)
        return fill(SystemShape, self, system=self.name, win_rate=self.winrate, interval=interval)


class OrderShape(TypedDict):
    """The changes that another order of the responses made."""

    rows: int
    turned: int
    flip_rate: float | None
    noise_rate: float | None
    excess: float | None


@dataclass(frozen=True)
class OrderEffect:
    """How outcomes depend on the order of the responses."""

    rows: int
    """Rows that were judged in both orders."""
    turned: int
    """Rows whose outcome changed with the order."""
    rates: OrderRates | None
    """The rates at which votes differ; None if no row has votes in both orders."""

    @property
    def flip_rate(self) -> float | None:
        """The share of votes that change with the order, averaged over rows."""
        return self.rates.between.value if self.rates else None

    @property
    def noise_rate(self) -> float | None:
        """The noise floor: the share of votes that differ within one order. None with one vote per
        order.
        """
        return self.rates.within.value if self.rates and self.rates.within else None

    @property
    def strong(self) -> bool:
        """Return True if the order has so much influence beyond noise that every figure needs a
        warning.
        """
        share = self.turned / self.rows if self.flip_rate is None else self.flip_rate
        return share - (self.noise_rate or 0.0) >= _STRONG

    @property
    def excess(self) -> float | None:
        """The effect of the order beyond the noise; None if either rate is unknown."""
        return (
            None
            if self.flip_rate is None or self.noise_rate is None
            else self.flip_rate - self.noise_rate
        )

    def to_dict(self) -> JsonDict:
        return fill(OrderShape, self)


@dataclass(frozen=True)
class ContestSummary:
    """All comparisons together."""

    systems: tuple[SystemSummary, ...]
    order: OrderEffect | None
    """None if only one order was asked."""
    compared: int = 0
    """Rows with an outcome."""
    one_order: int = 0
    """Compared rows that were asked in both orders and have a verdict in only one."""

    @property
    def left_out(self) -> Message | None:
        """A note on rows that are in none of the figures; None if there are none."""
        missing = max((system.missing for system in self.systems), default=0)
        if not missing:
            return None
        return plural(
            "{count} row without a score is left out of wins, ties, losses and win rates.",
            "{count} rows without a score are left out of wins, ties, losses and win rates.",
            missing,
        )

    @property
    def leader(self) -> SystemSummary | None:
        """The system that is clearly best: its interval is above one half, or with more systems,
        above all others.
        """
        if len(self.systems) < 2 or (leading := self.systems[0]).interval is None:
            return None
        other_uppers = [system.interval.upper for system in self.systems[1:] if system.interval]
        least = 0.5 if len(self.systems) == 2 else max(other_uppers, default=1.0)
        return leading if leading.interval and leading.interval.lower > least else None

    @property
    def no_leader(self) -> Message:
        """The message to show if no system is clearly best."""
        if all(system.winrate is None for system in self.systems):
            return Message("No row could be compared.")
        if len(self.systems) > 2:
            return Message("No system is clearly ahead of all others.")
        return Message("Too close to call on these rows.")


class _System:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.rates = array("d")
        self.units: list[Unit] = []
        self.lost = LostRows()
        self.one_order, self.one_order_wins = 0, 0.0
        self.possible: dict[int, tuple[float, float]] = {}
        """Place among the rates → what lost votes could make of it."""

    def add(self, contests: Sequence[float | None], rate: float | None, unit: Unit) -> None:
        if rate is None:
            self.lost.add(unit)
            return
        for result in contests:
            if result is not None and result in _OUTCOMES:
                self.outcomes[_OUTCOMES[result]] += 1
        self.rates.append(rate)
        self.units.append(unit)

    def add_one_order(self, rate: float) -> None:
        """Count a row with a verdict in only one of two orders."""
        self.one_order += 1
        self.one_order_wins += rate

    def open(self, bounds: tuple[float, float]) -> None:
        """Store the range that lost votes allow for the last rate."""
        self.possible[len(self.rates) - 1] = bounds

    def summary(self, name: str, sureness: GateConfidence) -> SystemSummary:
        wins, ties, losses = (self.outcomes[outcome] for outcome in _OUTCOMES.values())
        rate = sum(self.rates) / len(self.rates) if self.rates else None
        sure, plain = (
            sureness.interval(self.rates, self.units, self.lost, possible=self.possible),
            interval_of(self.rates, sureness.clusters(self.units)),
        )
        summary_of_rows = SystemSummary(
            name, wins, ties, losses, rate, plain, len(self.lost.lows), len(self.rates), sure
        )
        opened = NONE_OPEN
        for place, bounds in self.possible.items():
            opened = opened.plus(self.rates[place], *bounds)
        return replace(
            summary_of_rows,
            one_order=self.one_order,
            one_order_wins=self.one_order_wins,
            opened=opened,
        )


class ContestTally:
    """Adds up comparisons as they come."""

    def __init__(self, sureness: GateConfidence = UNSURE) -> None:
        self._sureness = sureness
        self._systems: dict[str, _System] = {}
        self._checked = self._turned = self._compared = self._one_order = 0
        self._rates = array("d"), array("d")
        """The rates of each row between orders and within one; NaN if unknown."""

    def add(self, record: JudgmentRecord) -> None:
        if not record.detail.is_comparison:
            return
        bias = record.detail.order_check
        stands_on_one = bias is not None and bias.detected is None
        self._compared += record.scored
        self._one_order += record.scored and stands_on_one
        results = record.detail.system_results
        possible = record.possible_win_rates or ((0.0, 0.0),) * len(results)
        for name, system, (low, high) in zip(
            record.detail.system_names, results, possible, strict=True
        ):
            rate = system.winrate if record.scored else None
            totals = self._systems.setdefault(name, _System())
            totals.add(system.contest_results, rate, self._sureness.unit(record))
            if rate is not None and stands_on_one:
                totals.add_one_order(rate)
            elif rate is not None and low < high:
                totals.open((low, high))
        if bias:
            self._add_orders(bias)

    def _add_orders(self, bias: OrderCheck) -> None:
        if bias.detected is None:
            return
        self._checked += 1
        self._turned += bias.detected
        for rates, rate in zip(self._rates, (bias.flip_rate, bias.noise_rate), strict=True):
            rates.append(math.nan if rate is None else rate)

    def summary(self) -> ContestSummary:
        """Return the summary so far."""
        systems = [system.summary(name, self._sureness) for name, system in self._systems.items()]
        order = self._order() if self._checked else None
        return ContestSummary(
            tuple(sorted(systems, key=lambda system: -(system.winrate or 0.0))),
            order,
            self._compared,
            self._one_order,
        )

    def _order(self) -> OrderEffect:
        rates_or_none = (
            [None if math.isnan(rate) else rate for rate in rates] for rates in self._rates
        )
        return OrderEffect(self._checked, self._turned, order_rates(*rates_or_none))


def order_message(order: OrderEffect) -> Message:
    """Say how often the order of the responses decides, and how much of this is noise."""
    flips = plural(
        "Position bias: the winner flips with the order in {turned} of {count} row.",
        "Position bias: the winner flips with the order in {turned} of {count} rows.",
        order.rows,
        turned=order.turned,
    )
    noise = _noise_floor(order)
    if order.flip_rate is None:
        return join(" ", (flips, noise))
    votes = Message("Votes that change with the order: {rate}.", rate=figure(order.flip_rate))
    return join(" ", (flips, votes, noise))


def one_order_message(summary: ContestSummary) -> Message:
    """Say how many rows have a verdict in only one of the two orders."""
    return plural(
        "{rows} of {count} row was judged in one order only, so a better response cannot be told "
        "from a better position",
        "{rows} of {count} rows were judged in one order only, so a better response cannot be "
        "told from a better position",
        summary.compared,
        rows=summary.one_order,
    )


def _noise_floor(order: OrderEffect) -> Message:
    """Say how often verdicts differ within one order."""
    if order.noise_rate is None:
        return Message(
            "Noise floor not measured: that needs several votes per order (votes in an eval "
            "file, --votes on the command line of compare)."
        )
    return Message("Noise floor (within one order): {rate}.", rate=figure(order.noise_rate))
