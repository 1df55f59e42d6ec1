"""Which of two runs is better, in words."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.messages import Message, plural
from adjudge.runs.counts import count_rows, grouped
from adjudge.runs.numbers import level_text
from adjudge.runs.results.pairing import pairing_message
from adjudge.stats.difference import ComparisonOutcome, VoteNoise
from adjudge.trust.comparison import RunComparison


def comparison_lines(found: RunComparison, two: str) -> Iterator[str]:
    """Which run is better by one criterion, in words, and what stands behind it: below the first
    line, each begins with two blanks.
    """
    first, *more = _lines(found, two)
    yield first
    for line in (*more, *_slices(found)):
        yield Message("  {line}", line=line)


def _lines(found: RunComparison, two: str) -> Iterator[str]:
    shown, pairing, name = found.shown, found.pairing, found.name
    if not pairing.paired:
        yield Message(
            "{name}: cannot tell: no row could be paired, of {before} before and {now} now",
            name=name,
            before=grouped(pairing.rows[0]),
            now=grouped(pairing.rows[1]),
        )
        yield Message(
            "no id is in both, and nothing beside the judged text names the same row: name the "
            "column that does with --id"
        )
        return
    if not found.is_comparable:
        yield Message("{name}: not comparable: {reason}", name=name, reason=shown.reason)
        yield pairing_message(pairing)
        return
    if not found.rows:
        yield Message("{name}: cannot tell: no row has a number in both runs", name=name)
        yield pairing_message(pairing)
        return
    if shown.value is None or found.first is None or found.second is None:
        yield Message("{name}: cannot tell: {reason}", name=name, reason=shown.reason)
        yield pairing_message(pairing)
        return
    if not (found.changed or found.corrected or found.without):
        yield _no_difference(found, float(found.first))
        yield pairing_message(pairing)
        yield from found.notes
        return
    yield Message(
        "{name}: {outcome}: {of} {first:.3f} → {second:.3f} on {rows}",
        name=name,
        outcome=_outcome(found.outcome, two),
        of=_measure(found),
        first=float(found.first),
        second=float(found.second),
        rows=count_rows(found.rows),
    )
    yield pairing_message(pairing)
    yield from _difference(found)
    yield from _noise(found.noise)
    yield from found.notes


def _difference(found: RunComparison) -> Iterator[str]:
    """How large it is, how sure that is, and what so few rows cannot show."""
    shown = found.shown
    if shown.value is not None and shown.lower is not None and shown.upper is not None:
        yield Message(
            "difference {value:+.3f} ({lower:+.3f} to {upper:+.3f} at {level}){by}",
            value=float(shown.value),
            lower=float(found.on_the_scale(shown.lower)),
            upper=float(found.on_the_scale(shown.upper)),
            level=level_text(found.level),
            by=Message(", corrected by labels of {rows} rows", rows=grouped(found.labels))
            if found.corrected
            else "",
        )
    if found.corrected and found.difference.estimate.value is not None:
        yield Message("uncorrected {value:+.3f}", value=found.difference.estimate.value)
    if found.outcome is ComparisonOutcome.CANNOT_TELL and found.difference.smallest is not None:
        yield plural(
            "the smallest difference that {count:,} row would show in 80% of comparisons is "
            "{smallest:.3f}",
            "the smallest difference that {count:,} rows would show in 80% of comparisons is "
            "{smallest:.3f}",
            found.rows,
            smallest=found.difference.smallest,
        )


def _slices(found: RunComparison) -> Iterator[str]:
    """A line for each slice, the largest first, and what their intervals promise; none of numbers
    that cannot be compared.
    """
    if not found.is_comparable:
        return
    for one in found.slices:
        if not one.rows:
            yield _nothing_shared(one)
            continue
        if (
            one.first is None
            or one.second is None
            or one.shown.lower is None
            or one.shown.upper is None
            or one.shown.value is None
        ):
            yield Message(
                "{slice}: cannot tell: {reason}", slice=one.slice, reason=one.shown.reason
            )
            continue
        yield Message(
            "{slice}: {outcome}: {first:.3f} → {second:.3f} on {rows}, difference {value:+.3f} "
            "({lower:+.3f} to {upper:+.3f}){by}{pooled}",
            slice=one.slice,
            outcome=_slice_outcome(one.outcome),
            first=float(one.first),
            second=float(one.second),
            rows=count_rows(one.rows),
            value=float(one.shown.value),
            lower=float(one.on_the_scale(one.shown.lower)),
            upper=float(one.on_the_scale(one.shown.upper)),
            by=Message(", corrected by labels of {rows} rows", rows=grouped(one.labels))
            if one.corrected
            else "",
            pooled=Message(
                "; pooled {value:+.3f}, {share:.0f}% from the whole",
                value=float(one.pooled.value),
                share=100 * float(one.pooled.from_whole),
            )
            if one.pooled
            else "",
        )
    if found.slices:
        yield Message(
            "the intervals of all slices, over all criteria, hold together at {level}",
            level=level_text(found.level),
        )
    yield from found.slicing


def _nothing_shared(one: RunComparison) -> Message:
    before, now = one.pairing.rows
    if not before:
        return plural(
            "{slice}: cannot tell: only the second run has it ({count:,} row)",
            "{slice}: cannot tell: only the second run has it ({count:,} rows)",
            now,
            slice=one.slice,
        )
    if not now:
        return plural(
            "{slice}: cannot tell: only the first run has it ({count:,} row)",
            "{slice}: cannot tell: only the first run has it ({count:,} rows)",
            before,
            slice=one.slice,
        )
    return Message("{slice}: cannot tell: no row has a number in both runs", slice=one.slice)


def _slice_outcome(outcome: ComparisonOutcome) -> Message:
    if outcome is ComparisonOutcome.BETTER:
        return Message("better")
    return Message("worse") if outcome is ComparisonOutcome.WORSE else Message("cannot tell")


def _no_difference(found: RunComparison, value: float) -> Message:
    return plural(
        "{name}: no difference: {of} {value:.3f}, the same on the {count:,} row that both judged",
        "{name}: no difference: {of} {value:.3f}, the same on all {count:,} rows that both judged",
        found.rows,
        name=found.name,
        of=_measure(found),
        value=value,
    )


def _measure(found: RunComparison) -> Message:
    if found.system:
        return Message("win rate of {name}", name=found.system)
    return Message("mean")


def _noise(noise: VoteNoise | None) -> Iterator[str]:
    if noise:
        narrower = noise.with_votes[5] < noise.half_width  # not where as many were asked already
        yield Message(
            "{share:.0%} of the variance is vote noise{more}",
            share=noise.share,
            more=Message(
                ": with 5 votes a row ±{now:.3f} would be ±{then:.3f}",
                now=noise.half_width,
                then=noise.with_votes[5],
            )
            if narrower
            else "",
        )


def _outcome(outcome: ComparisonOutcome, run: str) -> Message:
    if outcome is ComparisonOutcome.BETTER:
        return Message("{run} is better", run=run)
    if outcome is ComparisonOutcome.WORSE:
        return Message("{run} is worse", run=run)
    return Message("cannot tell")
