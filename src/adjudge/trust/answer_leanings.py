"""What a judge of single answers goes by beside quality: text that adds nothing, and what it says
by another criteria.
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
from adjudge.trust.rows import Rows

PADDING = "padding_of"
"""The column that names the row (its id) whose answer a row holds with padding."""
FEWEST = 8
"""Rows that two criteria must share."""
_Series = Mapping[str, tuple[float, float]]
"""Row → what the judge says, and what people say."""


def padding_text(folder: str | Path, judge: str) -> str:
    """Where rows hold the answers of others with padding: how many more pass."""
    passed: dict[tuple[str, str], bool] = {}
    padded: list[tuple[tuple[str, str], bool]] = []
    for record in records_of(folder, judge=judge):
        plain = column_of(record.fields, record.input, PADDING)
        if record.score in (0, 1) and plain:
            padded.append(((record.criterion, str(plain)), bool(record.score)))
        elif record.score in (0, 1):
            passed[record.criterion, str(record.id)] = bool(record.score)
    pairs = [(passed[key], after) for key, after in padded if key in passed]
    if not pairs:
        return Message(
            "not measured: it takes rows with a column {column}, the id of the row whose answer "
            "they hold with padding",
            column=PADDING,
        )
    before, after = ([float(one) for one in side] for side in zip(*pairs, strict=True))
    one = compare(after, before).estimate
    limits = (
        one.reason
        if one.lower is None
        else Message(
            "{lower:+.3f} to {upper:+.3f}; {count} answers",
            lower=one.lower,
            upper=one.upper,
            count=one.count,
        )
    )
    return Message(
        "answers pass {value:+.3f} more often once they are padded ({limits})",
        value=one.value,
        limits=limits,
    )


def halo_text(folder: str | Path, judge: str) -> str | None:
    """Of two criteria: how much more they go together in the judge's verdicts than in people's
    labels; None of one alone.
    """
    if sum(judge in one.judges for one in label_scales(folder)) < 2:
        return None
    series = (
        {rows.scale.name: dict(_series(rows)) for rows in labelled_rows(folder, judge)}
        if holds_labels(folder)
        else {}
    )
    found = [
        (figure.value, one, other, rows)
        for one, other, figure, rows in _each_two(series)
        if figure.value is not None
    ]
    if not found:
        return Message(
            "not measured: it takes people's labels of the same {fewest} rows by two of its "
            "criteria, which vary",
            fewest=FEWEST,
        )
    value, one, other, rows = max(found)
    return Message(
        "{one} and {other} go together by {value:+.2f} more than in people's labels "
        "(correlation; {rows} rows)",
        one=one,
        other=other,
        value=value,
        rows=rows,
    )


def _each_two(series: Mapping[str, _Series]) -> Iterator[tuple[str, str, Figure, int]]:
    for one, other in combinations(series, 2):
        both = [
            (series[one][row], series[other][row]) for row in series[one] if row in series[other]
        ]
        if len(both) >= FEWEST:
            judged = [a[0] for a, _ in both], [b[0] for _, b in both]
            labelled = [a[1] for a, _ in both], [b[1] for _, b in both]
            yield one, other, halo(judged, labelled), len(both)


def _series(rows: Rows) -> Iterator[tuple[str, tuple[float, float]]]:
    for one in rows.labelled:
        if one.said is not None:
            yield one.identity, (rows.measure.value(one.said), one.value(rows.measure))
