"""``adjudge rag``: the answers of a retrieval-augmented assistant on six dimensions, as a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from adjudge.cli.estimates import show_estimate
from adjudge.cli.inputs import columns_from, keeping_from
from adjudge.cli.options import (
    AtOnce,
    DryRun,
    Limit,
    MaxCalls,
    MaxTokens,
    MaxUsd,
    NoCache,
    Prices,
    RunFolder,
    Seed,
    Temperature,
    budget_from,
)
from adjudge.cli.show import say_excluded
from adjudge.cli.show_rag import say_columns, show_rag
from adjudge.cli.watch import Watch
from adjudge.errors import SetupError
from adjudge.gateway.open import MAX_CONCURRENCY, ModelLike, default_model, open_model
from adjudge.rag.evaluator import RagEvaluator
from adjudge.reports.gate import ExitCode, exit_code
from adjudge.reports.rag_files import write_reports
from adjudge.reports.rag_report import ENTRIES, rag_report
from adjudge.runs.known import KnownVotes

_CSV = typer.Option("--csv", "--data", "-f", "--file", help="The rows to judge: .csv, .tsv or .jsonl.")
_PROVIDER = typer.Option("--model-provider", help="Such as mistral or ollama; with --model-name.")
_NAME = typer.Option("--model-name", help="Such as mistral-medium-latest or mistral:7b; with --model-provider.")
_KEY = typer.Option(
    "--api-key", help="The model's key. Default: $API_KEY with --model-provider, else the provider's own variable."
)
_MODEL = typer.Option("-m", "--model", help="Model to ask, as provider/model; repeat for a panel. Default: the embedded model.")
_STRICTNESS = typer.Option(help="Votes per model and dimension.", min=1)
_DIMENSIONS = typer.Option("--dimensions", help="Only these, separated by commas.")
_CONFIG = typer.Option("-c", "--config", help="YAML or JSON: further dimensions, other weights and gates.")
_COLUMN = typer.Option("--column", help="Which column is which field, as FIELD=COLUMN; repeatable.")
_OUTPUT = typer.Option("-o", "--output", help="Folder for the reports.")
_ENTRIES = typer.Option(help="How many answers the Markdown and HTML show, the worst first; the CSV has all.", min=0)


def rag(
    csv: Annotated[Path, _CSV],
    model_provider: Annotated[str | None, _PROVIDER] = None,
    model_name: Annotated[str | None, _NAME] = None,
    api_key: Annotated[str | None, _KEY] = None,
    temperature: Temperature = None,
    seed: Seed = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    strictness: Annotated[int, _STRICTNESS] = 1,
    dimensions: Annotated[str | None, _DIMENSIONS] = None,
    config: Annotated[Path | None, _CONFIG] = None,
    column: Annotated[list[str] | None, _COLUMN] = None,
    language: Annotated[str, typer.Option(help="Of prompts, explanations and reports: en or ru.")] = "en",
    output: Annotated[Path, _OUTPUT] = Path("reports"),
    limit: Limit = None,
    entries: Annotated[int, _ENTRIES] = ENTRIES,
    max_concurrency: AtOnce = MAX_CONCURRENCY,
    run: RunFolder = None,
    max_usd: MaxUsd = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    prices: Prices = None,
    no_cache: NoCache = False,
    dry_run: DryRun = False,
    fail_under: Annotated[
        float | None, typer.Option(help="Exit with 4 when the mean composite is below this.", min=0, max=1)
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print the paths of the reports and nothing else.")] = False,
) -> int:
    """Score every answer of a file on answer relevance, clarity, completeness, conciseness, groundedness and harmfulness.

    Writes a Markdown, a CSV and an HTML report. Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage,
    3 some answers have no score, 4 gate failed, 5 gate inconclusive.
    """
    evaluator = RagEvaluator(
        _models(model_provider, model_name, api_key, model, max_concurrency=max_concurrency, cache=not no_cache),
        dimensions=[name.strip() for name in dimensions.split(",")] if dimensions else None,
        config=config,
        strictness=strictness,
        language=language,
        temperature=temperature,
        seed=seed,
    )
    rows = evaluator.rows(csv, columns_from(column), limit)
    keeping = keeping_from(run, budget_from(max_usd, max_calls, max_tokens), prices)
    if dry_run:
        show_estimate(evaluator.estimate(rows.instances, KnownVotes(run) if run else None))
        return ExitCode.OK
    _check_folder(output)
    if not quiet:
        say_columns(rows, evaluator.language)
    with Watch(len(rows.instances), quiet=quiet) as watch:
        results = evaluator.evaluate(rows.instances, progress=watch.saw, **keeping)
    report = rag_report(evaluator, rows, results, source=str(csv), shown=entries)
    paths = write_reports(report, output)
    if not quiet:
        show_rag(report, evaluator.language)
    for path in paths:
        typer.echo(str(path))
    say_excluded(report.summary.overall, evaluator.language)
    return exit_code(report.summary.overall, fail_under)


def _models(provider: str | None, name: str | None, api_key: str | None, ids: list[str] | None, **how: Any) -> list[ModelLike]:
    """The seed's way of naming a model, or ours."""
    if (provider is None) != (name is None):
        raise SetupError("--model-provider and --model-name belong together: give both, or -m PROVIDER/MODEL")
    if provider and ids:
        raise SetupError("name the model once: with --model-provider and --model-name, or with -m")
    if provider:
        key = api_key or os.environ.get("API_KEY") or None
        return [open_model(f"{provider}/{name}", api_key=key, **how)]
    chosen = ids or [default_model()]
    if api_key and len(chosen) > 1:
        raise SetupError(
            "--api-key is for one model: with several, set each provider's own variable ('adjudge models' lists them)"
        )
    return [open_model(id, api_key=api_key, **how) for id in chosen]


def _check_folder(folder: Path) -> None:
    """Before anything is paid for, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"the reports cannot be written to {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise SetupError(f"the reports cannot be written to {folder}: it is read-only")
