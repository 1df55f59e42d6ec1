"""``adjudge explain``: second opinions, with reasons, about rows of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.layers.budget import Budget
from adjudge.core.gateway.prices import PriceTable
from adjudge.features.explain.opinions import Opinions, SecondOpinion, explain_run
from adjudge.messages import Message
from adjudge.runs.builder import open_entry
from adjudge.runs.cli.json_text import Document, print_results
from adjudge.runs.cli.model_choice import choose_language, model_entries, price_table
from adjudge.runs.cli.options import (
    PATH,
    as_json,
    command,
    max_calls,
    max_usd,
    option,
    options,
    positional,
    prices,
    server,
    shared,
)
from adjudge.runs.cli.output import echo, typed_language
from adjudge.runs.folder import run_info
from adjudge.runs.project import DEFAULT_BELOW, ServerEntry
from adjudge.runs.results.cost import cost_message
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.clean_text import clean


@light_dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of ``adjudge explain``."""

    run: Path = positional("A run folder.", type=PATH)
    model: str = option(
        "-m", "--model", required=True, help="The model that writes the second opinions."
    )
    at: ServerEntry = shared(server)
    below: float = option(
        "--below",
        type=click.FloatRange(0, 1),
        default=DEFAULT_BELOW,
        help="Also explain verdicts whose probability is below this.",
    )
    calibration: Path | None = option(
        "--calibration",
        type=PATH,
        help="Apply the temperatures of this file to the probabilities; it is written by "
        "'adjudge calibrate RUN --probabilities -o FILE'.",
    )
    folder: Path | None = option(
        "--run",
        type=PATH,
        help="Folder for the second opinions; by default RUN-explained, next to the run.",
    )
    max_usd: float | None = shared(max_usd)
    max_calls: int | None = shared(max_calls)
    prices: Path | None = shared(prices)
    as_json: bool = shared(as_json)


@command("explain")
@options(ExplainOptions)
def explain(options: ExplainOptions) -> int:
    """Ask a text-generating model about rows without a verdict, or whose verdict is uncertain
    or not the best one.

    The answers are second opinions, stored in a separate run. They change no verdict, number or
    gate, and the model does not see the run's verdicts. Run the command again to continue;
    answered rows are not asked again. Exit codes: 0 done, 1 could not run, 3 a row got no second
    opinion.
    """
    language = choose_language(typed_language())
    (entry,) = model_entries((options.model,), options.at)
    table = price_table(options.prices)
    opinions = explain_run(
        options.run,
        open_entry(entry, cache=True, prices=table),
        below=options.below,
        calibration=options.calibration,
        folder=options.folder,
        budget=Budget(max_usd=options.max_usd, max_calls=options.max_calls),
        language=language,
    )
    if options.as_json:
        more: Document = {
            "model": opinions.model,
            "folder": str(opinions.folder),
            "calibrated": opinions.is_calibrated,
        }
        results = [opinion.to_dict() for opinion in opinions.opinions]
        print_results("second-opinions", _counts(opinions), results, more)
    else:
        for line in _lines(opinions, table):
            echo(line)
    is_complete = all(opinion.option is not None for opinion in opinions.opinions)
    return ExitCode.OK if is_complete else ExitCode.UNSCORED


def _counts(opinions: Opinions) -> JsonDict:
    agreement = opinions.agreement
    return {
        "asked": len(opinions.opinions),
        "agrees": agreement[True],
        "differs": agreement[False],
        "incomparable": agreement[None],
        "good": opinions.good,
        "left_out": opinions.left_out,
        "skipped": opinions.skipped,
    }


def _lines(opinions: Opinions, table: PriceTable) -> Iterator[Message]:
    for opinion in opinions.opinions:
        yield from _opinion_lines(opinion)
    yield Message(
        "second opinions of {model} on {asked} judgments: {agrees} agree, {differs} differ, "
        "{incomparable} cannot be compared",
        model=opinions.model,
        **_counts(opinions),
    )
    yield Message(
        "not asked: {good} with the best verdict and certain, {left_out} without a question with "
        "options, {skipped} skipped",
        **_counts(opinions),
    )
    yield Message("Second opinions change no verdict, number or gate of {run}.", run=opinions.run)
    if opinions.opinions:
        used = run_info(opinions.folder).usage
        yield Message(
            "Cost {cost}; kept in {folder}",
            cost=cost_message(used, table),
            folder=opinions.folder,
        )


def _opinion_lines(opinion: SecondOpinion) -> Iterator[Message]:
    record = opinion.record
    probability = opinion.probability
    stated = (
        Message(" (calibrated p = {probability:.2f})", probability=probability or 0.0)
        if opinion.answer.calibrated
        else Message(" (p = {probability:.2f})", probability=probability or 0.0)
    )
    yield Message(
        "{criteria}, row {row}: {verdict}{probability}; second opinion: {opinion}",
        criteria=clean(record.criterion),
        row=clean(record.id or str(record.row)),
        verdict=clean(record.verdict or "") if record.scored else Message("no verdict"),
        probability=stated if probability is not None else "",
        opinion=clean(opinion.option) if opinion.option else Message("none"),
    )
    text = opinion.explanation or opinion.reason
    if text:
        yield Message("  {line}", line=clean(" ".join(text.split())))
