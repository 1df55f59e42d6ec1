"""``adjudge criteria improve``: search for better criteria by a judge's mistakes, and measure the
best on rows that chose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.frozen_mapping import content_hash
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.engine.estimate import CostEstimate
from adjudge.core.engine.run import RunSettings
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.prompts.criteria_writing import DisputedRow
from adjudge.errors import RunError, SetupError
from adjudge.features.bench.answers import Answers
from adjudge.features.bench.benchmark import (
    FACT,
    BenchedJudge,
    BenchSettings,
    RowKey,
    benchmark_of,
)
from adjudge.features.bench.candidates import (
    CriteriaCandidate,
    TriedCandidate,
    answered_rows,
    distinct,
    place_of_best,
    result_of,
    rule_candidates,
)
from adjudge.features.bench.command import BadRows, Labelled, execute_with_labels
from adjudge.features.bench.improvement import (
    CriteriaSearch,
    CriterionImprovement,
    Split,
    budget_left,
    cases_of,
    entry_of,
    improvement_of,
    refuse_existing,
    scores_on,
    split,
    without_split_rows,
    write_criteria,
)
from adjudge.features.bench.improvement_terminal import show_improvement, show_nothing
from adjudge.features.bench.judges import Matrix, bench_file, needed_fields
from adjudge.features.bench.labelled_rows import LabelledSet, labelled_set, without_copies
from adjudge.features.bench.proposal import CHANGES, SPARE_REQUESTS, Change, Proposal, Writer
from adjudge.features.bench.tries import TriesAccount
from adjudge.messages import Message, plural
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
"""Folders inside the run: the writer's replies, and the held-out rows judged by the best candidate.

The rows to choose by are in ``round-1-1`` and so on: the round, then the candidate.
"""


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
    criteria: str | None = option("--criteria", help="Criterion to use, if the file has several.")
    model: tuple[str, ...] = option(
        "-m", "--model", multiple=True, help="The judge: one model, or a panel of several."
    )
    writer: str | None = option(
        "--writer",
        help=(
            "The model that proposes better criteria; without one, only examples and orders are "
            "tried."
        ),
    )
    change: Change = option(
        "--propose",
        type=click.Choice(CHANGES),
        default="all",
        help="What to change: the wording, examples, the order of options or examples, or all.",
    )
    candidates: int = option(
        "--candidates",
        type=FROM_ONE,
        default=3,
        help="Proposals that the writer makes per round.",
    )
    rounds: int = option(
        "--rounds",
        type=FROM_ONE,
        default=2,
        help=(
            "Maximum rounds of improving the best candidate; the search stops earlier if none is "
            "better."
        ),
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
        help="Share of the rows held out to measure the chosen candidate.",
    )
    cases: int = option(
        "--cases",
        type=FROM_ONE,
        default=12,
        help="Maximum number of disagreements shown to the writer.",
    )
    folder: Path | None = option(
        "--run",
        type=PATH,
        help="Run folder; by default runs/improve-NAME, after the file of criteria.",
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
    """Search for better criteria from rows on which a judge and people disagree, and measure
    whether they are better.

    The labelled rows are split in three parts by --seed. Candidates come from the writer and from
    rules, and learn from the first part. The second part chooses the best. The third measures its
    gain: better, worse, or cannot tell. A file beside the labels counts all tries, and the interval
    allows for earlier ones. Nothing else is written without --write. The same command or 'adjudge
    resume RUN' resumes it. Exit codes: 0 done, 1 could not run or stopped before the end, 2 usage,
    3 some held-out rows have no verdict.
    """
    language = choose_language(options.language)
    check_resumed(options.run, resume=options.resume)
    if options.target:
        refuse_existing(options.target)
    entries, place = entry_of(options.file, options.criteria)
    entry = entries[place]
    rows = _rows(options, entry.criteria, compares=entry.kind == "pairwise")
    if options.writer is None and (rows.compares or options.change == "wording"):
        raise SetupError("another wording needs a model to propose it: name one with --writer")
    account = TriesAccount.beside(options.labels, entry.criteria.name)
    judged = entry.criteria.to_evaluate_field
    parts = split(rows, options.held_out, options.seed, account.parts(), judged)
    if options.dry_run:
        return _show_estimate(options, rows, parts, entry.criteria, language)
    known = account.keep_parts(parts.keys)
    parts = split(rows, options.held_out, options.seed, known, judged)
    searching = _Searching(options, parts, account, language)
    old = searching.judge(rows, entry.criteria, options.run)
    proposal, cases = searching.best(entry.criteria, old)
    search = searching.search
    if proposal is None:
        return _report_nothing(options, search)
    held_out = parts.held_out
    measurement = account.keep_measured(searching.key(proposal.criteria), parts.keys["held_out"])
    new = searching.judge(held_out, proposal.criteria, options.run / AFTER)
    improvement = improvement_of(
        entry.criteria, proposal, old, new, held_out, options.confidence, measurement
    )
    if options.target:
        changed = [
            replace(old_entry, criteria=proposal.criteria) if number == place else old_entry
            for number, old_entry in enumerate(entries)
        ]
        write_criteria(options.target, changed)
    return _report(improvement, search, cases, options)


class _Searching:
    """A search in a run folder: each round improves the best criteria so far."""

    def __init__(
        self, options: ImproveOptions, parts: Split, account: TriesAccount, language: str
    ) -> None:
        self.search = CriteriaSearch(parts)
        self._options, self._account, self._language = options, account, language

    def key(self, criteria: Criteria) -> str:
        """Return the name that the record of tries uses for criteria tried with this judge."""
        options = self._options
        judge = [list(options.model), options.votes, self._language]
        return content_hash([criteria.identity, judge])[:16]

    def judge(self, rows: LabelledSet, criteria: Criteria, folder: Path) -> BenchedJudge:
        """Judge rows with these criteria, within what the other folders leave of the budget."""
        options = self._options
        name = "before" if folder == options.run else "after"
        plan = _plan_of(options, rows, criteria, name, folder, self._language)
        return _judge(plan, rows, criteria, options, self._other_folders(folder))

    def best(
        self, criteria: Criteria, old: BenchedJudge
    ) -> tuple[Proposal | None, list[DisputedRow]]:
        """Return the best criteria and the disagreements shown to the writer first.

        None if no candidate is better than the criteria on the rows to choose by.
        """
        search, options = self.search, self._options
        base, base_judge = criteria, old
        before = scores_on(old, search.parts.choosing)
        if not before:
            raise RunError("the judge has no verdict on any row used for choosing: see its errors")
        shown: list[DisputedRow] = []
        best: CriteriaCandidate | None = None
        tried = [criteria]
        for number in range(1, options.rounds + 1):
            if all(before.values()):
                search.reason = Message(
                    "the judge agrees with people on every row used for choosing"
                )
                break
            cases = cases_of(base_judge, search.parts.shown, options.cases)
            shown = shown or cases
            candidates = distinct(self._candidates(base, cases, number), tried)
            if not candidates:
                search.reason = Message("there are no more candidates to try")
                break
            results, judges = self._try(candidates, number, before)
            tried += [candidate.proposal.criteria for candidate in candidates]
            chosen = place_of_best(results)
            if chosen is not None:
                results[chosen] = replace(results[chosen], chosen=True)
            search.results += results
            if chosen is None:
                search.reason = plural(
                    "the candidate of round {round} does not agree better with people",
                    "none of the {count} candidates of round {round} agrees better with people",
                    len(results),
                    round=number,
                )
                break
            best = candidates[chosen]
            base, before = best.proposal.criteria, scores_on(judges[chosen], search.parts.choosing)
            if number < options.rounds:
                folder = options.run / f"round-{number}-shown"
                base_judge = self.judge(search.parts.shown, base, folder)
        else:
            search.reason = Message("all rounds are done (--rounds)")
        search.tried_before = self._account.tried_before(map(self.key, tried))
        if best is None:
            return None, shown
        explanations = [
            result.candidate.proposal.explanation for result in search.results if result.chosen
        ]
        explanation = " ".join(filter(None, explanations))
        return replace(best.proposal, explanation=explanation), shown

    def _candidates(
        self, base: Criteria, cases: Sequence[DisputedRow], number: int
    ) -> list[CriteriaCandidate]:
        options, shown = self._options, self.search.parts.shown
        labels = Answers(options.meanings).labels(shown, base)
        candidates = list(
            rule_candidates(
                base,
                cases,
                answered_rows(shown, labels, base),
                options.change,
                compares=shown.compares,
            )
        )
        if options.writer is not None and cases and options.change != "order":
            writer = Writer(_model(options), options.change, self._language, shown.compares)
            proposals = self._ask(writer, base, cases, number)
            candidates += [CriteriaCandidate("writer", proposal) for proposal in proposals]
        return candidates

    def _ask(
        self, writer: Writer, base: Criteria, cases: Sequence[DisputedRow], number: int
    ) -> list[Proposal]:
        options = self._options
        prices = price_table(options.prices)
        folder = options.run / (WRITER if number == 1 else f"{WRITER}-{number}")
        run = RunSettings(folder, facts=facts_to_keep("criteria improve", prices))
        budget = budget_left(options.budget(), self._other_folders(folder))
        with resumable(options.run):
            return writer.propose(base, cases, options.candidates, run, budget, prices)

    def _try(
        self, candidates: Sequence[CriteriaCandidate], number: int, before: Mapping[RowKey, float]
    ) -> tuple[list[TriedCandidate], list[BenchedJudge]]:
        self._account.keep_tried(self.key(one.proposal.criteria) for one in candidates)
        judges = [
            self.judge(
                self.search.parts.choosing,
                candidate.proposal.criteria,
                self._options.run / f"round-{number}-{place}",
            )
            for place, candidate in enumerate(candidates, 1)
        ]
        results = [
            result_of(candidate, number, before, judge.scores)
            for candidate, judge in zip(candidates, judges, strict=True)
        ]
        return results, judges

    def _other_folders(self, folder: Path) -> list[Path]:
        run = self._options.run
        inside = [path for path in run.iterdir() if path.is_dir()] if run.is_dir() else []
        return [path for path in (run, *inside) if path != folder]


def _show_estimate(
    options: ImproveOptions,
    rows: LabelledSet,
    parts: Split,
    criteria: Criteria,
    language: str,
) -> int:
    """Estimate the most that a search can cost."""

    def cost(judged: LabelledSet, folder: Path) -> CostEstimate:
        return estimate(_plan_of(options, judged, criteria, "before", folder, language))

    total = cost(rows, options.run) + cost(parts.held_out, options.run / AFTER)
    labels = Answers(options.meanings).labels(parts.shown, criteria)
    answered = answered_rows(parts.shown, labels, criteria)
    by_rule = len(
        list(rule_candidates(criteria, answered, answered, options.change, compares=rows.compares))
    )
    written = options.candidates if options.writer and options.change != "order" else 0
    for number in range(1, options.rounds + 1):
        for place in range(1, by_rule + written + 1):
            total += cost(parts.choosing, options.run / f"round-{number}-{place}")
        if number < options.rounds:
            total += cost(parts.shown, options.run / f"round-{number}-shown")
    show_estimate(total, as_json=options.as_json)
    if written:
        echo(
            Message(
                "and at most {count} requests to the writer",
                count=options.rounds * (written + SPARE_REQUESTS),
            ),
            err=options.as_json,
        )
    return ExitCode.OK


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
    rows = without_copies(rows.with_fields(needed), criteria)
    return without_split_rows(rows, Answers(options.meanings).labels(rows, criteria))


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
            "the labels of {labels} are numbers, but the criteria have options: map them with "
            "--map",
            labels=options.labels,
        )
    return judge


def _model(options: ImproveOptions) -> OpenModel:
    (entry,) = model_entries([options.writer or ""], options.at, options.max_concurrency)
    return open_entry(entry, cache=not options.no_cache, prices=price_table(options.prices))


def _report_nothing(options: ImproveOptions, search: CriteriaSearch) -> int:
    if options.as_json:
        counts = {"proposals": 0, "candidates": len(search.results)}
        print_results("improvement", counts, [])
    else:
        show_nothing(search, Screen(language()))
    return ExitCode.OK


def _report(
    improvement: CriterionImprovement,
    search: CriteriaSearch,
    cases: Sequence[DisputedRow],
    options: ImproveOptions,
) -> int:
    if options.as_json:
        print_results(
            "improvement",
            {"proposals": 1, "candidates": len(search.results)},
            [improvement.to_dict(search, cases, options.target)],
        )
    else:
        show_improvement(
            improvement, search, cases, options.target, options.writer, Screen(language())
        )
    return ExitCode.UNSCORED if improvement.failed else ExitCode.OK
