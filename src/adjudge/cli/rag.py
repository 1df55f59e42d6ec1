"""``adjudge rag``: the answers of a retrieval-augmented assistant on six dimensions, as a report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from adjudge.cli.estimates import show_estimate
from adjudge.cli.inputs import columns_from, keeping_from
from adjudge.cli.options import FROM_ONE, FROM_ZERO, PATH, SHARE, Flags, command, judging
from adjudge.cli.show import say_excluded
from adjudge.cli.show_rag import say_columns, show_rag
from adjudge.cli.watch import Watch
from adjudge.errors import SetupError
from adjudge.gateway.open import ModelLike, default_model, open_model
from adjudge.rag.evaluator import RagEvaluator
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.gate import exit_code
from adjudge.reports.rag_files import write_reports
from adjudge.reports.rag_report import ENTRIES, rag_report
from adjudge.runs.known import KnownVotes

_OTHER = {
    "models": click.option(
        "-m", "--model", multiple=True, help="Model to ask, as provider/model; repeat for a panel. Default: the embedded model."
    ),
    "language": click.option("--language", default="en", help="Of prompts, explanations and reports: en or ru."),
    "quiet": click.option("-q", "--quiet", is_flag=True, help="Print the paths of the reports and nothing else."),
    "fail_under": click.option("--fail-under", type=SHARE, help="Exit with 4 when the mean composite is below this."),
}


@command()
@click.option("--csv", "--data", "-f", "--file", "csv", type=PATH, required=True, help="The rows to judge: .csv, .tsv or .jsonl.")
@click.option("--model-provider", help="Such as mistral or ollama; with --model-name.")
@click.option("--model-name", help="Such as mistral-medium-latest or mistral:7b; with --model-provider.")
@click.option("--api-key", help="The model's key. Default: $API_KEY with --model-provider, else the provider's own variable.")
@click.option("--strictness", type=FROM_ONE, default=1, help="Votes per model and dimension.")
@click.option("--dimensions", help="Only these, separated by commas.")
@click.option("-c", "--config", type=PATH, help="YAML or JSON: further dimensions, other weights and gates.")
@click.option("--column", multiple=True, help="Which column is which field, as FIELD=COLUMN; repeatable.")
@click.option("-o", "--output", type=PATH, default=Path("reports"), help="Folder for the reports.")
@click.option(
    "--entries",
    type=FROM_ZERO,
    default=ENTRIES,
    help="How many answers the Markdown and HTML show, the worst first; the CSV has all.",
)
@judging(**_OTHER)
def rag(
    csv: Path,
    model_provider: str | None,
    model_name: str | None,
    api_key: str | None,
    strictness: int,
    dimensions: str | None,
    config: Path | None,
    column: tuple[str, ...],
    output: Path,
    entries: int,
    flags: Flags,
) -> int:
    """Score every answer of a file on answer relevance, clarity, completeness, conciseness, groundedness and harmfulness.

    Writes a Markdown, a CSV and an HTML report. Exit codes: 0 all scored (and the gate holds), 1 could not run, 2 usage,
    3 some answers have no score, 4 gate failed, 5 gate inconclusive.
    """
    evaluator = RagEvaluator(
        _models(
            model_provider, model_name, api_key, flags.model, max_concurrency=flags.max_concurrency, cache=not flags.no_cache
        ),
        dimensions=[name.strip() for name in dimensions.split(",")] if dimensions else None,
        config=config,
        strictness=strictness,
        language=flags.language,
        temperature=flags.temperature,
        seed=flags.seed,
    )
    rows = evaluator.rows(csv, columns_from(column), flags.limit)
    keeping = keeping_from(flags)
    if flags.dry_run:
        show_estimate(evaluator.estimate(rows.instances, KnownVotes(flags.run) if flags.run else None))
        return ExitCode.OK
    _check_folder(output)
    if not flags.quiet:
        say_columns(rows, evaluator.language)
    with Watch(len(rows.instances), quiet=flags.quiet) as watch:
        results = evaluator.evaluate(rows.instances, progress=watch.saw, **keeping)
    report = rag_report(evaluator, rows, results, source=str(csv), shown=entries)
    paths = write_reports(report, output)
    if not flags.quiet:
        show_rag(report, evaluator.language)
    for path in paths:
        click.echo(str(path))
    say_excluded(report.summary.overall, evaluator.language)
    return exit_code(report.summary.overall, flags.fail_under)


def _models(provider: str | None, name: str | None, api_key: str | None, ids: Sequence[str], **how: Any) -> list[ModelLike]:
    """The seed's way of naming a model, or ours."""
    if (provider is None) != (name is None):
        raise SetupError("--model-provider and --model-name belong together: give both, or -m PROVIDER/MODEL")
    if provider and ids:
        raise SetupError("name the model once: with --model-provider and --model-name, or with -m")
    if provider:
        key = api_key or os.environ.get("API_KEY") or None
        return [open_model(f"{provider}/{name}", api_key=key, **how)]
    chosen = list(ids) or [default_model()]
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
