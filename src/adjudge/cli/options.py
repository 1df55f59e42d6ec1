"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.gateway.layers.budget import Budget

Models = Annotated[list[str] | None, typer.Option("-m", "--model", help="Model to ask; repeat for a panel.")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="Which column is judged, or FIELD=COLUMN; repeatable.")]
Questions = Annotated[
    list[str] | None, typer.Option("--criterion", help="A question with the answers Yes and No; repeat for several.")
]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "-c", "--criteria", help="Ready-made criteria ('adjudge criteria' lists them), or a YAML or JSON file; repeatable."
    ),
]
UserInput = Annotated[str | None, typer.Option(help="The question that is answered.")]
Reference = Annotated[str | None, typer.Option(help="A good answer to compare with.")]
Contexts = Annotated[list[str] | None, typer.Option("--context", help="A source the answer should rest on; repeatable.")]
Rows = Annotated[
    Path | None,
    typer.Option("-f", "--file", "--data", help="Rows (.csv, .tsv, .jsonl, .json, .parquet; - reads them), or one text."),
]
Language = Annotated[str, typer.Option(help="Of prompts, explanations, ready-made criteria and reports: en or ru.")]
Votes = Annotated[int, typer.Option("--self-consistency", help="Votes per model and order.", min=1)]
Bias = Annotated[bool, typer.Option("--check-positional-bias", help="Ask again in reversed order.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Also write the results, one row a judgment: .csv, else JSONL.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Limit = Annotated[int | None, typer.Option(help="Judge only the first rows.", min=1)]
Temperature = Annotated[float | None, typer.Option(help="Default: 0 for one vote, 1 for several.")]
Seed = Annotated[int | None, typer.Option(help="Sample i is asked with seed + i.")]
AtOnce = Annotated[int, typer.Option("-j", "--max-concurrency", help="Requests at once, per model.", min=1)]
FailUnder = Annotated[float | None, typer.Option(help="Exit with 4 when the mean score is below this.", min=0, max=1)]
RunFolder = Annotated[
    Path | None, typer.Option("--run", help="Keep every answer in this folder; what it holds already is not asked again.")
]
MaxUsd = Annotated[float | None, typer.Option(help="Stop before more dollars than this are spent.", min=0)]
MaxCalls = Annotated[int | None, typer.Option(help="Stop before more requests than this are sent.", min=0)]
MaxTokens = Annotated[int | None, typer.Option(help="Stop before more tokens than this are used.", min=0)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would take in calls, tokens and money, and stop.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep replies in the user's cache.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]
Prices = Annotated[Path | None, typer.Option(help="A file of your own prices, in dollars for a million tokens.")]


def budget_from(max_usd: float | None, max_calls: int | None, max_tokens: int | None) -> Budget | None:
    """The limits that were set, or None where none was."""
    return None if max_usd is max_calls is max_tokens is None else Budget(max_usd, max_calls, max_tokens)
