"""Reports as files: a Markdown page, an HTML page, or both with a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.reading.reiterable import Reiterable
from adjudge.errors import RunError
from adjudge.messages import reason_of
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.table import write_judgments
from adjudge.runs.results.report import Report
from adjudge.runs.view.pages import html_parts, markdown_page


def write_markdown(report: Report, path: Path) -> None:
    with text_file(path) as file:
        file.write(markdown_page(report))


def write_html(report: Report, judgments: Iterable[JudgmentRecord] | None, path: Path) -> None:
    """Write the HTML page, streaming the judgments."""
    with text_file(path, is_page=True) as file:
        file.writelines(html_parts(report, judgments))


def write_reports(
    report: Report,
    judgments: Sequence[JudgmentRecord] | Reiterable[JudgmentRecord],
    folder: str | Path = "reports",
) -> list[Path]:
    """Write ``rag_evaluation_results_<time>`` as .md, .csv and .html into ``folder``, which is
    created if necessary.
    """
    paths = report_paths(Path(folder), report.made)
    try:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        write_judgments(paths[1], judgments, report.language)
        write_markdown(report, paths[0])
        write_html(report, judgments, paths[2])
    except OSError as error:
        raise RunError(
            "the reports cannot be written to {folder}: {reason}",
            folder=folder,
            reason=reason_of(error),
        ) from error
    return paths


def report_paths(folder: Path, time: datetime | None = None) -> list[Path]:
    """Return unused paths for reports named after ``time`` (default: now), or the first free second
    after it.
    """
    time = time or datetime.now()
    stem = folder / f"rag_evaluation_results_{time:%Y%m%d_%H%M%S}"
    paths = [stem.with_suffix(suffix) for suffix in (".md", ".csv", ".html")]
    return (
        report_paths(folder, time + timedelta(seconds=1))
        if any(path.exists() for path in paths)
        else paths
    )
