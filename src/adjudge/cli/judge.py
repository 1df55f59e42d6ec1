"""``adjudge judge`` and ``adjudge compare``: texts by criteria with options, and responses against each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from adjudge.catalog.criteria import criteria as from_catalog
from adjudge.catalog.criteria import read_criteria
from adjudge.cli.inputs import check_writable, columns_from, instances_from, is_rows, models_from
from adjudge.cli.show import Watch, show_comparisons, show_judgments
from adjudge.domain.criteria import Criteria, yes_no_criteria
from adjudge.domain.instance import Instance, PairwiseInstance
from adjudge.domain.results import MultiCriteriaDirectInstanceResult, Result
from adjudge.errors import SetupError
from adjudge.gateway.open import MAX_CONCURRENCY
from adjudge.judges.direct import DirectJudge
from adjudge.judges.pairwise import PairwiseJudge
from adjudge.reports.gate import ExitCode, exit_code
from adjudge.reports.summary import summarise
from adjudge.reports.table import write_rows
from adjudge.runs.dataset import read_comparisons

_QUESTION = typer.Option("--criterion", help="A question with the answers Yes and No; repeat for several.")
_NAMED = typer.Option(
    "-c", "--criteria", help="Ready-made criteria ('adjudge criteria' lists them), or a YAML or JSON file; repeatable."
)
_MODEL = typer.Option("-m", "--model", help="Model to ask; repeat for a panel.")
_LANGUAGE = typer.Option(help="Of prompts, explanations and ready-made criteria: en or ru.")
_VOTES = typer.Option("--self-consistency", help="Votes per model and order.", min=1)
_BIAS = typer.Option("--check-positional-bias", help="Ask again in reversed order.")
_COLUMN = typer.Option("--column", help="Which column is judged, or FIELD=COLUMN; repeatable.")
_OUTPUT = typer.Option("-o", "--output", help="Also write the results, one row a judgment: .csv, else JSONL.")
_JSON = typer.Option("--json", help="Print JSON, for machines.")
_LIMIT = typer.Option(help="Judge only the first rows.", min=1)
_SEED = typer.Option(help="Sample i is asked with seed + i.")
_TEMPERATURE = typer.Option(help="Default: 0 for one vote, 1 for several.")
_AT_ONCE = typer.Option("-j", "--max-concurrency", help="Requests at once, per model.", min=1)


def judge(
    text: Annotated[str | None, typer.Argument(help="The text to judge; - reads it from standard input.")] = None,
    criterion: Annotated[list[str] | None, _QUESTION] = None,
    named: Annotated[list[str] | None, _NAMED] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", "--data", help="A text, or rows: .csv, .jsonl, .json, …; - is rows.")
    ] = None,
    column: Annotated[list[str] | None, _COLUMN] = None,
    language: Annotated[str, _LANGUAGE] = "en",
    self_consistency: Annotated[int, _VOTES] = 1,
    check_positional_bias: Annotated[bool, _BIAS] = False,
    feedback: Annotated[bool, typer.Option("--feedback", help="Ask what would make the text better.")] = False,
    output: Annotated[Path | None, _OUTPUT] = None,
    as_json: Annotated[bool, _JSON] = False,
    limit: Annotated[int | None, _LIMIT] = None,
    temperature: Annotated[float | None, _TEMPERATURE] = None,
    seed: Annotated[int | None, _SEED] = None,
    max_concurrency: Annotated[int, _AT_ONCE] = MAX_CONCURRENCY,
    fail_under: Annotated[float | None, typer.Option(help="Exit with 4 when the mean score is below this.", min=0, max=1)] = None,
) -> int:
    """Judge texts by one criteria, or by several with equal weights.

    Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed,
    5 gate inconclusive.
    """
    wanted = _criteria(criterion, named, language)
    instances = instances_from(text, file, column, limit, _fields(wanted))
    check_writable(output)
    direct = DirectJudge(
        models_from(model, max_concurrency),
        self_consistency=self_consistency,
        check_positional_bias=check_positional_bias,
        generate_feedback=feedback,
        language=language,
        temperature=temperature,
        seed=seed,
    )
    with Watch(len(instances) * len(wanted), quiet=as_json) as watch:
        results = direct.evaluate_multi_criteria(instances, wanted, progress=watch.saw)
    each = [entry.result for result in results for entry in result.item_results]
    _output(output, as_json, each, results)
    if not as_json:
        show_judgments(results, direct, language)
    scored = each if len(wanted) == 1 else [_as_result(result) for result in results]
    return exit_code(summarise(scored), fail_under)


def compare(
    responses: Annotated[list[str] | None, typer.Argument(help="Two or more responses to compare.")] = None,
    criterion: Annotated[list[str] | None, _QUESTION] = None,
    named: Annotated[list[str] | None, _NAMED] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", "--data", help="Rows: .csv, .jsonl, .json, …; - reads them.")
    ] = None,
    column: Annotated[list[str] | None, typer.Option("--column", help="A response's column (repeat), or FIELD=COLUMN.")] = None,
    user_input: Annotated[str | None, typer.Option(help="The question the responses answer.")] = None,
    language: Annotated[str, _LANGUAGE] = "en",
    contests: Annotated[str, typer.Option(help="joint: one call ranks all; pairs: every two are a contest.")] = "joint",
    tie: Annotated[bool, typer.Option("--tie/--no-tie", help="Whether a tie is allowed.")] = True,
    self_consistency: Annotated[int, _VOTES] = 1,
    check_positional_bias: Annotated[bool, _BIAS] = False,
    output: Annotated[Path | None, _OUTPUT] = None,
    as_json: Annotated[bool, _JSON] = False,
    limit: Annotated[int | None, _LIMIT] = None,
    temperature: Annotated[float | None, _TEMPERATURE] = None,
    seed: Annotated[int | None, _SEED] = None,
    max_concurrency: Annotated[int, _AT_ONCE] = MAX_CONCURRENCY,
) -> int:
    """Say which of two or more responses is better.

    Exit codes: 0 all compared, 1 could not run, 2 usage, 3 some comparisons have no outcome.
    """
    wanted = _criteria(criterion, named, language)
    if len(wanted) > 1:
        raise SetupError("compare takes one criteria at a time on the command line")
    instances = _comparisons(responses, file, column, user_input, limit)
    check_writable(output)
    pairwise = PairwiseJudge(
        models_from(model, max_concurrency),
        contests=_contests(contests),
        tie_enabled=tie,
        self_consistency=self_consistency,
        check_positional_bias=check_positional_bias,
        language=language,
        temperature=temperature,
        seed=seed,
    )
    with Watch(len(instances), quiet=as_json) as watch:
        results = pairwise.evaluate(instances, wanted[0], progress=watch.saw)
    _output(output, as_json, results, results)
    if not as_json:
        show_comparisons(results, pairwise, language)
    return ExitCode.OK if all(result.selected_option is not None for result in results) else ExitCode.UNSCORED


def _criteria(questions: list[str] | None, named: list[str] | None, language: str) -> list[Criteria]:
    found = [yes_no_criteria(question) for question in questions or []]
    for name in named or []:
        found += read_criteria(name) if Path(name).suffix else [from_catalog(name, language)]
    if not found:
        raise SetupError("say what to judge by: --criterion \"…\" or -c NAME ('adjudge criteria' lists the ready-made ones)")
    return found


def _fields(wanted: Sequence[Criteria]) -> list[str]:
    """What the criteria read, the judged field of the first one first."""
    return list(dict.fromkeys(name for one in wanted for name in (one.to_evaluate_field, *(one.context_fields or ()))))


def _comparisons(
    responses: list[str] | None, file: Path | None, column: list[str] | None, user_input: str | None, limit: int | None
) -> list[Instance]:
    if bool(responses) == (file is not None):
        raise SetupError("say what to compare: two or more responses, or --file ROWS, one of the two")
    if file is not None:
        plain = [name for name in column or [] if "=" not in name]
        named = columns_from([name for name in column or [] if "=" in name])
        return list(read_comparisons(file, plain, named, limit)) if is_rows(file) else _no_rows(file)
    context = {"user_input": user_input} if user_input else {}
    return [PairwiseInstance(responses=responses, context=context)]


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
        typer.echo(json.dumps({"results": [result.to_dict() for result in shown]}, ensure_ascii=False, indent=2))


def _as_result(result: MultiCriteriaDirectInstanceResult) -> Result:
    """The aggregate, for the gate."""
    first = result.item_results[0].result
    votes = tuple(vote for entry in result.item_results for vote in entry.result.votes)
    return Result(
        instance=result.instance, criteria=first.criteria, status=result.status, score=result.aggregated_score, votes=votes
    )
