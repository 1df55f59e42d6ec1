"""``adjudge criteria improve``: improve criteria by a judge's mistakes, and test them on rows that
the writer has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.errors import RunError
from adjudge.features.bench.answers import Answers
from adjudge.features.bench.benchmark import FACT, BenchedJudge, BenchSettings, benchmark_of
from adjudge.features.bench.command import BadRows, Labelled, execute_with_labels
from adjudge.features.bench.improvement import (
    CriterionImprovement,
    Split,
    budget_left,
    cases_of,
    entry_of,
    improvement_of,
    refuse_existing,
    split,
    write_criteria,
)
from adjudge.features.bench.improvement_terminal import show_improvement, show_nothing
from adjudge.features.bench.judges import Matrix, bench_file, needed_fields
from adjudge.features.bench.labelled_rows import LabelledSet, labelled_set
from adjudge.features.bench.proposal import CHANGES, Change, Proposal, Writer
from adjudge.messages import Message
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.declared_options import RenamedOption
from adjudge.runs.cli.estimates import show_estimate
from adjudge.runs.cli.execute import check_resumed, resumable
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.model_choice import choose_language, model_entries, price_table
from adjudge.runs.cli.options import FROM_ONE, LANGUAGE, PATH, command, option, options, positional
from adjudge.runs.cli.output import echo, language
from adjudge.runs.cli.stored_options import facts_to_keep
from adjudge.runs.execute import estimate
from adjudge.runs.named_criteria import NamedCriteria
from adjudge.runs.plan import Plan, resolve
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.trusted_folders import own_folder
from adjudge.runs.view.terminal import Screen
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings

WRITER, AFTER = "writer", "after"
"""Folders inside the run: the writer's replies, and the held-out rows judged by its proposal."""


@light_dataclass(frozen=True, kw_only=True)
class ImproveOptions(Labelled):
    """Options of ``adjudge criteria improve``."""

    file: Path = positional("A YAML or JSON file with the criteria.", type=PATH)
    labels: Path = option(
        "--labels",
        type=PATH,
        required=True,
        help="Labelled rows: a file with --human, a labelled set, or a run folder.",
    )
    criteria: str | None = option(
        "--criteria", help="Which criteria of the file, where it has several."
    )
    model: tuple[str, ...] = option(
        "-m", "--model", multiple=True, help="The judge: one model, or a panel of several."
    )
    writer: str = option("--writer", required=True, help="The model that proposes better criteria.")
    change: Change = option(
        "--propose",
        type=click.Choice(CHANGES),
        default="both",
        help="Other words, examples, or both.",
    )
    votes: int = option(
        "--votes",
        cls=RenamedOption,
        aliases=["--strictness"],
        type=FROM_ONE,
        default=1,
        help="Votes per row.",
    )
    held_out: float = option(
        "--held-out",
        type=click.FloatRange(0.1, 0.9),
        default=0.5,
        help="The part of the rows that the writer never sees.",
    )
    cases: int = option(
        "--cases", type=FROM_ONE, default=12, help="Disagreements that the writer is shown at most."
    )
    tries: int = option(
        "--tries",
        type=FROM_ONE,
        default=1,
        help=(
            "Proposals that were tried on these held-out rows, this one included: the interval of "
            "the gain then holds for the best of them."
        ),
    )
    folder: Path | None = option(
        "--run",
        type=PATH,
        help="The run folder; by default runs/improve-NAME of the file of criteria.",
    )
    write: str | None = option(
        "--write",
        is_flag=False,
        flag_value="",
        metavar="[FILE]",
        help=(
            "Write the proposal to a new file, by default NAME.improved.yaml; nothing is "
            "overwritten."
        ),
    )
    language: str | None = option(
        "--language", type=LANGUAGE, help="Language of prompts: en (default) or ru."
    )

    @property
    def run(self) -> Path:
        """The folder for the judge's run, the writer's replies and the new judgments."""
        return self.folder or own_folder(Path("runs") / f"improve-{self.file.stem}")

    @property
    def target(self) -> Path | None:
        """The file to write the proposal to; None without ``--write``."""
        if self.write is None:
            return None
        return (
            Path(self.write)
            if self.write
            else self.file.with_name(f"{self.file.stem}.improved.yaml")
        )


@command("improve")
@options(ImproveOptions)
def improve(options: ImproveOptions) -> int:
    """Propose better criteria from rows on which a judge and people disagree, and test whether they
    are better.

    The labelled rows are split by --seed. The writer sees the disagreements in one part; its
    proposal is tried on the other, and the gain is reported with its interval: better, worse, or
    cannot tell. Nothing is written without --write. The same command or 'adjudge resume RUN'
    resumes it. Exit codes: 0 done, 1 could not run or stopped before the end, 2 usage, 3 some
    held-out rows have no verdict.
    """
    language = choose_language(options.language)
    check_resumed(options.run, resume=options.resume)
    if options.target:
        refuse_existing(options.target)
    entries, place = entry_of(options.file, options.criteria)
    entry = entries[place]
    rows = _rows(options, entry.criteria, compares=entry.kind == "pairwise")
    parts = split(rows, options.held_out, options.seed)
    old_plan = _plan_of(options, rows, entry.criteria, "before", options.run, language)
    if options.dry_run:
        new_plan = _plan_of(
            options, parts.held_out, entry.criteria, "after", options.run / AFTER, language
        )
        show_estimate(estimate(old_plan) + estimate(new_plan), as_json=options.as_json)
        echo(
            Message(
                "and one request to the writer, repeated at most twice if its reply cannot be read"
            ),
            err=options.as_json,
        )
        return ExitCode.OK
    old = _judge(old_plan, rows, entry.criteria, options, ())
    cases = cases_of(old, parts.seen, options.cases)
    if not cases:
        return _report_nothing(options, old, parts)
    writer = Writer(_model(options), options.change, language, rows.compares)
    proposal = _ask_writer(options, writer, entry.criteria, cases)
    new_plan = _plan_of(
        options, parts.held_out, proposal.criteria, "after", options.run / AFTER, language
    )
    new = _judge(
        new_plan, parts.held_out, proposal.criteria, options, (options.run, options.run / WRITER)
    )
    # Bonferroni over the proposals that were tried on these rows
    level = 1 - (1 - options.confidence) / options.tries
    improvement = improvement_of(entry.criteria, proposal, old, new, parts.held_out, level)
    if options.target:
        changed = [
            replace(old_entry, criteria=proposal.criteria) if number == place else old_entry
            for number, old_entry in enumerate(entries)
        ]
        write_criteria(options.target, changed)
    return _report(improvement, parts, cases, options)


def _rows(options: ImproveOptions, criteria: Criteria, *, compares: bool) -> LabelledSet:
    needed = needed_fields([criteria])
    bad_rows = BadRows(stop=options.stop_at_bad_row)
    rows = labelled_set(
        options.source(options.labels, ["pairwise" if compares else "direct"], needed, bad_rows)
    )
    if rows.compares != compares:
        if compares:
            raise RunError(
                "the criteria of {file} compare responses, but the rows of {labels} have one "
                "text each: choose other criteria",
                file=options.file,
                labels=options.labels,
            )
        raise RunError(
            "the criteria of {file} judge one text, but the rows of {labels} compare responses: "
            "choose other criteria",
            file=options.file,
            labels=options.labels,
        )
    return rows.with_fields(needed)


def _plan_of(
    options: ImproveOptions,
    rows: LabelledSet,
    criteria: Criteria,
    name: str,
    folder: Path,
    language: str,
) -> Plan:
    models = model_entries(options.model, options.at, options.max_concurrency)
    matrix = Matrix([NamedCriteria(name, criteria)], models, (options.votes,))
    file = bench_file(rows, matrix, language, folder, stop_at_bad_row=options.stop_at_bad_row)
    judge = replace(file.judges[0], models=models, asked_with="")
    prices = price_table(options.prices)
    facts: JsonDict = {
        **facts_to_keep("criteria improve", prices),
        FACT: {"data": str(options.labels), "rows": len(rows.rows), "notes": list(rows.notes)},
    }
    return resolve(
        replace(file, judges=(judge,)),
        cache=not options.no_cache,
        facts=facts,
        prices=prices,
        dry_run=options.dry_run,
    )


def _judge(
    plan: Plan,
    rows: LabelledSet,
    criteria: Criteria,
    options: ImproveOptions,
    other_runs: Sequence[Path],
) -> BenchedJudge:
    limited = budget_left(options.budget(), other_runs)
    execute_with_labels(
        plan.limited_to(limited), Answers(options.meanings).labels(rows, criteria), options
    )
    settings = BenchSettings(
        level=options.confidence,
        agreement=AgreementSettings(draws=Draws(options.draws, options.seed)),
        prices=plan.prices,
    )
    (ranking,) = benchmark_of(plan.folder or Path(), settings).rankings
    (judge,) = ranking.judges
    if judge.figure != "accuracy":
        raise RunError(
            "the labels of {labels} are numbers, but the criteria have options: match them with "
            "--map",
            labels=options.labels,
        )
    return judge


def _model(options: ImproveOptions) -> OpenModel:
    (entry,) = model_entries([options.writer], options.at, options.max_concurrency)
    return open_entry(entry, cache=not options.no_cache, prices=price_table(options.prices))


def _ask_writer(
    options: ImproveOptions, writer: Writer, criteria: Criteria, cases: Sequence[DisputedRow]
) -> Proposal:
    prices = price_table(options.prices)
    run = RunSettings(options.run / WRITER, facts=facts_to_keep("criteria improve", prices))
    budget = budget_left(options.budget(), (options.run,))
    with resumable(options.run):
        return writer.propose(criteria, cases, run, budget, prices)


def _report_nothing(options: ImproveOptions, old: BenchedJudge, parts: Split) -> int:
    if options.as_json:
        print_results("improvement", {"proposals": 0}, [])
    else:
        show_nothing(old, parts, Screen(language()))
    return ExitCode.OK


def _report(
    improvement: CriterionImprovement,
    parts: Split,
    cases: Sequence[DisputedRow],
    options: ImproveOptions,
) -> int:
    if options.as_json:
        print_results(
            "improvement", {"proposals": 1}, [improvement.to_dict(parts, cases, options.target)]
        )
    else:
        show_improvement(
            improvement, parts, cases, options.target, options.writer, Screen(language())
        )
    return ExitCode.UNSCORED if improvement.failed else ExitCode.OK
