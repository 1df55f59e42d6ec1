"""``adjudge runs`` and ``adjudge export``: what is in run folders."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import click
from rich.text import Text

from adjudge.cli.inputs import as_usage_error, spoken
from adjudge.cli.json_text import print_results
from adjudge.cli.options import (
    PATH,
    Group,
    argument,
    as_json,
    cluster,
    command,
    confidence_of_intervals,
    row_names,
)
from adjudge.cli.run_data import print_run, run_data
from adjudge.cli.show import clean, reasons_told, told
from adjudge.cli.show_diff import DiffFlags, print_diff, show_diff
from adjudge.cli.terminal import open_console, plain_table
from adjudge.errors import RunError
from adjudge.exporters.export import ENDINGS, FORMATS, export, export_format
from adjudge.exporters.files import STDOUT
from adjudge.gateway.open import user_cache
from adjudge.gateway.prices import PriceTable
from adjudge.ledger.batches import Batch
from adjudge.messages import render
from adjudge.results.counts import (
    count_calls,
    count_failed_calls,
    count_judgments,
    count_replies,
    count_requests,
    count_tokens,
    count_votes,
)
from adjudge.results.run_report import report_of_run
from adjudge.results.russian import verbatim
from adjudge.results.trusted import calibrations_of, trust_sentence
from adjudge.runs.folder import RunInfo, delete_run, find_runs, last_written, reading, run_info
from adjudge.runs.recover import recover

_DAY = 86_400
_folder = argument("folder", "A run folder.", type=PATH)
_parent = argument("parent", "Where to look.", type=PATH, default=Path("runs"))


@click.group(cls=Group, no_args_is_help=True)
def runs() -> None:
    """Look at run folders: list, show, diff, recover, gc."""


@runs.command("list")
@_parent
@as_json
def list_runs(parent: Path, as_json: bool) -> int:
    """List the runs in a folder, the newest last."""
    found = [_readable(folder) for folder in find_runs(parent)]
    if as_json:
        print_results("runs", {"runs": len(found)}, map(run_data, found))
        return 0
    table = plain_table(
        *map(told, ("run", "started", "judgments", "without a score", "calls", "cost", "state"))
    )
    for one in found:
        table.add_row(*(Text(told(text)) for text in _cells(one)))
    open_console().print(table if found else Text(told(f"there are no runs in {verbatim(parent)}")))
    return 0


@runs.command("show")
@_folder
@as_json
def show_run(folder: Path, as_json: bool) -> int:
    """Show what a run holds, what it cost and how it was set up."""
    if as_json:
        print_run(report_of_run(folder, shown=0), folder)
        return 0
    info = run_info(folder)
    console = open_console()
    console.print(Text(told(f"{verbatim(info.folder)}: {info.state}"), style="bold"))
    for one in info.criteria:
        counts = ", ".join(f"{status} {count}" for status, count in sorted(one.statuses.items()))
        mean = f"; mean {one.mean:.3f}" if one.mean is not None else ""
        console.print(Text(told(f"{verbatim(one.name)}: {counts}{mean}")))
    if any(status != "scored" for one in info.criteria for status in one.statuses):
        for line in reasons_told(report_of_run(folder, shown=0)):
            console.print(Text(line))
    for calibration in calibrations_of(folder):
        console.print(Text(clean(render(trust_sentence(calibration), spoken())), style="bold"))
    for judge, identity in info.identities.items():
        console.print(Text(told(f"{verbatim(judge)}: judge identity {identity}")))
    for judge, excluded in info.excluded.items():
        for model, rows in excluded.items():
            asked = sum(info.judges[judge].values())
            console.print(
                Text(
                    told(f"{verbatim(judge)}: without {verbatim(model)} on {rows} of {asked} rows")
                )
            )
    for model, usage in info.usage.items():
        tokens = usage.prompt_tokens + usage.completion_tokens
        spent = f"{count_calls(usage.calls)}, {count_tokens(tokens)}, {_money(info, model)}"
        console.print(Text(told(f"{verbatim(model)}: {spent}")))
    for batch in info.batches:
        console.print(Text(told(_batch(batch))))
    votes = f"{count_votes(info.votes)}, {info.failed_votes} without an answer"
    console.print(Text(told(f"{votes}; {count_failed_calls(info.failed_calls)}")))
    console.print_json(clean(json.dumps(_without_hashes(info.configuration), ensure_ascii=False)))
    return 0


def _batch(batch: Batch) -> str:
    """A batch in a line: where it is, how far, and whether it may have been paid for twice."""
    said = f" ({verbatim(batch.more['said'])})" if batch.more.get("said") else ""
    twice = "; it may have been paid twice" if batch.more.get("twice") else ""
    requests = count_requests(batch.requests)
    return (
        f"batch {verbatim(batch.remote_id or batch.id)} at {batch.provider}: "
        f"{batch.state}{said}, {requests}{twice}"
    )


def _without_hashes(configuration: Mapping[str, object]) -> dict[str, object]:
    """The configuration as people read it: which templates a judge could use is for ``--json``."""
    judges = configuration.get("judges")
    each = judges if isinstance(judges, Mapping) else {}
    shown = {
        judge: {name: value for name, value in one.items() if name != "templates"}
        if isinstance(one, Mapping)
        else one
        for judge, one in each.items()
    }
    return {**configuration, **({"judges": shown} if each else {})}


@runs.command("diff")
@argument("one", "A run folder.", type=PATH)
@argument("two", "Another run folder.", type=PATH)
@as_json
@click.option(
    "--all", "everything", is_flag=True, help="Show every row, not the first hundred of a kind."
)
@confidence_of_intervals
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Only a larger difference is better or worse.",
)
@cluster
@row_names
def diff_runs(
    one: Path,
    two: Path,
    as_json: bool,
    everything: bool,
    confidence: float,
    margin: float,
    cluster: str | None,
    id: str | None,
) -> int:
    """Show how two runs differ, and whether the second is better, worse, or cannot be told from the
    first.

    Rows are paired by their id; else by the fields that are not judged, such as the question, where
    these name one row; else by a text that no other row has; else by place, where both runs have as
    many. Which, and how many, is said.
    """
    flags = DiffFlags(
        everything=everything, confidence=confidence, margin=margin, cluster=cluster, id=id
    )
    (print_diff if as_json else show_diff)(one, two, flags)
    return 0


@runs.command("recover")
@_folder
def recover_run(folder: Path) -> int:
    """Save what can be read of a damaged ledger; the damaged file is kept beside it."""
    votes, rows = recover(folder)
    click.echo(
        told(
            f"saved {count_votes(votes)} and {count_judgments(rows)}; resume the "
            "run: what is missing is asked again"
        )
    )
    return 0


@runs.command("gc")
@_parent
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=30,
    help="Days since a run was last written.",
)
@click.option("--cache", is_flag=True, help="Empty the user's cache of replies, too.")
@click.option("--yes", is_flag=True, help="Delete; without it, only say what would be deleted.")
def collect(parent: Path, older_than: float, cache: bool, yes: bool) -> int:
    """Delete old runs, but none that is under way. Says what it would delete, unless told --yes.

    Only a run's own files are deleted; its folder goes with them when nothing else is in it.
    """
    now = time.time()
    old = [
        folder for folder in find_runs(parent) if now - last_written(folder) >= older_than * _DAY
    ]
    for folder in old:
        click.echo(told(_deleted(folder, parent, really=yes)))
    if cache:
        count, size = user_cache().size()
        click.echo(
            told(
                f"{'emptied' if yes else 'would empty'} the cache: "
                f"{count_replies(count)}, {size / 1e6:.1f} MB"
            )
        )
        if yes:
            user_cache().clear()
    if not old and not cache:
        click.echo(told("nothing to delete"))
    return 0


@command("export")
@_folder
@click.option("--to", help=f"The format: {', '.join(FORMATS.ours)}.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="The file, - for standard output; by default beside the ledger.",
)
def export_run(folder: Path, to: str | None, output: Path | None) -> int:
    """Write a run's judgments to a file: CSV, JSONL with all votes, Parquet, Markdown, HTML, JUnit,
    or as other tools read them.

    Works while the run is under way.
    """
    with reading(folder):  # that there is a run is asked before where it would be written
        target = output or folder / f"results.{_ending(to)}"
    with as_usage_error():
        format_ = export_format(target, to)
    rows = export(folder, target, to)
    if target != STDOUT:
        click.echo(told(f"{count_judgments(rows)} written to {verbatim(target)}"))
    if format_ in ("langfuse", "phoenix"):
        _say_left_out(folder, format_)
    return 0


def _say_left_out(folder: Path, format_: str) -> None:
    from adjudge.exporters.scores_out import without_verdict

    if count := without_verdict(folder):
        click.echo(
            told(
                f"{count_judgments(count)} without a verdict left out: {format_} has no "
                "place for a failure"
            ),
            err=True,
        )


def _ending(to: str | None) -> str:
    """Of the file that a run is written to, where none is named."""
    chosen = (to or "csv").lower()
    return ENDINGS.get(chosen, chosen)


def _deleted(folder: Path, parent: Path, *, really: bool) -> str:
    if folder.resolve() != parent.resolve() / folder.relative_to(parent):
        return (
            f"kept {verbatim(folder)}: a symbolic link leads to it, so that it may be somebody "
            "else's; delete it where it lies"
        )
    try:
        delete_run(folder, only_try=not really)
    except RunError as error:
        return f"kept {verbatim(folder)}: {error}"
    left = ", without the files in it that are not the run's" if really and folder.exists() else ""
    return f"{'deleted' if really else 'would delete'} {verbatim(folder)}{left}"


def _readable(folder: Path) -> RunInfo | tuple[Path, RunError]:
    """What a run folder holds, or why that cannot be read: one damaged run does not hide the
    others.
    """
    try:
        return run_info(folder)
    except RunError as error:
        return folder, error


def _cells(info: RunInfo | tuple[Path, RunError]) -> list[str]:
    if not isinstance(info, RunInfo):
        return [verbatim(info[0]), *["–"] * 5, f"unreadable: {info[1]}"]
    started = info.facts.get("started")
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(started)) if started else "–"
    missing = sum(
        count
        for statuses in info.judges.values()
        for status, count in statuses.items()
        if status != "scored"
    )
    calls = sum(usage.calls for usage in info.usage.values())
    return [
        verbatim(info.folder),
        when,
        str(info.rows),
        str(missing),
        str(calls),
        _money(info),
        info.state,
    ]


def _money(info: RunInfo, model: str | None = None) -> str:
    prices = PriceTable.load()
    costs = {
        name: prices.cost(name, usage)
        for name, usage in info.usage.items()
        if model in (None, name)
    }
    total = sum(cost or 0.0 for cost in costs.values())
    unknown = ", ".join(verbatim(name) for name, cost in costs.items() if cost is None)
    known = f"${total:.4f}" if total or not unknown else ""
    return " and ".join(
        part for part in (known, f"price of {unknown} not known" if unknown else "") if part
    )
