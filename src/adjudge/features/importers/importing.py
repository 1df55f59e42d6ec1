"""Import a file or a folder as a run folder, and report what was read and what was left out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.data.sources.opener import ROW_FILES
from adjudge.core.data.sources.trace_pieces import refusal_of, trace_of
from adjudge.core.domain.frozen_mapping import nonempty
from adjudge.core.domain.json_document import Count, fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Design
from adjudge.core.verdicts.styles import UNREADABLE_POLICIES, UnreadablePolicy
from adjudge.errors import RunError, SetupError
from adjudge.features.importers.directions import direction_notes
from adjudge.features.importers.folder import (
    IMPORTED,
    ImportedRun,
    ImportTally,
    imported_run,
    refuse_existing,
)
from adjudge.features.importers.format import Format
from adjudge.features.importers.format_table import FORMATS, detect
from adjudge.features.importers.native import OWN, read_own
from adjudge.features.importers.record import ImportLog, RecordedRow
from adjudge.features.importers.source import ForeignFile
from adjudge.features.importers.table import TABLE, TableColumns, table_format
from adjudge.messages import Message, join, plural

WHOLE = "whole"
"""The key of a run for what its file says about all rows."""
_MOST_FILES = 10_000
_MOST_BAD_ROWS = 20
# Files that an error names.
_MOST_NAMED = 3
# Files of a folder that should hold records: one that cannot be read is named.
_DATA = (".json", ".jsonl", ".ndjson")
# Records in which a trace must show.
_LOOKED_AT = 100


class UnknownFormat(RunError):
    """Raised if no reader recognises a file."""


@dataclass(frozen=True)
class ImportOptions:
    kind: str | None = None
    """The format; None: recognised from the file."""
    encoding: str | None = None
    skip_bad_rows: bool = False
    design: Design | None = None
    """The way the labelled rows were chosen; None: as the format implies."""
    unreadable: UnreadablePolicy = "drop"
    """The value of a comparison without a readable verdict."""
    table: TableColumns | None = None
    """The meaning of the columns, for ``kind`` "table"."""
    less_is_better: tuple[str, ...] = ()
    """Questions whose scores are turned round, since less of what they are
    named after is better.
    """
    cluster: str = ""
    """The column whose equal values belong together in every interval of the run."""


class ImportShape(TypedDict):
    """The content that was read from another tool's file, and the fields that were left."""

    source: str
    folder: str
    format: str
    written_against: Annotated[str, "the version of the tool that the reader was written against"]
    version: Annotated[str, "the version that the file names"]
    files: Annotated[int, "files that were read"]
    judgments: int
    statuses: Count
    votes: Count
    labels: int
    rows_without_a_verdict: int
    judges: Count
    fields: Annotated[Mapping[str, str], "field of a row: where it was read from"]
    left: Annotated[Count, "fields that were kept as they are, and how often"]
    notes: Sequence[str]
    bad_rows: Sequence[str]
    ignored_files: Sequence[str]


@dataclass(frozen=True)
class ImportReport:
    """The result of an import: imported files, their format, and everything left out."""

    source: str
    folder: str
    kind: str
    title: str
    written_against: str
    version: str
    files: int
    tally: ImportTally
    left: dict[str, int]
    notes: list[str]
    used: dict[str, str]
    bad_rows: list[str] = field(default_factory=list)
    ignored_files: list[str] = field(default_factory=list)

    @property
    def warning(self) -> Message | None:
        """A warning if the judges' verdicts could not be read at all."""
        if not self.tally.lacks_verdicts:
            return None
        if not self.tally.why_unreadable:
            return Message("no verdict was imported: all votes failed")
        if self.kind != TABLE:
            return Message("no verdict could be read: {reason}", reason=self.tally.why_unreadable)
        return Message(
            "no verdict could be read: {reason}. Write verdicts as the labels are written: the "
            "same words in any case; numbers such as 4, 0.8, 0,8 or 80%; or yes and no, true and "
            "false, pass and fail, 1 and 0",
            reason=self.tally.why_unreadable,
        )

    def to_dict(self) -> JsonDict:
        tally = self.tally
        return fill(
            ImportShape,
            self,
            format=self.kind,
            judgments=tally.judgments,
            statuses=tally.statuses,
            votes=tally.votes,
            labels=tally.labels,
            rows_without_a_verdict=tally.unjudged,
            judges=tally.judges,
            fields=self.used,
        )


_DEFAULTS = ImportOptions()


def import_file(
    source: str | Path | Sequence[str | Path],
    target: str | Path,
    options: ImportOptions = _DEFAULTS,
) -> ImportReport:
    """Import a file, several files of one format, or a folder, as a new run folder `target`."""
    paths, folder = _paths(source), Path(target)
    refuse_existing(folder)
    if options.table is not None:
        options = replace(options, less_is_better=options.table.inverted(options.less_is_better))
    files, file_format, other_files = _files(paths, options)
    if file_format is OWN and options.less_is_better:
        raise SetupError(
            "--less-is-better is not for exports of adjudge: they say which end is better"
        )
    log, source_names = ImportLog(), ", ".join(map(str, paths))
    with imported_run(folder, options.design, options.unreadable) as run:
        run.origin, run.less_is_better = _digest(files), frozenset(options.less_is_better)
        run.cluster = options.cluster
        for group in [files] if file_format.join else [[file] for file in files]:
            _read(group, file_format, run, log)
        tally = run.tally
        if not tally.judgments:
            raise RunError(
                "{named} was read as {title} but contains no judgments: {reasons}",
                named=source_names,
                title=file_format.title,
                reasons=join("; ", log.skipped) if log.skipped else Message("it is empty"),
            )
        run.check_cluster(source_names)
        run.check_answers(source_names)
        # adjudge's own export says itself which end is better
        asked = {} if file_format is OWN else run.questions()
        for note in (
            *direction_notes(asked, options.less_is_better, run.inverted),
            *_notes(tally, options),
        ):
            log.note(note)
        bad = [bad_row for file in files for bad_row in file.bad]
        if bad:
            log.skip(Message("rows that cannot be read"), len(bad))
        broken = [file.unreadable for file in other_files if file.unreadable]
        if broken:
            log.skip(Message("files that cannot be read"), len(broken))
        report = ImportReport(
            source=source_names,
            folder=str(folder),
            kind=file_format.name,
            title=file_format.title,
            written_against=file_format.written_against,
            version=log.version,
            files=len(files),
            tally=tally,
            left=log.skipped,
            notes=[*log.notes, *broken[:_MOST_BAD_ROWS]],
            used=log.used,
            bad_rows=bad[:_MOST_BAD_ROWS],
            ignored_files=[file.name for file in other_files if not file.unreadable],
        )
        whole_file = {WHOLE: log.whole} if log.whole and len(files) == 1 else {}
        run.finish(
            {
                IMPORTED: report.to_dict(),
                "report": {
                    "data": source_names,
                    "notes": report.notes,
                    **nonempty(cluster=run.cluster),
                },
                **whole_file,
            }
        )
    return report


def _notes(tally: ImportTally, options: ImportOptions) -> Iterator[Message]:
    if tally.votes["unreadable"] or tally.recounted:
        yield Message(
            "unreadable replies: {unreadable} ({meaning})",
            unreadable=options.unreadable,
            meaning=UNREADABLE_POLICIES[options.unreadable],
        )
    if tally.best_only:
        yield plural(
            "{count} comparison of three or more responses names only the best: the others count "
            "as tied with each other",
            "{count:,} comparisons of three or more responses name only the best: the others count "
            "as tied with each other",
            tally.best_only,
        )
    if tally.undescribed:
        yield plural(
            "{count} judgment cannot be labelled, because the run does not describe its question",
            "{count} judgments cannot be labelled, because the run does not describe their "
            "questions",
            tally.undescribed,
        )


@dataclass(frozen=True)
class RecordedFile:
    """The rows of a foreign file, for callers that need rows and labels but no run."""

    format: Format
    rows: Iterator[RecordedRow]
    log: ImportLog
    files: Sequence[ForeignFile]

    def bad_rows(self) -> list[str]:
        """Return the rows that could not be read. Complete only after all rows were read."""
        return [row for file in self.files for row in file.bad]


def read_foreign(source: str | Path, options: ImportOptions = _DEFAULTS) -> RecordedFile:
    """Read the rows of a file, or of a folder's files of one format.

    Raise a RunError for adjudge's own exports, which must be imported as a run.
    """
    files, file_format, _ = _files(_paths(source), options)
    if file_format is OWN:
        raise RunError(
            "{source} is an adjudge export: import it, and give the run folder instead",
            source=source,
        )
    log = ImportLog()
    return RecordedFile(file_format, _read_all(file_format, files, log), log, files)


def _paths(source: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(source)] if isinstance(source, str | Path) else [Path(path) for path in source]


def _digest(files: Sequence[ForeignFile]) -> str:
    """Return a short hash of the files' contents, independent of their paths."""
    digest = hashlib.sha256()
    for file in files:
        with file.path.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:12]


def _read(
    files: Sequence[ForeignFile], file_format: Format, run: ImportedRun, log: ImportLog
) -> None:
    name = ", ".join(file.name for file in files[:_MOST_NAMED])
    try:
        if file_format is OWN:
            read_own(files[0], run)
            return
        for row in _read_all(file_format, files, log):
            _add(row, name, file_format, run)
    except RecursionError as error:
        raise RunError("{name} is nested too deeply: nothing was imported", name=name) from error


def _add(row: RecordedRow, name: str, file_format: Format, run: ImportedRun) -> None:
    try:
        run.add(row)
    except SetupError as error:
        raise RunError(
            "{where} was read as {title}, but cannot be a row: {error}",
            where=f"{name}, {row.id or 'a record'}",
            title=file_format.title,
            error=error,
        ) from error


def _files(
    paths: Sequence[Path], options: ImportOptions
) -> tuple[list[ForeignFile], Format, list[ForeignFile]]:
    """Return the files to read, their format, and the files in other formats."""
    if options.kind == TABLE:
        tables = [file for path in paths for file in _table_files(path, options)]
        has_direction = bool(options.less_is_better)
        columns = options.table or TableColumns()
        return tables, table_format(columns, has_direction=has_direction), []
    if options.table is not None:
        raise SetupError(
            "--text, --label, --judge and --id describe the columns of a table: add --as table"
        )
    named_format = _format(options.kind) if options.kind else None
    candidates = [
        candidate for path in paths for candidate in _detect_files(path, named_format, options)
    ]
    source_names = ", ".join(map(str, paths))
    kinds = {format_.name: format_ for _, format_ in candidates if format_}
    file_format = named_format or _one_format(source_names, list(kinds.values()))
    matching = [file for file, format_ in candidates if format_ is file_format]
    if not matching:
        raise RunError(
            "{named} contains no file of {title}", named=source_names, title=file_format.title
        )
    return (
        matching,
        file_format,
        [file for file, format_ in candidates if format_ is not file_format],
    )


def _table_files(path: Path, options: ImportOptions) -> list[ForeignFile]:
    """Return the given file, or a folder's files with the extension of a table."""
    files = [
        file
        for file in _files_at(path, options)
        if path.is_file() or file.name.lower().endswith(ROW_FILES)
    ]
    if not files:
        raise RunError(
            "{path} is not a table: the names of tables end in {endings}",
            path=path,
            endings=", ".join(ROW_FILES),
        )
    return files


def _files_at(path: Path, options: ImportOptions) -> Iterator[ForeignFile]:
    if not path.exists():
        raise RunError("{path} does not exist", path=path)
    for file in [path] if path.is_file() else _inside(path):
        yield ForeignFile(file, options.encoding, options.skip_bad_rows)


def _detect_files(
    path: Path, named_format: Format | None, options: ImportOptions
) -> list[tuple[ForeignFile, Format | None]]:
    """Return the files at a path, each with its format or None.

    A file given directly is read in the named format; without one, it must be recognised.
    """
    alone = path.is_file()
    candidates = [
        (file, _detect(file, named_format, alone=alone)) for file in _files_at(path, options)
    ]
    # A file that was named is read as the requested format, whatever it looks like.
    if named_format and alone:
        return [(file, named_format) for file, _ in candidates]
    if alone and candidates[0][1] is None:
        if not path.stat().st_size:
            raise RunError("{path} is empty", path=path)
        raise _unknown(str(path))
    return candidates


def _unknown(named: str) -> UnknownFormat:
    formats = "|".join(sorted((*FORMATS, TABLE)))
    return UnknownFormat(
        "the format of {named} was not recognised: name it with --as {formats}. For your own "
        "table, use --as table --text COLUMN --judge COLUMN --label COLUMN",
        named=named,
        formats=formats,
    )


def _one_format(named: str, formats: Sequence[Format]) -> Format:
    if not formats:
        raise _unknown(named)
    if len(formats) > 1:
        raise RunError(
            "{named} contains files of several formats ({names}): import them one by one, or "
            "choose one with --as",
            named=named,
            names=", ".join(file_format.name for file_format in formats),
        )
    return formats[0]


def _detect(file: ForeignFile, named_format: Format | None, *, alone: bool) -> Format | None:
    """Return the file's format, or None, and remember the head to read it with.

    If the file is imported alone, raise a RunError that names the kind of trace it looks like.
    """
    try:
        heads = file.heads()
    except RunError as error:
        # A folder may hold other things; a file that was named must be readable.
        if alone:
            raise
        if file.path.suffix.lower() in _DATA:
            file.unreadable = str(error)
        return None
    for head in heads:
        detected = (
            detect(head) if named_format is None or not named_format.matches(head) else named_format
        )
        if detected is not None and named_format in (None, detected):
            file.chosen = head
            return detected
    if alone and (trace := _trace_in(file)):
        raise RunError(refusal_of(file.name, trace))
    return None


def _trace_in(file: ForeignFile) -> str | None:
    """Return the trace format that an unrecognised file starts with, or None."""
    with suppress(RunError):
        records = islice(file.records(*((name,) for name in file.head.document)), _LOOKED_AT)
        return next((trace for record in records if (trace := trace_of(record.raw))), None)
    return None


def _inside(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if len(paths) > _MOST_FILES:
        raise RunError(
            "{folder} contains {count:,} files: import a folder of at most {most:,}",
            folder=folder,
            count=len(paths),
            most=_MOST_FILES,
        )
    return paths


def _read_all(
    file_format: Format, files: Sequence[ForeignFile], log: ImportLog
) -> Iterator[RecordedRow]:
    """Yield the records of all files; errors in a plugin's format name the plugin."""
    if mended := sum(file.mended for file in files):
        log.note(
            plural(
                "{count} file has a comma before ] or }}, which JSON does not allow; it was read "
                "without it",
                "{count} files have a comma before ] or }}, which JSON does not allow; they were "
                "read without it",
                mended,
            )
        )
    part = None if file_format.name in (*FORMATS.ours, TABLE) else FORMATS.find(file_format.name)
    with part.blame_package() if part else nullcontext():
        yield from file_format.read_all(files, log)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise SetupError(
            "unknown format {name!r}; known: {value}",
            name=name,
            value=", ".join(sorted((*FORMATS, TABLE))),
        )
    return FORMATS[name]
