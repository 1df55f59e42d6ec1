"""Which of two runs is better, in words."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.reports.pairing_words import pairing_told
from adjudge.reports.russian import verbatim
from adjudge.reports.words import counted, level_text
from adjudge.stats.difference import Outcome
from adjudge.trust.comparison import RunComparison


def comparison_lines(found: RunComparison, two: str) -> Iterator[str]:
    """Which run is better by one criteria, in words, and what stands behind it."""
    shown, level, pairing = found.shown, level_text(found.level), found.pairing
    name, run = verbatim(found.name), verbatim(two)
    if not pairing.paired:
        yield (
            f"{name}: cannot tell: no row could be paired, of {pairing.rows[0]} before and "
            f"{pairing.rows[1]} now"
        )
        yield (
            "  no id is in both, and nothing beside the judged text names the same row: name "
            "the column that does with --id"
        )
        return
    if found.first is None or found.second is None:
        yield f"{name}: cannot tell: no row has a number in both runs"
        yield f"  {pairing_told(pairing)}"
        return
    if shown.value is None:
        yield f"{name}: cannot tell: {shown.reason}"
        yield f"  {pairing_told(pairing)}"
        return
    said = {
        Outcome.BETTER: f"{run} is better",
        Outcome.WORSE: f"{run} is worse",
        Outcome.CANNOT_TELL: "cannot tell",
    }
    of = f"win rate of {verbatim(found.system)}" if found.system else "mean"
    means = f"{of} {found.first:.3f} → {found.second:.3f} on {counted(found.rows, 'row')}"
    yield f"{name}: {said[found.outcome]}: {means}"
    yield f"  {pairing_told(pairing)}"
    if shown.lower is not None and shown.upper is not None and shown.value is not None:
        by = f", corrected by labels of {found.labels} rows" if found.corrected else ""
        lower, upper = found.on_the_scale(shown.lower), found.on_the_scale(shown.upper)
        yield f"  difference {shown.value:+.3f} ({lower:+.3f} to {upper:+.3f} at {level}){by}"
    if found.corrected and found.difference.estimate.value is not None:
        yield f"  uncorrected {found.difference.estimate.value:+.3f}"
    if found.outcome is Outcome.CANNOT_TELL and found.difference.smallest is not None:
        rows = counted(found.rows, "row")
        yield (
            f"  the smallest difference that {rows} would show in 80% of comparisons is "
            f"{found.difference.smallest:.3f}"
        )
    noise = found.noise
    if noise and noise.share is not None and noise.half_width is not None and noise.with_votes:
        narrower = noise.with_votes[5] < noise.half_width  # not where as many were asked already
        more = (
            f": with 5 votes a row ±{noise.half_width:.3f} would be ±{noise.with_votes[5]:.3f}"
            if narrower
            else ""
        )
        yield f"  {noise.share:.0%} of the variance is vote noise{more}"
    for note in found.notes:
        yield f"  {note}"
