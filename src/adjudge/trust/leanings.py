"""Biases of a judge as far as a run shows them: order, length, and who wrote the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from adjudge.core.ledger.file import holds_labels
from adjudge.core.ledger.records import records
from adjudge.errors import RunError
from adjudge.messages import Message, plural
from adjudge.runs.folder import reading, records_of
from adjudge.stats.bias import verbosity_slope
from adjudge.trust.answer_leanings import halo_text, padding_text
from adjudge.trust.labelled_rows import labelled_rows, learned_row_count
from adjudge.trust.pair_leanings import better_first_text, first_place_text, longer_text
from adjudge.trust.self_preference import self_preference_text

_UNLABELLED = Message("not measured, because it needs human labels")


@dataclass(frozen=True)
class Leaning:
    name: str
    text: str


def leanings_of(folder: str | Path, judge: str) -> Iterator[Leaning]:
    """Yield the biases that a judge's judgments show, or why they could not be measured."""
    labelled = holds_labels(folder)
    yield _order(folder, judge)
    with reading(folder) as ledger:
        compares = any(record.systems for record in records(ledger, judge=judge, index=0))
    if compares:
        yield Leaning(Message("first place"), first_place_text(folder, judge))
        yield Leaning(
            Message("better shown first"),
            better_first_text(folder, judge) if labelled else _UNLABELLED,
        )
        yield Leaning(Message("length"), longer_text(folder, judge) if labelled else _UNLABELLED)
    else:
        yield _length(folder, judge)
        yield Leaning(Message("padding"), padding_text(folder, judge))
        yield from _halo(folder, judge)
    try:
        own_family = self_preference_text(folder, judge)
    except RunError:  # custom judges need not declare their criteria
        own_family = Message("not measured: the run does not record the question")
    yield Leaning(Message("self-preference"), own_family)
    if count := learned_row_count(folder, judge):
        text = plural(
            "leanings measured with labels leave out {count} labelled row that the judge learned "
            "from",
            "leanings measured with labels leave out {count} labelled rows that the judge "
            "learned from",
            count,
        )
        yield Leaning(Message("rows it learned from"), text)


def _halo(folder: str | Path, judge: str) -> Iterator[Leaning]:
    try:
        text = halo_text(folder, judge)
    except RunError:  # custom judges need not declare their criteria
        return
    if text is not None:
        yield Leaning(Message("halo"), text)


def _order(folder: str | Path, judge: str) -> Leaning:
    flips, noise, turned, rows = [], [], 0, 0
    for record in records_of(folder, judge=judge):
        bias = record.positional_bias
        if bias is not None and bias.detected is not None:
            rows += 1
            turned += bias.detected
            flips += [] if bias.flip_rate is None else [bias.flip_rate]
            noise += [] if bias.noise_rate is None else [bias.noise_rate]
    if not rows:
        return Leaning(
            Message("order"), Message("not measured: judge with --check-positional-bias")
        )
    floor = (
        Message("{share:.2f} of votes differ within one order", share=fmean(noise))
        if noise
        else Message("the noise within one order was not measured")
    )
    return Leaning(
        Message("order"),
        Message(
            "{turned} of {rows} verdicts change with the order ({share:.2f} of votes; {floor})",
            turned=turned,
            rows=rows,
            share=fmean(flips or [0.0]),
            floor=floor,
        ),
    )


def _length(folder: str | Path, judge: str) -> Leaning:
    """Say whether longer answers are judged more favourably than labels justify."""
    if not holds_labels(folder):
        return Leaning(Message("length"), _UNLABELLED)
    errors, lengths = [], []
    for rows in labelled_rows(folder, judge):
        measure = rows.measure
        for row in rows.labelled:
            if row.judge_answer is not None and row.length:
                errors.append(measure.value(row.judge_answer) - row.value(measure))
                lengths.append(float(row.length))
    # a line through such points says nothing of what lies so far beyond them
    if lengths and max(lengths) < 2 * min(lengths):
        return Leaning(
            Message("length"),
            Message("not measured: no labelled answer is twice as long as another"),
        )
    text = verbosity_slope(errors, lengths).say(
        Message("an answer twice as long gains {value:+.3f} of the scale ({limits})"),
        Message("{lower:+.3f} to {upper:+.3f}; {count} rows"),
    )
    return Leaning(Message("length"), text)
