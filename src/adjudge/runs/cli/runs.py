"""``adjudge runs`` and ``adjudge export``: the contents of run folders."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from rich.text import Text

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict, JsonObject, object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.gateway.prices import dollars
from adjudge.core.ledger.pending import Batch
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import RunError
from adjudge.messages import Message, join, render
from adjudge.runs.cli.inputs import as_usage_error
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import (
    LOCATION,
    PATH,
    CommandGroup,
    argument,
    as_json,
    cluster,
    command,
    confidence_of_intervals,
    row_names,
    slices,
)
from adjudge.runs.cli.output import echo, language, typed_language
from adjudge.runs.cli.run_data import print_run, run_data
from adjudge.runs.counts import (
    count_calls,
    count_judgments,
    count_replies,
    count_requests,
    count_used_tokens,
    count_votes,
    exclusion,
    grouped,
)
from adjudge.runs.exporters.export import ENDINGS, FORMATS, export_format, write_export
from adjudge.runs.exporters.files import STDOUT
from adjudge.runs.folder import (
    RunCounts,
    RunInfo,
    delete_run,
    find_runs,
    last_written,
    reading,
    run_counts,
    run_info,
)
from adjudge.runs.recovery import recover
from adjudge.runs.results.cost import cost_message, cost_of
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.run_report import report_of_run, votes_message
from adjudge.runs.run_place import earlier_run
from adjudge.runs.terms import run_state
from adjudge.runs.view.clean_text import clean
from adjudge.runs.view.ending import RunEnding, show_ending
from adjudge.runs.view.terminal import Screen

_DAY = 86_400
_LEAST_STATE = 12
"""Columns of a terminal that are left for the state of a run, or nothing is cut."""
_NEVER_WRAPPED = 1000
"""Columns of what is not shown in a terminal."""
_HEADINGS = (
    Message("run"),
    Message("started"),
    Message("judgments"),
    Message("no score"),
    Message("cost"),
    Message("state"),
)
_folder = argument("folder", "A run folder.", type=PATH)
_parent = argument("parent", "Folder to search.", type=PATH, default=Path("runs"))


@click.group(cls=CommandGroup, no_args_is_help=True)
def runs() -> None:
    """Inspect run folders: list, show, diff, recover, gc."""


@runs.command("list")
@_parent
@as_json
def list_runs(parent: Path, as_json: bool) -> int:
    """List the runs in a folder, the newest last."""
    infos = [_read_info(folder) for folder in find_runs(parent)]
    if as_json:
        print_results("runs", {"runs": len(infos)}, map(run_data, infos))
        return 0
    if not infos:
        echo(Message("there are no runs in {folder}", folder=parent))
        return 0
    screen = Screen(language())
    rows = [[screen.render(cell) for cell in _cells(info)] for info in infos]
    columns = list(zip(*rows, strict=True))[:-1]
    needed = sum(max(map(len, column)) + 2 for column in columns)
    if not sys.stdout.isatty() or needed + _LEAST_STATE > screen.console.width:
        screen = Screen(language(), width=_NEVER_WRAPPED, soft_wrap=True)
    table = screen.table(())
    for place, heading in enumerate(_HEADINGS):
        title = screen.render(heading)
        width = max(len(title), *(len(cells[place]) for cells in rows))
        last = place == len(_HEADINGS) - 1  # why a run stopped may take a line of its own
        table.add_column(title, no_wrap=True, min_width=None if last else width)
    for cells in rows:
        screen.add_row(table, *cells)
    screen.show(table)
    return 0


@runs.command("show")
@_folder
@click.option("--config", is_flag=True, help="Also show the configuration of its judges.")
@as_json
def show_run(folder: Path, config: bool, as_json: bool) -> int:
    """Show the results of a run, its cost and its judges."""
    if as_json:
        print_run(report_of_run(folder, shown=0), folder)
        return 0
    info = run_counts(folder)
    report = report_of_run(folder, info=info)
    screen = Screen(language())
    screen.say(
        Message("{folder}: {state}", folder=info.folder, state=run_state(info.state)), "bold"
    )
    screen.show("")
    imported = info.state == "imported"
    ending = RunEnding(
        report=report,
        folder=folder,
        unfinished=info.state != "complete" and not imported,
        imported=imported,
        limit=str(info.facts.get("ended") or ""),
        earlier=earlier_run(folder, info.facts),
    )
    show_ending(ending, screen, screen)
    screen.show("")
    for line in _judge_lines(info):
        screen.say(line, "dim")
    if config:
        screen.show("", Text(clean(_yaml_of(_without_hashes(info.configuration)))))
    return 0


def _yaml_of(configuration: JsonObject) -> str:
    """Return a configuration as YAML, with the names of checks in the user's language."""
    import yaml  # not loaded by those who look at no configuration

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_multi_representer(
        str, lambda dumper, message: dumper.represent_str(render(message, language()))
    )
    return yaml.dump(plain(configuration), Dumper=Dumper, allow_unicode=True, sort_keys=False)


def _judge_lines(info: RunCounts) -> Iterator[Message]:
    """Yield lines about the judges, excluded models, each model's usage, batches and votes."""
    for judge, identity in info.identities.items():
        yield Message("{judge}: judge identity {identity}", judge=judge, identity=identity)
    for judge, excluded in info.excluded.items():
        for model, rows in excluded.items():
            yield join(": ", (judge, exclusion(model, rows, info.judged_rows(judge))))
    for model, usage in info.usage.items():
        if info.state == "imported" and not usage.calls:
            continue  # another tool asked, and does not say what it took
        yield Message(
            "{model}: {calls}, {tokens}, {cost}",
            model=model,
            calls=count_calls(usage.calls),
            tokens=count_used_tokens(usage),
            cost=cost_message({model: usage}, info.prices),
        )
    yield from map(_batch, info.batches)
    yield votes_message(info)


_BATCH_STATES = {
    "intended": Message("intended"),
    "open": Message("open"),
    "cancelling": Message("cancelling"),
    "collected": Message("collected"),
    "rejected": Message("rejected"),
}


def _batch(batch: Batch) -> Message:
    """Return a line on a batch: state, number of requests, and whether it may have been paid for
    twice.
    """
    state: str = _BATCH_STATES.get(batch.state, batch.state)
    if provider_reason := batch.more.get("said"):
        state = Message("{state} ({reason})", state=state, reason=provider_reason)
    values = {
        "id": batch.remote_id or batch.id,
        "provider": batch.provider,
        "state": state,
        "requests": count_requests(batch.requests),
    }
    return (
        Message(
            "batch {id} at {provider}: {state}, {requests}; it may have been paid twice", **values
        )
        if batch.more.get("twice")
        else Message("batch {id} at {provider}: {state}, {requests}", **values)
    )


def _without_hashes(configuration: JsonObject) -> JsonDict:
    """Return the configuration without template hashes, which only ``--json`` shows."""
    configurations = object_in(configuration.get("judges"))
    short_configurations = {
        judge: {
            name: value
            for name, value in object_in(judge_configuration).items()
            if name != "templates"
        }
        for judge, judge_configuration in configurations.items()
    }
    return {**configuration, **({"judges": short_configurations} if configurations else {})}


@runs.command("diff")
@argument("one", "A run folder.", type=PATH)
@argument("two", "Another run folder.", type=PATH)
@as_json
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every row, not only the first hundred of each kind.",
)
@confidence_of_intervals
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Smallest difference that counts as better or worse.",
)
@cluster
@row_names
@slices
@click.option(
    "--expect-better",
    is_flag=True,
    help="Decide whether the second run is better by more than --margin: exit with 0 if it is on "
    "every criterion, 4 if it is not on one of them, 5 if it cannot tell.",
)
def diff_runs(
    one: Path,
    two: Path,
    as_json: bool,
    everything: bool,
    confidence: float,
    margin: float,
    cluster: str | None,
    id: str | None,
    by: str | None,
    expect_better: bool,
) -> int:
    """Show how two runs differ, and whether the second is better, worse or indistinguishable
    from the first.

    Rows are paired by id; else by the unjudged fields, such as the question, if these identify a
    row; else by a text that no other row has; else by position, if both runs have the same number
    of rows. The output names the method and the number of pairs.
    """
    from adjudge.runs.cli.show_diff import DiffFlags, print_diff, show_diff  # heavy

    flags = DiffFlags(
        everything=everything,
        confidence=confidence,
        margin=margin,
        cluster=cluster,
        id=id,
        by=by,
        expect_better=expect_better,
    )
    expectation = (print_diff if as_json else show_diff)(one, two, flags)
    return expectation.code if expectation else ExitCode.OK


@runs.command("recover")
@_folder
def recover_run(folder: Path) -> int:
    """Save all readable data from a damaged ledger; the damaged file is kept next to it."""
    votes, rows = recover(folder)
    echo(
        Message(
            "saved {votes} and {judgments}; resume the run to ask for the missing ones again",
            votes=count_votes(votes),
            judgments=count_judgments(rows),
        )
    )
    return 0


@runs.command("gc")
@_parent
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=30,
    help="Delete only runs that have not been written for this many days.",
)
@click.option("--cache", is_flag=True, help="Also empty the user's reply cache.")
@click.option("--yes", is_flag=True, help="Delete; without this, only list what would be deleted.")
def collect(parent: Path, older_than: float, cache: bool, yes: bool) -> int:
    """Delete old runs, except those under way. Without --yes, only shows what it would delete.

    Only a run's own files are deleted; its folder is removed if nothing else is in it.
    """
    from adjudge.core.gateway.opener import user_cache  # loads what asks models

    now = time.time()
    old = [
        folder for folder in find_runs(parent) if now - last_written(folder) >= older_than * _DAY
    ]
    for folder in old:
        echo(_delete(folder, parent, really=yes))
    if cache:
        count, size = user_cache().size()
        values = {"replies": count_replies(count), "size": size / 1e6}
        echo(
            Message("emptied the cache: {replies}, {size:.1f} MB", **values)
            if yes
            else Message("would empty the cache: {replies}, {size:.1f} MB", **values)
        )
        if yes:
            user_cache().clear()
    if not old and not cache:
        echo(Message("nothing to delete"))
    return 0


@command("export")
@_folder
@click.option("--to", help=f"The format: {', '.join(FORMATS.ours)}.")
@click.option(
    "-o",
    "--output",
    type=LOCATION,
    help="Output file or address (s3://…, gs://…, az://…), or - for standard output; by default "
    "next to the ledger.",
)
def export_run(folder: Path, to: str | None, output: Path | ObjectFile | None) -> int:
    """Write a run's judgments to a file: CSV, JSONL with all votes, Parquet, Markdown, HTML, JUnit,
    or a format of another tool.

    This also works while the run is under way.
    """
    with reading(folder):  # that there is a run is asked before where it would be written
        format_name = (to or "csv").lower()
        default = folder / f"results.{ENDINGS.get(format_name, format_name)}"
        target: Path | ObjectFile = output or default
    with as_usage_error():
        export_format(target, to)
    exported = write_export(folder, target, to, typed_language())
    if target != STDOUT:
        written = count_judgments(exported.judgments - exported.left_out)
        echo(Message("{judgments} written to {file}", judgments=written, file=target))
    for note in exported.notes:
        echo(note, err=True)
    return 0


def _delete(folder: Path, parent: Path, *, really: bool) -> Message:
    if folder.resolve() != parent.resolve() / folder.relative_to(parent):
        return Message(
            "kept {folder}: it was reached through a symbolic link, so it may belong to someone "
            "else; delete it at its real path",
            folder=folder,
        )
    try:
        delete_run(folder, only_try=not really)
    except RunError as error:
        return Message("kept {folder}: {reason}", folder=folder, reason=error)
    if not really:
        return Message("would delete {folder}", folder=folder)
    if folder.exists():
        return Message(
            "deleted {folder}, except for files in it that do not belong to the run", folder=folder
        )
    return Message("deleted {folder}", folder=folder)


def _read_info(folder: Path) -> RunInfo | tuple[Path, RunError]:
    """Return a run's summary, or its folder and the error: one damaged run must not hide the
    others.
    """
    try:
        return run_info(folder)
    except RunError as error:
        return folder, error


def _cells(info: RunInfo | tuple[Path, RunError]) -> tuple[object, ...]:
    if not isinstance(info, RunInfo):
        return (info[0], *["–"] * 4, Message("unreadable: {reason}", reason=info[1]))
    started = number_of(info.facts.get("started"))
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(started)) if started else "–"
    missing = sum(
        count
        for statuses in info.judges.values()
        for status, count in statuses.items()
        if status not in ("scored", "skipped")
    )
    usd = cost_of(info.usage, info.prices).cost_usd
    cost = "–" if usd is None else dollars(usd)
    counts = grouped(info.rows), grouped(missing)
    return info.folder, when, *counts, cost, run_state(info.state)
