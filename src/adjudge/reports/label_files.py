"""Labels as files: one label a row, or one column per annotator."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adjudge.domain.label import Label
from adjudge.errors import RunError, SetupError
from adjudge.reports.table import check_writable, write_rows
from adjudge.runs.label_files import ANSWERS, NAMES

ENDINGS = (".csv", ".jsonl")


def write_labels(path: Path, labels: Iterable[Label], *, wide: bool = False) -> int:
    """Write labels to a .csv or .jsonl file.

    ``wide``: one row for each row, and a column per annotator with the answer alone.
    """
    if path.suffix.lower() not in ENDINGS:
        raise SetupError(f"labels are written to {' or '.join(ENDINGS)}, not to {path.name!r}")
    check_writable(path)
    found = list(labels)
    try:
        write_rows(path, _wide(found) if wide else [label.to_dict() for label in found])
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(found)


def _wide(labels: list[Label]) -> list[dict[str, object]]:
    rows: dict[tuple[str, str], dict[str, object]] = {}
    annotators = dict.fromkeys(label.annotator for label in labels)
    if taken := [name for name in annotators if name in (*NAMES, *ANSWERS, "judge")]:
        raise SetupError(
            f"the annotator {taken[0]!r} cannot have a column of that name: write one label "
            "a row, without --wide"
        )
    for label in labels:
        about = {"row": label.row, "id": label.id, "criteria": label.criteria}
        row = rows.setdefault((label.criteria, label.row), {**about, **dict.fromkeys(annotators)})
        row[label.annotator] = label.answer
    return list(rows.values())
