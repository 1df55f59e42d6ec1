"""``adjudge criteria improve``: better criteria by what a judge got wrong, tried on rows that the
writer has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import click

from adjudge.bench.answers import Answers
from adjudge.bench.improve import (
    CriterionImprovement,
    Split,
    cases_of,
    entry_of,
    improvement_of,
    left_of,
    refuse_existing,
    split,
    write_criteria,
)
from adjudge.bench.judges import Matrix, NamedCriteria, bench_file, needed_fields
from adjudge.bench.labelled import LabelledSet, labelled_set
from adjudge.bench.proposal import CHANGES, Change, Proposal, Writer
from adjudge.cli.bench import BadRows, Labelled, execute_with_labels, labelled_options, spending
from adjudge.cli.chosen import current_project, model_entries
from adjudge.cli.estimates import show_estimate
from adjudge.cli.execute import check_resumed, resumable, use_prices
from adjudge.cli.json_text import print_results
from adjudge.cli.kept import facts_to_keep
from adjudge.cli.options import (
    FROM_ONE,
    LANGUAGE,
    LEVEL,
    PATH,
    argument,
    as_json,
    at_once,
    bad_rows,
    command,
    given_as,
    quiet,
    server,
    together,
)
from adjudge.cli.output import echo, language, use_language
from adjudge.domain.criteria import Criteria
from adjudge.domain.json_types import JsonDict
from adjudge.engine.run import Run
from adjudge.errors import RunError
from adjudge.gateway.open import OpenModel
from adjudge.messages import Message
from adjudge.prompts.criteria_writing import DisputedRow
from adjudge.results.exit_code import ExitCode
from adjudge.runs.build import open_entry
from adjudge.runs.execute import EvalRun
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.benchmark import FACT, BenchedJudge, BenchSettings, benchmark_of
from adjudge.view.terminal import Screen
from adjudge.view.terminal_improvement import show_improvement, show_nothing

WRITER, AFTER = "writer", "after"
"""Folders inside the run: the writer's replies, and the held-out rows judged by its proposal."""


@dataclass(frozen=True)
class ImproveOptions(Labelled):
    """What the command line says of an improvement."""

    file: Path
    labels: Path
    criteria: str | None
    writer: str
    change: Change
    strictness: int
    held_out: float
    cases: int
    tries: int
    folder: Path | None
    write: str | None
    stop_at_bad_row: bool

    @property
    def run(self) -> Path:
        """Where everything is kept."""
        return self.folder or Path("runs") / f"improve-{self.file.stem}"

    @property
    def target(self) -> Path | None:
        """The file that is written, where one is asked for."""
        if self.write is None:
            return None
        return (
            Path(self.write)
            if self.write
            else self.file.with_name(f"{self.file.stem}.improved.yaml")
        )


improve_options = together(
    argument("file", "A YAML or JSON file with the criteria.", type=PATH),
    click.option(
        "--labels",
        type=PATH,
        required=True,
        help="Labelled rows: a file with --human, a labelled set, or a run folder.",
    ),
    click.option("--criteria", help="Which criteria of the file, where it has several."),
    click.option(
        "-m", "--model", multiple=True, help="The judge: one model, or a panel of several."
    ),
    click.option("--writer", required=True, help="The model that proposes better criteria."),
    click.option(
        "--propose",
        "change",
        type=click.Choice(CHANGES),
        default="both",
        help="Other words, examples, or both.",
    ),
    click.option("--strictness", type=FROM_ONE, default=1, help="Votes per row."),
    click.option(
        "--held-out",
        type=click.FloatRange(0.1, 0.9),
        default=0.5,
        help="The part of the rows that the writer never sees.",
    ),
    click.option(
        "--cases", type=FROM_ONE, default=12, help="Disagreements that the writer is shown at most."
    ),
    click.option(
        "--tries",
        type=FROM_ONE,
        default=1,
        help=(
            "Proposals that were tried on these held-out rows, this one included: the interval of "
            "the gain then holds for the best of them."
        ),
    ),
    labelled_options,
    server,
    at_once,
    click.option(
        "--confidence", type=LEVEL, default=0.95, help="Confidence level of all intervals."
    ),
    click.option(
        "--run",
        "folder",
        type=PATH,
        help="The run folder; by default runs/improve-NAME of the file of criteria.",
    ),
    click.option(
        "--write",
        is_flag=False,
        flag_value="",
        metavar="[FILE]",
        help=(
            "Write the proposal to a new file, by default NAME.improved.yaml; nothing is "
            "overwritten."
        ),
    ),
    spending,
    bad_rows,
    click.option("--language", type=LANGUAGE, help="Language of prompts: en (default) or ru."),
    as_json,
    quiet,
    given_as("wanted", ImproveOptions, [one.name for one in fields(ImproveOptions)]),
)


@command("improve")
@improve_options
def improve(wanted: ImproveOptions) -> int:
    """Propose better criteria by the rows on which a judge and people disagree, and say whether
    they are better.

    The labelled rows are split by --seed. The writer sees disagreements of one part; its proposal
    is tried on the other, and the gain is reported with its interval: better, worse, or cannot
    tell. Nothing is written without --write. It is resumed by the same command or by 'adjudge
    resume RUN'. Exit codes: 0 done, 1 could not run or stopped before the end, 2 usage, 3 some
    held-out rows have no verdict.
    """
    chosen = wanted.language or current_project().language or "en"
    use_language(chosen)
    use_prices(wanted.prices)
    check_resumed(wanted.run, resume=wanted.resume)
    if wanted.target:
        refuse_existing(wanted.target)
    entries, place = entry_of(wanted.file, wanted.criteria)
    entry = entries[place]
    rows = _rows(wanted, entry.criteria, compares=entry.kind == "pairwise")
    parts = split(rows, wanted.held_out, wanted.seed)
    before = _run_of(wanted, rows, entry.criteria, "before", wanted.run, chosen)
    if wanted.dry_run:
        after = _run_of(wanted, parts.held_out, entry.criteria, "after", wanted.run / AFTER, chosen)
        show_estimate(before.estimate() + after.estimate(), as_json=wanted.as_json)
        echo(
            Message(
                "and a request to the writer; asked again at most twice where its reply cannot be "
                "read"
            ),
            err=wanted.as_json,
        )
        return ExitCode.OK
    old = _judged(before, rows, entry.criteria, wanted, ())
    cases = cases_of(old, parts.seen, wanted.cases)
    if not cases:
        return _nothing(wanted, old, parts)
    writer = Writer(_model(wanted), wanted.change, chosen, rows.compares)
    proposal = _proposal(wanted, writer, entry.criteria, cases)
    after = _run_of(wanted, parts.held_out, proposal.criteria, "after", wanted.run / AFTER, chosen)
    new = _judged(
        after, parts.held_out, proposal.criteria, wanted, (wanted.run, wanted.run / WRITER)
    )
    level = 1 - (1 - wanted.confidence) / wanted.tries
    found = improvement_of(entry.criteria, proposal, old, new, parts.held_out, level)
    if wanted.target:
        changed = [
            replace(one, criteria=proposal.criteria) if number == place else one
            for number, one in enumerate(entries)
        ]
        write_criteria(wanted.target, changed)
    return _tell(found, parts, cases, wanted)


def _rows(wanted: ImproveOptions, criteria: Criteria, *, compares: bool) -> LabelledSet:
    needed = needed_fields([criteria])
    told = BadRows(stop=wanted.stop_at_bad_row)
    rows = labelled_set(
        wanted.source(wanted.labels, ["pairwise" if compares else "direct"], needed, told)
    )
    if rows.compares != compares:
        does = "compare responses" if compares else "judge one text"
        raise RunError(
            "the criteria of {file} {does}, and the rows of {labels} do not fit: choose "
            "other criteria",
            file=wanted.file,
            does=does,
            labels=wanted.labels,
        )
    return rows.with_fields(needed)


def _run_of(
    wanted: ImproveOptions,
    rows: LabelledSet,
    criteria: Criteria,
    name: str,
    folder: Path,
    language: str,
) -> EvalRun:
    models = model_entries(wanted.model, wanted.at, wanted.max_concurrency)
    matrix = Matrix([NamedCriteria(name, criteria)], models, (wanted.strictness,))
    file = bench_file(rows, matrix, language, folder, stop_at_bad_row=wanted.stop_at_bad_row)
    judge = replace(file.judges[0], models=models, asked_with="")
    facts: JsonDict = {
        **facts_to_keep("criteria improve"),
        FACT: {"data": str(wanted.labels), "rows": len(rows.rows), "notes": list(rows.notes)},
    }
    return EvalRun.of(replace(file, judges=(judge,)), cache=not wanted.no_cache, facts=facts)


def _judged(
    made: EvalRun,
    rows: LabelledSet,
    criteria: Criteria,
    wanted: ImproveOptions,
    beside: Sequence[Path],
) -> BenchedJudge:
    limited = left_of(wanted.budget(), beside)
    execute_with_labels(made, Answers(wanted.meanings).labels(rows, criteria), wanted, limited)
    settings = BenchSettings(
        level=wanted.confidence, agreement=AgreementSettings(draws=Draws(wanted.draws, wanted.seed))
    )
    (ranking,) = benchmark_of(made.folder or Path(), settings).rankings
    (judge,) = ranking.judges
    if judge.figure != "accuracy":
        raise RunError(
            "the labels of {labels} are numbers, and the criteria has options: say which is "
            "which with --map",
            labels=wanted.labels,
        )
    return judge


def _model(wanted: ImproveOptions) -> OpenModel:
    (entry,) = model_entries([wanted.writer], wanted.at, wanted.max_concurrency)
    return open_entry(entry, cache=not wanted.no_cache)


def _proposal(
    wanted: ImproveOptions, writer: Writer, criteria: Criteria, cases: Sequence[DisputedRow]
) -> Proposal:
    run = Run(wanted.run / WRITER, facts=facts_to_keep("criteria improve"))
    with resumable(wanted.run):
        return writer.propose(criteria, cases, run, left_of(wanted.budget(), (wanted.run,)))


def _nothing(wanted: ImproveOptions, old: BenchedJudge, parts: Split) -> int:
    if wanted.as_json:
        print_results("improvement", {"proposals": 0}, [])
    else:
        show_nothing(old, parts, Screen(language()))
    return ExitCode.OK


def _tell(
    found: CriterionImprovement, parts: Split, cases: Sequence[DisputedRow], wanted: ImproveOptions
) -> int:
    if wanted.as_json:
        print_results("improvement", {"proposals": 1}, [found.to_dict(parts, cases, wanted.target)])
    else:
        show_improvement(found, parts, cases, wanted.target, wanted.writer, Screen(language()))
    return ExitCode.UNSCORED if found.failed else ExitCode.OK
