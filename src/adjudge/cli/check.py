"""``adjudge check``: pass or fail on one criterion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from adjudge.catalog.aspects import aspect, aspects
from adjudge.cli.estimates import show_estimate
from adjudge.cli.inputs import instances_from, is_rows, keeping_from, models_from
from adjudge.cli.options import FROM_ONE, Flags, accompanying, argument, as_json, columns, command, judging, output, rows
from adjudge.cli.show import notes, say_excluded, show_results
from adjudge.cli.watch import Watch
from adjudge.domain.results import AspectResult
from adjudge.errors import SetupError
from adjudge.judges.aspect import AspectCritic
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.gate import exit_code
from adjudge.reports.summary import summarise
from adjudge.reports.table import check_writable, write_rows
from adjudge.runs.known import KnownVotes


@command()
@argument("text", "The text to judge; - reads it from standard input.", required=False)
@click.option("--criterion", help="What the text must meet to pass, in a sentence.")
@click.option("--aspect", "aspect_name", help=f"A ready-made criterion: {', '.join(aspects('en'))}.")
@click.option("--strictness", type=FROM_ONE, default=1, help="Votes per model.")
@click.option("--early-stop/--no-early-stop", help="Ask no more votes than can change the verdict.")
@rows
@columns
@accompanying
@output
@as_json
@judging()
def check(
    text: str | None,
    criterion: str | None,
    aspect_name: str | None,
    strictness: int,
    early_stop: bool,
    file: Path | None,
    column: tuple[str, ...],
    user_input: str | None,
    reference: str | None,
    context: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    flags: Flags,
) -> int:
    """Judge a text, a file or every row of a data set against one criterion.

    Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed,
    5 gate inconclusive.
    """
    critic = AspectCritic(
        definition=_definition(criterion, aspect_name, flags.language),
        models=models_from(flags.model, flags.max_concurrency, cache=not flags.no_cache),
        strictness=strictness,
        name=aspect_name or "criterion",
        language=flags.language,
        early_stop=early_stop,
        temperature=flags.temperature,
        seed=flags.seed,
    )
    instances = instances_from(text, file, column, flags.limit)
    check_writable(output)
    extra: dict[str, Any] = {"user_input": user_input, "reference": reference, "contexts": list(context) or None}
    keeping = keeping_from(flags)
    if flags.dry_run:
        show_estimate(
            critic.estimate([critic.prepare(one, **extra) for one in instances], KnownVotes(flags.run) if flags.run else None)
        )
        return ExitCode.OK
    with Watch(len(instances), quiet=flags.quiet or as_json) as watch:
        results = critic.evaluate(instances, progress=watch.saw, **keeping, **extra)
    if output:
        write_rows(output, [result.to_dict() for result in results])
    if as_json:
        _print_json(results, notes(critic, results), single=not is_rows(file))
    else:
        show_results(results, critic, flags.language)
    summary = summarise(results)
    say_excluded(summary, flags.language)
    return exit_code(summary, flags.fail_under)


def _definition(criterion: str | None, aspect_name: str | None, language: str) -> str:
    if (criterion is None) == (aspect_name is None):
        raise SetupError('say what to check: --criterion "…" or --aspect NAME, one of the two')
    return criterion if criterion is not None else aspect(aspect_name or "", language)


def _print_json(results: list[AspectResult], about: list[str], *, single: bool) -> None:
    each = [result.to_dict() for result in results]
    found = each[0] if single else {"summary": summarise(results).to_dict(), "results": each}
    click.echo(json.dumps(found | {"notes": about}, ensure_ascii=False, indent=2))
