"""``adjudge judge`` and ``adjudge compare``: texts by criteria with options, and responses against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import click

from adjudge.catalog.criteria import criteria_of, read_criteria, ready_made
from adjudge.catalog.entry import Kind
from adjudge.cli.estimates import show_estimate
from adjudge.cli.inputs import beside, check_given, columns_from, given_beside, instances_from, is_rows, keeping_from, models_from
from adjudge.cli.options import (
    PATH,
    Flags,
    accompanying,
    argument,
    as_json,
    bias,
    columns,
    command,
    judging,
    named,
    output,
    questions,
    votes,
)
from adjudge.cli.show import say_excluded, show_comparisons, show_judgments
from adjudge.cli.watch import Watch
from adjudge.data.dataset import read_comparisons
from adjudge.domain.criteria import Criteria
from adjudge.domain.instance import Instance, PairwiseInstance
from adjudge.domain.results import MultiCriteriaDirectInstanceResult, Result
from adjudge.errors import SetupError
from adjudge.judges.direct import DirectJudge
from adjudge.judges.pairwise import PairwiseJudge
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.gate import check_gate, exit_code
from adjudge.reports.summary import summarise
from adjudge.reports.table import check_writable, write_rows
from adjudge.runs.known import KnownVotes


@command()
@argument("text", "The text to judge; - reads it from standard input.", required=False)
@questions
@named
@click.option("-f", "--file", "--data", "file", type=PATH, help="A text, or rows: .csv, .jsonl, .json, …; - is rows.")
@columns
@accompanying
@votes
@bias
@click.option("--feedback", is_flag=True, help="Ask what would make the text better.")
@output
@as_json
@judging()
def judge(
    text: str | None,
    criterion: tuple[str, ...],
    named: tuple[str, ...],
    file: Path | None,
    column: tuple[str, ...],
    user_input: str | None,
    reference: str | None,
    context: tuple[str, ...],
    self_consistency: int,
    check_positional_bias: bool,
    feedback: bool,
    output: Path | None,
    as_json: bool,
    flags: Flags,
) -> int:
    """Judge texts by one criteria, or by several with equal weights.

    Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed,
    5 gate inconclusive.
    """
    wanted = _criteria(criterion, named, "direct", flags.language)
    if flags.fail_under is not None and len(wanted) == 1:  # of several, the aggregate is from 0 to 1 in any case
        check_gate(wanted[0].name, wanted)
    given = given_beside(user_input, reference, context)
    instances = _with_given(instances_from(text, file, column, flags.limit, _fields(wanted, given)), given, wanted)
    check_writable(output)
    direct = DirectJudge(
        models_from(flags.model, flags.max_concurrency, cache=not flags.no_cache),
        self_consistency=self_consistency,
        check_positional_bias=check_positional_bias,
        generate_feedback=feedback,
        language=flags.language,
        temperature=flags.temperature,
        seed=flags.seed,
    )
    keeping = keeping_from(flags)
    if flags.dry_run:
        cases = [direct.case(instance, one) for instance in direct.instances_of(instances) for one in wanted]
        show_estimate(direct.estimate(cases, KnownVotes(flags.run) if flags.run else None))
        return ExitCode.OK
    with Watch(len(instances) * len(wanted), quiet=flags.quiet or as_json) as watch:
        results = direct.evaluate_multi_criteria(instances, wanted, progress=watch.saw, **keeping)
    each = [entry.result for result in results for entry in result.item_results]
    _output(output, as_json, each, results)
    if not as_json:
        show_judgments(results, direct, flags.language)
    scored = each if len(wanted) == 1 else [_as_result(result) for result in results]
    summary = summarise(scored)
    say_excluded(summary, flags.language)
    return exit_code(summary, flags.fail_under)


@command()
@argument("responses", "Two or more responses to compare.", nargs=-1)
@questions
@named
@click.option("-f", "--file", "--data", "file", type=PATH, help="Rows: .csv, .jsonl, .json, …; - reads them.")
@click.option("--column", multiple=True, help="A response's column (repeat), or FIELD=COLUMN.")
@accompanying
@click.option("--contests", default="joint", help="joint: one call ranks all; pairs: every two are a contest.")
@click.option("--tie/--no-tie", default=True, help="Whether a tie is allowed.")
@votes
@bias
@output
@as_json
@judging()
def compare(
    responses: tuple[str, ...],
    criterion: tuple[str, ...],
    named: tuple[str, ...],
    file: Path | None,
    column: tuple[str, ...],
    user_input: str | None,
    reference: str | None,
    context: tuple[str, ...],
    contests: str,
    tie: bool,
    self_consistency: int,
    check_positional_bias: bool,
    output: Path | None,
    as_json: bool,
    flags: Flags,
) -> int:
    """Say which of two or more responses is better.

    Exit codes: 0 all compared, 1 could not run, 2 usage, 3 some comparisons have no outcome.
    """
    wanted = _criteria(criterion, named, "pairwise", flags.language)
    if len(wanted) > 1:
        raise SetupError("compare takes one criteria at a time on the command line")
    given = given_beside(user_input, reference, context)
    instances = _with_given(_comparisons(responses, file, column, flags.limit, wanted[0].to_evaluate_field), given, wanted)
    check_writable(output)
    pairwise = PairwiseJudge(
        models_from(flags.model, flags.max_concurrency, cache=not flags.no_cache),
        contests=_contests(contests),
        tie_enabled=tie,
        self_consistency=self_consistency,
        check_positional_bias=check_positional_bias,
        language=flags.language,
        temperature=flags.temperature,
        seed=flags.seed,
    )
    keeping = keeping_from(flags)
    if flags.dry_run:
        cases = [pairwise.case(instance, wanted[0]) for instance in pairwise.instances_of(instances)]
        show_estimate(pairwise.estimate(cases, KnownVotes(flags.run) if flags.run else None))
        return ExitCode.OK
    with Watch(len(instances), quiet=flags.quiet or as_json) as watch:
        results = pairwise.evaluate(instances, wanted[0], progress=watch.saw, **keeping)
    _output(output, as_json, results, results)
    if not as_json:
        show_comparisons(results, pairwise, flags.language)
    summary = summarise(results)
    say_excluded(summary, flags.language)
    return exit_code(summary)


def _criteria(questions: Sequence[str], named: Sequence[str], kind: Kind, language: str) -> list[Criteria]:
    found = [criteria_of(question, kind, language) for question in questions]
    for name in named:
        found += read_criteria(name, kind) if Path(name).suffix else [ready_made(name, kind, language)]
    if not found:
        raise SetupError("say what to judge by: --criterion \"…\" or -c NAME ('adjudge criteria' lists the ready-made ones)")
    return found


def _fields(wanted: Sequence[Criteria], given: Mapping[str, object]) -> list[str]:
    """What the criteria read of the text or the rows, the judged field of the first one first."""
    read = dict.fromkeys(name for one in wanted for name in (one.to_evaluate_field, *(one.context_fields or ())))
    judged = wanted[0].to_evaluate_field
    if judged in given:
        raise SetupError(f"criteria {wanted[0].name!r} judges {judged!r}: give that as the text, not beside it")
    return [name for name in read if name not in given]


def _with_given(
    instances: list[Instance], given: Mapping[str, str | Sequence[str]], wanted: Sequence[Criteria]
) -> list[Instance]:
    """The instances with what was given beside them."""
    whole = beside(instances, given)
    if len(whole) == 1 and "row" not in whole[0].metadata:
        for one in wanted:
            check_given(one, whole[0])
    return whole


def _comparisons(
    responses: Sequence[str], file: Path | None, column: Sequence[str], limit: int | None, judged: str
) -> list[Instance]:
    if bool(responses) == (file is not None):
        raise SetupError("say what to compare: two or more responses, or --file ROWS, one of the two")
    if file is not None:
        plain = [name for name in column if "=" not in name]
        named = columns_from([name for name in column if "=" in name])
        return list(read_comparisons(file, plain, named, limit)) if is_rows(file) else _no_rows(file)
    return [PairwiseInstance({judged: list(responses)})]


def _no_rows(file: Path) -> list[Instance]:
    raise SetupError(f"{file} is neither CSV nor JSONL, JSON or Parquet: comparisons are read from rows")


def _contests(name: str) -> Literal["joint", "pairs"]:
    if name not in ("joint", "pairs"):
        raise SetupError(f"--contests is joint or pairs, not {name!r}")
    return "joint" if name == "joint" else "pairs"


def _output(
    path: Path | None,
    as_json: bool,
    each: Sequence[Result],
    shown: Sequence[Result] | Sequence[MultiCriteriaDirectInstanceResult],
) -> None:
    if path:
        write_rows(path, [{name: value for name, value in result.to_dict().items() if name != "votes"} for result in each])
    if as_json:
        click.echo(json.dumps({"results": [result.to_dict() for result in shown]}, ensure_ascii=False, indent=2))


def _as_result(result: MultiCriteriaDirectInstanceResult) -> Result:
    """The aggregate, for the gate."""
    first = result.item_results[0].result
    votes = tuple(vote for entry in result.item_results for vote in entry.result.votes)
    return Result(
        instance=result.instance, criteria=first.criteria, status=result.status, score=result.aggregated_score, votes=votes
    )
