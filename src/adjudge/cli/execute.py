"""How every command that judges does it: options → eval file → ``runs.execute``, shown as it goes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from adjudge.cli.chosen import model_entries
from adjudge.cli.inputs import command_line, end_gently
from adjudge.cli.judged import Judgments
from adjudge.cli.options import Flags
from adjudge.cli.show import clean
from adjudge.cli.show_report import print_json, say_where, show_report, warn
from adjudge.cli.watch import Watch
from adjudge.domain.instance import Instance
from adjudge.errors import BudgetSpent, RunStopped, SetupError
from adjudge.gateway.prices import VARIABLE
from adjudge.ledger.file import FILE
from adjudge.reports.again import Again
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.judgment import Judgment
from adjudge.reports.outcome import Outcome
from adjudge.reports.report import Report
from adjudge.reports.table import write_judgments
from adjudge.reports.words import counted
from adjudge.runs.eval_file import BudgetEntry, DataEntry, EvalFile, Gates, JudgeEntry
from adjudge.runs.execute import AnswersEmpty, BlankRowsSkipped, EvalRun, Event, Judged, RowSkipped
from adjudge.runs.model_entry import ServerEntry

_MOST_TOLD = 10
"""Bad rows that are told of one by one."""
_MOST_SHOWN = 20
"""Judgments that are shown one by one."""


def typed(
    flags: Flags,
    judge: JudgeEntry,
    data: DataEntry,
    rows: Sequence[Instance] = (),
    given: Mapping[str, str | Sequence[str]] | None = None,
    models: Sequence[str] | None = None,
) -> EvalFile:
    """The eval file that a command's options stand for."""
    server = ServerEntry(base_url=flags.base_url, api_key_env=flags.api_key_env, headers=flags.header)
    return EvalFile(
        data=data,
        judges=(judge,),
        language=flags.language,
        models=model_entries(flags.model if models is None else models, server, flags.max_concurrency),
        budget=BudgetEntry(max_usd=flags.max_usd, max_calls=flags.max_calls, max_tokens=flags.max_tokens),
        run=None if flags.run is None else str(flags.run),
        gates=Gates(
            fail_under=flags.fail_under,
            confidence=flags.confidence,
            not_worse_than=flags.not_worse_than,
            margin=flags.margin or 0.0,
        ),
        on_bad_row="stop" if flags.stop_at_bad_row else "report",
        typed=True,
        rows=tuple(rows),
        given=given or {},
    )


def data_entry(flags: Flags, file: Path | None, columns: Mapping[str, str], **more: Any) -> DataEntry:
    """The rows that were named; without a file, none are read."""
    return DataEntry(path=str(file or ""), columns=tuple(columns.items()), limit=flags.limit, encoding=flags.encoding, **more)


def ready(file: EvalFile, flags: Flags, api_key: str | None = None) -> EvalRun:
    """The run that the file stands for; its command is kept with it, for ``adjudge resume``."""
    use_prices(flags.prices)
    check_resumed(file.run_folder, resume=flags.resume)
    facts = {"command": command_line()} if file.run else {}
    return EvalRun.of(file, cache=not flags.no_cache, api_key=api_key, facts=facts)


def use_prices(path: Path | None) -> None:
    """Have everything in this process count by the user's own prices."""
    if path is not None:
        os.environ[VARIABLE] = str(path.absolute())


def check_resumed(folder: Path | None, *, resume: bool) -> None:
    """What is only to be resumed must be there."""
    if resume and folder is None:
        raise SetupError("--resume needs to know which run: add --run FOLDER")
    if resume and folder is not None and not (folder / FILE).is_file():
        raise SetupError(f"there is no run in {folder} to resume: leave --resume out to begin one")


@contextmanager
def resumable(folder: Path | None) -> Iterator[None]:
    """Say how to resume what ends before the end, where it is kept."""
    if folder is not None:
        end_gently()
    try:
        yield
    except (BudgetSpent, RunStopped) as halt:
        if folder is None:
            raise
        raise RunStopped(f"{halt}. Resume it with: adjudge resume {shlex.quote(str(folder))}") from halt


class Seen:
    """What a terminal shows of a run while it goes on."""

    def __init__(self, outcome: Outcome, *, quiet: bool) -> None:
        self.outcome = outcome
        self.quiet = quiet
        self.watch = Watch(None if quiet else outcome.run.total(), quiet=quiet)
        self.judged = Judgments()
        """The judgments, where the command shows each of them."""

    def event(self, event: Event) -> None:
        """Count it, and show it where that helps."""
        self.outcome.see(event)
        if isinstance(event, Judged):
            self.watch.saw(event.result, event.spent)
        elif isinstance(event, RowSkipped) and self.outcome.skipped <= _MOST_TOLD:
            click.echo(f"skipped {clean(str(event.row))}", err=True)
        elif isinstance(event, BlankRowsSkipped | AnswersEmpty):
            click.echo(clean(str(event.rows)), err=True)

    def keep(self, event: Event) -> None:
        """The same, and remember the judgment."""
        self.event(event)
        if isinstance(event, Judged):
            self.judged.add(event)


def judge_all(seen: Seen) -> Judgments:
    """Carry it out: the judgments in the order of the rows."""
    with resumable(seen.outcome.run.folder), seen.watch:
        seen.outcome.run.execute(seen.keep, kept=seen.outcome.facts)
    if seen.outcome.skipped:
        click.echo(skipped_rows(seen.outcome), err=True)
    return seen.judged


def skipped_rows(outcome: Outcome) -> str:
    """How many there were."""
    return f"{counted(outcome.skipped, 'row')} could not be judged"


def finish(
    outcome: Outcome,
    judged: Iterable[Judged],
    results: Iterable[Mapping[str, object]],
    output: Path | None,
    show: Callable[[], None] | None,
    *,
    single: bool = False,
) -> ExitCode:
    """Write and show what came of it, and say whether that is good enough. ``show``: the rows; None prints JSON.

    ``single``: one text was judged, so that its result stands by itself in the JSON.
    """
    report, run = outcome.report(), outcome.run
    if output:
        labels = {one.name: one.label for one in run.judges}
        rows = Again(lambda: (Judgment.of(labels[one.judge], one.number + 1, one.result, votes=True) for one in judged))
        write_judgments(output, rows, report.setup.dimensions)
    if show is None:
        print_json(report, results, single=single)
    else:
        _show(outcome, report, show, output)
    warn(report)
    return outcome.exit_code()


def _show(outcome: Outcome, report: Report, show: Callable[[], None], output: Path | None) -> None:
    """A few rows one by one; of many, the figures and where the rows are."""
    many = report.total > _MOST_SHOWN
    if not many:
        show()
    show_report(report)
    if many:
        say_where(report.language, output, outcome.run.folder)
