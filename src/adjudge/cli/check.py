"""``adjudge check``: pass or fail on one criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from click import UsageError

from adjudge.catalog.aspects import aspect, aspects
from adjudge.cli.estimates import estimated, show_estimate
from adjudge.cli.execute import (
    RunDisplay,
    data_entry,
    eval_file_from_flags,
    finish,
    judge_all,
    outcome_for,
    prepare_run,
)
from adjudge.cli.inputs import columns_from, rows_in, texts_in, typed_wrong
from adjudge.cli.options import (
    FROM_ONE,
    Flags,
    accompanying,
    argument,
    as_json,
    columns,
    command,
    judging,
    output,
    rows,
)
from adjudge.cli.show import show_results
from adjudge.domain.results import AspectResult
from adjudge.judges.aspect import AspectCritic
from adjudge.ledger.file import holds_run
from adjudge.reports.exit_code import ExitCode
from adjudge.reports.table import check_writable
from adjudge.runs.criteria_entry import Aspect, Said
from adjudge.runs.eval_file import AspectEntry


@command()
@argument("text", "The text to judge; - reads it from standard input.", required=False)
@click.option("--criterion", help="What the text must meet to pass, in a sentence.")
@click.option(
    "--aspect", "aspect_name", help=f"A ready-made criterion: {', '.join(aspects('en'))}."
)
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
    given: Mapping[str, str | Sequence[str]],
    output: Path | None,
    as_json: bool,
    flags: Flags,
) -> int:
    """Judge a text, a file or every row of a data set against one criterion."""
    check_writable(output)
    definition = _definition(criterion, aspect_name, flags.language)
    judge = AspectEntry(
        kind="aspect",
        criteria=(Said(Aspect(aspect_name or _called(criterion or "", flags), definition)),),
        strictness=strictness,
        early_stop=early_stop,
        temperature=flags.temperature,
        seed=flags.seed,
    )
    data = data_entry(flags, rows_in(text, file), columns_from(column))
    made = prepare_run(
        eval_file_from_flags(
            flags, judge, data, texts_in(text, file, encoding=flags.encoding), given
        ),
        flags,
    )
    outcome = outcome_for(made, flags)
    if flags.dry_run:
        show_estimate(estimated(outcome), flags.language, as_json=as_json)
        return ExitCode.OK
    judgments = judge_all(
        RunDisplay(outcome, quiet=flags.quiet or as_json, otel=flags.otel, keeps=True)
    )
    results = judgments.results(AspectResult)
    (critic,) = (one.judge for one in made.judges if isinstance(one.judge, AspectCritic))
    shown = None if as_json else partial(show_results, results, critic, flags.language)
    return finish(outcome, judgments, output, shown)


def _called(criterion: str, flags: Flags) -> str:
    """The criterion by its own words, unless a run that this one goes on with, or is compared with,
    calls it otherwise.
    """
    folders = (flags.run, flags.not_worse_than, flags.baseline)
    for folder in (Path(one) for one in folders if one is not None and holds_run(Path(one))):
        from adjudge.runs.folder import settings_in  # loaded only where a run is resumed

        for settings in settings_in(folder):
            if str(settings.get("definition")).strip() == criterion.strip():
                return str(settings.get("name"))
    return criterion


def _definition(criterion: str | None, aspect_name: str | None, language: str) -> str:
    if (criterion is None) == (aspect_name is None):
        raise UsageError('say what to check: --criterion "…" or --aspect NAME, one of the two')
    with typed_wrong():
        return criterion if criterion is not None else aspect(aspect_name or "", language)
