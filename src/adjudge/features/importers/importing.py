"""``import``: a file or a folder → a run folder, and a report of what was read, as what, and what
was left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from adjudge.core.data.sources.opener import ROW_FILES
from adjudge.core.data.sources.trace_pieces import refusal_of, trace_of
from adjudge.core.domain.frozen_mapping import some_of
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
"""Where a run says what its file said of all its rows."""
_MOST_FILES = 10_000
_MOST_BAD_ROWS = 20
_MOST_NAMED = 3
"""Files that an error names."""
_DATA = (".json", ".jsonl", ".ndjson")
"""Files of a folder that should hold records: one that cannot be read is named."""
_LOOKED_AT = 100
"""Records in which a trace must show."""


class UnknownFormat(RunError):
    """No reader takes a file for its own."""


@dataclass(frozen=True)
class ImportOptions:
    kind: str | None = None
    """The format, where it is not to be found out."""
    encoding: str | None = None
    skip_bad_rows: bool = False
    design: Design | None = None
    """How the labelled rows were chosen; None: as the format implies."""
    unreadable: UnreadablePolicy = "drop"
    """What a comparison without a readable verdict counts as."""
    table: TableColumns | None = None
    """Of ``kind`` "table": which columns are what."""
    less_is_better: tuple[str, ...] = ()
    """Questions whose scores are turned round, since less of what they are
    named after is better.
    """


@dataclass(frozen=True)
class ImportReport:
    """What was read, as what, and what was left."""

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

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "source", "folder"),
            "format": self.kind,
            **some_of(self, "written_against", "version", "files"),
            **some_of(self.tally, "judgments", "statuses", "votes", "labels"),
            "rows_without_a_verdict": self.tally.unjudged,
            "judges": dict(self.tally.judges),
            "fields": self.used,
            **some_of(self, "left", "notes", "bad_rows", "ignored_files"),
        }


_DEFAULTS = ImportOptions()


def import_file(
    source: str | Path | Sequence[str | Path],
    target: str | Path,
    options: ImportOptions = _DEFAULTS,
) -> ImportReport:
    """Make the run folder ``target`` of a foreign file, of several of one format, or of a folder of
    such files.
    """
    paths, folder = _paths(source), Path(target)
    refuse_existing(folder)
    files, chosen, others = _files(paths, options)
    log, named = ImportLog(), ", ".join(map(str, paths))
    with imported_run(folder, options.design, options.unreadable) as run:
        run.origin, run.less_is_better = _digest(files), frozenset(options.less_is_better)
        for together in [files] if chosen.join else [[file] for file in files]:
            _read(together, chosen, run, log)
        tally = run.tally
        if not tally.judgments:
            raise RunError(
                "{named} was read as {title} and holds no judgment: {reasons}",
                named=named,
                title=chosen.title,
                reasons=join("; ", log.skipped) if log.skipped else Message("it is empty"),
            )
        for note in (
            *direction_notes(run.questions(), options.less_is_better),
            *_notes(tally, options),
        ):
            log.note(note)
        bad = [one for file in files for one in file.bad]
        if bad:
            log.skip(Message("rows that cannot be read"), len(bad))
        broken = [file.unreadable for file in others if file.unreadable]
        if broken:
            log.skip(Message("files that cannot be read"), len(broken))
        report = ImportReport(
            source=named,
            folder=str(folder),
            kind=chosen.name,
            title=chosen.title,
            written_against=chosen.written_against,
            version=log.version,
            files=len(files),
            tally=tally,
            left=log.skipped,
            notes=[*log.notes, *broken[:_MOST_BAD_ROWS]],
            used=log.used,
            bad_rows=bad[:_MOST_BAD_ROWS],
            ignored_files=[file.name for file in others if not file.unreadable],
        )
        whole = {WHOLE: log.whole} if log.whole and len(files) == 1 else {}
        run.finish(
            {IMPORTED: report.to_dict(), "report": {"data": named, "notes": report.notes}, **whole}
        )
    return report


def _notes(tally: ImportTally, options: ImportOptions) -> Iterator[Message]:
    if tally.votes["unreadable"] or tally.recounted:
        yield Message(
            "unreadable replies: {unreadable} ({meaning})",
            unreadable=options.unreadable,
            meaning=UNREADABLE_POLICIES[options.unreadable],
        )
    if tally.undescribed:
        yield plural(
            "{count} judgment is by a question that the run does not describe: it cannot be "
            "labelled",
            "{count} judgments are by questions that the run does not describe: they cannot be "
            "labelled",
            tally.undescribed,
        )


@dataclass(frozen=True)
class RecordedFile:
    """The rows of a foreign file, for who wants them and their labels and no run of it."""

    format: Format
    rows: Iterator[RecordedRow]
    log: ImportLog
    files: Sequence[ForeignFile]

    def bad_rows(self) -> list[str]:
        """Rows that could not be read, once all were."""
        return [one for file in self.files for one in file.bad]


def read_foreign(source: str | Path, options: ImportOptions = _DEFAULTS) -> RecordedFile:
    """What a foreign file, or a folder of such files of one format, recorded."""
    files, chosen, _ = _files(_paths(source), options)
    if chosen is OWN:
        raise RunError(
            "{source} is an export of a run of ours: import it, and give the run folder instead",
            source=source,
        )
    log = ImportLog()
    return RecordedFile(chosen, _read_all(chosen, files, log), log, files)


def _paths(source: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(source)] if isinstance(source, str | Path) else [Path(one) for one in source]


def _digest(files: Sequence[ForeignFile]) -> str:
    """What tells a source from another one: its content, wherever it lies."""
    found = hashlib.sha256()
    for file in files:
        with file.path.open("rb") as content:
            found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()[:12]


def _read(files: Sequence[ForeignFile], chosen: Format, run: ImportedRun, log: ImportLog) -> None:
    name = ", ".join(file.name for file in files[:_MOST_NAMED])
    try:
        if chosen is OWN:
            read_own(files[0], run)
            return
        for row in _read_all(chosen, files, log):
            _add(row, name, chosen, run)
    except RecursionError as error:
        raise RunError("{name} is nested too deep: nothing was imported", name=name) from error


def _add(row: RecordedRow, name: str, chosen: Format, run: ImportedRun) -> None:
    try:
        run.add(row)
    except SetupError as error:
        raise RunError(
            "{where} was read as {title} and cannot be a row: {error}",
            where=f"{name}, {row.id or 'a record'}",
            title=chosen.title,
            error=error,
        ) from error


def _files(
    given: Sequence[Path], options: ImportOptions
) -> tuple[list[ForeignFile], Format, list[ForeignFile]]:
    """The files to read, their format, and files of a folder that are none of ours."""
    if options.kind == TABLE:
        tables = [file for path in given for file in _table_files(path, options)]
        return tables, table_format(options.table or TableColumns()), []
    if options.table is not None:
        raise SetupError("--text, --label, --judge and --id say what a table holds: add --as table")
    wanted = _format(options.kind) if options.kind else None
    found = [one for path in given for one in _found_in(path, wanted, options)]
    named = ", ".join(map(str, given))
    kinds = {format_.name: format_ for _, format_ in found if format_}
    chosen = wanted or _one_format(named, list(kinds.values()))
    own = [file for file, format_ in found if format_ is chosen]
    if not own:
        raise RunError("{named} holds no file of {title}", named=named, title=chosen.title)
    return own, chosen, [file for file, format_ in found if format_ is not chosen]


def _table_files(path: Path, options: ImportOptions) -> list[ForeignFile]:
    """A file by its name, or those of a folder that hold rows."""
    files = [
        one
        for one in _files_at(path, options)
        if path.is_file() or one.name.lower().endswith(ROW_FILES)
    ]
    if not files:
        raise RunError(
            "{path} holds no table: the names of such files end in {endings}",
            path=path,
            endings=", ".join(ROW_FILES),
        )
    return files


def _files_at(path: Path, options: ImportOptions) -> Iterator[ForeignFile]:
    if not path.exists():
        raise RunError("{path} does not exist", path=path)
    for one in [path] if path.is_file() else _inside(path):
        yield ForeignFile(one, options.encoding, options.skip_bad_rows)


def _found_in(
    path: Path, wanted: Format | None, options: ImportOptions
) -> list[tuple[ForeignFile, Format | None]]:
    """The files of a path, each with its format: a file that was named is of the wanted one,
    whatever it looks like.
    """
    alone = path.is_file()
    found = [(file, _detected(file, wanted, alone=alone)) for file in _files_at(path, options)]
    if wanted and alone:
        return [(file, wanted) for file, _ in found]
    if alone and found[0][1] is None:
        if not path.stat().st_size:
            raise RunError("{path} is empty", path=path)
        raise _unknown(str(path))
    return found


def _unknown(named: str) -> UnknownFormat:
    formats = "|".join(sorted((*FORMATS, TABLE)))
    return UnknownFormat(
        "the format of {named} was not recognised: name it with --as {formats}. A table of your "
        "own: --as table --text COLUMN --judge COLUMN --label COLUMN",
        named=named,
        formats=formats,
    )


def _one_format(named: str, found: Sequence[Format]) -> Format:
    if not found:
        raise _unknown(named)
    if len(found) > 1:
        raise RunError(
            "{named} holds files of several formats ({names}): import them one by one, or say "
            "which with --as",
            named=named,
            names=", ".join(one.name for one in found),
        )
    return found[0]


def _detected(file: ForeignFile, wanted: Format | None, *, alone: bool) -> Format | None:
    """A folder may hold other things; a file that was named must be what it is."""
    try:
        heads = file.heads()
    except RunError as error:
        if alone:
            raise
        if file.path.suffix.lower() in _DATA:
            file.unreadable = str(error)
        return None
    for head in heads:
        found = detect(head) if wanted is None or not wanted.matches(head) else wanted
        if found is not None and wanted in (None, found):
            file.chosen = head
            return found
    if alone and (trace := _trace_in(file)):
        raise RunError(refusal_of(file.name, trace))
    return None


def _trace_in(file: ForeignFile) -> str | None:
    """What trace a file of no known format begins with; None where it is none."""
    with suppress(RunError):
        first = islice(file.records(*((name,) for name in file.head.document)), _LOOKED_AT)
        return next((trace for record in first if (trace := trace_of(record.raw))), None)
    return None


def _inside(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if len(found) > _MOST_FILES:
        raise RunError(
            "{folder} holds {count:,} files: import a folder of at most {most:,}",
            folder=folder,
            count=len(found),
            most=_MOST_FILES,
        )
    return found


def _read_all(
    chosen: Format, files: Sequence[ForeignFile], log: ImportLog
) -> Iterator[RecordedRow]:
    """The records of all files; what a plugin's format raises is one line."""
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
    part = None if chosen.name in (*FORMATS.ours, TABLE) else FORMATS.find(chosen.name)
    with part.blamed() if part else nullcontext():
        yield from chosen.read_all(files, log)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise SetupError(
            "unknown format {name!r}; known: {value}",
            name=name,
            value=", ".join(sorted((*FORMATS, TABLE))),
        )
    return FORMATS[name]
