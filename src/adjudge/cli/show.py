"""What several commands print beside their reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.cli.json_text import Document, print_results
from adjudge.cli.output import echo
from adjudge.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.view.terminal_report import excluded_lines, reason_lines

if TYPE_CHECKING:
    from adjudge.domain.record import JudgmentRecord
    from adjudge.results.report import Report

_GATE_STYLES = {"holds": "green", "failed": "red", "inconclusive": "yellow"}


def warn(report: Report) -> None:
    """Why rows have no score, which models did not count, and how the gates came out."""
    several = len(report.sections) > 1
    for line in reason_lines(report):
        echo(line, err=True)
    for section in report.sections:
        for line in excluded_lines(section.summary, section.name if several else ""):
            echo(line, err=True)
    for gate in report.gates:
        echo(gate.sentence(), fg=_GATE_STYLES[gate.verdict], err=True)


def print_json(
    report: Report,
    results: Iterable[JudgmentRecord],
    aggregates: Iterable[JsonDict] | None = None,
    files: Sequence[Path] = (),
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


def say_where(output: Path | None, folder: Path | None) -> None:
    """Where every row is, when they are too many to be shown."""
    places = [str(output)] if output else []
    places += [f"adjudge export {folder}"] if folder else []
    echo(
        Message("Every row: {places}", places=", ".join(places))
        if places
        else Message("The rows are not kept: add -o rows.csv or --run FOLDER")
    )


def say_columns(columns: Mapping[str, str]) -> None:
    """Which column was taken for which field."""
    taken = ", ".join(f"{field} = {column}" for field, column in columns.items())
    echo(Message("columns: {taken}", taken=taken), err=True)
