"""``adjudge rank``: rank systems by the comparisons of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from click import UsageError

from adjudge.core.aio.files import writing
from adjudge.features.trust.leaderboard_report import (
    leaderboard_html,
    leaderboard_markdown,
    leaderboard_table,
    leaderboard_title,
)
from adjudge.messages import Message
from adjudge.runs.cli.json_text import print_results
from adjudge.runs.cli.options import (
    PATH,
    argument,
    as_json,
    cluster,
    command,
    confidence_of_intervals,
)
from adjudge.runs.cli.output import language
from adjudge.runs.exporters.files import text_file
from adjudge.runs.results.exit_code import ExitCode
from adjudge.runs.results.leaderboard import Leaderboard, RankingSettings, leaderboards
from adjudge.runs.view.terminal import Screen
from adjudge.stats.bootstrap import Draws
from adjudge.stats.ranking import DRAWS


def show_leaderboard(board: Leaderboard, boards: Sequence[Leaderboard], screen: Screen) -> None:
    """Print a line per system, the best first, then notes. ``boards``: all boards of the run."""
    screen.say(leaderboard_title(board, boards), "bold")
    headings, rows = leaderboard_table(board)
    table = screen.table(())
    for heading in headings:
        table.add_column(screen.render(heading), overflow="fold")
    for row in rows:
        screen.add_row(table, *row)
    screen.show(table)
    for note in [board.ranking.reason, *board.notes]:
        if note:
            screen.say(note, "yellow")


SCHEMA = "adjudge.ranking/1"
_PAGES = {".md": leaderboard_markdown, ".html": leaderboard_html}


@command("rank")
@argument("run", "A run folder with comparisons.", type=PATH)
@confidence_of_intervals
@cluster
@click.option(
    "--draws",
    type=click.IntRange(min=100),
    default=DRAWS.count,
    help="Bootstrap draws of prompts for the intervals.",
)
@click.option("--seed", type=int, default=DRAWS.seed, help="Seed for these draws.")
@click.option(
    "--length-control",
    is_flag=True,
    help="Also rate systems with length and position controlled for.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    type=PATH,
    multiple=True,
    help="Also write the leaderboard: .md, .html or .json; repeatable.",
)
@as_json
def rank(
    run: Path,
    confidence: float,
    cluster: str | None,
    draws: int,
    seed: int,
    length_control: bool,
    outputs: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Rank the systems that a run compares, with a rank interval for each.

    Fits Davidson's model of wins and ties. Ratings are on the Elo scale (400 points are odds of
    ten to one); intervals are bootstrapped over prompts, or over groups of rows if
    the run groups its rows or --cluster names a column.
    """
    for output in outputs:
        if output.suffix.lower() not in (*_PAGES, ".json"):
            raise UsageError(
                Message(
                    "{output} cannot be written: its name must end in .md, .html or .json",
                    output=output,
                )
            )
    boards = leaderboards(
        run,
        RankingSettings(
            level=confidence,
            draws=Draws(draws, seed),
            length_control=length_control,
            cluster=cluster or "",
        ),
    )
    data = json.dumps(
        {"schema": SCHEMA, "leaderboards": [board.to_dict() for board in boards]},
        ensure_ascii=False,
        indent=2,
    )
    for output in outputs:
        page = _PAGES.get(output.suffix.lower())
        _write(output, page(run.name, boards, language()) if page else data)
    if as_json:
        print_results(
            "leaderboards", {"leaderboards": len(boards)}, [board.to_dict() for board in boards]
        )
        return ExitCode.OK
    screen = Screen(language(), soft_wrap=True)
    for board in boards:
        show_leaderboard(board, boards, screen)
    return ExitCode.OK


def _write(path: Path, text: str) -> None:
    with writing(path), text_file(path, is_page=path.suffix.lower() == ".html") as file:
        file.write(text)
