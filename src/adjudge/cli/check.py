"""``adjudge check``: pass or fail on one criterion."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from adjudge.catalog.aspects import aspect, aspects
from adjudge.cli.estimates import show_estimate
from adjudge.cli.inputs import instances_from, is_rows, keeping_from, models_from
from adjudge.cli.options import (
    AsJson,
    AtOnce,
    Columns,
    Contexts,
    DryRun,
    FailUnder,
    Language,
    Limit,
    MaxCalls,
    MaxTokens,
    MaxUsd,
    Models,
    NoCache,
    Output,
    Prices,
    Quiet,
    Reference,
    Rows,
    RunFolder,
    Seed,
    Temperature,
    UserInput,
    budget_from,
)
from adjudge.cli.show import notes, say_excluded, show_results
from adjudge.cli.watch import Watch
from adjudge.domain.results import AspectResult
from adjudge.errors import SetupError
from adjudge.gateway.open import MAX_CONCURRENCY
from adjudge.judges.aspect import AspectCritic
from adjudge.reports.gate import ExitCode, exit_code
from adjudge.reports.summary import summarise
from adjudge.reports.table import check_writable, write_rows
from adjudge.runs.known import KnownVotes


def check(
    text: Annotated[str | None, typer.Argument(help="The text to judge; - reads it from standard input.")] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="What the text must meet to pass, in a sentence.")] = None,
    aspect_name: Annotated[
        str | None, typer.Option("--aspect", help=f"A ready-made criterion: {', '.join(aspects('en'))}.")
    ] = None,
    model: Models = None,
    strictness: Annotated[int, typer.Option(help="Votes per model.", min=1)] = 1,
    language: Language = "en",
    file: Rows = None,
    column: Columns = None,
    user_input: UserInput = None,
    reference: Reference = None,
    context: Contexts = None,
    output: Output = None,
    as_json: AsJson = False,
    limit: Limit = None,
    early_stop: Annotated[bool, typer.Option(help="Ask no more votes than can change the verdict.")] = False,
    temperature: Temperature = None,
    seed: Seed = None,
    max_concurrency: AtOnce = MAX_CONCURRENCY,
    run: RunFolder = None,
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    prices: Prices = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    dry_run: DryRun = False,
    fail_under: FailUnder = None,
) -> int:
    """Judge a text, a file or every row of a data set against one criterion.

    Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed,
    5 gate inconclusive.
    """
    critic = AspectCritic(
        definition=_definition(criterion, aspect_name, language),
        models=models_from(model, max_concurrency, cache=not no_cache),
        strictness=strictness,
        name=aspect_name or "criterion",
        language=language,
        early_stop=early_stop,
        temperature=temperature,
        seed=seed,
    )
    instances = instances_from(text, file, column, limit)
    check_writable(output)
    extra: dict[str, Any] = {"user_input": user_input, "reference": reference, "contexts": context or None}
    keeping = keeping_from(run, budget_from(max_usd, max_calls, max_tokens), prices)
    if dry_run:
        show_estimate(critic.estimate([critic.prepare(one, **extra) for one in instances], KnownVotes(run) if run else None))
        return ExitCode.OK
    with Watch(len(instances), quiet=quiet or as_json) as watch:
        results = critic.evaluate(instances, progress=watch.saw, **keeping, **extra)
    if output:
        write_rows(output, [result.to_dict() for result in results])
    if as_json:
        _print_json(results, notes(critic, results), single=not is_rows(file))
    else:
        show_results(results, critic, language)
    summary = summarise(results)
    say_excluded(summary, language)
    return exit_code(summary, fail_under)


def _definition(criterion: str | None, aspect_name: str | None, language: str) -> str:
    if (criterion is None) == (aspect_name is None):
        raise SetupError('say what to check: --criterion "…" or --aspect NAME, one of the two')
    return criterion if criterion is not None else aspect(aspect_name or "", language)


def _print_json(results: list[AspectResult], about: list[str], *, single: bool) -> None:
    each = [result.to_dict() for result in results]
    found = each[0] if single else {"summary": summarise(results).to_dict(), "results": each}
    typer.echo(json.dumps(found | {"notes": about}, ensure_ascii=False, indent=2))
