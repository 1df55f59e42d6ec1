"""``adjudge check``: pass or fail on one criterion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from adjudge.catalog.aspects import aspect, aspects
from adjudge.cli.inputs import check_writable, instances_from, is_rows, models_from
from adjudge.cli.show import Watch, notes, show_results
from adjudge.domain.results import AspectResult
from adjudge.errors import SetupError
from adjudge.gateway.open import MAX_CONCURRENCY
from adjudge.judges.aspect import AspectCritic
from adjudge.reports.gate import exit_code
from adjudge.reports.summary import summarise
from adjudge.reports.table import write_rows


def check(
    text: Annotated[str | None, typer.Argument(help="The text to judge; - reads it from standard input.")] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="What the text must meet to pass, in a sentence.")] = None,
    aspect_name: Annotated[
        str | None, typer.Option("--aspect", help=f"A ready-made criterion: {', '.join(aspects('en'))}.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option("-m", "--model", help="Model to ask; repeat for a panel.")] = None,
    strictness: Annotated[int, typer.Option(help="Votes per model.", min=1)] = 1,
    language: Annotated[str, typer.Option(help="Of prompts, explanations and this report: en or ru.")] = "en",
    file: Annotated[
        Path | None,
        typer.Option(
            "-f",
            "--file",
            "--data",
            help="Judge the text in this file, or every row of a .csv, .tsv, .jsonl, .json, .parquet; - is rows, too.",
        ),
    ] = None,
    column: Annotated[list[str] | None, typer.Option("--column", help="Which column is judged, or FIELD=COLUMN.")] = None,
    user_input: Annotated[str | None, typer.Option(help="The question the text answers.")] = None,
    reference: Annotated[str | None, typer.Option(help="A good answer to compare with.")] = None,
    context: Annotated[list[str] | None, typer.Option(help="A source the text should rest on; repeatable.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write the results to this file: .csv, else JSONL.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
    limit: Annotated[int | None, typer.Option(help="Judge only the first rows.", min=1)] = None,
    early_stop: Annotated[bool, typer.Option(help="Ask no more votes than can change the verdict.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Default: 0 for one vote, 1 for several.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sample i is asked with seed + i.")] = None,
    max_concurrency: Annotated[
        int, typer.Option("-j", "--max-concurrency", help="Requests at once, per model.", min=1)
    ] = MAX_CONCURRENCY,
    fail_under: Annotated[float | None, typer.Option(help="Exit with 4 when the mean score is below this.", min=0, max=1)] = None,
) -> int:
    """Judge a text, a file or every row of a data set against one criterion.

    Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage, 3 some judgments have no score, 4 gate failed,
    5 gate inconclusive.
    """
    critic = AspectCritic(
        definition=_definition(criterion, aspect_name, language),
        models=models_from(model, max_concurrency),
        strictness=strictness,
        name=aspect_name or "criterion",
        language=language,
        early_stop=early_stop,
        temperature=temperature,
        seed=seed,
    )
    instances = instances_from(text, file, column, limit)
    check_writable(output)
    extra = {"user_input": user_input, "reference": reference, "contexts": context or None}
    with Watch(len(instances), quiet=as_json) as watch:
        results = critic.evaluate(instances, progress=watch.saw, **extra)
    if output:
        write_rows(output, [result.to_dict() for result in results])
    if as_json:
        _print_json(results, notes(critic), single=not is_rows(file))
    else:
        show_results(results, critic, language)
    return exit_code(summarise(results), fail_under)


def _definition(criterion: str | None, aspect_name: str | None, language: str) -> str:
    if (criterion is None) == (aspect_name is None):
        raise SetupError('say what to check: --criterion "…" or --aspect NAME, one of the two')
    return criterion if criterion is not None else aspect(aspect_name or "", language)


def _print_json(results: list[AspectResult], about: list[str], *, single: bool) -> None:
    each = [result.to_dict() for result in results]
    found = each[0] if single else {"summary": summarise(results).to_dict(), "results": each}
    typer.echo(json.dumps(found | {"notes": about}, ensure_ascii=False, indent=2))
