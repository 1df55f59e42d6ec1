"""Files of other tools, written for a test, and what an import makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adjudge.core.domain.label import Label
from adjudge.features.importers.importing import ImportOptions, ImportReport, import_file
from adjudge.trust.labels.store import LabelStore
from support.exported import judgments

SAMPLES = Path(__file__).parent.parent / "samples" / "imports"


class Imported:
    """What came out of a file."""

    def __init__(self, folder: Path, report: ImportReport) -> None:
        self.folder = folder
        self.report = report
        self.rows: list[dict[str, Any]] = list(judgments(folder, votes=True))
        self.labels: list[Label] = list(LabelStore(folder).current())

    @property
    def outcomes(self) -> dict[str, int]:
        return dict(self.report.tally.votes)

    @property
    def verdicts(self) -> list[Any]:
        """In the file's order: the option, the winner or the number; None where a vote failed."""
        return [_verdict(row) for row in self.rows]

    @property
    def answers(self) -> list[Any]:
        return [label.answer for label in self.labels]


def _verdict(row: Mapping[str, Any]) -> Any:
    if "selected_option" in row:
        return row["selected_option"]
    return row["option"] if "option" in row else row["score"]


def imported(
    tmp_path: Path, content: object, *, lines: bool = False, name: str = "file.json", **options: Any
) -> Imported:
    """Write ``content`` as JSON (``lines``: one object a line; a text: as it stands), and import
    it.
    """
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif lines:
        assert isinstance(content, Iterable)
        path.write_text("".join(json.dumps(one) + "\n" for one in content), encoding="utf-8")
    else:
        path.write_text(json.dumps(content), encoding="utf-8")
    return imported_path(path, tmp_path / "run", **options)


def imported_path(path: Path, folder: Path, **options: Any) -> Imported:
    return Imported(folder, import_file(path, folder, ImportOptions(**options)))
