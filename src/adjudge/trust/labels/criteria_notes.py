"""Annotators' notes on the criteria themselves: an append-only file next to the labels."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from adjudge.core.aio.files import locked, writing
from adjudge.core.ledger.file import LABEL_FILES, LABELS_LOCK, NOTES, refuse_links
from adjudge.errors import RunError, SetupError
from adjudge.messages import reason_of

_LONGEST = 2000
# Notes, the last ones: nobody reads more.
_MOST_READ = 1000
_LARGEST = 10_000_000


@dataclass(frozen=True)
class CriteriaNote:
    """A note on the wording of a criterion, not on a row."""

    criteria: str
    annotator: str
    note: str
    at: float = 0.0


def add_note(folder: str | Path, criteria: str, annotator: str, note: str) -> None:
    """Append a note, flushing it to disk before returning."""
    text = note.strip()
    if not text:
        raise SetupError("say what is unclear about the criteria")
    line = json.dumps(
        asdict(CriteriaNote(criteria, annotator, text[:_LONGEST], time.time())), ensure_ascii=False
    )
    path = Path(folder) / NOTES
    with writing(path):
        refuse_links(Path(folder), LABEL_FILES)
        with (
            locked(Path(folder) / LABELS_LOCK),
            path.open("a", encoding="utf-8", errors="backslashreplace") as file,
        ):
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())


def notes_in(folder: str | Path) -> list[CriteriaNote]:
    """Return the last notes of a run, in the order they were written. Unreadable lines are
    skipped.
    """
    refuse_links(Path(folder), LABEL_FILES)
    path = Path(folder) / NOTES
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise RunError(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error
    notes = []
    for line in lines[-_MOST_READ:]:
        # a line may be cut off, or written by another program
        with suppress(ValueError, TypeError):
            notes.append(CriteriaNote(**json.loads(line)))
    return notes
