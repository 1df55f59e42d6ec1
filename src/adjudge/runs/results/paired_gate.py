"""Gates that hold a run to another one: no criteria may be worse than there, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError, SetupError
from adjudge.messages import Message
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.setup import Setup
from adjudge.stats.rounding import equal

if TYPE_CHECKING:
    from adjudge.trust.comparison import RunComparison

CONFIDENCE = 0.95
"""Where none is asked for."""


def check_against(setup: Setup) -> None:
    """The run that another one is held to must be there."""
    if not holds_run(setup.against_folder):
        raise RunError(
            "the run that this one must not be worse than is not there: {other}",
            other=setup.against,
        )


def refuse_itself(other: Path, folder: Path) -> None:
    """Refuse a run that is compared with itself: nothing differs, so every gate would hold."""
    if other.resolve() == folder.resolve():
        raise SetupError(
            "{folder} cannot be compared with itself: name an earlier run, or another folder for "
            "this one (--run FOLDER)",
            folder=folder,
        )


def against_baseline(setup: Setup, baseline: Path | None) -> Setup:
    """Held to another run without a margin, where one is named that its own gate does not name."""
    own = setup.against and setup.against_folder.resolve()
    return (
        setup
        if baseline is None or not holds_run(baseline) or baseline.resolve() == own
        else replace(
            setup, against=str(baseline), against_place=str(baseline.absolute()), margin=0.0
        )
    )


def paired_gates(setup: Setup, folder: Path) -> Iterator[GateResult]:
    """A gate for each judge and criterion that both runs have, or that only the other one has; none
    if no other run was named.

    The last gate names criteria that only this run has: they are new, so that they cannot be worse.
    They are undecided if the other run has not come to its end, as everything is then.
    """
    if not setup.against or not holds_run(folder):
        return
    from adjudge.runs.diff import run_diff
    from adjudge.runs.folder import run_facts
    from adjudge.trust.comparison import ComparisonSettings, compare_runs, upper_limits

    other, level = setup.against_folder, setup.confidence or CONFIDENCE
    if not holds_run(other):
        gate = _not_compared(setup, level, "", "run")
        yield replace(gate, against=str(other), is_baseline_gone=True)
        return
    with run_diff(other, folder, setup.cluster or None, setup.id or None) as found:
        compared = compare_runs(
            other,
            folder,
            found,
            ComparisonSettings(level=level, sequential=setup.sequential, noise=False),
        )
        gone, added = found.gone(), found.added()
    is_cut = not run_facts(other).has_ended
    limits = (
        [one.shown.upper for one in compared]
        if setup.sequential
        else upper_limits(compared, setup.margin, level)
    )
    last = compared[-1] if compared else None
    new = () if is_cut else tuple(_name(criteria, system) for _, criteria, system in added)
    for one, upper in zip(compared, limits, strict=True):
        gate = _gate(one, setup.against, setup.margin, upper, len(compared))
        yield replace(
            gate,
            cluster=setup.cluster,
            sequential=setup.sequential,
            stopped=setup.state not in ("", "complete"),
            baseline_stopped=is_cut,
            not_compared=new if one is last else (),
        )
    for judge, criteria, system in gone if compared else [("", "run", "")]:
        yield replace(_not_compared(setup, level, judge, criteria), system=system)
    for judge, criteria, system in added if is_cut else ():
        gate = _not_compared(setup, level, judge, criteria)
        yield replace(gate, system=system, baseline_stopped=True)


def _name(criteria: str, system: str) -> str:
    return f"{criteria} [{system}]" if system else criteria


def compared_with_baseline(
    setup: Setup, folder: Path, by: str | None = None
) -> tuple[RunComparison, ...]:
    """How a run compares with the one that was named as its baseline, row by row; nothing where
    that is gone. ``by``: the column that rows are told apart by.
    """
    place = Path(setup.baseline.place)
    if not setup.baseline.place or not holds_run(place) or not holds_run(folder):
        return ()
    from adjudge.runs.diff import run_diff
    from adjudge.trust.comparison import ComparisonSettings, compare_runs

    with run_diff(place, folder, setup.cluster or None, setup.id or None, by) as found:
        settings = ComparisonSettings(level=setup.confidence or CONFIDENCE, noise=False)
        return tuple(compare_runs(place, folder, found, settings))


def _gate(
    found: RunComparison, against: str, margin: float, highest: float | None, among: int
) -> GateResult:
    """``highest``: the upper limit that holds for all ``among`` criteria together, so that none of
    many fails by chance.
    """
    shown, scored, unchanged = found.shown, found.rows, found.is_unchanged
    rows = scored + found.without
    lower, upper = -found.reach, found.reach
    if shown.lower is not None and highest is not None:
        lower, upper = shown.lower, highest
    if unchanged:
        lower = upper = 0.0
    gate = GateResult(
        judge=found.judge,
        name=found.criteria,
        measure="difference",
        value=shown.value,
        bar=-margin,
        lower=found.on_the_scale(lower),
        upper=found.on_the_scale(upper),
        rows=rows,
        missing=found.without,
        confidence=found.level,
        sure=unchanged or shown.lower is not None,
        unjudged=found.unjudged,
        unchanged=unchanged,
        against=against,
        among=among,
        same_judge=found.same_judge,
        pairing=found.pairing,
        system=found.system or found.answered_by,
        of_wins=bool(found.system),
        labels=found.labels if found.corrected else 0,
        uncorrected_because=found.uncorrected_because or "",
        added=found.added if found.corrected else 0,
        skipped=found.skipped if found.corrected else 0,
        open_votes=0 if found.corrected else found.open_votes,
        reason=found.difference.estimate.reason or Message("no row has a number in both runs"),
        largest_change=0.0 if unchanged else found.largest_count_change,
    )
    if gate.verdict != "inconclusive":
        return gate
    return replace(gate, rows_to_decide=_rows_to_decide(found, -margin))


def _rows_to_decide(found: RunComparison, bar: float) -> int | None:
    """About how many rows would decide; None if rows without a number stand in the way, or labels
    decide.
    """
    limits, value = found.difference.limits, found.shown.value
    unknown = found.without or found.open_votes
    if limits is None or found.corrected or unknown or value is None or equal(value, bar):
        return None
    return limits.rows_to_decide(bar, found.level)


def _not_compared(setup: Setup, level: float, judge: str, criteria: str) -> GateResult:
    """A gate that nothing can be said of is undecided, not gone."""
    return GateResult(
        judge=judge,
        name=criteria,
        measure="difference",
        value=None,
        bar=-setup.margin,
        lower=-1.0,
        upper=1.0,
        rows=1,
        missing=1,
        confidence=level,
        against=setup.against,
    )
