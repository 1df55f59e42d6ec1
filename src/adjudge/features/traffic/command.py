"""``adjudge follow``: judge production traffic as it comes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.budget import Budget
from adjudge.errors import RunStopped, SetupError
from adjudge.features.traffic.files import GrowingFiles
from adjudge.features.traffic.follower import Follower, RoundDone
from adjudge.features.traffic.intake import open_intake
from adjudge.features.traffic.mlflow import MLFLOW, MlflowTraces
from adjudge.features.traffic.rates import ROWS
from adjudge.features.traffic.receiver import FOLDER, receiving
from adjudge.features.traffic.sampling import Sampling
from adjudge.features.traffic.services import SERVICES, ServiceSpans
from adjudge.features.traffic.source import TrafficSource
from adjudge.features.traffic.verdict_writer import WriteBack
from adjudge.features.traffic.webhook import Webhook
from adjudge.messages import Message
from adjudge.runs.cli.declared_options import ONE_COLUMN
from adjudge.runs.cli.eval_files import open_eval_file
from adjudge.runs.cli.model_choice import price_table
from adjudge.runs.cli.options import (
    FROM_ONE,
    FROM_ZERO,
    LANGUAGE,
    PATH,
    as_json,
    command,
    no_cache,
    option,
    options,
    positional,
    prices,
    shared,
    trust,
    yes,
)
from adjudge.runs.cli.output import echo, use_language
from adjudge.runs.cli.stored_options import facts_to_keep
from adjudge.runs.execute import Event
from adjudge.runs.exporters.json_version import SCHEMA
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.traffic_rows import traffic_folder


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Parse seconds, minutes, hours or days."""
        match = _DURATION.fullmatch(str(value))
        if match is None:
            self.fail(
                Message("{value!r} is not a time such as 30m, 24h or 7d", value=value), param, ctx
            )
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


DURATION = _Duration()
_DURATION = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_PORT = re.compile(r"otlp:(\d{1,5})")
_LAST_PORT = 65535
_MOST_TOLD = 100
"""Rows that could not be judged, named one by one."""
_TIMES_AS_LONG = 2
"""A round that took long is followed by a pause so many times as long at least: a day's rows pass
again in each.
"""


@light_dataclass(frozen=True, kw_only=True)
class FollowOptions:
    """Options of ``adjudge follow``."""

    file: Path = positional("The eval file; its data is the traffic.", type=PATH)
    source: str = option(
        "--from",
        required=True,
        help=(
            "A file of JSON lines that grows, a folder of them, or a pattern in quotes; otlp:PORT "
            "receives spans of OpenTelemetry on this machine; langfuse, phoenix:PROJECT, "
            "langsmith:PROJECT-ID and mlflow:EXPERIMENT-ID are asked for theirs."
        ),
    )
    since: timedelta = option(
        "--since",
        type=DURATION,
        default="24h",
        help="How far back to read traces from a service: 30m, 24h, 7d.",
    )
    sample: float = option(
        "--sample",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        help="The share of events to judge, such as 0.05.",
    )
    by: str | None = option(
        "--by", help="Column whose values are sampled separately (strata).", **ONE_COLUMN
    )
    at_least: int = option(
        "--at-least",
        type=FROM_ZERO,
        default=0,
        help="Judge at least this many events per value and day before sampling.",
    )
    always: tuple[str, ...] = option(
        "--always", multiple=True, help="Judge every event with this COLUMN=VALUE; repeatable."
    )
    seed: str = option("--seed", default="0", help="Seed of the sample.")
    id: str | None = option(
        "--id", help="Column with the event id; by default id, trace_id or request_id."
    )
    time: str | None = option("--time", help="Column with the time of the event.")
    max_usd_per_day: float | None = option(
        "--max-usd-per-day", type=click.FloatRange(min=0), help="Maximum dollars per UTC day."
    )
    max_calls_per_day: int | None = option(
        "--max-calls-per-day", type=FROM_ZERO, help="Maximum requests per UTC day."
    )
    every: float = option(
        "--every",
        type=click.FloatRange(min=0.1),
        default=30.0,
        help="Seconds between two reads of the source.",
    )
    quiet: float = option(
        "--quiet",
        type=click.FloatRange(min=0),
        default=180.0,
        help="Seconds without a new span after which a trace is considered complete.",
    )
    window: int = option(
        "--window", type=FROM_ONE, default=7, help="Window in days over which rates are reported."
    )
    write_back: bool = option(
        "--write-back",
        is_flag=True,
        help="Write each verdict back to the service that the trace is from, as its score.",
    )
    once: bool = option(
        "--once", is_flag=True, help="Run one round, then exit (for cron). An alarm exits with 4."
    )
    webhook: str | None = option(
        "--webhook", help="A URL that receives each alarm once, as a JSON POST."
    )
    run: Path | None = option(
        "--run", type=PATH, help="Folder for the daily runs; by default runs/NAME-traffic."
    )
    yes: bool = shared(yes)
    prices: Path | None = shared(prices)
    no_cache: bool = shared(no_cache)
    as_json: bool = shared(as_json)
    language: str | None = option(
        "--language", type=LANGUAGE, help="Output language, instead of the eval file's."
    )

    @property
    def folder(self) -> Path:
        """The folder that holds the run of each day."""
        return self.run or traffic_folder(self.file)

    def _write_back(self, source: TrafficSource) -> WriteBack | None:
        if not self.write_back:
            return None
        if not isinstance(source, ServiceSpans):
            raise SetupError(
                "--write-back needs a service that takes scores: {services}",
                services=", ".join([*SERVICES, MLFLOW.name]),
            )
        return WriteBack(source)

    def _source(self) -> TrafficSource:
        scheme, _, project = self.source.partition(":")
        if scheme == MLFLOW.name:
            return MlflowTraces(MLFLOW, project, self.since)
        if scheme in SERVICES:
            return ServiceSpans(SERVICES[scheme], project, self.since)
        if self._port:
            return GrowingFiles(str(self.folder / FOLDER), self.id, self.time)
        files = GrowingFiles(self.source, self.id, self.time)
        if not files.has_files():
            echo(Message("{source} does not exist yet", source=self.source), err=True)
        return files

    @property
    def _port(self) -> str:
        """The port to receive spans at, or an empty text."""
        match = _PORT.fullmatch(self.source)
        if match and int(match[1]) > _LAST_PORT:
            raise SetupError(
                "a port must be from 0 to {last}, not {port}", last=_LAST_PORT, port=match[1]
            )
        return match[1] if match else ""

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Receive spans inside the block, if the source is a port."""
        if not self._port:
            yield
            return
        with receiving(int(self._port), self.folder / FOLDER) as port:
            echo(
                Message("receiving spans at http://127.0.0.1:{port}/v1/traces", port=port), err=True
            )
            yield

    def follower(self) -> Follower:
        """Return the follower of the eval file, with its source, sample and budget."""
        folder = self.folder
        file = open_eval_file(
            self.file,
            folder / ROWS,
            typed=("data", "run"),
            writes=() if self.run else (folder,),
            is_limited=self.max_usd_per_day is not None or self.max_calls_per_day is not None,
            prices=self.prices,
        )
        prices = price_table(self.prices)
        if self.language is None:
            use_language(file.language)
        source = self._source()
        return Follower(
            file,
            source,
            Sampling(self.sample, self.by, self.at_least, _pairs(self.always), self.seed),
            folder,
            Budget(self.max_usd_per_day, self.max_calls_per_day),
            self.quiet,
            self.window,
            not self.no_cache,
            self._write_back(source),
            partial(facts_to_keep, prices=prices),
            prices,
        )


@command("follow")
@options(FollowOptions)
@trust
def follow(options: FollowOptions) -> int:
    """Judge a sample of production traffic as it arrives, in one run per UTC day.

    Every event is taken in once, even if the command is killed and started again. A hash of its id
    decides whether an event is judged. Each row records how many events it stands for, so rates
    describe all traffic. The bars are the eval file's gates: an alarm is raised if a rate falls
    below its bar, or a mean count rises above its max. The chance of a false alarm stays below 5%,
    however long it runs.
    Ctrl-C or SIGTERM ends it. Exit codes: 0 no alarm, 1 could not run, 2 usage, 4 alarm.
    """
    follower, raised, away = options.follower(), False, None
    webhook = Webhook(options.webhook) if options.webhook else None
    with (
        open_intake(follower.folder) as intake,
        options.receiving(),
        suppress(KeyboardInterrupt, RunStopped),
    ):
        began = time.monotonic()
        for done in follower.rounds(intake, _Teller()):
            if options.once or done.is_new:
                _show(done, as_json=options.as_json)
            raised, away = bool(done.raised), done.away
            if webhook and (why := webhook.tell(intake, done.raised)):
                echo(why, err=True)
            if options.once:
                break
            time.sleep(max(options.every, _TIMES_AS_LONG * (time.monotonic() - began)))
            began = time.monotonic()
    if options.once and away:
        return ExitCode.COULD_NOT_RUN
    return ExitCode.GATE_FAILED if raised else ExitCode.OK


def _show(done: RoundDone, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_document(done), ensure_ascii=False))
        return
    for sentence in done.sentences():
        echo(sentence)


def _document(done: RoundDone) -> JsonDict:
    """Return a round as an ``adjudge.results`` document."""
    return {
        "schema": SCHEMA,
        "kind": "traffic",
        "summary": done.to_dict(),
        **{name: [] for name in ("criteria", "gates", "notes")},
        "alarms": [alarm.to_dict() for alarm in done.alarms],
        "results": [rate.to_dict() for rate in done.rates],
    }


class _Teller:
    """Prints rows that could not be judged, each only once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, event: Event) -> None:
        # A day's rows are read again in every round.
        if isinstance(event, BadRow) and str(event) not in self._told:
            if len(self._told) < _MOST_TOLD:
                echo(Message("left out: {why}", why=event), err=True)
            self._told.add(str(event))


def _pairs(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    parsed = [(word, *word.partition("=")) for word in texts]
    for text, column, equals, _ in parsed:
        if not equals or not column:
            raise SetupError("--always takes COLUMN=VALUE, not {typed!r}", typed=text)
    return tuple((column, value) for _, column, _, value in parsed)
