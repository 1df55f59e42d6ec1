"""Output that several commands print besides their reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.reading.objects import ObjectFile
from adjudge.messages import Message
from adjudge.runs.cli.json_text import Document, print_results
from adjudge.runs.cli.output import echo, language
from adjudge.runs.view.ending import show_warnings
from adjudge.runs.view.terminal import Screen

if TYPE_CHECKING:
    from adjudge.core.domain.record import JudgmentRecord
    from adjudge.runs.results.report import Report


def warn(report: Report) -> None:
    """Print what ``--json`` cannot show well: rows without a score, excluded models, gates."""
    show_warnings(report, Screen(language(), stderr=True))


def print_json(
    report: Report,
    results: Iterable[JudgmentRecord],
    aggregates: Iterable[JsonDict] | None = None,
    files: Sequence[Path | ObjectFile] = (),
    run: JsonDict | None = None,
) -> None:
    """Print the report and its judgments as JSON.

    ``files``: the files that were written; ``run``: the data of the run folder.
    """
    more: Document = {
        **report.to_dict(),
        **({"files": list(map(str, files))} if files else {}),
        **({"run": run} if run else {}),
        **({"aggregates": iter(aggregates)} if aggregates is not None else {}),
    }
    print_results("judgments", report.summary(), (record.to_dict() for record in results), more)


def say_columns(columns: Mapping[str, str]) -> None:
    """Print which column is used for which field."""
    taken = ", ".join(f"{field} = {column}" for field, column in columns.items())
    echo(Message("columns: {taken}", taken=taken), err=True)
