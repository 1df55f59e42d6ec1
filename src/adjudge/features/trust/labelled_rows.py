"""The labelled rows of a run, for whoever looks at them otherwise than a calibration does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adjudge.core.ledger.records import records
from adjudge.features.trust.contestants import Contestants
from adjudge.features.trust.labels.scales import label_scales
from adjudge.features.trust.labels.store import LabelStore
from adjudge.features.trust.rows import Rows, by_row
from adjudge.runs.folder import reading


def labelled_rows(folder: str | Path, judge: str) -> Iterator[Rows]:
    """The rows of one judge by each of its criteria, with what people say of them."""
    for judged in label_scales(folder):
        labels = [one for one in LabelStore(folder).of_each_copy(judged.name) if one.is_by_person]
        if judge not in judged.judges or not labels:
            continue
        with reading(folder) as ledger:
            rows = Rows(
                judged.scale, by_row(labels), contestants=Contestants.of_judge(ledger, judge)
            )
            for record in records(ledger, judge=judge):
                rows.add(record)
        yield rows
