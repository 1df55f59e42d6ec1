"""``adjudge import``: judgments that another tool recorded, as a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from adjudge.cli.json_text import print_results
from adjudge.cli.options import (
    PATH,
    PartChoice,
    as_json,
    command,
    option,
    options,
    positional,
    shared,
)
from adjudge.cli.show import told
from adjudge.domain.label import DESIGNS, Design
from adjudge.importers.formats import FORMATS
from adjudge.importers.run import ImportOptions, ImportReport, import_file
from adjudge.importers.table import TABLE, TableColumns
from adjudge.results.counts import count_judgments, count_rows, count_votes
from adjudge.results.exit_code import ExitCode
from adjudge.results.russian import verbatim
from adjudge.verdicts.styles import UNREADABLE_POLICIES, UnreadablePolicy

_MOST_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class ImportFlags:
    """What ``adjudge import`` can be told."""

    files: tuple[Path, ...] = positional(
        "A file of another tool or a folder of such files; several where verdicts lie beside "
        "their rows.",
        type=PATH,
        nargs=-1,
        required=True,
    )
    folder: Path = option("--run", type=PATH, required=True, help="The run folder to make.")
    kind: str | None = option(
        "--as",
        type=PartChoice(FORMATS, sorted((*FORMATS.ours, TABLE))),
        help="The format; by default it is found out, but for table.",
    )
    texts: tuple[str, ...] = option(
        "--text",
        multiple=True,
        help="With --as table: the column that was judged; twice for two that were compared.",
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
    id: str | None = option("--id", help="With --as table: the column with the rows' names.")
    less_is_better: tuple[str, ...] = option(
        "--less-is-better",
        multiple=True,
        metavar="NAME",
        help="A question whose scores are turned round: 1 minus what was recorded.",
    )
    encoding: str | None = option(
        "--encoding", help="For files that are not UTF-8, such as cp1252."
    )
    skip_bad_rows: bool = option(
        "--skip-bad-rows",
        is_flag=True,
        help="Leave out rows that cannot be read, say so and exit with 3.",
    )
    design: Design | None = option(
        "--design",
        type=click.Choice(DESIGNS),
        help="How the labelled rows were chosen, where you know it.",
    )
    unreadable: UnreadablePolicy = option(
        "--unreadable",
        type=click.Choice(list(UNREADABLE_POLICIES)),
        default="drop",
        help=(
            "What a comparison without a readable verdict counts as: left out, a tie, wrong, or "
            "what the file counts."
        ),
    )
    as_json: bool = shared(as_json)


@command("import")
@options(ImportFlags)
def import_run(options: ImportFlags) -> int:
    """Make a run folder of judgments that another tool recorded: it is shown, exported, compared
    and labelled like any other.

    A failure there is a failed vote here, never a verdict; what people marked becomes labels. The
    format is found out by the file's structure. The run folder appears when all of it is written.
    """
    named = TableColumns(
        texts=options.texts, labels=options.labels, judges=options.judges, id=options.id
    )
    table = named if named != TableColumns() else None
    reading = ImportOptions(
        options.kind,
        options.encoding,
        options.skip_bad_rows,
        options.design,
        options.unreadable,
        table,
        options.less_is_better,
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
            click.echo(told(line))
    return ExitCode.UNSCORED if report.bad_rows else ExitCode.OK


def _labels(count: int) -> str:
    return f"{count} {'label' if count == 1 else 'labels'}"


def _lines(report: ImportReport) -> Iterator[str]:
    tally = report.tally
    version = f", {report.version}" if report.version else ""
    yield (
        f"{verbatim(report.source)}: {report.title}{version} (read as {report.kind}, written "
        f"against {report.written_against})"
    )
    statuses = ", ".join(f"{name} {count}" for name, count in sorted(tally.statuses.items()))
    yield f"  {count_judgments(tally.judgments)}: {statuses}"
    votes = ", ".join(f"{name} {count}" for name, count in sorted(tally.votes.items())) or "none"
    yield f"  {count_votes(tally.votes.total())}: {votes}"
    yield f"  {_labels(tally.labels)}"
    if tally.unjudged:
        yield f"  {count_rows(tally.unjudged)} without a verdict"
    for judge, count in tally.judges.most_common(_MOST_SHOWN):
        yield f"  {verbatim(judge)}: {count_judgments(count)}"
    if report.used:
        yield (
            f"  read: {', '.join(f'{verbatim(key)} → {what}' for key, what in report.used.items())}"
        )
    for what, count in report.left.items():
        yield f"  left: {what} ({count})"
    for note in (*report.notes, *report.bad_rows):
        yield f"  note: {note}"
    if report.ignored_files:
        yield f"  left: files of other kinds ({len(report.ignored_files)})"
    yield f"written to {verbatim(report.folder)}"
