"""What the judge said where people said what."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.stats.agreement import share_of
from adjudge.stats.estimate import Estimate, undefined
from adjudge.stats.intervals import Clusters, clusters_at
from adjudge.trust.measure import Measure
from adjudge.trust.rows import LabelledRow

FAILED = "failed"


@dataclass(frozen=True)
class Confusion:
    """Labelled rows by what people and judge say."""

    table: dict[str, dict[str, int]] = field(default_factory=dict)
    """What people say → what the judge says → rows."""
    sensitivity: Estimate | None = None
    """Of what people pass, the share that the judge passes; None where there is
    no pass and fail.
    """
    specificity: Estimate | None = None

    def to_dict(self) -> JsonDict:
        return {"confusion": self.table, **some_of(self, "sensitivity", "specificity")}


def confusion_of(
    rows: Sequence[LabelledRow],
    measure: Measure,
    weights: Sequence[float],
    level: float,
    clusters: Clusters,
    no_limits: Message | None,
) -> Confusion:
    """Of rows with options; numbers have none.

    ``weights``: how many rows each labelled one stands for, by its place. ``clusters``: of every
    row of the judge, by its place; None: independent. ``no_limits``: why the shares have no limits,
    if the labels are not a random sample of all rows; they are then weighted.
    """
    if measure.is_number:
        return Confusion()
    cells = Counter((truth, one.verdict) for one in rows if isinstance(truth := one.truth, str))
    table: dict[str, dict[str, int]] = defaultdict(dict)
    for (truth, verdict), count in sorted(cells.items(), key=str):
        table[truth][FAILED if verdict is None else verdict] = count
    if not measure.is_binary:
        return Confusion(dict(table))
    fail, good = measure.ends
    found = [
        _plain_share(rows, option, level, clusters)
        if no_limits is None
        else _weighted_share(rows, option, weights, level, no_limits)
        for option in (good, fail)
    ]
    return Confusion(dict(table), *found)


def _plain_share(
    rows: Sequence[LabelledRow], option: str, level: float, clusters: Clusters
) -> Estimate:
    """Of the rows that people gave ``option``, the share that the judge gave it too."""
    own = _decided(rows, option)
    hits = [one.verdict == option for one in own]
    groups = clusters_at(clusters, [one.place for one in own])
    return share_of(hits, groups, level, _none_called(option))


def _weighted_share(
    rows: Sequence[LabelledRow],
    option: str,
    weights: Sequence[float],
    level: float,
    no_limits: Message,
) -> Estimate:
    """Like _plain_share, but each row counts as the rows that it stands for, and there are no
    limits.
    """
    own = _decided(rows, option)
    of = sum(weights[one.place] for one in own)
    if not of:
        return undefined("share", 0, _none_called(option), level=level)
    return Estimate(
        sum(weights[one.place] for one in own if one.verdict == option) / of,
        None,
        None,
        len(own),
        "weighted by verdict",
        level,
        no_limits,
    )


def _decided(rows: Sequence[LabelledRow], option: str) -> list[LabelledRow]:
    """The rows with a verdict that people gave ``option``."""
    return [one for one in rows if one.truth == option and one.verdict is not None]


def _none_called(option: str) -> Message:
    return Message("no row with a verdict that people called {option}", option=option)
