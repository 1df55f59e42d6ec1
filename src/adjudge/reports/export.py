"""A run as a file that others read: CSV, JSONL, Parquet, Markdown or one HTML page. Rows pass one by one."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import jinja2

from adjudge.data.cells import cell
from adjudge.errors import RunError, SetupError
from adjudge.reports.files import text_file, whole_file
from adjudge.reports.markdown import escaped
from adjudge.reports.table import check_writable
from adjudge.reports.words import counted
from adjudge.runs.folder import RunInfo, judgments, judgments_in, reading, run_info

_MOST_SHOWN = 500
"""Rows that a page for people lists; the rest is counted, and in the CSV."""
_BATCH = 1000
_LEFT_OUT = ("votes", "fields")
_KINDS: Mapping[str, set[type]] = {"bool_": {bool}, "int64": {int}, "float64": {int, float}}


def export(run: str | Path, path: str | Path, to: str | None = None) -> int:
    """Write the run to ``path``; the format is ``to``, else the file's ending. Says how many rows there were."""
    target = Path(path)
    write = FORMATS[check_export(target, to)]
    try:
        return write(Path(run), target)
    except OSError as error:
        raise RunError(f"{target} cannot be written: {error.strerror or error}") from error


def check_export(target: Path, to: str | None = None) -> str:
    """The format that ``target`` would be written in. A SetupError says why it could not be, before anything is paid for."""
    format_ = (to or target.suffix.lstrip(".")).lower()
    if format_ not in FORMATS:
        raise SetupError(f"a run can be exported to {', '.join(FORMATS)}, not to {format_ or 'a file without an ending'!r}")
    if format_ == "parquet" and find_spec("pyarrow") is None:
        raise SetupError("Parquet needs pyarrow: pip install 'adjudge[parquet]'")
    check_writable(target)
    return format_


def _to_csv(run: Path, target: Path) -> int:
    count = 0
    with _at_one_moment(run) as ledger:
        columns = list(dict.fromkeys(name for row in _flat(judgments_in(ledger)) for name in row))
        with text_file(target, "utf-8-sig") as file:
            writer = csv.writer(file)
            writer.writerow([cell(name) for name in columns])
            for row in _flat(judgments_in(ledger)):
                writer.writerow([cell(row.get(name)) for name in columns])
                count += 1
    return count


def _to_jsonl(run: Path, target: Path) -> int:
    count = 0
    with text_file(target) as file:
        for row in judgments(run, votes=True):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _to_parquet(run: Path, target: Path) -> int:
    import pyarrow as pa  # type: ignore[import-not-found,unused-ignore]
    from pyarrow import parquet

    count = 0
    with _at_one_moment(run) as ledger:
        types = _types(_flat(judgments_in(ledger)))
        schema = pa.schema([(_encodable(name), getattr(pa, kind)()) for name, kind in types.items()])
        rows = _flat(judgments_in(ledger))
        with whole_file(target) as file, parquet.ParquetWriter(file, schema) as writer:
            while batch := [_typed(row, types) for row in islice(rows, _BATCH)]:
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
    environment.globals |= {"counted": counted, "verdict": _verdict}
    environment.filters["md"] = lambda value: escaped(str("" if value is None else value))
    rows = _worst(run)
    notes = dict.fromkeys(note for row in rows for note in row.get("notes") or ())
    text = environment.get_template(template).render(info=info, rows=rows, notes=notes, most=_MOST_SHOWN, models=_models(info))
    with text_file(target) as file:
        file.write(text)
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


def _verdict(row: Mapping[str, Any]) -> str:
    """What was decided, in a word; of responses, which one in the order they were given."""
    chosen = row.get("selected_option")
    if isinstance(chosen, int):
        return f"response {chosen + 1}"
    return str(row.get("verdict") or row.get("option") or chosen or "")


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


@contextmanager
def _at_one_moment(run: Path) -> Iterator[sqlite3.Connection]:
    """The run's ledger, to be read twice: for the columns, and for the rows. What is written meanwhile is not seen."""
    with reading(run) as ledger:
        ledger.execute("BEGIN")
        yield ledger


def _types(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Parquet wants one type a column: the one that all its values have, else text."""
    seen: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            seen.setdefault(name, set()).update([] if value is None else [type(value)])
    return {
        name: next((kind for kind, fits in _KINDS.items() if kinds and kinds <= fits), "string") for name, kinds in seen.items()
    }


def _typed(row: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """What is nested, or of several types, goes in as JSON."""
    return {_encodable(name): _as_text(row.get(name)) if kind == "string" else row.get(name) for name, kind in types.items()}


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    return _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Half a surrogate pair has no UTF-8: its escape stands for it."""
    return text.encode("utf-8", "backslashreplace").decode()
