"""``adjudge run``: an eval file, carried out, resumable."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.estimates import show_estimate
from adjudge.cli.inputs import command_line
from adjudge.cli.options import PATH, argument, budget_from, command, dry_run, fail_under, limits, quiet
from adjudge.cli.show import clean, notes, say_excluded, scored_of
from adjudge.cli.watch import Watch
from adjudge.errors import BudgetSpent, RunStopped, SetupError
from adjudge.gateway.prices import VARIABLE
from adjudge.judges.pairwise import PairwiseJudge
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.export import check_export, export
from adjudge.reports.gate import check_gate, exit_code, worst
from adjudge.reports.summary import Summary, Tally
from adjudge.reports.words import word
from adjudge.runs.build import ReadyJudge
from adjudge.runs.eval_file import EvalFile, load_eval, schema
from adjudge.runs.execute import BlankRowsSkipped, EvalRun, Event, Judged, RowSkipped

_MOST_TOLD = 10
"""Bad rows that are told of one by one."""


@command()
@argument("file", "The eval file, such as eval.yaml.", type=PATH, required=False)
@click.option("--run", "folder", type=PATH, help="The run's folder, instead of the one the file names.")
@limits
@fail_under
@click.option("--fork", type=PATH, help="Begin with what this other run was answered, where it still holds.")
@click.option("--retry-failed", is_flag=True, help="Ask again where an answer had no verdict.")
@dry_run
@quiet
@click.option("--schema", "show_schema", is_flag=True, help="Print the JSON schema of eval files, for editors.")
def run(
    file: Path | None,
    folder: Path | None,
    limit: int | None,
    max_usd: float | None,
    max_calls: int | None,
    max_tokens: int | None,
    prices: Path | None,
    no_cache: bool,
    fail_under: float | None,
    fork: Path | None,
    retry_failed: bool,
    dry_run: bool,
    quiet: bool,
    show_schema: bool,
) -> int:
    """Carry out an eval file: data, judges, models, budget, outputs and gates.

    Stopped by Ctrl-C (once: what is under way is finished; twice: at once), by a budget or by a crash, it is gone on with by
    the same command or 'adjudge resume RUN'. Exit codes: 0 all scored and the gates hold, 1 could not run or stopped before
    the end, 2 usage, 3 some judgments have no score, 4 gate failed, 5 gate inconclusive.
    """
    if show_schema:
        click.echo(json.dumps(schema(), ensure_ascii=False, indent=2))
        return ExitCode.OK
    if file is None:
        raise SetupError("say which eval file to run: adjudge run eval.yaml")
    if prices is not None:
        os.environ[VARIABLE] = str(prices.absolute())
    wanted = load_eval(file)
    made = EvalRun.of(wanted, cache=not no_cache, folder=folder, limit=limit, facts={"command": command_line()})
    _check_gates(made, fail_under)
    if dry_run:
        show_estimate(made.estimate(fork_of=fork, retry_failed=retry_failed))
        return ExitCode.OK
    _check_outputs(wanted)
    seen = _Seen(made, Watch(None if quiet else made.total(), quiet=quiet))
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with seen.watch:
            made.execute(seen.event, budget=budget_from(max_usd, max_calls, max_tokens), fork_of=fork, retry_failed=retry_failed)
    except (BudgetSpent, RunStopped) as halt:
        seen.show()
        click.echo(f"adjudge: {halt}. Go on with: adjudge resume {made.folder}", err=True)
        return ExitCode.COULD_NOT_RUN
    for path in wanted.output_paths:
        export(made.folder, path)
    seen.show()
    return seen.exit_code(fail_under)


@dataclass
class _Seen:
    """What a run came to, as far as it got."""

    made: EvalRun
    watch: Watch
    tallies: dict[str, Tally] = field(default_factory=dict)
    skipped: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """What the results have to say about themselves, each once."""

    def event(self, event: Event) -> None:
        """Count it, and show it where that helps."""
        if isinstance(event, Judged):
            self.tallies.setdefault(event.judge, Tally()).add(event.result)
            self.notes.update(dict.fromkeys(event.result.notes))
            self.watch.saw(event.result, event.spent)
        elif isinstance(event, RowSkipped):
            self.skipped += 1
            if self.skipped <= _MOST_TOLD:
                click.echo(f"skipped {clean(str(event.row))}", err=True)
        elif isinstance(event, BlankRowsSkipped):
            click.echo(clean(str(event.rows)), err=True)

    def show(self) -> None:
        """A table of the judges, and where everything is."""
        language = self.made.file.language
        table = Table(box=None, padding=(0, 2, 0, 0))
        for heading in (word("judge", language), word("attempted", language), word("scored", language), word("mean", language)):
            table.add_column(heading)
        for name, tally in self.tallies.items():
            found = tally.summary()
            say_excluded(found, language)
            mean = "–" if found.mean is None else f"{found.mean:.3f}"
            table.add_row(Text(clean(name)), str(found.attempted), scored_of(found, language), mean)
        console = Console(highlight=False)
        console.print(table)
        if self.skipped:
            console.print(Text(f"{self.skipped} rows could not be judged", style="yellow"))
        for place in (self.made.folder, *self.made.file.output_paths):
            if place.exists():
                console.print(Text(clean(str(place)), style="dim"))
        for note in dict.fromkeys((*(note for ready in self.made.judges for note in notes(ready.judge)), *self.notes)):
            console.print(Text(note, style="yellow"))

    def exit_code(self, fail_under: float | None) -> ExitCode:
        """By the gates of the file, of each judge, and of the command line."""
        codes = [ExitCode.UNSCORED] if self.skipped else []
        for ready in self.made.judges:
            found = self.tallies.get(ready.name, Tally()).summary()
            codes.append(exit_code(found, _gate(self.made, ready, fail_under)))
            codes += [ExitCode.GATE_FAILED] if _too_many_failed(found, self.made.file.gates.max_failed) else []
        return worst(codes)


def _check_gates(made: EvalRun, fail_under: float | None) -> None:
    for ready in made.judges:
        if _gate(made, ready, fail_under) is not None:
            check_gate(ready.name, ready.criteria, compares=isinstance(ready.judge, PairwiseJudge))


def _gate(made: EvalRun, ready: ReadyJudge, fail_under: float | None) -> float | None:
    gates = (fail_under, ready.fail_under, made.file.gates.fail_under)
    return next((one for one in gates if one is not None), None)


def _check_outputs(file: EvalFile) -> None:
    """Before anything is paid for, not after."""
    for path in file.output_paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(f"{path} cannot be written: {error.strerror or error}") from error
        check_export(path)


def _too_many_failed(found: Summary, most: float | None) -> bool:
    return most is not None and found.attempted - found.scored > most * found.attempted
