"""``adjudge run``: run an eval file, or go on with its run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from click import UsageError

from adjudge.core.aio.files import from_here
from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.ledger.file import holds_run, read_meta
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import BatchesOpen, BudgetSpent, OtherConfiguration, RunStopped, SetupError
from adjudge.messages import Message, reason_of
from adjudge.runs.cli.estimates import estimated, show_estimate
from adjudge.runs.cli.eval_files import open_eval_file
from adjudge.runs.cli.execute import (
    RunDisplay,
    check_resumed,
    note_halt,
    outcome_for,
    resumable,
    show_end,
    with_weights,
)
from adjudge.runs.cli.file_watch import OnChange
from adjudge.runs.cli.inputs import as_usage_error
from adjudge.runs.cli.model_choice import current_project, model_entries, price_table
from adjudge.runs.cli.options import (
    LANGUAGE,
    LOCATION,
    PATH,
    RowFlags,
    argument,
    as_json,
    command,
    gate,
    option,
    options,
    shared,
    yes,
)
from adjudge.runs.cli.output import echo, use_language
from adjudge.runs.cli.overwrite_guard import refuse_overwriting
from adjudge.runs.cli.run_data import print_run
from adjudge.runs.cli.run_mode import MODES, RunMode, RunRequest, run_modes
from adjudge.runs.cli.settings import typed_for_judges, typed_settings
from adjudge.runs.cli.show import warn
from adjudge.runs.cli.show_diff import show_comparison
from adjudge.runs.cli.stored_options import FACT, facts_to_keep, is_known
from adjudge.runs.earlier_rows import may_be_reused
from adjudge.runs.eval_file import (
    DataEntry,
    EvalFile,
    FailUnder,
    Gates,
    M,
    schema,
    with_models,
)
from adjudge.runs.exporters.export import check_export, export_format, write_export
from adjudge.runs.folder import kept_prices, prices_of, reading
from adjudge.runs.model_overrides import at_server, by_models
from adjudge.runs.partitions import PARTITIONS
from adjudge.runs.plan import Plan, resolve
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.run_place import (
    EARLIER,
    EvalRunPlace,
    data_fact,
    find_place,
    has_old_answers,
)
from adjudge.runs.target_entry import read_targets
from adjudge.runs.trusted_folders import trusts_everything
from adjudge.runs.variables import EnvFile

EXAMPLE = """\
data: answers.csv                      # with the columns question and answer
models: openai/gpt-4o-mini             # left out: the embedded model
judges:
  - kind: direct
    criteria: [conciseness, "Is the answer polite?"]
outputs: [results.csv, report.html]
gates: {fail_under: 0.8}
"""


@light_dataclass(frozen=True, kw_only=True)
class RunOptions(RowFlags):
    """The options of ``adjudge run``."""

    fail_under: FailUnder | None = shared(
        gate(
            "Exit with 4 if a criterion's mean score is below this; NAME: only that criterion or "
            "system. Replaces the file's bar of the same name. Repeatable."
        )
    )
    config: Path | None = option(
        "-c", "--config", type=PATH, help="The eval file, instead of the argument."
    )
    folder: Path | None = option(
        "--run", type=PATH, help="The run's folder, instead of the one the file names."
    )
    data: Path | ObjectFile | None = option(
        "--data",
        type=LOCATION,
        help="Judge these rows instead of the file's: a data file, or the rows of an earlier run.",
    )
    model: tuple[str, ...] = option(
        "-m",
        "--model",
        multiple=True,
        help=(
            "Ask this model instead of the file's. With several, every judge uses each of them, "
            "and a cascade takes them as steps."
        ),
    )
    target: tuple[str, ...] = option(
        "--target",
        multiple=True,
        help=(
            "Target that answers the rows, instead of the file's: a model, a command, an address "
            "or file.py:function; repeatable."
        ),
    )
    temperature: float | None = option(
        "--temperature",
        type=click.FloatRange(min=0),
        help="For every judge; overrides the file.",
    )
    seed: int | None = option(
        "--seed",
        type=int,
        help="Seed for every judge; overrides the file. Sample i uses seed + i.",
    )
    yes: bool = shared(yes)
    stop_at_bad_row: bool | None = option(
        "--stop-at-bad-row/--skip-bad-rows",
        default=None,
        help=(
            "What to do if a row cannot be judged (overrides the file): stop, or skip it, report "
            "it and exit with 3."
        ),
    )
    fork: Path | None = option(
        "--fork", type=PATH, help="Reuse the answers of this other run that still apply."
    )
    retry_failed: bool = option(
        "--retry-failed", is_flag=True, help="Retry answers that had no verdict."
    )
    retry_reason: str | None = option(
        "--retry-reason",
        metavar="TEXT",
        help=(
            "Retry only the rows that have no verdict for this reason, as printed in a report or "
            "on the page."
        ),
    )
    output: tuple[Path | ObjectFile, ...] = option(
        "-o",
        "--output",
        type=LOCATION,
        multiple=True,
        help=(
            "Also write the run here: .csv, .jsonl, .parquet, .md or .html, also s3://…; "
            "repeatable."
        ),
    )
    language: str | None = option(
        "--language",
        type=LANGUAGE,
        help="Language of prompts, explanations, criteria and reports; overrides the file.",
    )
    as_json: bool = shared(as_json)
    watch: bool = option(
        "--watch",
        is_flag=True,
        help="Rerun whenever the file, its criteria or its rows change.",
    )
    show_schema: bool = option(
        "--schema", is_flag=True, help="Print the JSON schema of eval files, for editors."
    )

    def file(self, source: Path | EvalFile) -> EvalFile:
        """Return the eval file with the command line's models, rows and gates.

        ``source``: its path, or the file of a resumed run.
        """
        project = current_project()
        if isinstance(source, EvalFile):
            if not source.typed:
                EnvFile.beside(source.path.parent).apply()
            file = source
        else:
            file = open_eval_file(
                source,
                self.data,
                typed=self._replaced_keys(),
                is_limited=self.budget() is not None,
                prices=self.prices,
            )
        if self.target:
            file = replace(file, target=read_targets(self.target))
        file = replace(file, language=self.language or file.language)
        use_language(file.language)
        if self.model:
            file = by_models(file, model_entries(self.model, self.at, project=project))
        elif self.at.says_anything:
            file = at_server(file, self.at)
        file = self._at_once(file) if self.max_concurrency else file
        return self._with_typed_settings(file)

    def _with_typed_settings(self, file: EvalFile) -> EvalFile:
        """Apply the typed settings of rows, gates and judges to the file. Typed paths are relative
        to the working folder.
        """
        data = file.data.named_by(self.id) if self.id else file.data
        if self.data is not None:
            data = replace(data, path=str(self.data.absolute()))
        gates = replace(file.gates, **typed_settings(self, Gates, but=("fail_under",)))
        if self.not_worse_than is not None:
            gates = replace(gates, not_worse_than=str(Path(self.not_worse_than).absolute()))
        if self.stop_at_bad_row is not None:
            file = replace(file, on_bad_row="stop" if self.stop_at_bad_row else "report")
        return replace(
            file,
            # how many rows are judged is a part of the plan, and not of the file that is kept
            data=replace(data, **typed_settings(self, DataEntry, but=("limit",))),
            gates=gates,
            judges=tuple(replace(judge, **typed_for_judges(self)) for judge in file.judges),
        )

    def _replaced_keys(self) -> list[str]:
        """Return the keys of the eval file that the command line replaces."""
        values_by_key = {
            "data": self.data,
            "models": self.model,
            "run": self.folder,
            "target": self.target,
        }
        return [name for name, value in values_by_key.items() if value]

    def _at_once(self, file: EvalFile) -> EvalFile:
        def change(entry: M) -> M:
            return replace(entry, max_concurrency=self.max_concurrency)

        judges = tuple(with_models(judge, change) for judge in file.judges)
        return replace(file, models=tuple(map(change, file.models)), judges=judges)

    def reused(self) -> Path | None:
        """Return the run whose answers are reused: that of --fork, else that of --data if it may be
        reused, else None.
        """
        if self.fork:
            return self.fork
        return (
            self.data
            if isinstance(self.data, Path) and holds_run(self.data) and may_be_reused(self.data)
            else None
        )


@command()
@argument("file", "The eval file, such as eval.yaml.", type=PATH, required=False)
@options(RunOptions)
@run_modes
def run(file: Path | EvalFile | None, options: RunOptions, modes: tuple[RunMode, ...]) -> int:
    """Run an eval file: data, judges, models, budget, outputs and gates.

    If it is stopped by Ctrl-C (once: after the requests under way; twice: at once), by a budget or
    by a crash, the same command or 'adjudge resume RUN' resumes it. Exit codes: 0 all scored and
    the gates hold, 1 could not run or stopped before the end, 2 usage, 3 some judgments have no
    score (also those in batches that it does not wait for), 4 gate failed, 5 gate inconclusive or
    no row judged.
    """
    if options.show_schema:
        click.echo(json.dumps(schema(), ensure_ascii=False, indent=2))
        return ExitCode.OK
    if file and options.config:
        raise UsageError(Message("name one eval file: as the argument or with -c"))
    file = file or options.config
    if file is None:
        echo(
            Message(
                "adjudge: name an eval file: adjudge run eval.yaml. A first one:\n\n{example}",
                example=EXAMPLE,
            ),
            err=True,
        )
        return ExitCode.USAGE
    request = RunRequest(modes, options.reused() is not None, options.watch)
    for mode in modes:
        mode.check(request)
    if not options.watch:
        return _carry_out(options.file(file), options, modes)
    if isinstance(file, EvalFile):
        raise UsageError(Message("--watch needs an eval file: use adjudge run FILE --watch"))
    return _on_change(file, options, modes)


def _on_change(path: Path, wanted: RunOptions, modes: Sequence[RunMode]) -> int:
    named_folder = wanted.folder
    # the file names the folder instead: a named one would refuse a changed configuration
    other_options = replace(wanted, folder=None)

    def load() -> EvalFile:
        file = other_options.file(path)
        return replace(file, run=str(named_folder.absolute())) if named_folder else file

    return OnChange(path, load, lambda: _carry_out(load(), other_options, modes)).run()


def _carry_out(file: EvalFile, wanted: RunOptions, modes: Sequence[RunMode]) -> int:
    batch = next(filter(None, (mode.rounds() for mode in modes)), None)
    is_spread = any(mode.is_spread for mode in modes)
    # commands without an eval file have always written these endings as JSONL
    formats = {
        path: "jsonl" if file.typed and path.suffix in ("", ".ndjson") else None
        for path in (*file.output_paths, *wanted.output)
    }
    if formats:
        refuse_overwriting(formats, (file.path, file.source))
    for path in wanted.output:
        with as_usage_error():
            export_format(path, formats[path])
    plan, place = _make_plan(file, wanted, is_spread=is_spread)
    check_resumed(plan.folder, resume=wanted.resume)
    outcome = outcome_for(plan, wanted)
    if wanted.dry_run:
        if batch:
            batch.check(plan.models, plan.writer)
        cost_estimate = estimated(
            outcome,
            fork_of=place.reused,
            retry_failed=wanted.retry_failed,
            retry_reason=wanted.retry_reason,
        )
        show_estimate(cost_estimate, as_json=wanted.as_json, in_batches=batch is not None)
        return ExitCode.OK
    display = RunDisplay(outcome, quiet=wanted.quiet or wanted.as_json, listeners=wanted.listeners)
    run_folder = place.folder
    try:
        with resumable(run_folder), display:
            _begin(plan, modes, display, cache=not wanted.no_cache)
            display.follow(
                fork_of=place.reused,
                retry_failed=wanted.retry_failed,
                retry_reason=wanted.retry_reason,
                batch=batch,
                prepare=partial(_check_outputs, formats),
            )
    except OtherConfiguration as error:
        if is_spread or not holds_run(run_folder):
            raise  # it is a cluster's store that was made with another one
        again = f"--run OTHER --fork {shlex.quote(str(run_folder))}"
        message = Message(
            "{error}; {again} reuses the answers that still apply", error=error, again=again
        )
        with reading(run_folder) as ledger:
            known = object_in(read_meta(ledger).get("configuration"))
        if has_old_answers(known):
            notice = _notice_of_old_answers(run_folder)
            message = Message("{message}. {notice}", message=message, notice=notice)
        raise OtherConfiguration("{message}", message=message) from error
    except BatchesOpen as halt:
        folder = shlex.quote(str(run_folder))
        echo(
            Message("{halt}. Collect them with: adjudge resume {folder}", halt=halt, folder=folder),
            err=True,
        )
        return ExitCode.UNSCORED
    except RunStopped as halt:
        note_halt(halt, outcome)
        _explain_default_limit(file, halt)
        _tell(outcome, place, (), as_json=wanted.as_json)
        raise
    for path, to in formats.items():
        for note in write_export(run_folder, path, to).notes:
            echo(note, err=True)
    _tell(outcome, place, list(formats), as_json=wanted.as_json)
    if not wanted.as_json and isinstance(wanted.data, Path) and holds_run(wanted.data):
        show_comparison(wanted.data, run_folder)
    return outcome.exit_code()


def _explain_default_limit(file: EvalFile, halt: RunStopped) -> None:
    """If a limit that the user did not set was reached, explain where it comes from and how to
    change it.
    """
    if file.has_default_limit and isinstance(halt.__cause__, BudgetSpent):
        echo(
            Message(
                "This is the limit of a folder that you have not trusted. Set your own with "
                "--max-usd or --max-calls, or lift it: adjudge trust {file}",
                file=from_here(file.path.absolute()),
            ),
            err=True,
        )


def _make_plan(file: EvalFile, wanted: RunOptions, *, is_spread: bool) -> tuple[Plan, EvalRunPlace]:
    """Return the plan and the place of its run. Unless prices are given, reuse those of an earlier
    run by this user.
    """
    prices = price_table(wanted.prices)
    make = partial(
        resolve,
        file,
        cache=not wanted.no_cache,
        folder=wanted.folder,
        limit=wanted.limit,
        budget=wanted.budget(),
        dry_run=wanted.dry_run,
    )
    plan = with_weights(lambda: make(prices=prices))
    data = data_fact(plan)
    place = _find_place(plan, wanted, data, is_spread=is_spread)
    if prices.path is None and holds_run(place.folder):
        with reading(place.folder) as ledger:
            facts = read_meta(ledger)
        is_own = is_known(facts.get(FACT))
        if is_own:  # prices that came with the folder would decide what a limit in dollars means
            prices = prices_of(facts)
            plan = make(prices=prices) if prices.path else plan
        if is_own and prices.path is None and (gone := kept_prices(facts)):
            echo(
                Message(
                    "The prices of {folder} came from {file}, which cannot be read. Those of "
                    "{dated} are used from now on; choose others with --prices FILE.",
                    folder=place.folder,
                    file=gone,
                    dated=prices.dated,
                ),
                err=True,
            )
    facts = {**facts_to_keep(file, prices, code=plan.file.code), **data}
    facts |= {EARLIER: place.earlier.name} if place.earlier else {}
    return replace(plan, folder=place.folder, facts=facts), place


def _find_place(
    plan: Plan, wanted: RunOptions, data: JsonObject, *, is_spread: bool
) -> EvalRunPlace:
    """Return the place of the run: a new one if the file changed, unless the user named a
    folder.
    """
    if wanted.folder or is_spread:
        return EvalRunPlace(plan.folder or Path(), reused=wanted.reused())
    trusts = wanted.yes or trusts_everything()  # as CI does with what it kept elsewhere
    place = find_place(plan, data, lambda facts: trusts or is_known(facts.get(FACT)))
    if place.passed_over:
        echo(
            Message(
                "{other} was not created by you on this machine, so its verdicts are not used, "
                "and this run is stored in {folder}. Add --trust to continue in {other}.",
                other=place.passed_over,
                folder=place.folder,
            ),
            err=True,
        )
    if place.earlier:
        values = {"file": plan.file.path.name, "earlier": place.earlier, "folder": place.folder}
        notice = (
            Message(
                "{file}, its rows or its models changed since {earlier}: continuing in {folder} "
                "with the answers that still apply.",
                **values,
            )
            if place.reused
            else Message(
                "{file}, its rows or its models changed since {earlier}: continuing in {folder}; "
                "none of the earlier answers still apply.",
                **values,
            )
        )
        echo(notice, err=True)
        if place.has_old_answers:
            echo(_notice_of_old_answers(place.earlier), err=True)
    return replace(place, reused=wanted.reused() or place.reused)


def _notice_of_old_answers(folder: Path) -> Message:
    return Message(
        "The applications are asked again: {folder} comes from an earlier version of adjudge, "
        "which did not store all settings that their answers depend on.",
        folder=folder,
    )


def _begin(plan: Plan, modes: Sequence[RunMode], display: RunDisplay, *, cache: bool) -> None:
    """Let each mode answer what it can. Adopt the answers left behind by modes that are no longer
    used.
    """
    for mode in modes:
        mode.begin(plan, display, cache=cache)
    if plan.folder and (plan.folder / PARTITIONS).is_dir():
        for kind in MODES.load_all():
            if not any(isinstance(mode, kind) for mode in modes):
                kind.adopt(plan.folder)


def _tell(
    outcome: RunOutcome,
    place: EvalRunPlace,
    written: Sequence[Path | ObjectFile],
    *,
    as_json: bool,
) -> None:
    report = outcome.report()
    if as_json:
        print_run(report, place.folder, written, votes=True)
        warn(report)
    else:
        show_end(outcome, report, written)


def _check_outputs(paths: Mapping[Path | ObjectFile, str | None]) -> None:
    """Check that the outputs can be written, before money is spent. Missing folders are created."""
    for path, to in paths.items():
        try:
            if isinstance(path, Path):
                path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(
                "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
            ) from error
        check_export(path, to)
