"""``adjudge card``: print a page about the judges of a run."""

from __future__ import annotations

from pathlib import Path

import click

from adjudge.features.stress.card import judge_cards
from adjudge.features.stress.card_report import judge_card_html, judge_card_page
from adjudge.runs.cli.options import PATH, argument, command
from adjudge.runs.cli.output import language
from adjudge.runs.exporters.page_files import check_page, write_page
from adjudge.runs.folder import reading
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.view.clean_text import clean

_ENDINGS = (".md", ".html")


@command("card")
@argument("run", "A run folder.", type=PATH)
@click.option("--attack", type=PATH, help="The run of 'adjudge attack' on the same judge.")
@click.option("--drift", type=PATH, help="A file of anchors with at least one check.")
@click.option(
    "-o",
    "--output",
    "outputs",
    type=PATH,
    multiple=True,
    help="Write the page to this file instead: .md or .html; repeatable.",
)
def judge_card(
    run: Path, attack: Path | None, drift: Path | None, outputs: tuple[Path, ...]
) -> int:
    """Print a page about the judges of a run: what they judge and how, agreement with people,
    leanings, attacks, drift, cost, limits. It also lists what is not known.
    """
    for output in outputs:
        check_page(output, _ENDINGS)
    with reading(run):
        cards = judge_cards(run, attack, drift)
    page_language = language()
    if not outputs:
        click.echo(clean(judge_card_page(cards, page_language)), nl=False)
    pages = {
        ".md": lambda: judge_card_page(cards, page_language),
        ".html": lambda: judge_card_html(cards, page_language),
    }
    for output in outputs:
        write_page(output, pages)
        click.echo(output)
    return ExitCode.OK
