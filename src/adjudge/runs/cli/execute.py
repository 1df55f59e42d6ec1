"""The way from options to a finished run, for every command that judges: an eval file, its plan,
``runs.execute``, and what is printed meanwhile.
"""

from __future__ import annotations

import pickle
import shlex
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from types import TracebackType
from typing import Protocol, cast
from weakref import finalize

import click
from click import UsageError

from adjudge.core.data.dataset import (
    BadRow,
    BlankRows,
    EmptyAnswers,
    LabelsShown,
    OtherSheets,
)
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.objects import ObjectFile
from adjudge.core.reading.reiterable import Reiterable
from adjudge.errors import BatchesOpen, BudgetSpent, FetchNeeded, RunError, RunStopped, SetupError
from adjudge.messages import Message, plural, reason_of
from adjudge.plugins import Parts
from adjudge.plugins import resolve as load_target
from adjudge.runs.cli.inputs import as_usage_error
from adjudge.runs.cli.model_choice import model_entries, price_table
from adjudge.runs.cli.options import Flags, RowFlags
from adjudge.runs.cli.output import Output, echo, language, output
from adjudge.runs.cli.run_data import run_with_configuration
from adjudge.runs.cli.settings import typed_settings
from adjudge.runs.cli.show import print_json, warn
from adjudge.runs.cli.watch import ProgressWatch
from adjudge.runs.counts import count_calls, count_judgments, count_rows, count_tokens
from adjudge.runs.eval_file import (
    BudgetEntry,
    DataEntry,
    EvalFile,
    Gates,
    JudgeEntry,
    PanelEntry,
)
from adjudge.runs.execute import (
    BackendNews,
    Event,
    JudgmentDone,
    JudgmentRepeated,
    OpinionsAsked,
    Rounds,
    RowsReadable,
    Stopping,
    VoteCast,
    execute,
)
from adjudge.runs.exporters.table import write_judgments
from adjudge.runs.folder import records_of
from adjudge.runs.partitions import kept_facts
from adjudge.runs.plan import Plan, resolve
from adjudge.runs.results.exit_code import INTERRUPTED, ExitCode
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.results.report import ENTRIES, Report
from adjudge.runs.view.ending import RunEnding, resume_command, show_ending
from adjudge.runs.view.terminal import Screen


class RunListener(Protocol):
    """Receives the events of a run, e.g. to send them elsewhere."""

    def on_event(self, event: Event, /) -> None: ...


OpenListener = Callable[[Plan], AbstractContextManager[RunListener]]


LISTENERS: Parts[OpenListener] = Parts("listeners")
"""Listeners by name. A listener is only loaded if it is asked for."""


def listener_named(name: str) -> OpenListener:
    if name not in LISTENERS:
        raise UsageError(
            Message(
                "unknown listener {name!r}; known: {known}",
                name=name,
                known=", ".join(LISTENERS),
            )
        )
    return LISTENERS[name]


_IN_MEMORY = 1_000_000
"""Bytes of judgments that are held in memory; more go to a file."""


class JudgmentSpool:
    """Stores the judgments of a run, and iterates over them in row order.

    Up to 1 MB is kept in memory; beyond that, only positions are, and the judgments go to a
    temporary file.
    """

    def __init__(self) -> None:
        # it goes with this object
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        finalize(self, _close, self._file)
        self._places = array("Q")
        self._numbers = array("Q")

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, judged: JudgmentDone) -> None:
        try:
            # reading moves the position, so every judgment is appended at the end
            self._places.append(self._file.seek(0, 2))
            self._numbers.append(judged.number)
            pickle.dump(judged, self._file, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise RunError(
                "judgments cannot be buffered in {gettempdir}: {strerror}; set TMPDIR to another "
                "folder",
                gettempdir=gettempdir(),
                strerror=error.strerror,
            ) from error

    def __iter__(self) -> Iterator[JudgmentDone]:
        for index in sorted(range(len(self)), key=self._numbers.__getitem__):
            self._file.seek(self._places[index])
            yield pickle.load(self._file)  # noqa: S301 - nobody else writes to it


def _close(file: SpooledTemporaryFile[bytes]) -> None:
    """Close the file, ignoring errors such as a full disk."""
    with suppress(OSError):
        file.close()


_MOST_TOLD = 10
"""Bad rows that are named one by one."""


def eval_file_from_flags(
    flags: Flags,
    judge: JudgeEntry,
    data: DataEntry,
    rows: Sequence[Instance] = (),
    given: Mapping[str, str | Sequence[str]] | None = None,
    models: Sequence[str] | None = None,
) -> EvalFile:
    """Build the eval file that is equivalent to a command's options."""
    model_names = flags.model if models is None else models
    if isinstance(judge, PanelEntry) and judge.replacement:
        (entry,) = model_entries((judge.replacement.model,), flags.at, flags.max_concurrency)
        judge = replace(judge, replacement=entry)
    return EvalFile(
        data=data,
        judges=(judge,),
        language=flags.language,
        models=()
        if not model_names and judge.asks_no_model
        else model_entries(model_names, flags.at, flags.max_concurrency),
        budget=BudgetEntry(**typed_settings(flags, BudgetEntry)),
        run=None if flags.run is None else str(flags.run),
        gates=Gates(**typed_settings(flags, Gates)),
        on_bad_row="stop" if flags.stop_at_bad_row else "report",
        typed=True,
        rows=tuple(rows),
        given=given or {},
    )


def data_entry(
    flags: Flags, file: Path | None, columns: Mapping[str, str], responses: Sequence[str] = ()
) -> DataEntry:
    """Return the entry for the rows in ``file``. Raises a UsageError if --id was typed without a
    file.
    """
    if flags.id and file is None:
        raise UsageError(Message("--id names a column of a file: give the file with --file"))
    return DataEntry(
        path=str(file or ""),
        columns=tuple(columns.items()),
        responses=tuple(responses),
        **typed_settings(flags, DataEntry),
    )


def prepare_run(
    file: EvalFile, flags: Flags, api_key: str | None = None, outputs: Sequence[Path] | None = None
) -> Plan:
    """Resolve the file to a plan. If the run is kept, add the facts that ``adjudge resume`` needs.

    ``outputs``: the files that a resumed run writes, if they differ from ``--output``.
    """
    prices = price_table(flags.prices)
    check_resumed(file.run_folder, resume=flags.resume)
    plan = with_weights(
        lambda: resolve(
            file,
            cache=not flags.no_cache,
            api_key=api_key,
            prices=prices,
            dry_run=flags.dry_run,
        )
    )
    return replace(plan, facts=_facts(plan, file, outputs)) if file.run else plan


def _facts(plan: Plan, file: EvalFile, outputs: Sequence[Path] | None) -> JsonDict:
    """Return the facts to store. ``file``: as typed, before its criteria were looked up."""
    from adjudge.runs.cli.stored_options import facts_to_keep  # loaded only if a run is kept

    code = plan.file.code
    if outputs is None:
        return facts_to_keep(file, plan.prices, code=code)
    paths = tuple(str(path.absolute()) for path in outputs)
    file_with_outputs = replace(file, outputs=paths)
    return facts_to_keep(file_with_outputs, plan.prices, but=("output",), code=code)


def with_weights(make: Callable[[], Plan]) -> Plan:
    """Return ``make()``. If it lacks weights that were never pulled, pull them with a notice and
    call it again.
    """
    try:
        return make()
    except SetupError as error:
        missing = error if isinstance(error, FetchNeeded) else error.__cause__
        if not isinstance(missing, FetchNeeded):
            raise
    cast(Callable[[str], None], load_target(missing.fetcher))(missing.name)
    return make()


def outcome_for(
    plan: Plan, flags: RowFlags, shown: int = ENTRIES, *, is_good_known: bool = False
) -> RunOutcome:
    """Return an empty outcome for the run.

    An impossible gate on the command line is a usage error. If more rows are already judged than
    the limit allows, all of them are kept, with a notice. ``is_good_known``: the user named the
    good answer.
    """
    full_plan = plan.keeping_rows()
    if full_plan is not plan:
        echo(
            Message(
                "{folder} already contains {rows} judged rows, more than the limit of {limit}. "
                "Those still in the data are shown; no other rows are judged.",
                folder=plan.folder,
                rows=full_plan.limit,
                limit=plan.limit or plan.file.data.limit,
            ),
            err=True,
        )
    plan = full_plan
    with as_usage_error() if typed_settings(flags, Gates) else nullcontext():
        notes = (
            ()
            if is_good_known
            else tuple(
                note
                for entry in plan.file.judges
                for note in entry.polarity_notes(typed=plan.file.typed)
            )
        )
        outcome = RunOutcome(plan, flags.fail_under, flags.baseline, shown, notes)
        outcome.gates.check()
    return outcome


def check_resumed(folder: Path | None, *, resume: bool) -> None:
    """Raise if ``resume`` is set but there is no run to resume."""
    if resume and folder is None:
        raise UsageError(Message("--resume needs to know which run: add --run FOLDER"))
    if resume and folder is not None and not holds_run(folder) and kept_facts(folder) is None:
        raise SetupError("{folder} has no run to resume: start one without --resume", folder=folder)


@contextmanager
def resumable(folder: Path | None) -> Iterator[None]:
    """Add to the error that stops a run how to resume it.

    ``BatchesOpen`` passes unchanged, as do exhausted budgets and stops of a run without a folder.
    """
    place = shlex.quote(str(folder))
    try:
        yield
    except BatchesOpen:
        raise  # as it was told to
    except (BudgetSpent, RunStopped) as halt:
        if folder is None:
            raise
        command = resume_command(folder, str(halt) if isinstance(halt, BudgetSpent) else "")
        how = (
            Message("Continue with a larger limit: {command}", command=command)
            if isinstance(halt, BudgetSpent)
            else Message("Continue with: {command}", command=command)
        )
        raise RunStopped("{halt}. {how}", halt=halt, how=how) from halt
    except KeyboardInterrupt as interrupt:
        what = (
            Message("stopped at once: nothing was kept. With --run FOLDER it could be resumed.")
            if folder is None
            else Message(
                "stopped at once: unfinished requests are asked again. Resume it with: adjudge "
                "resume {folder}",
                folder=place,
            )
        )
        raise click.Abort(what) from interrupt


def say_stopping(folder: Path | None, output: Output) -> None:
    """Print what the first Ctrl-C does, and how to resume."""
    what = (
        Message(
            "Stopping: no more requests are sent; adjudge waits for those under way and writes "
            "what was judged. Ctrl-C again stops at once. With --run FOLDER it could be resumed."
        )
        if folder is None
        else Message(
            "Stopping: no more requests are sent; adjudge waits for those under way and keeps "
            "their answers. Ctrl-C again stops at once. Resume it with: adjudge resume {folder}",
            folder=shlex.quote(str(folder)),
        )
    )
    output.echo(what, err=True)


class RunDisplay:
    """Shows the progress of a run in the terminal. ``keeps``: store the judgments, for commands
    that print each one.
    """

    def __init__(
        self,
        outcome: RunOutcome,
        *,
        quiet: bool,
        listeners: Sequence[str] = (),
        keeps: bool = False,
    ) -> None:
        self.outcome = outcome
        self.listeners: list[RunListener] = []
        self._opened = [listener_named(name)(outcome.plan) for name in listeners]
        self.keeps = keeps
        self.quiet = quiet
        self.watch = ProgressWatch(
            outcome.plan.total, outcome.plan.prices, quiet=quiet, language=language()
        )
        self.judged = JudgmentSpool()

    def __enter__(self) -> RunDisplay:
        self._open = ExitStack()
        self.listeners = [self._open.enter_context(opened) for opened in self._opened]
        self._open.enter_context(self.watch)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def follow(
        self,
        *,
        fork_of: Path | None = None,
        retry_failed: bool = False,
        retry_reason: str | None = None,
        batch: Rounds | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Execute the run and show its events.

        ``prepare`` is called once the rows can be read, before any model is asked.
        """
        with execute(
            self.outcome.plan,
            fork_of=fork_of,
            retry_failed=retry_failed,
            retry_reason=retry_reason,
            kept=self.outcome.facts,
            batch=batch,
            calls=bool(self.listeners),
            repeats=not self.listeners and not self.keeps,
        ) as events:
            for event in events:
                if prepare and isinstance(event, RowsReadable):
                    prepare()
                self.show(event)

    def show(self, event: Event) -> None:
        """Record an event, pass it to the listeners, and print it if users should see it."""
        self.outcome.see(event)
        for listener in self.listeners:
            listener.on_event(event)
        if isinstance(event, JudgmentDone):
            self.watch.on_result(event.result, event.spent)
            if self.keeps:
                self.judged.add(event)
        elif isinstance(event, JudgmentRepeated):
            self.watch.on_repeated(event.spent)
        elif isinstance(event, BadRow) and self.outcome.skipped <= _MOST_TOLD:
            echo(Message("skipped {row}", row=str(event)), err=True)
        elif isinstance(event, BlankRows | EmptyAnswers | LabelsShown | OtherSheets):
            echo(str(event), err=True)
        elif isinstance(event, BackendNews) and (event.is_always_told or not self.quiet):
            echo(event.message, err=True)
        elif isinstance(event, VoteCast):
            self.watch.on_vote()
        elif isinstance(event, OpinionsAsked) and not self.quiet:
            echo(
                Message(
                    "The verdicts are in. Asking {model} for second opinions on rows that failed "
                    "or are uncertain.",
                    model=event.model,
                ),
                err=True,
            )
        elif isinstance(event, Stopping):
            say_stopping(self.outcome.plan.folder, output())


def judge_all(display: RunDisplay, prepare: Callable[[], None] | None = None) -> JudgmentSpool:
    """Execute the run and return its judgments in row order.

    If it stops early without a folder to keep them in, return the judgments made so far, since they
    are paid for. ``prepare`` is called once the rows can be read.
    """
    outcome = display.outcome
    try:
        with resumable(outcome.plan.folder), display:
            try:
                display.follow(prepare=prepare)
            except (BudgetSpent, RunStopped, KeyboardInterrupt) as halt:
                if outcome.plan.folder is not None or not len(display.judged):
                    raise
                _mark_stopped(halt, outcome)
    except RunStopped as halt:
        note_halt(halt, outcome)
        if not outcome.judgments:
            raise
    return display.judged


def _mark_stopped(halt: BaseException, outcome: RunOutcome) -> None:
    """Mark the outcome as incomplete, for the report and the exit code."""
    at_once = isinstance(halt, KeyboardInterrupt)
    outcome.stopped = (
        Message(
            "Stopped at once: unfinished requests are lost. With --run FOLDER nothing would "
            "be lost."
        )
        if at_once
        else _halt_message(halt, outcome)
    )
    outcome.stopped_code = INTERRUPTED if at_once else ExitCode.COULD_NOT_RUN
    echo(outcome.stopped, err=True)


def note_halt(halt: RunStopped, outcome: RunOutcome) -> None:
    """Like ``_mark_stopped``, but for a run with a folder: report everything in it. The caller
    raises ``halt``, which says how to resume.
    """
    outcome.read_folder()
    outcome.stopped = _halt_message(halt.__cause__ or halt, outcome)
    outcome.halted = halt


def _halt_message(halt: BaseException, outcome: RunOutcome) -> Message:
    if isinstance(halt, BudgetSpent) and (limit := halt.message.values.get("limit")):
        values = {"limit": _limit(str(limit)), "done": _done(outcome)}
        if lost := halt.message.values.get("lost"):
            return Message(
                "Budget of {limit} used up after {done}. Replies that did not arrive count for "
                "{lost} of it, each at its greatest possible length.",
                lost=lost,
                **values,
            )
        if large := halt.message.values.get("next"):
            return Message(
                "Budget of {limit} reached after {done}: the next request may take {large}, which "
                "no longer fits.",
                large=large,
                **values,
            )
        return Message("Budget of {limit} used up after {done}.", **values)
    if isinstance(halt, RunStopped):
        return Message("Stopped early after {done}.", done=_done(outcome))
    return Message("Stopped early after {done}: {reason}.", done=_done(outcome), reason=halt)


def _limit(text: str) -> str:
    """Return a limit as users read it, e.g. "$0.5" for "max_usd=0.5"."""
    name, _, value = text.partition("=")
    match name:
        case "max_usd":
            return f"${value}"
        case "max_calls":
            return count_calls(int(value))
        case "max_tokens":
            return count_tokens(int(value))
    return text


def _done(outcome: RunOutcome) -> Message:
    """Return the progress, e.g. "11 of 300 rows". Counts judgments if rows have several, and leaves
    out an unknown total.
    """
    done, total, judgments_per_row = (
        outcome.judgments,
        outcome.plan.total(),
        outcome.plan.judgments_per_row,
    )
    if total is None:
        return count_rows(done) if judgments_per_row == 1 else count_judgments(done)
    if judgments_per_row == 1:
        return plural("{done:,} of {count:,} row", "{done:,} of {count:,} rows", total, done=done)
    return plural(
        "{done:,} of {count:,} judgment", "{done:,} of {count:,} judgments", total, done=done
    )


def follow_run(plan: Plan, *, quiet: bool) -> int:
    """Execute a run whose judgments another program reads. Return how many rows could not be
    judged.
    """
    outcome = RunOutcome(plan)
    display = RunDisplay(outcome, quiet=quiet)
    with resumable(plan.folder), display:
        display.follow()
    if outcome.skipped:
        echo(skipped_rows(outcome), err=True)
    return outcome.skipped


def skipped_rows(outcome: RunOutcome) -> Message:
    return Message("{rows} could not be judged", rows=count_rows(outcome.skipped))


def finish(
    outcome: RunOutcome,
    judged: Iterable[JudgmentDone],
    output: Path | None,
    *,
    as_json: bool,
    aggregates: Iterable[JsonDict] | None = None,
) -> int:
    """Write and show the results, and return the exit code.

    ``aggregates``: for the JSON, one per row judged by several criteria. No output file is written
    for a halted run that can be resumed.
    """
    report, rows = outcome.report(), judgments_of(outcome, judged)
    output = None if outcome.halted else output
    unwritten = _write_results(rows, report, output) if output else None
    files = (output,) if output and not unwritten else ()
    if as_json:
        print_json(report, rows, aggregates, files, kept_in(outcome.plan.folder))
        warn(report)
    else:
        show_end(outcome, report, files)
    if unwritten:
        raise unwritten
    return outcome.exit_code()


def kept_in(folder: Path | None) -> JsonDict | None:
    """Return the run's data for ``--json``; None if the run is not kept."""
    if folder is None:
        return None

    return run_with_configuration(folder)


def _write_results(
    rows: Reiterable[JudgmentRecord], report: Report, output: Path
) -> RunError | None:
    """Write the rows to ``output``. An OSError is returned as a RunError, not raised: results that
    are paid for should still be shown.
    """
    from adjudge.runs.exporters.pages import write_html, write_markdown

    ending = output.suffix.lower()
    try:
        if ending == ".html":
            write_html(report, rows if report.total > len(report.entries) else None, output)
        elif ending == ".md":
            write_markdown(report, output)
        else:
            write_judgments(output, rows, report.language)
    except OSError as error:
        return RunError(
            "{output} cannot be written: {reason}", output=output, reason=reason_of(error)
        )
    return None


def judgments_of(outcome: RunOutcome, judged: Iterable[JudgmentDone]) -> Reiterable[JudgmentRecord]:
    """Return the judgments as records for the report. For a halted run with a folder, return
    everything in the folder.
    """
    folder = outcome.plan.folder
    if outcome.halted and folder is not None:
        return Reiterable(lambda: records_of(folder, votes=True))
    labels = {judge.name: judge.label for judge in outcome.plan.judges}
    return Reiterable(
        lambda: (
            judgment.result.record(labels[judgment.judge], judgment.number, votes=True)
            for judgment in judged
        )
    )


def show_end(
    outcome: RunOutcome,
    report: Report,
    files: Sequence[Path | ObjectFile] = (),
) -> None:
    """Print the final summary of a command that judges."""
    ending = RunEnding(
        report=report,
        stopped=outcome.stopped,
        folder=outcome.plan.folder,
        files=files,
        earlier=outcome.earlier,
        asked=outcome.asked,
    )
    spoken = language()
    show_ending(ending, Screen(spoken), Screen(spoken, stderr=True))
