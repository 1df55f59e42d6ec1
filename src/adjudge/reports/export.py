"""A run as a file that others read: CSV, JSONL, Parquet, Markdown or one HTML page. Rows pass one by one."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import jinja2

from adjudge.errors import SetupError
from adjudge.gateway.weights.files import written_whole
from adjudge.reports.markdown import escaped
from adjudge.reports.table import cell
from adjudge.runs.folder import RunInfo, judgments, run_info

_MOST_SHOWN = 500
"""Rows that a page for people lists; the rest is counted, and in the CSV."""
_BATCH = 1000
_LEFT_OUT = ("votes", "fields", "criteria")


def export(run: str | Path, path: str | Path, to: str | None = None) -> int:
    """Write the run to ``path``; the format is ``to``, else the file's ending. Says how many rows there were."""
    target = Path(path)
    format_ = to or target.suffix.lstrip(".").lower()
    if format_ not in FORMATS:
        raise SetupError(f"a run can be exported to {', '.join(FORMATS)}, not to {format_ or 'a file without an ending'!r}")
    if not target.absolute().parent.is_dir():
        raise SetupError(f"{target} cannot be written: its folder does not exist")
    return FORMATS[format_](Path(run), target)


def _to_csv(run: Path, target: Path) -> int:
    count = 0
    rows = _flat(judgments(run))
    head = list(_ahead(rows))
    columns = list(dict.fromkeys(name for row in head for name in row))
    with target.open("w", encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([cell(name) for name in columns])
        for row in chain(head, rows):
            writer.writerow([cell(row.get(name)) for name in columns])
            count += 1
    return count


def _to_jsonl(run: Path, target: Path) -> int:
    count = 0
    with target.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for row in judgments(run, votes=True):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _to_parquet(run: Path, target: Path) -> int:
    try:
        import pyarrow as pa  # type: ignore[import-not-found,unused-ignore]
        from pyarrow import parquet
    except ImportError:
        raise SetupError("Parquet needs pyarrow: pip install 'adjudge[parquet]'") from None
    rows = _flat(judgments(run))
    head = [_plain_cells(row) for row in _ahead(rows)]
    schema = pa.Table.from_pylist(head).schema if head else pa.schema([])
    count = len(head)
    with written_whole(target) as file, parquet.ParquetWriter(file, schema) as writer:
        writer.write_table(pa.Table.from_pylist(head, schema=schema))
        while batch := [_plain_cells(row) for row in _ahead(rows)]:
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _to_markdown(run: Path, target: Path) -> int:
    return _page(run, target, "run.md.jinja", escape=False)


def _to_html(run: Path, target: Path) -> int:
    return _page(run, target, "run.html.jinja", escape=True)


FORMATS: Mapping[str, Callable[[Path, Path], int]] = {
    "csv": _to_csv,
    "jsonl": _to_jsonl,
    "parquet": _to_parquet,
    "md": _to_markdown,
    "html": _to_html,
}


def _page(run: Path, target: Path, template: str, *, escape: bool) -> int:
    """A page for people: the run at a glance, and its worst rows first."""
    info = run_info(run)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("adjudge.reports"),
        undefined=jinja2.StrictUndefined,
        autoescape=escape,  # noqa: S701 - Markdown has escapes of its own: the filter below
        trim_blocks=True,
    )
    environment.filters["md"] = lambda value: escaped(str("" if value is None else value))
    text = environment.get_template(template).render(info=info, rows=_worst(run), most=_MOST_SHOWN, models=_models(info))
    target.write_text(text, encoding="utf-8", errors="backslashreplace")
    return info.rows


def _worst(run: Path) -> list[dict[str, Any]]:
    """The rows without a score first, then the lowest."""
    best_kept: list[dict[str, Any]] = []
    for row in judgments(run):
        best_kept.append(row)
        if len(best_kept) >= 2 * _MOST_SHOWN:
            best_kept = sorted(best_kept, key=_badness)[:_MOST_SHOWN]
    return sorted(best_kept, key=_badness)[:_MOST_SHOWN]


def _badness(row: Mapping[str, Any]) -> tuple[bool, float]:
    score = row.get("score")
    return (score is not None, score if score is not None else 0.0)


def _models(info: RunInfo) -> dict[str, dict[str, int]]:
    return {
        model: {"calls": usage.calls, "tokens": usage.prompt_tokens + usage.completion_tokens}
        for model, usage in info.usage.items()
    }


def _flat(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """One level: the instance's fields by their names, the result beside them."""
    for row in rows:
        result = {name: value for name, value in row.items() if name not in _LEFT_OUT}
        fields = {name if name not in result else f"field_{name}": value for name, value in row["fields"].items()}
        yield {**fields, **result}


def _ahead(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The next rows, as many as are looked at together."""
    for _, row in zip(range(_BATCH), rows, strict=False):
        yield row


def _plain_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Parquet wants one type a column: what is nested goes in as JSON."""
    nested = {name: json.dumps(value, ensure_ascii=False) for name, value in row.items() if isinstance(value, dict | list)}
    return {**row, **nested}
