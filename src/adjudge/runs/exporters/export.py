"""Exports of a run for other readers: CSV, JSONL, Parquet, Markdown or one HTML page. Rows pass one
by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudge.core.aio.files import writing
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.json_writer import json_writer
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.codec import exported_judgment
from adjudge.core.ledger.records import records
from adjudge.core.ledger.rows import CLUSTER, LABELS
from adjudge.core.reading.objects import ObjectFile, location_of
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts
from adjudge.runs.exporters.exported import Exported
from adjudge.runs.exporters.files import text_file, whole_file
from adjudge.runs.exporters.table import check_writable, flat, localized, write_csv
from adjudge.runs.folder import reading, records_of, run_facts
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.results.setup import Setup
from adjudge.trust.labels.store import LabelStore

IDENTITY = "judge_identity"
"""The column that says which judge it was, whatever it was called: one hash over everything that
decides its verdicts.
"""
_BATCH = 1000
_NUMBERS: Mapping[str, set[type]] = {"score": {float}, "agreement": {float}}
_KINDS: Mapping[str, set[type]] = {"bool_": {bool}, "int64": {int}, "float64": {int, float}}


def export(
    run: str | Path,
    path: str | Path | ObjectFile,
    to: str | None = None,
    language: str | None = None,
) -> int:
    """Write the run to a file or an address. Return the number of rows.

    The format is ``to``, else given by the ending of ``path``. ``language``: for pages, by default
    the judges'.
    """
    return write_export(run, path, to, language).judgments


def write_export(
    run: str | Path,
    path: str | Path | ObjectFile,
    to: str | None = None,
    language: str | None = None,
) -> Exported:
    """Like ``export``, but also return what the format has no place for."""
    target = location_of(path, Path()) if isinstance(path, str) else path
    format_ = check_export(target, to)
    part = FORMATS.find(format_)
    blaming = part.blame_package() if part else nullcontext()
    with writing(target), blaming, _on_this_machine(target) as file:
        page = _PAGES.get(format_) if language else None
        result = (
            page(Path(run), file, language=language) if page else FORMATS[format_](Path(run), file)
        )
    return result if isinstance(result, Exported) else Exported(result)


@contextmanager
def _on_this_machine(target: Path | ObjectFile) -> Iterator[Path]:
    """Yield the file to write. For an address, this is a temporary file that is uploaded once
    complete.
    """
    if isinstance(target, Path):
        yield target
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / target.name
        yield file
        target.replace_by(file)


def export_format(target: Path | ObjectFile, to: str | None) -> str:
    """Return the format that is named, or implied by the ending. Raises a SetupError for unknown
    formats.
    """
    format_ = (to or target.suffix.lstrip(".")).lower()
    format_ = "junit" if format_ == "xml" else format_
    if format_ not in FORMATS:
        raise SetupError(
            "a run can be exported to {formats}, not to {format!r}",
            formats=", ".join(FORMATS),
            format=format_ or Message("a file without an ending"),
        )
    return format_


def check_export(target: Path | ObjectFile, to: str | None) -> str:
    """Return the format for ``target``.

    Raises a SetupError if it cannot be written, before money is spent.
    """
    format_ = export_format(target, to)
    if format_ == "parquet" and find_spec("pyarrow") is None:
        raise SetupError("Parquet needs pyarrow: pip install 'adjudge[parquet]'")
    check_writable(target)
    return format_


def to_csv(run: Path, target: Path) -> int:
    """Write the judgments as CSV."""
    setup = Setup.of_run(run_facts(run))
    with reading(run) as ledger, text_file(target, "utf-8-sig") as file:
        rows = _flat(records(ledger), setup)
        return write_csv(file, (localized(row, setup.language) for row in rows))


def to_jsonl(run: Path, target: Path) -> int:
    """Write the judgments as JSONL, with votes and labels."""
    facts = run_facts(run)
    count, setup, column = 0, Setup.of_run(facts), grouping_column(facts.facts)
    with text_file(target) as file:
        for record, labels in _with_labels(records_of(run, votes=True), LabelStore(run).history()):
            row = exported_judgment(
                record, record.judge_identity or setup.identities.get(record.judge)
            )
            row |= {CLUSTER: column} if column else {}
            row |= {LABELS: [label.to_dict() for label in labels]} if labels else {}
            file.write(_json_line(row) + "\n")
            count += 1
    return count


_json_line = json_writer(ensure_ascii=False)


def _with_labels(
    judgments: Iterable[JudgmentRecord], labels: Iterable[Label]
) -> Iterator[tuple[JudgmentRecord, Sequence[Label]]]:
    """Yield each judgment; the first one of a row comes with the row's labels.

    These include corrected and withdrawn labels. Labels without a row come with the last judgment.
    """
    labels_by_row: dict[str, list[Label]] = {}
    for label in labels:
        labels_by_row.setdefault(label.row, []).append(label)
    pending: tuple[JudgmentRecord, list[Label]] | None = None
    for record in judgments:
        if pending is not None:
            yield pending
        pending = record, labels_by_row.pop(record.identity, []) if labels_by_row else []
    if pending is not None:
        last_judgment, row_labels = pending
        yield (
            last_judgment,
            [*row_labels, *(label for unmatched in labels_by_row.values() for label in unmatched)],
        )


def to_parquet(run: Path, target: Path) -> int:
    """Write the judgments as Parquet."""
    import pyarrow as pa  # type: ignore[import-not-found,unused-ignore]
    from pyarrow import parquet

    count, setup = 0, Setup.of_run(run_facts(run))
    with reading(run) as ledger:
        # Parquet needs the types before the first row, so the run is read twice
        types = column_types(_flat(records(ledger), setup))
        schema = pa.schema(
            [(_encodable(name), getattr(pa, kind)()) for name, kind in types.items()]
        )
        rows = _flat(records(ledger), setup)
        with whole_file(target) as file, parquet.ParquetWriter(file, schema) as writer:
            while batch := [typed_row(row, types) for row in islice(rows, _BATCH)]:
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                count += len(batch)
    return count


def to_markdown(
    run: Path,
    target: Path,
    baseline: Path | None = None,
    by: str | None = None,
    language: str | None = None,
) -> int:
    """Write the report as Markdown, for code hosts and mail."""
    from adjudge.runs.exporters.pages import write_markdown

    report = report_of_run(run, baseline=baseline, by=by, language=language)
    write_markdown(report, target)
    return report.total


def to_html(
    run: Path,
    target: Path,
    baseline: Path | None = None,
    by: str | None = None,
    language: str | None = None,
) -> int:
    """Write the report as HTML, for browsers."""
    from adjudge.runs.exporters.pages import write_html

    report = report_of_run(run, baseline=baseline, by=by, language=language)
    other_judgments = records_of(run) if report.total > len(report.entries) else ()
    write_html(report, other_judgments, target)
    return report.total


_PAGES = {"md": to_markdown, "html": to_html}
ENDINGS: Mapping[str, str] = {
    **{
        name: f"{name}.json"
        for name in ("evalassist", "promptfoo", "inspect", "langfuse", "phoenix")
    },
    "junit": "junit.xml",
}
"""Endings of other tools' files. All other formats end in their name."""
FORMATS: Parts[Callable[[Path, Path], int | Exported]] = Parts("exporters")
"""A run folder and a file → how many rows were read, and what of them is not in the file."""


def flat_rows(run: str | Path) -> Iterator[JsonDict]:
    """Yield every judgment of a run folder as a row of its tables."""
    return _flat(records_of(run), Setup.of_run(run_facts(run)))


def _flat(judgments: Iterable[JudgmentRecord], setup: Setup) -> Iterator[JsonDict]:
    for record in judgments:
        identity = record.judge_identity or setup.identities.get(record.judge)
        yield {**flat(record), IDENTITY: identity}


def column_types(rows: Iterable[JsonObject]) -> dict[str, str]:
    """Return one type per column, as Parquet needs: the type of all its values, else text.

    Scores are numbers even if all judgments failed.
    """
    types_by_column: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            types_by_column.setdefault(name, set()).update([] if value is None else [type(value)])
    kinds = {name: types or _NUMBERS.get(name, set()) for name, types in types_by_column.items()}
    return {
        name: next((kind for kind, fits in _KINDS.items() if types and types <= fits), "string")
        for name, types in kinds.items()
    }


def typed_row(row: JsonObject, types: Mapping[str, str]) -> JsonDict:
    """Convert a row to the columns' types. Nested values, and those in mixed columns, become
    JSON.
    """
    return {
        _encodable(name): _as_text(row.get(name)) if kind == "string" else row.get(name)
        for name, kind in types.items()
    }


def _as_text(value: object) -> str | None:
    if value is None:
        return None
    return _encodable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
