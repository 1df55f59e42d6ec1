"""The comparison of two runs in words."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.messages import Message, plural
from adjudge.runs.counts import count_rows, grouped
from adjudge.runs.numbers import level_text
from adjudge.runs.results.pairing import pairing_message
from adjudge.stats.difference import ComparisonOutcome, VoteNoise
from adjudge.trust.comparison import RunComparison


def comparison_lines(comparison: RunComparison, two: str) -> Iterator[str]:
    """Yield which run is better by one criterion, then the details, indented by two spaces."""
    first_line, *more = _lines(comparison, two)
    yield first_line
    for line in (*more, *_slices(comparison)):
        yield Message("  {line}", line=line)


def _lines(comparison: RunComparison, two: str) -> Iterator[str]:
    estimate, pairing, name = comparison.shown, comparison.pairing, comparison.name
    if not pairing.paired:
        yield Message(
            "{name}: cannot tell, because no row could be paired ({before} before, {now} now)",
            name=name,
            before=grouped(pairing.rows[0]),
            now=grouped(pairing.rows[1]),
        )
        yield Message(
            "the runs share no ids, and only the judged text could identify rows: name an id "
            "column with --id"
        )
        return
    if not comparison.is_comparable:
        yield Message("{name}: not comparable: {reason}", name=name, reason=estimate.reason)
        yield pairing_message(pairing)
        return
    if not comparison.rows:
        yield Message("{name}: cannot tell: no row has a number in both runs", name=name)
        yield pairing_message(pairing)
        return
    if estimate.value is None or comparison.first is None or comparison.second is None:
        yield Message("{name}: cannot tell: {reason}", name=name, reason=estimate.reason)
        yield pairing_message(pairing)
        return
    if not (comparison.changed or comparison.corrected or comparison.without):
        yield _no_difference(comparison, float(comparison.first))
        yield pairing_message(pairing)
        yield from comparison.notes
        return
    yield Message(
        "{name}: {outcome}: {of} {first:.3f} → {second:.3f} on {rows}",
        name=name,
        outcome=_outcome(comparison, two),
        of=_measure(comparison),
        first=float(comparison.first),
        second=float(comparison.second),
        rows=count_rows(comparison.rows),
    )
    yield pairing_message(pairing)
    yield from _difference(comparison)
    yield from _noise(comparison.noise)
    yield from comparison.notes


def _difference(comparison: RunComparison) -> Iterator[str]:
    """Yield the difference with its interval, and the smallest difference that could be
    detected.
    """
    estimate = comparison.shown
    if estimate.value is not None and estimate.lower is not None and estimate.upper is not None:
        yield Message(
            "difference {value:+.3f} ({lower:+.3f} to {upper:+.3f} at {level}){by}",
            value=float(estimate.value),
            lower=float(comparison.on_the_scale(estimate.lower)),
            upper=float(comparison.on_the_scale(estimate.upper)),
            level=level_text(comparison.level),
            by=Message(", corrected by labels of {rows} rows", rows=grouped(comparison.labels))
            if comparison.corrected
            else "",
        )
    if comparison.corrected and comparison.difference.estimate.value is not None:
        yield Message("uncorrected {value:+.3f}", value=comparison.difference.estimate.value)
    if comparison.outcome is ComparisonOutcome.CANNOT_TELL and comparison.smallest is not None:
        yield plural(
            "the smallest difference that {count:,} row would show in 80% of comparisons is "
            "{smallest:.3f}",
            "the smallest difference that {count:,} rows would show in 80% of comparisons is "
            "{smallest:.3f}",
            comparison.rows,
            smallest=comparison.smallest,
        )


def _slices(comparison: RunComparison) -> Iterator[str]:
    """Yield a line per slice, the largest first, and the level of the intervals. Nothing if runs
    are not comparable.
    """
    if not comparison.is_comparable:
        return
    for slice_comparison in comparison.slices:
        if not slice_comparison.rows:
            yield _nothing_shared(slice_comparison)
            continue
        if (
            slice_comparison.first is None
            or slice_comparison.second is None
            or slice_comparison.shown.lower is None
            or slice_comparison.shown.upper is None
            or slice_comparison.shown.value is None
        ):
            yield Message(
                "{slice}: cannot tell: {reason}",
                slice=slice_comparison.slice,
                reason=slice_comparison.shown.reason,
            )
            continue
        yield Message(
            "{slice}: {outcome}: {first:.3f} → {second:.3f} on {rows}, difference {value:+.3f} "
            "({lower:+.3f} to {upper:+.3f}){by}{pooled}",
            slice=slice_comparison.slice,
            outcome=_slice_outcome(slice_comparison.outcome),
            first=float(slice_comparison.first),
            second=float(slice_comparison.second),
            rows=count_rows(slice_comparison.rows),
            value=float(slice_comparison.shown.value),
            lower=float(slice_comparison.on_the_scale(slice_comparison.shown.lower)),
            upper=float(slice_comparison.on_the_scale(slice_comparison.shown.upper)),
            by=Message(
                ", corrected by labels of {rows} rows", rows=grouped(slice_comparison.labels)
            )
            if slice_comparison.corrected
            else "",
            pooled=Message(
                "; pooled {value:+.3f}, {share:.0f}% of it from all rows",
                value=float(slice_comparison.pooled.value),
                share=100 * float(slice_comparison.pooled.from_whole),
            )
            if slice_comparison.pooled
            else "",
        )
    if comparison.slices:
        yield Message(
            "the intervals of all slices and criteria hold simultaneously at {level}",
            level=level_text(comparison.level),
        )
    yield from comparison.slicing


def _nothing_shared(slice_comparison: RunComparison) -> Message:
    old_rows, new_rows = slice_comparison.pairing.rows
    if not old_rows:
        return plural(
            "{slice}: cannot tell: only the second run has it ({count:,} row)",
            "{slice}: cannot tell: only the second run has it ({count:,} rows)",
            new_rows,
            slice=slice_comparison.slice,
        )
    if not new_rows:
        return plural(
            "{slice}: cannot tell: only the first run has it ({count:,} row)",
            "{slice}: cannot tell: only the first run has it ({count:,} rows)",
            old_rows,
            slice=slice_comparison.slice,
        )
    return Message(
        "{slice}: cannot tell: no row has a number in both runs", slice=slice_comparison.slice
    )


def _slice_outcome(outcome: ComparisonOutcome) -> Message:
    if outcome is ComparisonOutcome.BETTER:
        return Message("better")
    return Message("worse") if outcome is ComparisonOutcome.WORSE else Message("cannot tell")


def _no_difference(comparison: RunComparison, value: float) -> Message:
    return plural(
        "{name}: no difference: {of} {value:.3f}, the same on the {count:,} row that both judged",
        "{name}: no difference: {of} {value:.3f}, the same on all {count:,} rows that both judged",
        comparison.rows,
        name=comparison.name,
        of=_measure(comparison),
        value=value,
    )


def _measure(comparison: RunComparison) -> Message:
    if comparison.system:
        return Message("win rate of {name}", name=comparison.system)
    return Message("mean")


def _noise(noise: VoteNoise | None) -> Iterator[str]:
    if noise:
        narrower = noise.with_votes[5] < noise.half_width  # not where as many were asked already
        yield Message(
            "{share:.0%} of the variance is vote noise{more}",
            share=noise.share,
            more=Message(
                ": with 5 votes per row ±{now:.3f} would be ±{then:.3f}",
                now=noise.half_width,
                then=noise.with_votes[5],
            )
            if narrower
            else "",
        )


def _outcome(comparison: RunComparison, run: str) -> Message:
    outcome = comparison.outcome
    if outcome is not ComparisonOutcome.CANNOT_TELL and comparison.is_between_judges:
        # the same texts are neither better nor worse: one judge passes more of them
        return (
            Message("{run} scores higher", run=run)
            if outcome is ComparisonOutcome.BETTER
            else Message("{run} scores lower", run=run)
        )
    if outcome is ComparisonOutcome.BETTER:
        return Message("{run} is better", run=run)
    if outcome is ComparisonOutcome.WORSE:
        return Message("{run} is worse", run=run)
    return Message("cannot tell")
