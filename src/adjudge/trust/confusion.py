"""Confusion table of a judge's verdicts against labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from adjudge.messages import Message
from adjudge.stats.agreement import share_of
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, clusters_at
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow

FAILED = "failed"


@dataclass(frozen=True)
class Confusion:
    """Counts of labelled rows by label and verdict."""

    table: dict[str, dict[str, int]] = field(default_factory=dict)
    """People's answer → the judge's answer → rows."""
    sensitivity: Estimate | None = None
    """The share of what people pass that the judge passes; None unless the criterion is pass or
    fail.
    """
    specificity: Estimate | None = None


def confusion_of(
    rows: Sequence[LabelledRow],
    measure: Measure,
    weights: Sequence[float],
    level: float,
    clusters: Clusters,
    no_limits: Message | None,
) -> Confusion:
    """Return the confusion table of rows with options; empty for numbers.

    ``weights``: how many rows each labelled row represents, by its position. ``clusters``: the
    cluster of every row; None means independent rows. ``no_limits``: why the shares have no limits
    if the labels are no random sample; the shares are then weighted.
    """
    if measure.is_number:
        return Confusion()
    cells = Counter((truth, row.verdict) for row in rows if isinstance(truth := row.truth, str))
    table: dict[str, dict[str, int]] = defaultdict(dict)
    for (truth, verdict), count in sorted(cells.items(), key=str):
        table[truth][FAILED if verdict is None else verdict] = count
    if not measure.is_binary:
        return Confusion(dict(table))
    fail, good = measure.ends
    shares = [
        _plain_share(rows, option, level, clusters)
        if no_limits is None
        else _weighted_share(rows, option, weights, level, no_limits)
        for option in (good, fail)
    ]
    return Confusion(dict(table), *shares)


def _plain_share(
    rows: Sequence[LabelledRow], option: str, level: float, clusters: Clusters
) -> Estimate:
    """Return the share of rows labelled ``option`` to which the judge gave ``option``, too."""
    rows_of_option = _rows_of(rows, option)
    hits = [row.verdict == option for row in rows_of_option]
    groups = clusters_at(clusters, [row.place for row in rows_of_option])
    return share_of(hits, groups, level, _no_row_text(option))


def _weighted_share(
    rows: Sequence[LabelledRow],
    option: str,
    weights: Sequence[float],
    level: float,
    no_limits: Message,
) -> Estimate:
    """Like ``_plain_share``, but weighted by the rows that each row represents, and without
    limits.
    """
    rows_of_option = _rows_of(rows, option)
    total = sum(weights[row.place] for row in rows_of_option)
    if not total:
        return undefined("share", 0, _no_row_text(option), level=level)
    return Estimate(
        sum(weights[row.place] for row in rows_of_option if row.verdict == option) / total,
        None,
        None,
        len(rows_of_option),
        "weighted by verdict",
        level,
        no_limits,
    )


def _rows_of(rows: Sequence[LabelledRow], option: str) -> list[LabelledRow]:
    """Return the rows with a verdict that people labelled ``option``."""
    return [row for row in rows if row.truth == option and row.verdict is not None]


def _no_row_text(option: str) -> Message:
    return Message("no row with a verdict was labelled {option}", option=option)
