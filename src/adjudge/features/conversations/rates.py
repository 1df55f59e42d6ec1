"""Pass rates of an agent without the simulated user's mistakes; arithmetic only.

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


class ScenarioTrial(NamedTuple):
    """One conversation of a scenario."""

    scenario: str
    passed: bool | None
    """None if there is no outcome."""
    validity: Validity


class RateBounds(NamedTuple):
    """Bounds of a rate; equal if it is known."""

    low: float
    high: float


@dataclass
class ScenarioCounts:
    """Counts of one scenario's conversations."""

    valid: int = 0
    valid_passed: int = 0
    spoiled_passed: int = 0
    spoiled_failed: int = 0
    unclear_passed: int = 0
    unclear_failed: int = 0
    lost: int = 0

    def add(self, trial: ScenarioTrial) -> None:
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

    def valid_rate(self) -> RateBounds:
        """Return bounds of the pass rate of valid conversations.

        Unclear and lost conversations might have been valid.
        """
        low = self.valid + self.unclear_failed + self.lost
        high = self.valid + self.unclear_passed + self.lost
        best = self.valid_passed + self.unclear_passed + self.lost
        return RateBounds(self.valid_passed / low if low else 0.0, best / high if high else 1.0)

    def pass_all(self, k: int) -> RateBounds | None:
        """Return bounds of the unbiased estimate of pass^k with a faultless user.

        Return None if there are fewer than k conversations.
        """
        if self.planned < k:
            return None
        draws, best = comb(self.planned, k), self.planned - self.valid + self.valid_passed
        # the chance that k conversations, drawn without replacement, all pass
        return RateBounds(comb(self.valid_passed, k) / draws, comb(best, k) / draws)


@dataclass(frozen=True)
class PassAllBounds:
    """Bounds of pass^k with a faultless user, over the scenarios with at least k conversations."""

    k: int
    scenarios: int
    fewer: int
    """Scenarios with fewer conversations; they are in no share."""
    low: float
    high: float


@dataclass(frozen=True)
class Rates:
    """One agent's pass rates: raw, bounds without assumptions, and corrected."""

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
    bounds: RateBounds
    """The true rate, whatever spoiled, unclear and lost conversations would have come to."""
    hinders: RateBounds
    """Like ``bounds``, if the user's mistakes only hinder."""
    corrected: RateBounds
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


def rates_of(trials: Iterable[ScenarioTrial], *, level: float = 0.95) -> Rates:
    """Compute one agent's pass rates from its conversations."""
    scenarios: dict[str, ScenarioCounts] = {}
    raw: list[float] = []
    clusters: list[Hashable] = []
    for trial in trials:
        scenarios.setdefault(trial.scenario, ScenarioCounts()).add(trial)
        if trial.passed is not None and trial.validity != "lost":
            raw.append(float(trial.passed))
            clusters.append(trial.scenario)
    counts = list(scenarios.values())
    sums = {
        name: sum(getattr(scenario, name) for scenario in counts) for name in vars(ScenarioCounts())
    }
    total = ScenarioCounts(**sums)
    bounds_by_scenario = [scenario.valid_rate() for scenario in counts]
    limits: Callable[[Sequence[float]], Interval | None] = lambda values: mean_interval(  # noqa: E731
        values, level=level
    )
    lows, highs = (
        [bounds.low for bounds in bounds_by_scenario],
        [bounds.high for bounds in bounds_by_scenario],
    )
    # one trial per scenario: nothing is clustered
    independent = len(scenarios) == len(raw)
    most = max((scenario.planned for scenario in counts), default=0)
    return Rates(
        conversations=total.planned,
        lost=total.lost,
        passed=total.passed,
        spoiled_passed=total.spoiled_passed,
        spoiled_failed=total.spoiled_failed,
        unclear_passed=total.unclear_passed,
        unclear_failed=total.unclear_failed,
        scenarios=len(counts),
        without_valid=sum(not scenario.valid for scenario in counts),
        raw=fmean(raw) if raw else None,
        raw_interval=rows_interval(raw, level=level, clusters=None if independent else clusters)
        if len(scenarios) >= FEWEST
        else None,
        bounds=_bounds(total),
        hinders=_bounds(total, only_hinders=True),
        corrected=RateBounds(fmean(lows), fmean(highs))
        if bounds_by_scenario
        else RateBounds(0.0, 1.0),
        corrected_interval=interval_of_bounds(limits, lows, highs)
        if len(bounds_by_scenario) >= FEWEST
        else None,
        shares=tuple(
            share for k in range(1, most + 1) if (share := _pass_all(counts, k)) is not None
        ),
    )


def _bounds(total: ScenarioCounts, *, only_hinders: bool = False) -> RateBounds:
    """Return the lowest and highest possible pass rate with a faultless user."""
    if not total.planned:
        return RateBounds(0.0, 1.0)
    open_failed = total.spoiled_failed + total.unclear_failed
    low = total.passed if only_hinders else total.valid_passed
    high = total.passed + open_failed + total.lost
    return RateBounds(low / total.planned, high / total.planned)


def _pass_all(counts: Sequence[ScenarioCounts], k: int) -> PassAllBounds | None:
    bounds = [scenario.pass_all(k) for scenario in counts]
    defined = [bound for bound in bounds if bound is not None]
    if not defined:
        return None
    low, high = fmean(bound.low for bound in defined), fmean(bound.high for bound in defined)
    return PassAllBounds(k, len(defined), len(bounds) - len(defined), low, high)


# -- labels ------------------------------------------------------------------------------


class LabelledTrial(NamedTuple):
    """A conversation with a person's verdict on its outcome."""

    scenario: str
    passed: bool | None
    is_flagged: bool
    """True if the checks blame the user."""
    would_pass: bool | None
    """A person: a faultless user would have led to a pass. None: not labelled."""
    skipped: bool = False
    """True if it was drawn, and the person could not tell."""


def labelled_rate(trials: Sequence[LabelledTrial], *, level: float = 0.95) -> Estimate:
    """Estimate the true pass rate from a labelled sample, drawn at random within outcome and flag.

    The estimate is unbiased however good the checks are; good checks only narrow the interval.
    """
    strata: dict[str, list[LabelledTrial]] = {}
    for trial in trials:
        strata.setdefault(f"{trial.passed} {trial.is_flagged}", []).append(trial)
    clustered = len({trial.scenario for trial in trials}) < len(trials)
    parts = [
        Stratum(
            name,
            len(rows),
            tuple(float(trial.would_pass) for trial in rows if trial.would_pass is not None),
            tuple(trial.scenario for trial in rows if trial.would_pass is not None)
            if clustered
            else None,
            tuple(
                trial.scenario if clustered else place
                for place, trial in enumerate(rows)
                if trial.skipped
            ),
        )
        for name, rows in strata.items()
    ]
    return post_stratified(parts, level=level)


class LabelledFault(NamedTuple):
    """A conversation with a person's verdict on who is at fault."""

    scenario: str
    passed: bool | None
    judged: str
    """The party at fault by the checks."""
    label: str | None
    """The party at fault by a person; None: not labelled."""
    skipped: bool = False
    """True if it was drawn, and the person could not tell."""


def labelled_faults(
    trials: Sequence[LabelledFault], faults: Sequence[str], *, level: float = 0.95
) -> dict[str, Estimate]:
    """Estimate the share of conversations in which each party is at fault, from a labelled sample.

    The sample is drawn at random within outcome and attribution. Each interval holds at this level
    on its own, not jointly.
    """
    strata: dict[str, list[LabelledFault]] = {}
    for trial in trials:
        strata.setdefault(f"{trial.passed} {trial.judged}", []).append(trial)
    clustered = len({trial.scenario for trial in trials}) < len(trials)

    def stratum(name: str, rows: Sequence[LabelledFault], fault: str) -> Stratum:
        labelled = [trial for trial in rows if trial.label is not None]
        return Stratum(
            name,
            len(rows),
            tuple(float(trial.label == fault) for trial in labelled),
            tuple(trial.scenario for trial in labelled) if clustered else None,
            tuple(
                trial.scenario if clustered else place
                for place, trial in enumerate(rows)
                if trial.skipped
            ),
        )

    return {
        fault: post_stratified(
            [stratum(name, rows, fault) for name, rows in strata.items()], level=level
        )
        for fault in faults
    }


@dataclass(frozen=True)
class SpoiledByLabels:
    """An estimate of the failures that are the user's fault, from a labelled sample."""

    total: float
    error: float
    precision: float | None
    """The share of failures flagged by the checks that are the user's fault."""
    recall: float | None


def spoiled_by_labels(
    flagged: tuple[int, int, int], unflagged: tuple[int, int, int]
) -> SpoiledByLabels:
    """Estimate the failures that are the user's fault.

    Each argument is (conversations, number labelled at random, number of these that are the user's
    fault). Raise a ValueError if one has too few labels.
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
            # the finite population correction: with every row labelled nothing is uncertain
            finite = 1 - labelled / rows
            variance += rows**2 * finite * share * (1 - share) / (labelled - 1)
    precision = parts[0] / flagged[0] if flagged[0] else None
    return SpoiledByLabels(total, variance**0.5, precision, parts[0] / total if total else None)


# -- two agents --------------------------------------------------------------------------


@dataclass(frozen=True)
class AgentDifference:
    """The second agent's rates minus the first's, paired by scenario."""

    agents: tuple[str, str]
    scenarios: int
    missing: int
    """Scenarios without a valid conversation of both."""
    means: tuple[float, float]
    difference: Difference
    bounds: RateBounds
    """The difference of the means, whatever unclear and lost conversations are."""
    spoiled: tuple[float, float]
    """The share of conversations that the user spoiled, of each."""


def compare_agents(
    names: tuple[str, str],
    trials_a: Mapping[str, Sequence[ScenarioTrial]],
    trials_b: Mapping[str, Sequence[ScenarioTrial]],
) -> AgentDifference | None:
    """Compare two agents on the scenarios that both have; None if no scenario has valid
    conversations of both.
    """
    counts = [_count(trials_a), _count(trials_b)]
    both = [name for name in counts[0] if name in counts[1]]
    if not both:
        return None
    paired = PairedScores()
    sums = [0.0, 0.0]
    lows, highs, comparable = [0.0, 0.0], [0.0, 0.0], 0
    for name in both:
        counts_a, counts_b = counts[0][name], counts[1][name]
        for place, scenario_counts in enumerate((counts_a, counts_b)):
            between = scenario_counts.valid_rate()
            lows[place] += between.low
            highs[place] += between.high
        if not (counts_a.valid and counts_b.valid):
            # counted as a missing pair
            paired.add([None])
            continue
        comparable += 1
        scores = (counts_b.valid_passed / counts_b.valid, counts_a.valid_passed / counts_a.valid)
        sums[0] += scores[1]
        sums[1] += scores[0]
        paired.add([scores])
    if not comparable:
        return None
    missing = len({*counts[0], *counts[1]}) - comparable
    size = len(both)
    return AgentDifference(
        names,
        comparable,
        missing,
        (sums[0] / comparable, sums[1] / comparable),
        paired.compared(reach=1.0),
        RateBounds((lows[1] - highs[0]) / size, (highs[1] - lows[0]) / size),
        (_share_spoiled(counts[0]), _share_spoiled(counts[1])),
    )


def _count(trials: Mapping[str, Sequence[ScenarioTrial]]) -> dict[str, ScenarioCounts]:
    counts_by_scenario: dict[str, ScenarioCounts] = {}
    for name, scenario_trials in trials.items():
        counts = counts_by_scenario.setdefault(name, ScenarioCounts())
        for trial in scenario_trials:
            counts.add(trial)
    return counts_by_scenario


def _share_spoiled(counts: Mapping[str, ScenarioCounts]) -> float:
    planned = sum(scenario.planned for scenario in counts.values())
    return sum(scenario.spoiled for scenario in counts.values()) / planned if planned else 0.0
