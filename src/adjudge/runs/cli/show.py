"""What several commands print beside their reports."""

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
    """Beside JSON: why rows have no score, which models did not count, how the gates came out."""
    show_warnings(report, Screen(language(), stderr=True))


def print_json(
    report: Report,
    results: Iterable[JudgmentRecord],
    aggregates: Iterable[JsonDict] | None = None,
    files: Sequence[Path | ObjectFile] = (),
    run: JsonDict | None = None,
) -> None:
    """The report and its judgments, for machines.

    ``files``: what was written; ``run``: the folder that keeps it.
    """
    more: Document = {
        **report.to_dict(),
        **({"files": list(map(str, files))} if files else {}),
        **({"run": run} if run else {}),
        **({"aggregates": iter(aggregates)} if aggregates is not None else {}),
    }
    print_results("judgments", report.summary(), (one.to_dict() for one in results), more)


def say_columns(columns: Mapping[str, str]) -> None:
    """Which column was taken for which field."""
    taken = ", ".join(f"{field} = {column}" for field, column in columns.items())
    echo(Message("columns: {taken}", taken=taken), err=True)
