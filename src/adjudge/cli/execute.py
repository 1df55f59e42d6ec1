"""How every command that judges does it: options → eval file → ``runs.execute``, shown as it goes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from adjudge.cli.chosen import model_entries
from adjudge.cli.inputs import command_line, end_gently
from adjudge.cli.options import Flags
from adjudge.cli.show import clean, say_excluded
from adjudge.cli.watch import Watch
from adjudge.domain.instance import Instance
from adjudge.gateway.prices import VARIABLE
from adjudge.reports.outcome import Outcome
from adjudge.reports.words import counted
from adjudge.runs.eval_file import BudgetEntry, DataEntry, EvalFile, Gates, JudgeEntry
from adjudge.runs.execute import AnswersEmpty, BlankRowsSkipped, EvalRun, Event, Judged, RowSkipped
from adjudge.runs.model_entry import ServerEntry

_MOST_TOLD = 10
"""Bad rows that are told of one by one."""


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
        gates=Gates(fail_under=flags.fail_under),
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
    facts = {"command": command_line()} if file.run else {}
    return EvalRun.of(file, cache=not flags.no_cache, api_key=api_key, facts=facts)


def use_prices(path: Path | None) -> None:
    """Have everything in this process count by the user's own prices."""
    if path is not None:
        os.environ[VARIABLE] = str(path.absolute())


class Seen:
    """What a terminal shows of a run while it goes on."""

    def __init__(self, outcome: Outcome, *, quiet: bool) -> None:
        self.outcome = outcome
        self.quiet = quiet
        self.watch = Watch(None if quiet else outcome.run.total(), quiet=quiet)
        self.judged: list[Judged] = []
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
            self.judged.append(event)


def judge_all(seen: Seen) -> list[Judged]:
    """Carry it out: the judgments in the order of the rows."""
    if seen.outcome.run.folder:
        end_gently()
    with seen.watch:
        seen.outcome.run.execute(seen.keep)
    seen.judged.sort(key=lambda one: one.number)
    if seen.outcome.skipped:
        click.echo(skipped_rows(seen.outcome), err=True)
    return seen.judged


def skipped_rows(outcome: Outcome) -> str:
    """How many there were."""
    return f"{counted(outcome.skipped, 'row')} could not be judged"


def say_all_excluded(outcome: Outcome) -> None:
    """Which models of a panel did not count, by each judge."""
    for one in outcome.run.judges:
        say_excluded(outcome.summary(one.name), outcome.run.file.language)
