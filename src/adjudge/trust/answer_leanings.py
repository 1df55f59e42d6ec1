"""Leanings of judges of single answers: text that adds nothing, and the halo of another
criterion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

from adjudge.core.domain.record import column_of
from adjudge.core.ledger.file import holds_labels
from adjudge.messages import Message
from adjudge.runs.folder import records_of
from adjudge.stats.bias import halo
from adjudge.stats.difference import compare
from adjudge.stats.estimate import Figure
from adjudge.trust.labelled_rows import labelled_rows
from adjudge.trust.labels.scales import label_scales

PADDING = "padding_of"
"""The column that names the row (its id) whose answer a row holds with padding."""
FEWEST = 8
"""Rows that two criteria must share."""
# Row → what the judge says, and what people say.
_Series = Mapping[str, tuple[float, float]]


def padding_text(folder: str | Path, judge: str) -> str:
    """Say how much more often answers pass once they are padded, or that no rows hold padded
    answers.
    """
    passed: dict[tuple[str, str], bool] = {}
    padded: list[tuple[tuple[str, str], bool]] = []
    for record in records_of(folder, judge=judge):
        plain = column_of(record.fields, record.input, PADDING)
        if not record.scored or record.score not in (0, 1):
            continue
        if plain:
            padded.append(((record.criterion, str(plain)), bool(record.score)))
        else:
            passed[record.criterion, str(record.id)] = bool(record.score)
    pairs = [(passed[key], is_passed) for key, is_passed in padded if key in passed]
    if not pairs:
        return Message(
            "not measured: that needs rows with a column {column}, the id of the row whose "
            "answer they contain with padding",
            column=PADDING,
        )
    passes_plain, passes_padded = (
        [float(score) for score in scores] for scores in zip(*pairs, strict=True)
    )
    difference = compare(passes_padded, passes_plain).estimate
    limits = (
        difference.reason
        if difference.lower is None
        else Message(
            "{lower:+.3f} to {upper:+.3f}; {count} answers",
            lower=difference.lower,
            upper=difference.upper,
            count=difference.count,
        )
    )
    return Message(
        "answers pass {value:+.3f} more often once they are padded ({limits})",
        value=difference.value,
        limits=limits,
    )


def halo_text(folder: str | Path, judge: str) -> str | None:
    """Say how much more two criteria correlate in the judge's verdicts than in labels.

    None for a judge with one criterion.
    """
    if sum(judge in scale.judges for scale in label_scales(folder)) < 2:
        return None
    series = (
        {
            rows.scale.name: {
                row.identity: (rows.measure.value(row.judge_answer), row.value(rows.measure))
                for row in rows.labelled
                if row.judge_answer is not None
            }
            for rows in labelled_rows(folder, judge)
        }
        if holds_labels(folder)
        else {}
    )
    halos = [
        (figure.value, criterion_a, criterion_b, rows)
        for criterion_a, criterion_b, figure, rows in _halos(series)
        if figure.value is not None
    ]
    if not halos:
        return Message(
            "not measured: that needs people's labels of the same {fewest} rows by two of its "
            "criteria, which vary",
            fewest=FEWEST,
        )
    value, criterion_a, criterion_b, rows = max(halos)
    return Message(
        "{one} and {other} go together by {value:+.2f} more than in people's labels "
        "(correlation; {rows} rows)",
        one=criterion_a,
        other=criterion_b,
        value=value,
        rows=rows,
    )


def _halos(series: Mapping[str, _Series]) -> Iterator[tuple[str, str, Figure, int]]:
    for criterion_a, criterion_b in combinations(series, 2):
        both = [
            (series[criterion_a][row], series[criterion_b][row])
            for row in series[criterion_a]
            if row in series[criterion_b]
        ]
        if len(both) >= FEWEST:
            by_judge = [a[0] for a, _ in both], [b[0] for _, b in both]
            by_people = [a[1] for a, _ in both], [b[1] for _, b in both]
            yield criterion_a, criterion_b, halo(by_judge, by_people), len(both)
