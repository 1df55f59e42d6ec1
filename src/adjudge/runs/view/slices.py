"""Corrected numbers of slices, as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.messages import Message, plural, term
from adjudge.runs.numbers import figure, level_text, limits
from adjudge.runs.results.score_slices import ScoreSlices
from adjudge.stats.slices import PooledValue
from adjudge.trust.calibration_words import limits_text, value_text
from adjudge.trust.slices import SliceReport


def slice_title(found: SliceReport | ScoreSlices) -> Message:
    """What the rows are told apart by, and what their intervals promise."""
    promise = Message(
        "by {column}: the intervals of all slices hold together at {level} for this judge and "
        "criterion (each at {each:.4g}%)",
        column=found.column,
        level=level_text(found.level),
        each=100 * float(found.each),
    )
    if isinstance(found, ScoreSlices) and found.system:
        return Message("win rate of {system} {promise}", system=found.system, promise=promise)
    return promise


def score_slice_headings(found: ScoreSlices) -> list[str]:
    """Of the columns of ``score_slice_rows``."""
    return [
        found.column,
        Message("rows"),
        term("status", "scored"),
        Message("win rate") if found.system else term("score", "mean"),
        Message("interval"),
    ]


def score_slice_rows(found: ScoreSlices) -> Iterator[Sequence[str]]:
    """A line for each slice, the largest first."""
    for one in found.slices:
        yield [
            one.name,
            str(one.rows),
            str(one.scores),
            figure(one.mean, 3),
            limits(one.interval),
        ]


def slice_headings(found: SliceReport) -> list[str]:
    """Of the columns of ``slice_rows``."""
    return [
        found.column,
        Message("rows"),
        Message("labels"),
        Message("uncorrected"),
        Message("corrected"),
        Message("interval"),
        *([Message("pooled")] if _is_pooled(found) else []),
    ]


def slice_rows(found: SliceReport) -> Iterator[Sequence[str]]:
    """A line for each slice, the largest first."""
    is_pooled = _is_pooled(found)
    for one in found.slices:
        yield [
            one.name,
            str(one.rows),
            str(one.labels),
            figure(one.naive, 3),
            value_text(one.corrected),
            limits_text(one.corrected),
            *([pooled_text(one.pooled) if one.pooled else "–"] if is_pooled else []),
        ]


def _is_pooled(found: SliceReport) -> bool:
    return any(one.pooled for one in found.slices)


def pooled_text(one: PooledValue) -> Message:
    """A pooled value, and how much of it is the whole's."""
    return Message(
        "{value:.3f} ({share:.0f}% from the whole)",
        value=float(one.value),
        share=100 * float(one.from_whole),
    )


def slice_lines(found: SliceReport) -> Iterator[Message]:
    """What a reader must know of the table."""
    if _is_pooled(found):
        yield Message(
            "pooled: the slice's own number, pulled towards what the judge's errors on all rows "
            "let expect of it, the more the fewer labels it has; right on average over slices, "
            "not for each of them"
        )
    for one in found.slices:
        if 0 < one.added < one.rows:
            yield plural(
                "{name}: {count} of {rows} rows was added after the draw; the figures are about "
                "the others",
                "{name}: {count} of {rows} rows were added after the draw; the figures are about "
                "the others",
                one.added,
                name=one.name,
                rows=one.rows,
            )
    yield from found.notes
