"""``adjudge bench``: rank judges by their agreement with people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click
from click import UsageError

from adjudge.core.catalog.entry import Kind
from adjudge.core.data.dataset import BadRow
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import Label
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.verdict import TIE
from adjudge.core.domain.vote import Mode
from adjudge.core.ledger.file import holds_run
from adjudge.errors import RunError, SetupError
from adjudge.features.bench.answers import Answers
from adjudge.features.bench.benchmark import (
    FACT,
    FOLDS,
    Benchmark,
    BenchSettings,
    Ranking,
    benchmark_of,
)
from adjudge.features.bench.export import benchmark_facts, write_benchmark
from adjudge.features.bench.judges import (
    Matrix,
    bench_file,
    keep_labels,
    needed_fields,
)
from adjudge.features.bench.labelled_rows import LabelledSet, LabelledSource, labelled_set
from adjudge.features.bench.published_results import published_results
from adjudge.features.bench.published_tables import show_published
from adjudge.features.bench.terminal import show_benchmark
from adjudge.features.importers.format_table import FORMATS
from adjudge.features.importers.importing import ImportOptions, UnknownFormat, import_file
from adjudge.messages import Message, plural
from adjudge.runs.cli.declared_options import RenamedOption
from adjudge.runs.cli.estimates import show_estimate
from adjudge.runs.cli.execute import RunDisplay, check_resumed, resumable, skipped_rows
from adjudge.runs.cli.inputs import columns_from
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.model_choice import choose_language, model_entries, price_table
from adjudge.runs.cli.options import (
    FROM_ONE,
    LANGUAGE,
    PATH,
    PartChoice,
    SpendingOptions,
    as_json,
    at_once,
    bad_rows,
    command,
    confidence_of_intervals,
    encoding,
    header_row,
    limit,
    named,
    option,
    options,
    positional,
    questions,
    quiet,
    row_names,
    server,
    shared,
    sheet,
)
from adjudge.runs.cli.output import echo, language
from adjudge.runs.cli.stored_options import facts_to_keep
from adjudge.runs.cli.typed_values import SHARE
from adjudge.runs.execute import JudgeStarted, estimate, execute
from adjudge.runs.exporters.page_files import check_page
from adjudge.runs.folder import run_info
from adjudge.runs.named_criteria import NamedCriteria, criteria_to_try, kinds_of
from adjudge.runs.numbers import figure
from adjudge.runs.plan import Plan, resolve
from adjudge.runs.project import ServerEntry
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.outcome import RunOutcome
from adjudge.runs.trusted_folders import own_folder
from adjudge.runs.view.ending import page_command, show_next
from adjudge.runs.view.terminal import Screen
from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings, check_missing

_MOST_TOLD = 10


def _meanings(
    context: click.Context, parameter: click.Parameter, items: tuple[str, ...]
) -> dict[str, str]:
    # a label may contain "=", an option may not
    pairs = [item.rpartition("=") for item in items]
    for item, (_, equals, _option) in zip(items, pairs, strict=True):
        if not equals:
            raise click.BadParameter(
                Message("{item!r} is not LABEL=OPTION", item=item), context, parameter
            )
    return {label: option for label, _, option in pairs}


@light_dataclass(frozen=True, kw_only=True)
class Labelled(SpendingOptions):
    """Options shared by all commands that measure judges on labelled rows."""

    human: tuple[str, ...] = option(
        "--human",
        multiple=True,
        metavar="COLUMN",
        help="The column with people's answers; repeat for several people.",
    )
    question: str | None = option(
        "--question", metavar="NAME", help="Question to use, if the labels cover several."
    )
    meanings: Mapping[str, str] = option(
        "--map",
        multiple=True,
        callback=_meanings,
        metavar="LABEL=OPTION",
        help="LABEL=OPTION maps a label to an option; LABEL= leaves such labels out. Repeatable.",
    )
    kind: str | None = option(
        "--as",
        type=PartChoice(FORMATS, sorted(FORMATS.ours)),
        help="Format of the labelled set; detected by default.",
    )
    column: tuple[str, ...] = option(
        "--column",
        multiple=True,
        help="Column to judge, or FIELD=COLUMN; for comparisons, one per response.",
    )
    only: str | None = option(
        "--only",
        metavar="PATTERN",
        help="Only rows whose id matches this pattern, such as 'llmbar-Natural-*'.",
    )
    sample: int | None = option(
        "--sample",
        type=FROM_ONE,
        help="Use this many labelled rows, drawn at random, instead of all.",
    )
    limit: int | None = shared(limit)
    seed: int = option(
        "--seed", type=int, default=0, help="Seed for drawing rows and for the intervals."
    )
    draws: int = option(
        "--draws",
        type=click.IntRange(min=100),
        default=2000,
        help="Bootstrap draws of rows for the intervals.",
    )
    id: str | None = shared(row_names)
    encoding: str | None = shared(encoding)
    sheet: str | None = shared(sheet)
    header_row: int | None = shared(header_row)
    at: ServerEntry = shared(server)
    max_concurrency: int | None = shared(at_once)
    confidence: float = shared(confidence_of_intervals)
    stop_at_bad_row: bool = shared(bad_rows)
    quiet: bool = shared(quiet)
    as_json: bool = shared(as_json)

    def source(
        self, path: Path, kinds: Sequence[Kind], needed: Sequence[str], bad_rows: BadRows
    ) -> LabelledSource:
        """Return the source of the labelled rows.

        ``kinds``: the kinds of criteria known before the rows are read.
        """
        if not self.human and (self.id, self.sheet, self.header_row) != (None, None, None):
            raise UsageError(
                Message("--id, --sheet and --header-row need --human COLUMN: a table with labels")
            )
        plain = tuple(name for name in self.column if "=" not in name)
        compares = len(plain) > 1 or "pairwise" in kinds
        judged_field = needed[0] if needed else "response"
        return LabelledSource(
            path=path,
            human=self.human,
            columns=columns_from(
                [entry for entry in self.column if not compares or "=" in entry], judged_field
            ),
            responses=plain if compares else (),
            question=self.question,
            kind=self.kind,
            id=self.id,
            encoding=self.encoding,
            sheet=self.sheet,
            header_row=self.header_row,
            compares=compares,
            needed=tuple(dict.fromkeys(needed)) or ("response",),
            limit=self.limit,
            sample=self.sample,
            seed=self.seed,
            only=self.only,
            on_bad_row=bad_rows,
        )


class BadRows:
    """Reports rows that cannot be read, or stops at the first one."""

    def __init__(self, *, stop: bool) -> None:
        self.count = 0
        self._stop = stop

    def __call__(self, bad: BadRow) -> None:
        if self._stop:
            raise RunError(str(bad))
        self.count += 1
        if self.count <= _MOST_TOLD:
            echo(Message("skipped {row}", row=str(bad)), err=True)


@light_dataclass(frozen=True, kw_only=True)
class BenchOptions(Labelled):
    """Options of ``adjudge bench``."""

    data: Path | None = positional(
        "Rows with people's labels: a file with --human COLUMN, a labelled set, or a run folder "
        "with labels.",
        type=PATH,
        required=False,
    )
    published: bool = option(
        "--published",
        is_flag=True,
        help=(
            "Show how judges performed on public data sets, from published verdicts; asks no model."
        ),
    )
    named: tuple[str, ...] = shared(named)
    criterion: tuple[str, ...] = shared(questions)
    model: tuple[str, ...] = option(
        "-m",
        "--model",
        multiple=True,
        help="A model to try; repeatable, each model is a separate judge.",
    )
    votes: tuple[int, ...] = option(
        "--votes",
        cls=RenamedOption,
        aliases=["--strictness"],
        type=FROM_ONE,
        multiple=True,
        default=(1,),
        help="Votes per row (and order); repeat to try several.",
    )
    temperature: tuple[float, ...] = option(
        "--temperature",
        type=float,
        multiple=True,
        help="Temperature. Default: 0 for one vote, 1 for several; repeat to try several.",
    )
    mode: tuple[Mode, ...] = option(
        "--mode",
        type=click.Choice(get_args(Mode)),
        multiple=True,
        help="How models answer: as text, or by token probabilities; repeatable.",
    )
    check_positional_bias: bool | None = option(
        "--check-positional-bias/--one-order",
        default=None,
        help="Ask again in reversed order, to measure the order effect. On by default for "
        "comparisons.",
    )
    tie: bool = option("--tie/--no-tie", default=True, help="Allow a comparison to end in a tie.")
    missing: Missing = option(
        "--missing",
        type=click.Choice(get_args(Missing)),
        default="drop",
        help="How to count a judgment without a verdict: left out, as a tie, or as wrong.",
    )
    fail_under: float | None = option(
        "--fail-under",
        type=SHARE,
        help="Exit with 4 if, on any question, the first judge's agreement is below this on rows "
        "that were not used to choose it.",
    )
    folder: Path | None = option(
        "--run", type=PATH, help="Run folder; by default runs/bench-NAME, after the data."
    )
    language: str | None = option(
        "--language",
        type=LANGUAGE,
        help="Language of prompts and ready-made criteria: en (default) or ru.",
    )
    show_disagreements: int = option(
        "--show-disagreements",
        type=click.IntRange(min=0),
        is_flag=False,
        flag_value=10,
        default=0,
        metavar="[N]",
        help="List the rows on which a judge and people disagree, N per judge.",
    )
    output: tuple[Path, ...] = option(
        "-o",
        "--output",
        type=PATH,
        multiple=True,
        help="Also write the ranking: .md, .html or .json; repeatable.",
    )

    @property
    def settings(self) -> BenchSettings:
        """The settings of the benchmark."""
        agreement = AgreementSettings(missing=self.missing, draws=Draws(self.draws, self.seed))
        return BenchSettings(
            level=self.confidence,
            agreement=agreement,
            only=self.only,
            prices=price_table(self.prices),
        )

    def matrix(self, criteria: Sequence[NamedCriteria], *, compares: bool) -> Matrix:
        """Return the combinations of criteria, models and settings to try."""
        both = compares if self.check_positional_bias is None else self.check_positional_bias
        return Matrix(
            criteria=criteria,
            models=model_entries(self.model, self.at, self.max_concurrency),
            votes=tuple(dict.fromkeys(self.votes)),
            temperatures=tuple(dict.fromkeys(self.temperature)) or (None,),
            modes=tuple(dict.fromkeys(self.mode)) or (None,),
            both_orders=both,
            ties=self.tie,
        )


@command("bench")
@options(BenchOptions)
def bench(options: BenchOptions) -> int:
    """Rank judges (model, criteria, settings, votes) by how well they agree with people, with their
    cost, time and failures.

    Every combination of -m, -c, --votes, --temperature and --mode is a judge. Without -m and -c,
    the recorded judges are ranked: those of a run folder, or of a public data set that includes
    verdicts. The same command or 'adjudge resume RUN' resumes it. Exit codes: 0 all judged, 1
    could not run or stopped before the end, 2 usage, 3 some judgments have no verdict, 4 the
    first judge does not reach --fail-under, 5 cannot tell.
    """
    language = choose_language(options.language)
    data = options.data
    if options.published:
        return _show_published(data, options)
    if data is None:
        raise UsageError(
            Message("give rows with human labels, or use --published for published results")
        )
    for path in options.output:
        check_page(path)
    if options.model or options.named or options.criterion:
        return _judge(data, options, language)
    if options.human:
        raise UsageError(
            Message(
                "name a judge and its criteria: -m MODEL -c CRITERIA ('adjudge criteria' lists "
                "the ready-made ones)"
            )
        )
    return _report(_recorded_run(data, options), options, skipped=0)


def _show_published(data: Path | None, options: BenchOptions) -> int:
    """Show the published results that come with adjudge."""
    # only loaded for --published

    if data is not None or options.model or options.named or options.criterion or options.output:
        raise UsageError(
            Message(
                "--published cannot be combined with other options, because it only shows known "
                "results"
            )
        )
    results = published_results()
    if options.as_json:
        judges = sum(len(published_set.judges) for published_set in results.sets)
        summary = {"sets": len(results.sets), "judges": judges}
        print_results(
            "published", summary, [asdict(published_set) for published_set in results.sets]
        )
    else:
        show_published(results, Screen(language()))
    return ExitCode.OK


@contextmanager
def _suggest_human_column(data: Path) -> Iterator[None]:
    """Suggest --human if the format is not known: the file is probably a user's own table."""
    try:
        yield
    except UnknownFormat as error:
        raise RunError(
            "the format of {data} was not recognised: name the column with people's answers with "
            "--human COLUMN, or the format with --as {formats}",
            data=data,
            formats="|".join(sorted(FORMATS)),
        ) from error


def _recorded_run(data: Path, options: BenchOptions) -> Path:
    """Return the run folder with the recorded judges: ``data`` itself, or its import."""
    if holds_run(data):
        return data
    folder = _folder(data, options)
    imported = run_info(folder).facts.get("imported") if holds_run(folder) else None
    source = str(imported.get("source")) if isinstance(imported, dict) else None
    if source != str(data):
        skip = not options.stop_at_bad_row
        with _suggest_human_column(data):
            import_file(data, folder, ImportOptions(options.kind, options.encoding, skip))
    return folder


def _folder(data: Path, options: BenchOptions) -> Path:
    return options.folder or own_folder(Path("runs") / f"bench-{data.stem or data.name}")


def _judge(data: Path, options: BenchOptions, language: str) -> int:
    bad_rows = BadRows(stop=options.stop_at_bad_row)
    rows, criteria = labelled_rows(
        data, options, options.named, options.criterion, language, bad_rows
    )
    for criterion in criteria:
        names = (*criterion.criteria.option_names, *([TIE] if rows.compares else []))
        check_missing(options.missing, names, criterion.criteria.name)
    folder = _folder(data, options)
    if holds_run(folder) and FACT not in run_info(folder).facts:
        raise SetupError(
            "{folder} contains a run that is not a benchmark: give --run another name",
            folder=folder,
        )
    check_resumed(folder, resume=options.resume)
    labels, read_as = _labels(rows, criteria, options)
    file = bench_file(
        rows,
        options.matrix(criteria, compares=rows.compares),
        language,
        folder,
        stop_at_bad_row=options.stop_at_bad_row,
    )
    prices = options.settings.prices
    facts: JsonDict = {
        **facts_to_keep("bench", prices),
        FACT: {"data": str(data), "rows": len(rows.rows), "notes": [*_notes(rows), *read_as]},
    }
    plan = resolve(
        file,
        cache=not options.no_cache,
        facts=facts,
        prices=prices,
        budget=options.budget(),
        dry_run=options.dry_run,
    )
    if options.dry_run:
        show_estimate(estimate(plan), as_json=options.as_json)
        return ExitCode.OK
    skipped = execute_with_labels(plan, labels, options)
    return _report(folder, options, skipped=skipped + bad_rows.count)


def labelled_rows(
    data: Path,
    options: Labelled,
    names: Sequence[str],
    questions: Sequence[str],
    language: str,
    bad_rows: BadRows,
) -> tuple[LabelledSet, list[NamedCriteria]]:
    """Return the labelled rows, with the fields that the criteria read, and the criteria.

    The criteria are those named by the options, else the one recorded in the data.
    """
    plain = [column for column in options.column if "=" not in column]
    # which columns are needed depends on the kind of criteria, which a table does not say
    guess: Kind = (
        "pairwise"
        if len(plain) > 1 or (options.human and "pairwise" in kinds_of(names))
        else "direct"
    )
    needed: list[str] = []
    if options.human:
        needed = needed_fields(
            criterion.criteria for criterion in criteria_to_try(names, questions, guess, language)
        )
    with _suggest_human_column(data):
        source = options.source(data, [guess], needed, bad_rows)
        rows = Answers(options.meanings).select(labelled_set(source))
    kind: Kind = "pairwise" if rows.compares else "direct"
    criteria = criteria_to_try(names, questions, kind, language)
    if not criteria and rows.own is None:
        raise UsageError(
            Message(
                'no criteria were given: use -c NAME, -c FILE or --criterion "…" (\'adjudge '
                "criteria' lists the ready-made ones)"
            )
        )
    if not criteria and rows.own:
        criteria = [NamedCriteria(rows.own.name, rows.own)]
    return rows.with_fields(needed_fields(criterion.criteria for criterion in criteria)), criteria


def _labels(
    rows: LabelledSet, criteria: Sequence[NamedCriteria], options: BenchOptions
) -> tuple[list[Label], list[str]]:
    """Return the labels as answers to each criterion, and notes on how they were read."""
    unique: dict[str, Criteria] = {}
    for entry in criteria:
        criterion = entry.criteria
        earlier = unique.setdefault(criterion.name, criterion)
        if earlier.option_names != criterion.option_names:
            raise SetupError(
                "two criteria are named {name!r} but have different options: rename one of them",
                name=criterion.name,
            )
    answers = Answers(options.meanings, ties=options.tie)
    read_as = {name: answers.read_as(rows, criterion) for name, criterion in unique.items()}
    labels = [label for criterion in unique.values() for label in answers.labels(rows, criterion)]
    return labels, [f"{name}: {text}" for name, text in read_as.items() if text]


def _notes(rows: LabelledSet) -> list[str]:
    missing = plural(
        "{count} row has no label and was not judged",
        "{count} rows have no label and were not judged",
        rows.unlabelled,
    )
    return [*rows.notes, *([missing] if rows.unlabelled else [])]


def execute_with_labels(plan: Plan, labels: Sequence[Label], options: Labelled) -> int:
    """Run the plan, storing the labels once the run exists; return how many rows were skipped."""
    outcome = RunOutcome(plan)
    display = RunDisplay(outcome, quiet=options.quiet or options.as_json)
    with (
        resumable(plan.folder),
        display,
        execute(plan, kept=outcome.facts) as events,
    ):
        for event in events:
            if isinstance(event, JudgeStarted) and plan.folder:
                keep_labels(plan.folder, labels)
                labels = ()
            display.show(event)
    if outcome.skipped:
        echo(skipped_rows(outcome), err=True)
    return outcome.skipped


def _report(folder: Path, options: BenchOptions, *, skipped: int) -> int:
    benchmark = benchmark_of(folder, options.settings)
    for path in options.output:
        write_benchmark(path, benchmark, language())
    if options.as_json:
        counts = {
            "rankings": len(benchmark.rankings),
            "judges": len(benchmark.judges),
            "failed": sum(judge.failed for judge in benchmark.judges),
        }
        rankings = [ranking.to_dict() for ranking in benchmark.rankings]
        print_results("bench", counts, rankings, benchmark_facts(benchmark))
    else:
        screen = Screen(language())
        show_benchmark(benchmark, screen, options.show_disagreements)
        screen.show("")
        run = shlex.quote(str(folder))
        show_next(
            page_command(folder)
            if options.show_disagreements
            else f"adjudge bench {run} --show-disagreements 5",
            screen,
            folder,
            options.output,
        )
    return _exit_code(benchmark, options.fail_under, skipped)


def _exit_code(benchmark: Benchmark, least: float | None, skipped: int) -> int:
    if least is not None:
        missed = [
            gate
            for ranking in benchmark.rankings
            if (gate := _gate_failure(ranking, least)) is not None
        ]
        for text, _ in missed:
            echo(text, fg="red", err=True)
        if missed:
            return min(code for _, code in missed)  # failed goes before inconclusive
    has_failures = skipped or any(judge.failed for judge in benchmark.judges)
    return ExitCode.UNSCORED if has_failures else ExitCode.OK


def _gate_failure(ranking: Ranking, least: float) -> tuple[Message, ExitCode] | None:
    """Return why a question does not pass ``--fail-under``; None if it passes.

    The best of several judges is partly lucky. Its own agreement can fail the gate, but cannot pass
    it: that needs the estimate that allows for the choice.
    """
    judge = ranking.judges[0]
    agreement = judge.agreement.value
    values = {"judge": judge.judge, "least": least}
    if agreement is None or agreement < least:
        return Message(
            "Gate failed: no judge reaches an agreement of {least:g} (the best, {judge}: {own}).",
            **values,
            own=figure(agreement, 3),
        ), ExitCode.GATE_FAILED
    if len(ranking.judges) == 1:
        return None
    if ranking.chosen is None or ranking.chosen.value is None:
        return Message(
            "Gate inconclusive: {judge} has an agreement of {own:.3f}, but was chosen for it. "
            "With fewer than {fewest} rows that all judges decided, or with numbers, this "
            "selection cannot be corrected for. Run the gate with this judge alone, on other "
            "rows.",
            **values,
            own=agreement,
            fewest=FOLDS,
        ), ExitCode.GATE_INCONCLUSIVE
    if ranking.chosen.value < least:
        return Message(
            "Gate failed: {judge} has an agreement of {own:.3f}, but on rows that were not used "
            "to choose it, the first judge reaches only {value:.3f}, below {least:g}.",
            **values,
            own=agreement,
            value=float(ranking.chosen.value),
        ), ExitCode.GATE_FAILED
    return None
