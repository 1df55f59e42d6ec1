"""``adjudge follow``: production traffic, judged as it comes."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from adjudge.cli.chosen import current_project
from adjudge.cli.confirm_code import confirm_code
from adjudge.cli.execute import use_prices
from adjudge.cli.kept import facts_to_keep
from adjudge.cli.options import (
    FROM_ONE,
    FROM_ZERO,
    PATH,
    as_json,
    command,
    no_cache,
    option,
    options,
    positional,
    prices,
    shared,
)
from adjudge.cli.output import echo, use_language
from adjudge.data.sources.row import BadRow
from adjudge.errors import RunStopped, SetupError
from adjudge.gateway.layers.budget import Budget
from adjudge.messages import Message
from adjudge.results.exit_code import ExitCode
from adjudge.runs.eval_file import load_eval
from adjudge.runs.execute import Event
from adjudge.runs.variables import use_env_file
from adjudge.traffic.files import GrowingFiles
from adjudge.traffic.follow import ROWS, Follower, RoundDone
from adjudge.traffic.intake import open_intake
from adjudge.traffic.sampling import Sampling
from adjudge.traffic.webhook import Webhook

_MOST_TOLD = 100
"""Rows that could not be judged, named one by one."""
_TIMES_AS_LONG = 2
"""A round that took long is followed by a pause so many times as long at least: a day's rows pass
again in each.
"""


@dataclass(frozen=True, kw_only=True)
class FollowOptions:
    """What ``adjudge follow`` can be told."""

    file: Path = positional("The eval file; its data is the traffic.", type=PATH)
    source: str = option(
        "--from",
        required=True,
        help="A file of JSON lines that grows, a folder of them, or a pattern in quotes.",
    )
    sample: float = option(
        "--sample",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        help="The share of events to judge, such as 0.05.",
    )
    by: str | None = option("--by", help="The column whose values are sampled by themselves.")
    at_least: int = option(
        "--at-least",
        type=FROM_ZERO,
        default=0,
        help="Judge so many events of each value a day before any is left out.",
    )
    always: tuple[str, ...] = option(
        "--always", multiple=True, help="COLUMN=VALUE of events to judge all of; repeatable."
    )
    seed: str = option("--seed", default="0", help="Another seed draws another sample.")
    id: str | None = option(
        "--id", help="The column that names an event; by default id, trace_id or request_id."
    )
    time: str | None = option("--time", help="The column that says when an event happened.")
    max_usd_per_day: float | None = option(
        "--max-usd-per-day", type=click.FloatRange(min=0), help="Dollars a UTC day, at most."
    )
    max_calls_per_day: int | None = option(
        "--max-calls-per-day", type=FROM_ZERO, help="Requests a UTC day, at most."
    )
    every: float = option(
        "--every",
        type=click.FloatRange(min=0.1),
        default=30.0,
        help="Seconds between two looks at the source.",
    )
    window: int = option(
        "--window", type=FROM_ONE, default=7, help="Days over which rates are given."
    )
    once: bool = option(
        "--once", is_flag=True, help="One round, then stop: for cron. An alarm exits with 4."
    )
    webhook: str | None = option(
        "--webhook", help="An address that every alarm is sent to once, as JSON by POST."
    )
    run: Path | None = option(
        "--run", type=PATH, help="Where the days are kept; by default runs/NAME-traffic."
    )
    yes: bool = option(
        "--yes",
        is_flag=True,
        help="Run the commands and the code that the file names without asking, as in CI.",
    )
    prices: Path | None = shared(prices)
    no_cache: bool = shared(no_cache)
    as_json: bool = shared(as_json)

    def follower(self) -> Follower:
        """The eval file with its source, sample and budget."""
        project = current_project()
        use_prices(self.prices or project.prices_path)
        use_env_file(self.file.parent)
        folder = self.run or self.file.parent / "runs" / f"{self.file.stem}-traffic"
        file = load_eval(self.file, project, folder / ROWS)
        confirm_code(file, yes=self.yes)
        use_language(file.language)
        return Follower(
            file,
            GrowingFiles(self.source, self.id, self.time),
            Sampling(self.sample, self.by, self.at_least, _pairs(self.always), self.seed),
            folder,
            Budget(self.max_usd_per_day, self.max_calls_per_day),
            self.window,
            not self.no_cache,
            facts_to_keep,
        )


@command("follow")
@options(FollowOptions)
def follow(options: FollowOptions) -> int:
    """Judge a sample of production traffic as it comes, in a run for each UTC day.

    Every event is taken in once, also when the command is killed and started again. Which events
    are judged is decided by a hash of their ids; each row keeps for how many events it stands, so
    that rates are those of the traffic. Bars are those of the eval file's gates: an alarm is raised
    when a rate has fallen below its bar, and false alarms stay below 5 % however long it looks.
    Ctrl-C or SIGTERM ends it. Exit codes: 0 no alarm, 1 could not run, 2 usage, 4 alarm.
    """
    follower, raised = options.follower(), False
    webhook = Webhook(options.webhook) if options.webhook else None
    with open_intake(follower.folder) as intake, suppress(KeyboardInterrupt, RunStopped):
        began = time.monotonic()
        for done in follower.rounds(intake, _Teller()):
            if options.once or done.is_new:
                _show(done, as_json=options.as_json)
            raised = bool(done.raised)
            if webhook and (why := webhook.tell(intake, done.raised)):
                echo(why, err=True)
            if options.once:
                break
            time.sleep(max(options.every, _TIMES_AS_LONG * (time.monotonic() - began)))
            began = time.monotonic()
    return ExitCode.GATE_FAILED if raised else ExitCode.OK


def _show(done: RoundDone, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(done.to_dict(), ensure_ascii=False))
        return
    for sentence in done.sentences():
        echo(sentence)


class _Teller:
    """Says once which rows could not be judged: a day's rows pass in every round."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, event: Event) -> None:
        if isinstance(event, BadRow) and str(event) not in self._told:
            if len(self._told) < _MOST_TOLD:
                echo(Message("left out: {why}", why=event), err=True)
            self._told.add(str(event))


def _pairs(typed: tuple[str, ...]) -> dict[str, str]:
    found = [one.partition("=") for one in typed]
    if wrong := next((column for column, equals, _ in found if not equals or not column), None):
        raise SetupError("--always takes COLUMN=VALUE, not {typed!r}", typed=wrong)
    return {column: value for column, _, value in found}
