"""Gates that compare a run with another one: no criterion may be worse than there, row by row."""

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
"""The confidence if none is asked for."""


def check_against(setup: Setup) -> None:
    """Raise if the run to compare with does not exist."""
    if not holds_run(setup.against_folder):
        raise RunError(
            "the run to compare with does not exist: {other}",
            other=setup.against,
        )


def refuse_itself(other: Path, folder: Path) -> None:
    """Refuse to compare a run with itself: there is no difference, so every gate would pass."""
    if other.resolve() == folder.resolve():
        raise SetupError(
            "{folder} cannot be compared with itself: compare with an earlier run, or write this "
            "run to another folder (--run FOLDER)",
            folder=folder,
        )


def against_baseline(setup: Setup, baseline: Path | None) -> Setup:
    """Return the setup with a gate against ``baseline`` and no margin.

    The setup stays as it is if there is no such run, or if it already has a gate against it.
    """
    gated_folder = setup.against and setup.against_folder.resolve()
    return (
        setup
        if baseline is None or not holds_run(baseline) or baseline.resolve() == gated_folder
        else replace(
            setup, against=str(baseline), against_place=str(baseline.absolute()), margin=0.0
        )
    )


def paired_gates(setup: Setup, folder: Path) -> Iterator[GateResult]:
    """Yield a gate per judge and criterion that the other run has. Nothing if no other run was
    named.

    The last gate lists the criteria that only this run has, since new ones cannot be worse. If the
    other run has not ended, these are undecided, too.
    """
    if not setup.against or not holds_run(folder):
        return
    from adjudge.runs.diff import run_diff
    from adjudge.runs.folder import run_facts
    from adjudge.runs.results.report import unread_rows
    from adjudge.trust.comparison import ComparisonSettings, compare_runs, upper_limits

    other_folder, level = setup.against_folder, setup.confidence or CONFIDENCE
    if not holds_run(other_folder):
        gate = _undecided_gate(setup, level, "", "run")
        yield replace(gate, against=str(other_folder), is_baseline_gone=True)
        return
    with run_diff(other_folder, folder, setup.cluster or None, setup.id or None) as diff:
        compared = compare_runs(
            other_folder,
            folder,
            diff,
            ComparisonSettings(level=level, sequential=setup.sequential, noise=False),
        )
        gone, added = diff.gone(), diff.added()
    old_run, new_run = run_facts(other_folder), run_facts(folder)
    is_cut = not old_run.has_ended
    unread = unread_rows(old_run.facts), unread_rows(new_run.facts)
    limits = (
        [comparison.shown.upper for comparison in compared]
        if setup.sequential
        else upper_limits(compared, setup.margin, level)
    )
    last = compared[-1] if compared else None
    # a run that was cut short may still judge these criteria, so they are not new
    new = (
        ()
        if is_cut
        else tuple(
            f"{criteria} [{system}]" if system else criteria for _, criteria, system in added
        )
    )
    for comparison, upper in zip(compared, limits, strict=True):
        gate = _gate(comparison, setup.against, setup.margin, upper, len(compared), unread)
        if comparison.system and (reason := _another_is_guarded(setup, comparison)):
            gate = replace(gate, value=None, lower=-1.0, upper=1.0, sure=False, reason=reason)
        yield replace(
            gate,
            cluster=setup.cluster,
            sequential=setup.sequential,
            stopped=setup.state not in ("", "complete"),
            baseline_stopped=is_cut,
            not_compared=new if comparison is last else (),
        )
    for judge, criteria, system in gone if compared else [("", "run", "")]:
        yield replace(_undecided_gate(setup, level, judge, criteria), system=system)
    for judge, criteria, system in added if is_cut else ():
        gate = _undecided_gate(setup, level, judge, criteria)
        yield replace(gate, system=system, baseline_stopped=True)


def _another_is_guarded(setup: Setup, comparison: RunComparison) -> Message | None:
    """Return why a win rate does not decide: the bars of its judge are for the other response,
    whose win rate falls if this one rises.
    """
    named = {bar.name for bar in setup.bars if bar.judge == comparison.judge and bar.name}
    if not named or comparison.system in named:
        return None
    return Message(
        "{first} comes first, so the win rate of {first} would be compared, but fail_under is "
        "about {other}: list {other} first",
        first=comparison.system,
        other=", ".join(sorted(named)),
    )


def compared_with_baseline(
    setup: Setup, folder: Path, by: str | None = None
) -> tuple[RunComparison, ...]:
    """Compare a run with its baseline, row by row; empty if either run is gone.

    ``by``: the column whose values are reported separately.
    """
    place = Path(setup.baseline.place)
    if not setup.baseline.place or not holds_run(place) or not holds_run(folder):
        return ()
    from adjudge.runs.diff import run_diff
    from adjudge.trust.comparison import ComparisonSettings, compare_runs

    with run_diff(place, folder, setup.cluster or None, setup.id or None, by) as diff:
        settings = ComparisonSettings(level=setup.confidence or CONFIDENCE, noise=False)
        return tuple(compare_runs(place, folder, diff, settings))


def _gate(
    comparison: RunComparison,
    against: str,
    margin: float,
    joint_upper: float | None,
    among: int,
    unread: tuple[int, int],
) -> GateResult:
    """Return the gate of one comparison.

    ``joint_upper``: the upper limit that holds for all ``among`` criteria together, so that none
    fails by chance. ``unread``: how many rows of each run's data could not be read.
    """
    estimate, scored, unchanged = comparison.shown, comparison.rows, comparison.is_unchanged
    rows = scored + comparison.without
    lower, upper = -comparison.reach, comparison.reach
    if estimate.lower is not None and joint_upper is not None:
        lower, upper = estimate.lower, joint_upper
    if unchanged:
        lower = upper = 0.0
    gate = GateResult(
        judge=comparison.judge,
        name=comparison.criteria,
        measure="difference",
        value=estimate.value,
        bar=-margin,
        lower=comparison.on_the_scale(lower),
        upper=comparison.on_the_scale(upper),
        rows=rows,
        missing=comparison.without,
        confidence=comparison.level,
        sure=unchanged or estimate.lower is not None,
        unjudged=comparison.unjudged,
        unchanged=unchanged,
        against=against,
        among=among,
        same_judge=comparison.same_judge,
        same_texts=not comparison.other_texts,
        judge_changes=comparison.judge_changes,
        pairing=comparison.pairing,
        system=comparison.system or comparison.answered_by,
        of_wins=bool(comparison.system),
        labels=comparison.labels if comparison.corrected else 0,
        uncorrected_because="" if unchanged else comparison.uncorrected_because or "",
        added=comparison.added if comparison.corrected else 0,
        skipped=comparison.skipped if comparison.corrected else 0,
        open_votes=0 if comparison.corrected else comparison.open_votes,
        reason=comparison.difference.estimate.reason or Message("no row has a number in both runs"),
        largest_change=0.0 if unchanged else comparison.largest_count_change,
        in_points=comparison.reach == 1.0,
    )
    pairing = comparison.pairing
    if pairing.paired:
        # a row that one run could not read may be one that only the other run has
        old_alone, new_alone = (rows - pairing.paired for rows in pairing.rows)
        uncounted = max(unread[0] - new_alone, unread[1] - old_alone, 0)
        gate = gate.with_unread(uncounted, (-comparison.reach, comparison.reach))
    if gate.verdict != "inconclusive" or gate.unread or gate.may_be_of_judges:
        return gate
    return replace(gate, rows_to_decide=_rows_to_decide(comparison, -margin, among))


def _rows_to_decide(comparison: RunComparison, bar: float, among: int) -> int | None:
    """Return roughly how many rows would decide. None if rows lack a number, or labels correct the
    difference.

    A drop must be significant at the level that holds for all ``among`` criteria together (Holm's
    first step), as for the gate.
    """
    limits, value = comparison.difference.limits, comparison.shown.value
    unknown = comparison.without or comparison.open_votes
    if limits is None or comparison.corrected or unknown or value is None or equal(value, bar):
        return None
    risk = (1 - comparison.level) / (among if value < bar else 1)
    return limits.rows_to_decide(bar, 1 - risk)


def _undecided_gate(setup: Setup, level: float, judge: str, criteria: str) -> GateResult:
    """Return an undecided gate for a criterion that cannot be compared, so that it does not go
    unnoticed.
    """
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
