"""Labelled rows of a run, for analyses other than a calibration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adjudge.core.ledger.file import holds_labels
from adjudge.core.ledger.records import records
from adjudge.runs.folder import reading, records_of
from adjudge.trust.contestants import Contestants
from adjudge.trust.labelled_judges import configurations
from adjudge.trust.labels.scales import label_scales
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.rows import Rows, by_row


def labelled_rows(folder: str | Path, judge: str) -> Iterator[Rows]:
    """Yield the judge's rows with their labels by people, once per labelled criterion.

    Rows that the judge learned from are left out; ``learned_row_count`` counts them.
    """
    learned = configurations(folder)[judge].learned_rows
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
                if record.identity not in learned:
                    rows.add(record)
        yield rows


def learned_row_count(folder: str | Path, judge: str) -> int:
    """Return how many labelled rows the judge learned from."""
    learned = configurations(folder)[judge].learned_rows
    if not learned or not holds_labels(folder):
        return 0
    people = {label.row for label in LabelStore(folder).current() if label.is_by_person}
    judged = {record.identity for record in records_of(folder, judge=judge)}
    return sum(row in learned for row in people & judged)
