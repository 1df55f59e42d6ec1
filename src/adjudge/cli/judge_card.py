"""``adjudge card``: a page about the judges of a run."""

from __future__ import annotations

from pathlib import Path

import click

from adjudge.cli.options import PATH, argument, command
from adjudge.cli.output import language
from adjudge.errors import RunError
from adjudge.exporters.files import text_file
from adjudge.messages import reason_of
from adjudge.results.exit_code import ExitCode
from adjudge.results.judge_card import judge_cards
from adjudge.runs.folder import reading
from adjudge.view.judge_card import judge_card_page
from adjudge.view.terminal import clean


@command("card")
@argument("run", "A run folder.", type=PATH)
@click.option("--attack", type=PATH, help="The run of 'adjudge attack' on the same judge.")
@click.option("--drift", type=PATH, help="The file of anchors whose history is known.")
@click.option("-o", "--output", type=PATH, help="Write the page to this Markdown file instead.")
def judge_card(run: Path, attack: Path | None, drift: Path | None, output: Path | None) -> int:
    """Print a page about the judges of a run: what they judge and how, agreement with people,
    leanings, attacks, drift, cost, limits. What is not known is said to be missing.
    """
    with reading(run):
        page = judge_card_page(judge_cards(run, attack, drift), language())
    if output is None:
        click.echo(clean(page), nl=False)
        return ExitCode.OK
    try:
        with text_file(output) as file:
            file.write(page)
    except OSError as error:
        raise RunError(
            "{output} cannot be written: {reason}", output=output, reason=reason_of(error)
        ) from error
    return ExitCode.OK
