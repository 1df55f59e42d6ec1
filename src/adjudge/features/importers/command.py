"""``adjudge import``: make a run folder of judgments that another tool recorded."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from adjudge.core.domain.label import DESIGNS, Design
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.verdicts.styles import UNREADABLE_POLICIES, UnreadablePolicy
from adjudge.features.importers.format_table import FORMATS
from adjudge.features.importers.importing import ImportOptions, ImportReport, import_file
from adjudge.features.importers.table import TABLE, TableColumns
from adjudge.messages import Message, join, term
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import (
    PATH,
    PartChoice,
    as_json,
    cluster,
    command,
    option,
    options,
    positional,
    shared,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.counts import count_judgments, count_labels, count_rows, count_votes
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.terms import STATUSES
from adjudge.runs.view.ending import show_next
from adjudge.runs.view.terminal import Screen

_MOST_SHOWN = 12


@light_dataclass(frozen=True, kw_only=True)
class ImportFlags:
    """Options of ``adjudge import``."""

    files: tuple[Path, ...] = positional(
        "A file written by another tool, or a folder of such files; give several if rows and "
        "verdicts are in separate files.",
        type=PATH,
        nargs=-1,
        required=True,
    )
    folder: Path = option("--run", type=PATH, required=True, help="Run folder to create.")
    kind: str | None = option(
        "--as",
        type=PartChoice(FORMATS, sorted((*FORMATS.ours, TABLE))),
        help="Format; detected by default, except for table.",
    )
    texts: tuple[str, ...] = option(
        "--text",
        multiple=True,
        help="With --as table: the judged column; give it twice for comparisons.",
    )
    labels: tuple[str, ...] = option(
        "--label",
        multiple=True,
        help="With --as table: a column with people's labels, or the right answers.",
    )
    judges: tuple[str, ...] = option(
        "--judge",
        multiple=True,
        help="With --as table: a column with a judge's verdicts; repeat for several.",
    )
    id: str | None = option("--id", help="With --as table: the column with row ids.")
    less_is_better: tuple[str, ...] = option(
        "--less-is-better",
        multiple=True,
        metavar="NAME",
        help="A question whose scores are inverted (1 minus the recorded score); repeatable.",
    )
    cluster: str | None = shared(cluster)
    encoding: str | None = option(
        "--encoding", help="Encoding of files that are not UTF-8, such as cp1252."
    )
    skip_bad_rows: bool = option(
        "--skip-bad-rows",
        is_flag=True,
        help="Leave out rows that cannot be read, say so and exit with 3.",
    )
    design: Design | None = option(
        "--design",
        type=click.Choice(DESIGNS),
        help="How the labelled rows were chosen, if you know.",
    )
    unreadable: UnreadablePolicy = option(
        "--unreadable",
        type=click.Choice(list(UNREADABLE_POLICIES)),
        default="drop",
        help=(
            "How to count a comparison without a readable verdict: left out, as a tie, as wrong, "
            "or as in the file."
        ),
    )
    as_json: bool = shared(as_json)


@command("import")
@options(ImportFlags)
def import_run(options: ImportFlags) -> int:
    """Create a run folder from judgments that another tool recorded. You can show, export,
    compare and label it like any other run.

    A failure there is a failed vote here, never a verdict; human annotations become labels. The
    format is recognised by the file's structure. The run folder appears only when it is complete.
    """
    columns = TableColumns(
        texts=options.texts, labels=options.labels, judges=options.judges, id=options.id
    )
    table = columns if columns != TableColumns() else None
    reading = ImportOptions(
        options.kind,
        options.encoding,
        options.skip_bad_rows,
        options.design,
        options.unreadable,
        table,
        options.less_is_better,
        options.cluster or "",
    )
    report = import_file(options.files, options.folder, reading)
    if options.as_json:
        print_results(
            "imports",
            {"judgments": report.tally.judgments, "labels": report.tally.labels},
            [report.to_dict()],
        )
    else:
        for line in _lines(report):
            echo(line)
    if report.warning is not None:
        echo(report.warning, err=True, fg="red")
    elif not options.as_json:
        then = "calibrate" if report.tally.labels else "runs show"
        show_next(f"adjudge {then} {shlex.quote(str(report.folder))}", Screen(language()))
    return ExitCode.UNSCORED if report.bad_rows or report.warning else ExitCode.OK


_OUTCOMES: Mapping[str, Message] = {
    "ok": term("votes", "ok"),
    "repaired": term("votes", "repaired"),
    "unreadable": term("votes", "unreadable"),
    "refused": term("votes", "refused"),
    "model_error": term("votes", "model_error"),
    "abstained": term("status", "abstained"),
}


def _lines(report: ImportReport) -> Iterator[Message]:
    tally = report.tally
    yield Message(
        "{source}: {title} (read as {kind}, written against {version})",
        source=report.source,
        title=join(", ", (report.title, report.version)) if report.version else report.title,
        kind=report.kind,
        version=report.written_against,
    )
    yield Message(
        "  {judgments}: {counts}",
        judgments=count_judgments(tally.judgments),
        counts=_counts(tally.statuses, STATUSES),
    )
    yield Message(
        "  {votes}: {counts}",
        votes=count_votes(tally.votes.total()),
        counts=_counts(tally.votes, _OUTCOMES) or Message("none"),
    )
    yield Message("  {labels}", labels=count_labels(tally.labels))
    if tally.unjudged:
        yield Message("  {rows} without a verdict", rows=count_rows(tally.unjudged))
    for judge, count in tally.judges.most_common(_MOST_SHOWN):
        yield Message("  {judge}: {judgments}", judge=judge, judgments=count_judgments(count))
    if report.used:
        used = (
            Message("{key} → {meaning}", key=key, meaning=meaning)
            for key, meaning in report.used.items()
        )
        yield Message("  read: {used}", used=join(", ", used))
    for what, count in report.left.items():
        yield Message("  not imported: {what} ({count})", what=what, count=count)
    for note in (*report.notes, *report.bad_rows):
        yield Message("  note: {note}", note=note)
    if report.ignored_files:
        yield Message(
            "  not imported: files of other kinds ({count})", count=len(report.ignored_files)
        )
    yield Message("written to {folder}", folder=report.folder)


def _counts(counts: Mapping[str, int], titles: Mapping[str, Message]) -> Message:
    return join(
        ", ",
        (
            Message("{name} {count:,}", name=titles.get(name, name), count=count)
            for name, count in sorted(counts.items())
        ),
    )
