"""Pass rates of an agent with the simulated user's mistakes counted out: arithmetic alone.

A conversation is valid, spoiled by the user, unclear (it may be spoiled), or lost. The true rate is
the share that would pass with a faultless user. A spoiled conversation may have gone either way, so
dropping only failed ones would raise the rate by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean
from typing import NamedTuple

from adjudge.features.conversations.attribution import Validity
from adjudge.stats import FEWEST
from adjudge.stats.correction import Stratum, post_stratified
from adjudge.stats.difference import Difference, PairedScores
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import Interval, interval_of_bounds, mean_interval, rows_interval


class Trial(NamedTuple):
    """One conversation of a scenario."""

    scenario: str
    passed: bool | None
    """None: there is no outcome."""
    validity: Validity


class Between(NamedTuple):
    """The least and the most that a rate can be; equal if it is known."""

    low: float
    high: float


@dataclass
class ScenarioCounts:
    """The conversations of one scenario."""

    valid: int = 0
    valid_passed: int = 0
    spoiled_passed: int = 0
    spoiled_failed: int = 0
    unclear_passed: int = 0
    unclear_failed: int = 0
    lost: int = 0

    def add(self, trial: Trial) -> None:
        if trial.passed is None or trial.validity == "lost":
            self.lost += 1
        elif trial.validity == "valid":
            self.valid += 1
            self.valid_passed += trial.passed
        else:
            name = f"{trial.validity}_{'passed' if trial.passed else 'failed'}"
            setattr(self, name, getattr(self, name) + 1)

    @property
    def planned(self) -> int:
        return self.decided + self.lost

    @property
    def decided(self) -> int:
        """Conversations with an outcome."""
        return self.valid + self.spoiled + self.unclear

    @property
    def passed(self) -> int:
        return self.valid_passed + self.spoiled_passed + self.unclear_passed

    @property
    def spoiled(self) -> int:
        return self.spoiled_passed + self.spoiled_failed

    @property
    def unclear(self) -> int:
        return self.unclear_passed + self.unclear_failed

    def valid_rate(self) -> Between:
        """Return the share that passes among valid conversations, whatever unclear and lost ones
        are.
        """
        low = self.valid + self.unclear_failed + self.lost
        high = self.valid + self.unclear_passed + self.lost
        best = self.valid_passed + self.unclear_passed + self.lost
        return Between(self.valid_passed / low if low else 0.0, best / high if high else 1.0)

    def pass_all(self, k: int) -> Between | None:
        """Return the unbiased estimate of pass^k with a faultless user, whatever conversations that
        are not valid would have come to; None with fewer than k conversations.
        """
        if self.planned < k:
            return None
        draws, best = comb(self.planned, k), self.planned - self.valid + self.valid_passed
        return Between(comb(self.valid_passed, k) / draws, comb(best, k) / draws)


@dataclass(frozen=True)
class PassAllBounds:
    """pass^k with a faultless user: each scenario with its own number of conversations."""

    k: int
    scenarios: int
    fewer: int
    """Scenarios with fewer conversations; they are in no share."""
    low: float
    high: float


@dataclass(frozen=True)
class Rates:
    """Pass rates of one agent: raw, bounds without assumptions, and corrected."""

    conversations: int
    lost: int
    passed: int
    spoiled_passed: int
    spoiled_failed: int
    unclear_passed: int
    unclear_failed: int
    scenarios: int
    without_valid: int
    """Scenarios without a valid conversation: their rate may be anything."""
    raw: float | None
    raw_interval: Interval | None
    bounds: Between
    """The true rate, whatever spoiled, unclear and lost conversations would have come to."""
    hinders: Between
    """The same if the user's mistakes only hinder."""
    corrected: Between
    """Mean over scenarios of the rate among valid conversations; it assumes that within a scenario
    the user spoils conversations independently of how they would have ended.
    """
    corrected_interval: Interval | None
    shares: tuple[PassAllBounds, ...] = ()

    @property
    def decided(self) -> int:
        return self.conversations - self.lost

    @property
    def spoiled(self) -> int:
        return self.spoiled_passed + self.spoiled_failed


def rates_of(trials: Iterable[Trial], *, level: float = 0.95) -> Rates:
    """Return the rates of one agent over its conversations."""
    scenarios: dict[str, ScenarioCounts] = {}
    raw: list[float] = []
    clusters: list[Hashable] = []
    for trial in trials:
        scenarios.setdefault(trial.scenario, ScenarioCounts()).add(trial)
        if trial.passed is not None and trial.validity != "lost":
            raw.append(float(trial.passed))
            clusters.append(trial.scenario)
    counts = list(scenarios.values())
    sums = {name: sum(getattr(one, name) for one in counts) for name in vars(ScenarioCounts())}
    total = ScenarioCounts(**sums)
    each = [one.valid_rate() for one in counts]
    limits: Callable[[Sequence[float]], Interval | None] = lambda values: mean_interval(  # noqa: E731
        values, level=level
    )
    lows, highs = [one.low for one in each], [one.high for one in each]
    independent = len(scenarios) == len(raw)
    most = max((one.planned for one in counts), default=0)
    return Rates(
        conversations=total.planned,
        lost=total.lost,
        passed=total.passed,
        spoiled_passed=total.spoiled_passed,
        spoiled_failed=total.spoiled_failed,
        unclear_passed=total.unclear_passed,
        unclear_failed=total.unclear_failed,
        scenarios=len(counts),
        without_valid=sum(not one.valid for one in counts),
        raw=fmean(raw) if raw else None,
        raw_interval=rows_interval(raw, level=level, clusters=None if independent else clusters)
        if len(scenarios) >= FEWEST
        else None,
        bounds=_bounds(total),
        hinders=_bounds(total, only_hinders=True),
        corrected=Between(fmean(lows), fmean(highs)) if each else Between(0.0, 1.0),
        corrected_interval=interval_of_bounds(limits, lows, highs) if len(each) >= FEWEST else None,
        shares=tuple(
            share for k in range(1, most + 1) if (share := _pass_all(counts, k)) is not None
        ),
    )


def _bounds(total: ScenarioCounts, *, only_hinders: bool = False) -> Between:
    """Return the least and the most that the share of passes with a faultless user can be."""
    if not total.planned:
        return Between(0.0, 1.0)
    open_failed = total.spoiled_failed + total.unclear_failed
    low = total.passed if only_hinders else total.valid_passed
    high = total.passed + open_failed + total.lost
    return Between(low / total.planned, high / total.planned)


def _pass_all(counts: Sequence[ScenarioCounts], k: int) -> PassAllBounds | None:
    each = [one.pass_all(k) for one in counts]
    known = [one for one in each if one is not None]
    if not known:
        return None
    low, high = fmean(one.low for one in known), fmean(one.high for one in known)
    return PassAllBounds(k, len(known), len(each) - len(known), low, high)


# -- labels ------------------------------------------------------------------------------


class LabelledTrial(NamedTuple):
    """A conversation with what a person says of it."""

    scenario: str
    passed: bool | None
    is_flagged: bool
    """True if the checks blame the user."""
    would_pass: bool | None
    """A person: a faultless user would have led to a pass. None: not labelled."""
    skipped: bool = False
    """It was drawn, and the person could not tell."""


def labelled_rate(trials: Sequence[LabelledTrial], *, level: float = 0.95) -> Estimate:
    """Estimate the true pass rate by labels of a sample, drawn at random within outcome and flag.

    It is right whatever the checks are worth; good checks only make the interval narrower.
    """
    strata: dict[str, list[LabelledTrial]] = {}
    for one in trials:
        strata.setdefault(f"{one.passed} {one.is_flagged}", []).append(one)
    clustered = len({one.scenario for one in trials}) < len(trials)
    parts = [
        Stratum(
            name,
            len(rows),
            tuple(float(one.would_pass) for one in rows if one.would_pass is not None),
            tuple(one.scenario for one in rows if one.would_pass is not None)
            if clustered
            else None,
            tuple(
                one.scenario if clustered else place
                for place, one in enumerate(rows)
                if one.skipped
            ),
        )
        for name, rows in strata.items()
    ]
    return post_stratified(parts, level=level)


@dataclass(frozen=True)
class SpoiledByLabels:
    """How many failures are the user's fault, by labels of a sample."""

    total: float
    error: float
    precision: float | None
    """Of the checks: flagged failures that are the user's."""
    recall: float | None


def spoiled_by_labels(
    flagged: tuple[int, int, int], unflagged: tuple[int, int, int]
) -> SpoiledByLabels:
    """Estimate the failures that are the user's. Each side: conversations, labelled ones at random,
    and the user's among these.
    """
    total = variance = 0.0
    parts: list[float] = []
    for rows, labelled, users in (flagged, unflagged):
        if rows and labelled < min(2, rows):
            raise ValueError("each side needs at least two labels")
        share = users / labelled if labelled else 0.0
        parts.append(rows * share)
        total += rows * share
        if labelled > 1:
            finite = 1 - labelled / rows
            variance += rows**2 * finite * share * (1 - share) / (labelled - 1)
    precision = parts[0] / flagged[0] if flagged[0] else None
    return SpoiledByLabels(total, variance**0.5, precision, parts[0] / total if total else None)


# -- two agents --------------------------------------------------------------------------


@dataclass(frozen=True)
class AgentDifference:
    """The second agent less the first, paired by scenario."""

    agents: tuple[str, str]
    scenarios: int
    missing: int
    """Scenarios without a valid conversation of both."""
    means: tuple[float, float]
    difference: Difference
    bounds: Between
    """The difference of the means, whatever unclear and lost conversations are."""
    spoiled: tuple[float, float]
    """The share of conversations that the user spoiled, of each."""


def compare_agents(
    names: tuple[str, str],
    first: Mapping[str, Sequence[Trial]],
    second: Mapping[str, Sequence[Trial]],
) -> AgentDifference | None:
    """Compare two agents on the scenarios that both have; None if there are none."""
    counts = [_counted(first), _counted(second)]
    both = [name for name in counts[0] if name in counts[1]]
    if not both:
        return None
    paired = PairedScores()
    sums = [0.0, 0.0]
    lows, highs, known = [0.0, 0.0], [0.0, 0.0], 0
    for name in both:
        one, two = counts[0][name], counts[1][name]
        for place, each in enumerate((one, two)):
            between = each.valid_rate()
            lows[place] += between.low
            highs[place] += between.high
        if not (one.valid and two.valid):
            paired.add([None])
            continue
        known += 1
        scores = (two.valid_passed / two.valid, one.valid_passed / one.valid)
        sums[0] += scores[1]
        sums[1] += scores[0]
        paired.add([scores])
    if not known:
        return None
    missing = len({*counts[0], *counts[1]}) - known
    size = len(both)
    return AgentDifference(
        names,
        known,
        missing,
        (sums[0] / known, sums[1] / known),
        paired.compared(reach=1.0),
        Between((lows[1] - highs[0]) / size, (highs[1] - lows[0]) / size),
        (_spoiled(counts[0]), _spoiled(counts[1])),
    )


def _counted(trials: Mapping[str, Sequence[Trial]]) -> dict[str, ScenarioCounts]:
    found: dict[str, ScenarioCounts] = {}
    for name, own in trials.items():
        counts = found.setdefault(name, ScenarioCounts())
        for trial in own:
            counts.add(trial)
    return found


def _spoiled(counts: Mapping[str, ScenarioCounts]) -> float:
    planned = sum(one.planned for one in counts.values())
    return sum(one.spoiled for one in counts.values()) / planned if planned else 0.0
