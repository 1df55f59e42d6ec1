"""The labelled rows of a run, for whoever looks at them otherwise than a calibration does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adjudge.core.ledger.records import records
from adjudge.runs.folder import reading
from adjudge.trust.contestants import Contestants
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.rows import Rows, by_row


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
