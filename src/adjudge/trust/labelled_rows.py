"""Labelled rows of a run, for analyses other than a calibration."""

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
    """Yield the judge's rows with their labels, for each of its labelled criteria."""
    for scale in label_scales(folder):
        labels = [
            label for label in LabelStore(folder).of_each_copy(scale.name) if label.is_by_person
        ]
        if judge not in scale.judges or not labels:
            continue
        with reading(folder) as ledger:
            rows = Rows(
                scale.scale, by_row(labels), contestants=Contestants.of_judge(ledger, judge)
            )
            for record in records(ledger, judge=judge):
                rows.add(record)
        yield rows
