"""``adjudge bench``: judges ranked by how well they agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import click
from click import UsageError

from adjudge.bench.answers import Answers
from adjudge.bench.judges import (
    Matrix,
    NamedCriteria,
    bench_file,
    criteria_to_try,
    keep_labels,
    kinds_of,
    needed_fields,
)
from adjudge.bench.labelled import LabelledSet, LabelledSource, labelled_set
from adjudge.catalog.entry import Kind
from adjudge.cli.chosen import current_project, model_entries
from adjudge.cli.estimates import show_estimate
from adjudge.cli.execute import RunDisplay, check_resumed, resumable, skipped_rows, use_prices
from adjudge.cli.inputs import columns_from
from adjudge.cli.json_text import print_results
from adjudge.cli.kept import facts_to_keep
from adjudge.cli.options import (
    FROM_ONE,
    LANGUAGE,
    LEVEL,
    PATH,
    PartChoice,
    SpendingOptions,
    argument,
    as_json,
    at_once,
    bad_rows,
    command,
    dry_run,
    encoding,
    given_as,
    limit,
    max_calls,
    max_tokens,
    max_usd,
    named,
    no_cache,
    prices,
    questions,
    quiet,
    resume,
    row_names,
    server,
    together,
    workbook,
)
from adjudge.cli.output import echo, language, use_language
from adjudge.cli.typed_values import SHARE
from adjudge.data.dataset import BadRow
from adjudge.domain.criteria import Criteria
from adjudge.domain.json_types import JsonDict
from adjudge.domain.label import Label
from adjudge.domain.vote import Mode
from adjudge.errors import RunError, SetupError
from adjudge.exporters.benchmark import benchmark_facts, write_benchmark
from adjudge.exporters.page_files import check_page
from adjudge.gateway.layers.budget import Budget
from adjudge.importers.formats import FORMATS
from adjudge.importers.run import ImportOptions, import_file
from adjudge.ledger.file import holds_run
from adjudge.messages import Message
from adjudge.results.exit_code import ExitCode
from adjudge.results.outcome import RunOutcome
from adjudge.runs.execute import EvalRun, JudgeStarted
from adjudge.runs.folder import run_info
from adjudge.runs.project import ServerEntry
from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.benchmark import FACT, Benchmark, BenchSettings, benchmark_of
from adjudge.view.terminal import Screen
from adjudge.view.terminal_benchmark import show_benchmark

_MOST_TOLD = 10


def _meanings(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    pairs = [item.rpartition("=") for item in given]
    for item, (_, equals, _option) in zip(given, pairs, strict=True):
        if not equals:
            raise click.BadParameter(
                Message("{item!r} is not LABEL=OPTION", item=item), context, parameter
            )
    return {label: option for label, _, option in pairs}


labelled_options = together(
    click.option(
        "--human",
        multiple=True,
        metavar="COLUMN",
        help="The column with people's answers; repeat for several people.",
    ),
    click.option(
        "--question", metavar="NAME", help="Of labels about several questions: which one."
    ),
    click.option(
        "--map",
        "meanings",
        multiple=True,
        callback=_meanings,
        metavar="LABEL=OPTION",
        help="What a label is called among the options; LABEL= leaves such labels out. Repeatable.",
    ),
    click.option(
        "--as",
        "kind",
        type=PartChoice(FORMATS, sorted(FORMATS.ours)),
        help="The format of a labelled set, else found out.",
    ),
    click.option(
        "--column",
        multiple=True,
        help="Which column is judged, or FIELD=COLUMN; for comparisons, each response.",
    ),
    click.option(
        "--only", metavar="PATTERN", help="Only rows whose id fits, such as 'llmbar-Natural-*'."
    ),
    click.option(
        "--sample", type=FROM_ONE, help="Draw so many labelled rows at random, instead of all."
    ),
    limit,
    click.option("--seed", type=int, default=0, help="Of the draw of rows and of the intervals."),
    click.option(
        "--draws",
        type=click.IntRange(min=100),
        default=2000,
        help="How often rows are drawn anew for intervals.",
    ),
    row_names,
    encoding,
    workbook,
)
"""Where labelled rows are and how they are read, for all commands that measure judges by them."""
spending = together(resume, max_usd, max_calls, max_tokens, prices, no_cache, dry_run)


@dataclass(frozen=True)
class Labelled(SpendingOptions):
    """What every command can be told that measures judges by labelled rows."""

    human: tuple[str, ...]
    question: str | None
    meanings: Mapping[str, str]
    kind: str | None
    column: tuple[str, ...]
    only: str | None
    sample: int | None
    limit: int | None
    seed: int
    draws: int
    id: str | None
    encoding: str | None
    sheet: str | None
    header_row: int | None
    model: tuple[str, ...]
    at: ServerEntry
    max_concurrency: int | None
    confidence: float
    language: str | None
    quiet: bool
    as_json: bool

    def source(
        self, path: Path, kinds: Sequence[Kind], needed: Sequence[str], told: BadRows
    ) -> LabelledSource:
        """Where the labelled rows are.

        ``kinds``: of the criteria that are known before the rows are.
        """
        if not self.human and (self.id, self.sheet, self.header_row) != (None, None, None):
            raise UsageError(
                Message("--id, --sheet and --header-row need --human COLUMN: a table with labels")
            )
        plain = tuple(name for name in self.column if "=" not in name)
        compares = len(plain) > 1 or "pairwise" in kinds
        judged = needed[0] if needed else "response"
        return LabelledSource(
            path=path,
            human=self.human,
            columns=columns_from(
                [one for one in self.column if not compares or "=" in one], judged
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
            on_bad_row=told,
        )


class BadRows:
    """Report rows that cannot be read, or stop at the first of them."""

    def __init__(self, *, stop: bool) -> None:
        self.count = 0
        self._stop = stop

    def __call__(self, bad: BadRow) -> None:
        if self._stop:
            raise RunError(str(bad))
        self.count += 1
        if self.count <= _MOST_TOLD:
            echo(Message("skipped {row}", row=str(bad)), err=True)


@dataclass(frozen=True)
class BenchOptions(Labelled):
    """What the command line says of a benchmark."""

    named: tuple[str, ...]
    criterion: tuple[str, ...]
    strictness: tuple[int, ...]
    temperature: tuple[float, ...]
    mode: tuple[Mode, ...]
    check_positional_bias: bool | None
    tie: bool
    missing: Missing
    fail_under: float | None
    folder: Path | None
    show_disagreements: int
    output: tuple[Path, ...]
    stop_at_bad_row: bool

    @property
    def settings(self) -> BenchSettings:
        """How judges are measured."""
        agreement = AgreementSettings(missing=self.missing, draws=Draws(self.draws, self.seed))
        return BenchSettings(level=self.confidence, agreement=agreement, only=self.only)

    def matrix(self, criteria: Sequence[NamedCriteria], *, compares: bool) -> Matrix:
        """What is tried with what."""
        both = compares if self.check_positional_bias is None else self.check_positional_bias
        return Matrix(
            criteria=criteria,
            models=model_entries(self.model, self.at, self.max_concurrency),
            strictness=tuple(dict.fromkeys(self.strictness)),
            temperatures=tuple(dict.fromkeys(self.temperature)) or (None,),
            modes=tuple(dict.fromkeys(self.mode)) or (None,),
            both_orders=both,
            ties=self.tie,
        )


@command("bench")
@argument(
    "data",
    "Rows with people's labels: a file with --human COLUMN, a labelled set, or a run folder "
    "with labels.",
    type=PATH,
    required=False,
)
@click.option(
    "--published",
    is_flag=True,
    help="Show how judges fared on public sets, from verdicts that were published; asks nobody.",
)
@named
@questions
@click.option(
    "-m",
    "--model",
    multiple=True,
    help="A model to try; repeat for several: each is a judge by itself.",
)
@click.option(
    "--strictness",
    type=FROM_ONE,
    multiple=True,
    default=(1,),
    help="Votes per row (and order); repeat to try several.",
)
@click.option(
    "--temperature",
    type=float,
    multiple=True,
    help="Default: 0 for one vote, 1 for several; repeat to try several.",
)
@click.option(
    "--mode",
    type=click.Choice(("generate", "likelihood")),
    multiple=True,
    help="How models are asked; repeatable.",
)
@click.option(
    "--check-positional-bias/--one-order",
    default=None,
    help="Ask again in reversed order, for the order effect. On for comparisons.",
)
@click.option("--tie/--no-tie", default=True, help="Whether a comparison may end in a tie.")
@labelled_options
@server
@at_once
@click.option(
    "--missing",
    type=click.Choice(("drop", "tie", "wrong")),
    default="drop",
    help="What a judgment without a verdict counts as: left out, a tie, or wrong.",
)
@click.option("--confidence", type=LEVEL, default=0.95, help="Confidence level of all intervals.")
@click.option(
    "--fail-under", type=SHARE, help="Exit with 4 when the best judge agrees less than this."
)
@click.option(
    "--run", "folder", type=PATH, help="The run folder; by default runs/bench-NAME of the data."
)
@spending
@bad_rows
@click.option(
    "--language",
    type=LANGUAGE,
    help="Language of prompts and ready-made criteria: en (default) or ru.",
)
@click.option(
    "--show-disagreements",
    type=click.IntRange(min=0),
    is_flag=False,
    flag_value=10,
    default=0,
    metavar="[N]",
    help="List the rows on which a judge and people disagree, N per judge.",
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    multiple=True,
    help="Also write the ranking: .md, .html or .json; repeatable.",
)
@as_json
@quiet
@given_as("wanted", BenchOptions, [one.name for one in fields(BenchOptions)])
def bench(data: Path | None, wanted: BenchOptions, *, published: bool) -> int:
    """Rank judges (model, criteria, settings, votes) by how well they agree with people, with their
    cost, time and failures.

    Each -m with each -c, --strictness, --temperature and --mode is a judge. Without -m and -c the
    judges that the data recorded are ranked: those of a run folder, or of a public set that was
    published with verdicts. It is resumed by the same command or by 'adjudge resume RUN'. Exit
    codes: 0 all judged, 1 could not run or stopped before the end, 2 usage, 3 some judgments have
    no verdict, 4 no judge reaches --fail-under.
    """
    chosen = wanted.language or current_project().language or "en"
    use_language(chosen)
    if published:
        return _show_published(data, wanted)
    if data is None:
        raise UsageError(Message("name rows with labels of people, or ask for --published results"))
    use_prices(wanted.prices)
    for path in wanted.output:
        check_page(path)
    if wanted.model or wanted.named or wanted.criterion:
        return _judge(data, wanted, chosen)
    if wanted.human:
        raise UsageError(
            Message(
                "say who judges by what: -m MODEL -c CRITERIA ('adjudge criteria' lists the "
                "ready-made ones)"
            )
        )
    return _tell(benchmark_of(_recorded(data, wanted), wanted.settings), wanted, skipped=0)


def _show_published(data: Path | None, wanted: BenchOptions) -> int:
    """Those that come with adjudge."""
    from adjudge.bench.published import published_results  # not loaded by those who judge
    from adjudge.view.published import show_published

    if data is not None or wanted.model or wanted.named or wanted.criterion or wanted.output:
        raise UsageError(
            Message("--published stands alone: it shows what is known, and asks nobody")
        )
    found = published_results()
    if wanted.as_json:
        judges = sum(len(one.judges) for one in found.sets)
        summary = {"sets": len(found.sets), "judges": judges}
        print_results("published", summary, [asdict(one) for one in found.sets])
    else:
        show_published(found, Screen(language()))
    return ExitCode.OK


def _recorded(data: Path, wanted: BenchOptions) -> Path:
    """The run folder with the judges that the data recorded: itself, or what it is imported to."""
    if holds_run(data):
        return data
    folder = _folder(data, wanted)
    if not (holds_run(folder) and _imported_from(folder) == str(data)):
        import_file(
            data, folder, ImportOptions(wanted.kind, wanted.encoding, not wanted.stop_at_bad_row)
        )
    return folder


def _imported_from(folder: Path) -> str | None:
    imported = run_info(folder).facts.get("imported")
    return str(imported.get("source")) if isinstance(imported, dict) else None


def _folder(data: Path, wanted: BenchOptions) -> Path:
    return wanted.folder or Path("runs") / f"bench-{data.stem or data.name}"


def _judge(data: Path, wanted: BenchOptions, language: str) -> int:
    told = BadRows(stop=wanted.stop_at_bad_row)
    rows, criteria = labelled_rows(data, wanted, wanted.named, wanted.criterion, language, told)
    folder = _folder(data, wanted)
    if holds_run(folder) and FACT not in run_info(folder).facts:
        raise SetupError(
            "{folder} holds a run that is not a benchmark: give --run another name", folder=folder
        )
    check_resumed(folder, resume=wanted.resume)
    labels, read_as = _labels(rows, criteria, wanted)
    file = bench_file(
        rows,
        wanted.matrix(criteria, compares=rows.compares),
        language,
        folder,
        stop_at_bad_row=wanted.stop_at_bad_row,
    )
    facts: JsonDict = {
        **facts_to_keep("bench"),
        FACT: {"data": str(data), "rows": len(rows.rows), "notes": [*_notes(rows), *read_as]},
    }
    made = EvalRun.of(file, cache=not wanted.no_cache, facts=facts)
    if wanted.dry_run:
        show_estimate(made.estimate(), as_json=wanted.as_json)
        return ExitCode.OK
    skipped = execute_with_labels(made, labels, wanted, wanted.budget())
    return _tell(benchmark_of(folder, wanted.settings), wanted, skipped=skipped + told.count)


def labelled_rows(
    data: Path,
    wanted: Labelled,
    named: Sequence[str],
    questions: Sequence[str],
    language: str,
    told: BadRows,
) -> tuple[LabelledSet, list[NamedCriteria]]:
    """The rows, with the fields that the criteria read, and the criteria: those named, else the
    question of the data.
    """
    plain = [name for name in wanted.column if "=" not in name]
    guess: Kind = (
        "pairwise"
        if len(plain) > 1 or (wanted.human and "pairwise" in kinds_of(named))
        else "direct"
    )
    needed: list[str] = []
    if wanted.human:
        needed = needed_fields(
            one.criteria for one in criteria_to_try(named, questions, guess, language)
        )
    rows = labelled_set(wanted.source(data, [guess], needed, told))
    kind: Kind = "pairwise" if rows.compares else "direct"
    criteria = criteria_to_try(named, questions, kind, language)
    if not criteria and rows.own is None:
        raise UsageError(
            Message(
                'say what to judge by: -c NAME, -c FILE or --criterion "…" (\'adjudge '
                "criteria' lists the ready-made ones)"
            )
        )
    if not criteria and rows.own:
        criteria = [NamedCriteria(rows.own.name, rows.own)]
    return rows.with_fields(needed_fields(one.criteria for one in criteria)), criteria


def _labels(
    rows: LabelledSet, criteria: Sequence[NamedCriteria], wanted: BenchOptions
) -> tuple[list[Label], list[str]]:
    """The labels as answers to each criterion, and what must be said of how they were read."""
    unique: dict[str, Criteria] = {}
    for one in criteria:
        known = unique.setdefault(one.criteria.name, one.criteria)
        if known.option_names != one.criteria.option_names:
            raise SetupError(
                "two criteria are called {name!r} and have different options: rename one of them",
                name=one.criteria.name,
            )
    answers = Answers(wanted.meanings, ties=wanted.tie)
    read_as = {name: answers.read_as(rows, one) for name, one in unique.items()}
    labels = [label for one in unique.values() for label in answers.labels(rows, one)]
    return labels, [f"{name}: {text}" for name, text in read_as.items() if text]


def _notes(rows: LabelledSet) -> list[str]:
    count = rows.unlabelled
    missing = (
        "1 row has no label and was not judged"
        if count == 1
        else f"{count} rows have no label and were not judged"
    )
    return [*rows.notes, *([missing] if count else [])]


def execute_with_labels(
    made: EvalRun, labels: Sequence[Label], wanted: Labelled, budget: Budget | None
) -> int:
    """Judge, and put the labels beside the run as soon as there is one: how many rows could not be
    judged.
    """
    outcome = RunOutcome(made)
    display = RunDisplay(outcome, quiet=wanted.quiet or wanted.as_json)
    with (
        resumable(made.folder),
        display,
        made.execute(budget=budget, kept=outcome.facts) as events,
    ):
        for event in events:
            if isinstance(event, JudgeStarted) and made.folder:
                keep_labels(made.folder, labels)
                labels = ()
            display.show(event)
    if outcome.skipped:
        echo(skipped_rows(outcome), err=True)
    return outcome.skipped


def _tell(found: Benchmark, wanted: BenchOptions, *, skipped: int) -> int:
    for path in wanted.output:
        write_benchmark(path, found, language())
    if wanted.as_json:
        counts = {
            "rankings": len(found.rankings),
            "judges": len(found.judges),
            "failed": sum(one.failed for one in found.judges),
        }
        print_results(
            "bench", counts, [one.to_dict() for one in found.rankings], benchmark_facts(found)
        )
    else:
        show_benchmark(found, Screen(language()), wanted.show_disagreements)
        for path in wanted.output:
            echo(path)
    return _exit_code(found, wanted.fail_under, skipped)


def _exit_code(found: Benchmark, least: float | None, skipped: int) -> int:
    reached = [one.agreement.value for one in found.judges if one.agreement.value is not None]
    if least is not None and (not reached or max(reached) < least):
        echo(
            Message("no judge reaches an agreement of {least:g} (--fail-under)", least=least),
            fg="red",
            err=True,
        )
        return ExitCode.GATE_FAILED
    return ExitCode.UNSCORED if skipped or any(one.failed for one in found.judges) else ExitCode.OK
