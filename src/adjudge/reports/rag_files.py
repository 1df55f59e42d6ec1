"""A RAG evaluation as files that people read: Markdown, CSV and a single HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from adjudge.errors import RunError
from adjudge.rag.result import RagResult
from adjudge.reports.files import text_file
from adjudge.reports.rag_pages import html_page, markdown_page
from adjudge.reports.rag_report import RagReport
from adjudge.reports.table import write_rows


def write_reports(report: RagReport, folder: str | Path = "reports") -> list[Path]:
    """``rag_evaluation_results_<time>`` as .md, .csv and .html in ``folder``, which is made where it is not there."""
    paths = _free_paths(Path(folder), report.made)
    try:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        write_rows(paths[1], table(report.results))
        for path, page in ((paths[0], markdown_page(report)), (paths[2], html_page(report))):
            with text_file(path) as file:
                file.write(page)
    except OSError as error:
        raise RunError(f"the reports cannot be written to {folder}: {error.strerror or error}") from error
    return paths


def _free_paths(folder: Path, made: datetime) -> list[Path]:
    """Named after the second; a report that is there already keeps its name."""
    stem = folder / f"rag_evaluation_results_{made:%Y%m%d_%H%M%S}"
    paths = [stem.with_suffix(suffix) for suffix in (".md", ".csv", ".html")]
    return _free_paths(folder, made + timedelta(seconds=1)) if any(path.exists() for path in paths) else paths


def table(results: Sequence[RagResult]) -> list[dict[str, object]]:
    """One row an answer: what came in, each dimension's score, its explanation, the composite."""
    return [_table_row(result) for result in results]


def _table_row(result: RagResult) -> dict[str, object]:
    scores, normalized, explanations = result.scores, result.normalized, result.explanations
    own: dict[str, object] = {}
    for one in result.dimensions:
        own[f"{one.name}_score"] = scores[one.name]
        own[f"{one.name}_normalized"] = normalized[one.name]
        own[f"{one.name}_explanation"] = explanations[one.name]
    made = result.composite
    own |= {"composite": made.value, "composite_lower": made.lower, "composite_upper": made.upper, "rule": made.rule}
    own |= {"agreement": result.agreement, "fallback": result.fallback, "status": result.status.value}
    return {f"input_{name}" if name in own else name: value for name, value in _input(result).items()} | own


def _input(result: RagResult) -> Mapping[str, object]:
    row = result.instance.metadata.get("row")
    return row if isinstance(row, Mapping) else dict(result.instance.fields)
