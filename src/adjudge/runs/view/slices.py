"""Numbers per slice, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.messages import Message, plural, term
from adjudge.runs.numbers import figure, level_text, limits, mean_text
from adjudge.runs.results.score_slices import CrossedSlices, ScoreSlices
from adjudge.stats.slices import PooledValue
from adjudge.trust.calibration_words import limits_text, value_text
from adjudge.trust.slices import SliceReport


def slice_title(slices: SliceReport | ScoreSlices) -> Message:
    """Return the slices' column, and the level of their intervals."""
    promise = Message(
        "by {column}: simultaneous {level} intervals over all slices, for this judge and "
        "criterion (each at {each:.4g}%)",
        column=slices.column,
        level=level_text(slices.level),
        each=100 * float(slices.each),
    )
    if isinstance(slices, ScoreSlices) and slices.system:
        return Message("win rate of {system} {promise}", system=slices.system, promise=promise)
    return promise


def crossed_title(slices: CrossedSlices, column: str, across: str) -> Message:
    """Return the columns, the level of the intervals, and how the last column is decided."""
    promise = Message(
        "by {column} and {across}: simultaneous {level} intervals over all cells, for this judge "
        "and criterion (each at {each:.4g}%). Lower: the interval ends below that of another "
        "value. –: the intervals overlap, so this table cannot tell.",
        column=column,
        across=across,
        level=level_text(slices.level),
        each=100 * float(slices.each),
    )
    if slices.system:
        return Message("win rate of {system} {promise}", system=slices.system, promise=promise)
    return promise


def score_slice_headings(slices: ScoreSlices) -> list[str]:
    """Return the headings of ``score_slice_rows``."""
    return [
        slices.column,
        Message("rows"),
        term("status", "scored"),
        Message("win rate") if slices.system else term("score", "mean"),
        Message("interval"),
    ]


def score_slice_rows(slices: ScoreSlices) -> Iterator[Sequence[str]]:
    """Yield a line for each slice, the largest first."""
    for part in slices.slices:
        yield [
            part.name,
            str(part.rows),
            str(part.scores),
            mean_text(part.mean, 3, between=part.between, scored=part.scores),
            limits(part.interval),
        ]


def slice_headings(report: SliceReport) -> list[str]:
    """Return the headings of ``slice_rows``."""
    return [
        report.column,
        Message("rows"),
        Message("labels"),
        Message("uncorrected"),
        Message("corrected"),
        Message("interval"),
        *([Message("pooled")] if _is_pooled(report) else []),
    ]


def slice_rows(report: SliceReport) -> Iterator[Sequence[str]]:
    """Yield a line for each slice, the largest first."""
    is_pooled = _is_pooled(report)
    for part in report.slices:
        yield [
            part.name,
            str(part.rows),
            str(part.labels),
            figure(part.naive, 3),
            value_text(part.corrected),
            limits_text(part.corrected),
            *([pooled_text(part.pooled) if part.pooled else "–"] if is_pooled else []),
        ]


def _is_pooled(report: SliceReport) -> bool:
    return any(part.pooled for part in report.slices)


def pooled_text(pooled: PooledValue) -> Message:
    """Return a pooled value, and the share that comes from the whole."""
    return Message(
        "{value:.3f} ({share:.0f}% from all rows)",
        value=float(pooled.value),
        share=100 * float(pooled.from_whole),
    )


def slice_lines(report: SliceReport) -> Iterator[Message]:
    """Yield remarks that readers of the table need."""
    if _is_pooled(report):
        yield Message(
            "pooled: the slice's own number, shrunk towards the number expected from the judge's "
            "errors on all rows; the fewer labels, the stronger the shrinkage. Right on average "
            "over slices, not for each slice"
        )
    for part in report.slices:
        if 0 < part.added < part.rows:
            yield plural(
                "{name}: {count} of {rows} rows was added after the draw; the figures are about "
                "the others",
                "{name}: {count} of {rows} rows were added after the draw; the figures are about "
                "the others",
                part.added,
                name=part.name,
                rows=part.rows,
            )
    yield from report.notes
