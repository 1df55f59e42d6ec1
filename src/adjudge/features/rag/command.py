"""``adjudge rag``: score the answers of a retrieval-augmented assistant on six dimensions, and
write a report.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from click import UsageError

from adjudge.core.data.conversations import Per
from adjudge.core.data.dataset import BlankRows
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.registry import MISTRAL, key_for
from adjudge.errors import SetupError
from adjudge.features.rag.kind import RagEntry
from adjudge.messages import Message, reason_of
from adjudge.runs.cli.estimates import estimated, show_estimate
from adjudge.runs.cli.execute import (
    RunDisplay,
    data_entry,
    eval_file_from_flags,
    judge_all,
    judgments_of,
    kept_in,
    outcome_for,
    prepare_run,
    show_end,
)
from adjudge.runs.cli.inputs import columns_from
from adjudge.runs.cli.options import (
    FROM_ZERO,
    LANGUAGE,
    PATH,
    Flags,
    as_json,
    command,
    gate,
    judging,
    option,
    options,
    shared,
)
from adjudge.runs.cli.settings import Settings, settings, typed_for_judges
from adjudge.runs.cli.show import print_json, say_columns, warn
from adjudge.runs.execute import ColumnsChosen, Event
from adjudge.runs.exporters.pages import report_paths, write_reports
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.report import ENTRIES
from adjudge.runs.trusted_folders import own_folder

_REPORTS = Path("reports")
_SEEDS_KEY = "API_KEY"
_OTHER = {
    "model": click.option(
        "-m",
        "--model",
        multiple=True,
        help="Model to ask, as provider/model; repeat for a panel. Default: the embedded model.",
    ),
    "language": click.option(
        "--language",
        type=LANGUAGE,
        help="Language of prompts, explanations and reports: en (default) or ru.",
    ),
    "quiet": click.option(
        "-q", "--quiet", is_flag=True, help="Print the paths of the reports and nothing else."
    ),
    "fail_under": gate(
        "Exit with 4 if the mean composite is below this; NAME: the mean of that dimension. "
        "Repeatable."
    ),
}


@light_dataclass(frozen=True, kw_only=True)
class RagOptions:
    """Options of ``adjudge rag``."""

    csv: Path = option(
        "--csv",
        "--data",
        "-f",
        "--file",
        type=PATH,
        required=True,
        help="The rows to judge: .csv, .tsv or .jsonl.",
    )
    model_provider: str | None = option(
        "--model-provider", help="Provider, such as mistral or ollama; requires --model-name."
    )
    model_name: str | None = option(
        "--model-name",
        help="Model name, such as mistral-medium-latest or mistral:7b; requires --model-provider.",
    )
    api_key: str | None = option(
        "--api-key",
        help=(
            "The model's key. Default: the provider's own variable; Mistral's may also be $API_KEY."
        ),
    )
    settings: Settings = shared(
        settings(
            RagEntry,
            "votes",
            "dimensions",
            "measures",
            "rewrite_questions",
            "checks",
            "config",
            "evidence",
            "claims",
        )
    )
    per: Per = option(
        "--per",
        type=click.Choice(["row", "turn"]),
        default="row",
        help="Judge each turn of logged conversations.",
    )
    weight: tuple[str, ...] = option(
        "--weight",
        multiple=True,
        help="Weight in the composite, as NAME=NUMBER, of a dimension or a measure; repeatable.",
    )
    column: tuple[str, ...] = option(
        "--column", multiple=True, help="Maps a column to a field, as FIELD=COLUMN; repeatable."
    )
    output: Path = option(
        "-o", "--output", type=PATH, default=_REPORTS, help="Folder for the reports."
    )
    entries: int = option(
        "--entries",
        type=FROM_ZERO,
        default=ENTRIES,
        help="Number of answers in the Markdown and HTML, worst first; the CSV has all.",
    )
    as_json: bool = shared(as_json)


@command()
@options(RagOptions)
@judging(_OTHER)
def rag(options: RagOptions, flags: Flags) -> int:
    """Score every answer of a file on answer relevance, clarity, completeness, conciseness,
    groundedness and harmfulness.

    Writes a Markdown, a CSV and an HTML report.
    """
    ids = _models(options.model_provider, options.model_name, options.api_key, flags.model)
    if options.model_provider and not options.api_key and _has_seeds_key(options.model_provider):
        flags = replace(flags, at=replace(flags.at, api_key_env=_SEEDS_KEY))
    entry = RagEntry(
        kind="rag",
        weights=tuple(map(_weight, options.weight)),
        per=options.per,
        **options.settings,
        **typed_for_judges(flags),
    )
    data = data_entry(flags, options.csv, columns_from(options.column))
    file = eval_file_from_flags(flags, entry, data, models=ids)
    if options.output == _REPORTS:
        # a link must not lead the default folder elsewhere
        own_folder(options.output)
    outcome = outcome_for(
        prepare_run(file, flags, options.api_key, report_paths(options.output)),
        flags,
        options.entries,
    )
    if flags.dry_run:
        show_estimate(estimated(outcome), as_json=options.as_json)
        return ExitCode.OK
    entries = judge_all(
        _RagDisplay(
            outcome, quiet=flags.quiet or options.as_json, listeners=flags.listeners, keeps=True
        ),
        partial(_check_folder, options.output),
    )
    judgments = judgments_of(outcome, entries)
    report = outcome.report()
    paths = [] if outcome.halted else write_reports(report, judgments, options.output)
    if options.as_json:
        print_json(report, judgments, files=paths, run=kept_in(outcome.plan.folder))
        warn(report)
    elif flags.quiet:
        for path in paths:
            click.echo(str(path))
        warn(report)
    else:
        show_end(outcome, report, paths)
    return outcome.exit_code()


def _weight(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise UsageError(
            Message("--weight takes NAME=NUMBER, such as context_recall=1, not {text!r}", text=text)
        ) from None


class _RagDisplay(RunDisplay):
    """Prints which columns were chosen; blank rows are left to the report."""

    def show(self, event: Event) -> None:
        """Count an event, and print it if it is useful."""
        if isinstance(event, ColumnsChosen) and not self.quiet:
            say_columns(event.columns)
        if isinstance(event, BlankRows):
            self.outcome.see(event)
        else:
            super().show(event)


def _models(
    provider: str | None, name: str | None, api_key: str | None, ids: Sequence[str]
) -> Sequence[str]:
    """Return the model ids from the original tool's options or from ``-m``.

    Raise a UsageError if the options conflict.
    """
    if (provider is None) != (name is None):
        raise UsageError(
            Message(
                "--model-provider and --model-name belong together: give both, or -m PROVIDER/MODEL"
            )
        )
    if provider and ids:
        raise UsageError(
            Message("name the model only once: with --model-provider and --model-name, or with -m")
        )
    if provider:
        return [f"{provider}/{name}"]
    if api_key and len(ids) > 1:
        raise UsageError(
            Message(
                "--api-key is for one model: with several, set each provider's own variable "
                "('adjudge models' lists them)"
            )
        )
    return ids


def _has_seeds_key(provider: str) -> bool:
    """Return True if $API_KEY holds the key for this provider.

    The original tool used that variable for Mistral. It is sent to no other provider, and Mistral's
    own variable comes first.
    """
    is_mistral = provider.lower() == MISTRAL.name
    return is_mistral and not key_for(MISTRAL) and bool(os.environ.get(_SEEDS_KEY))


def _check_folder(folder: Path) -> None:
    """Raise a SetupError before anything is paid for if the reports cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            "the reports cannot be written to {folder}: {reason}",
            folder=folder,
            reason=reason_of(error),
        ) from error
    if not os.access(folder, os.W_OK):
        raise SetupError(
            "the reports cannot be written to {folder}: it is read-only", folder=folder
        )
