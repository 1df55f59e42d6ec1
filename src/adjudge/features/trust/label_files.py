"""Labels as files: one label per row, or one column per annotator."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adjudge.core.aio.files import writing
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.errors import SetupError
from adjudge.runs.exporters.table import check_writable, write_rows
from adjudge.trust.labels.files import ANSWERS, NAMES, UNSURE

ENDINGS = (".csv", ".jsonl")


def write_labels(path: Path, labels: Iterable[Label], *, wide: bool = False) -> int:
    """Write labels to a .csv or .jsonl file and return their number.

    ``wide`` writes one line per row, with a column per annotator that holds only the answer.
    """
    if path.suffix.lower() not in ENDINGS:
        raise SetupError(
            "labels can be written to {endings}, not to {name!r}",
            endings=" or ".join(ENDINGS),
            name=path.name,
        )
    check_writable(path)
    all_labels = list(labels)
    with writing(path):
        write_rows(path, _wide(all_labels) if wide else [label.to_dict() for label in all_labels])
    return len(all_labels)


def _wide(labels: list[Label]) -> list[JsonDict]:
    rows: dict[tuple[str, str, str | None], JsonDict] = {}
    annotators = dict.fromkeys(label.annotator for label in labels)
    # such a column would be read back as another field
    if clashing := [name for name in annotators if name in (*NAMES, *ANSWERS, "judge")]:
        raise SetupError(
            "the annotator's name {taken!r} is already the name of a column: write one label per "
            "row, without --wide",
            taken=clashing[0],
        )
    for label in labels:
        about = some_of(label, "row", "id", "criteria")
        key = (label.criteria, label.row, label.id)
        row = rows.setdefault(key, {**about, **dict.fromkeys(annotators)})
        # a drawn row without an answer must not look like one that nobody has seen
        row[label.annotator] = UNSURE if label.state in ("unsure", "skipped") else label.answer
    return list(rows.values())
