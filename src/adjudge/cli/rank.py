"""``adjudge rank``: who is best, by the comparisons of a run."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click import UsageError
from rich.text import Text

from adjudge.cli.inputs import spoken
from adjudge.cli.json_text import print_results
from adjudge.cli.options import PATH, argument, as_json, command, confidence_of_intervals
from adjudge.cli.show import clean, told
from adjudge.cli.terminal import open_console, plain_table
from adjudge.errors import RunError
from adjudge.exporters.files import text_file
from adjudge.messages import Message, reason_of
from adjudge.results.exit_code import ExitCode
from adjudge.results.russian import verbatim
from adjudge.stats.bootstrap import Draws
from adjudge.stats.ranking import DRAWS
from adjudge.trust.leaderboard import Leaderboard, RankingSettings, leaderboards
from adjudge.view.leaderboard import leaderboard_html, leaderboard_markdown, shown_rank

SCHEMA = "adjudge.ranking/1"
_PAGES = {".md": leaderboard_markdown, ".html": leaderboard_html}


@command("rank")
@argument("run", "A run folder with comparisons.", type=PATH)
@confidence_of_intervals
@click.option(
    "--draws",
    type=click.IntRange(min=100),
    default=DRAWS.count,
    help="How often prompts are drawn anew for the intervals.",
)
@click.option("--seed", type=int, default=DRAWS.seed, help="Of these draws.")
@click.option("--length-control", is_flag=True, help="Also rate with length and place held still.")
@click.option("-o", "--output", type=PATH, help="Also write the leaderboard: .md, .html or .json.")
@as_json
def rank(
    run: Path,
    confidence: float,
    draws: int,
    seed: int,
    length_control: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Rank the systems that a run compares, with the ranks that each may hold.

    Davidson's model of wins and ties; ratings as in chess (400 points are odds of ten to one),
    intervals by drawing prompts anew.
    """
    if output is not None and output.suffix.lower() not in (*_PAGES, ".json"):
        raise UsageError(
            Message(
                "{output} cannot be written: let the name end in .md, .html or .json", output=output
            )
        )
    found = leaderboards(
        run,
        RankingSettings(level=confidence, draws=Draws(draws, seed), length_control=length_control),
    )
    data = json.dumps(
        {"schema": SCHEMA, "leaderboards": [one.to_dict() for one in found]},
        ensure_ascii=False,
        indent=2,
    )
    if output is not None:
        _write(
            output,
            data
            if output.suffix.lower() == ".json"
            else _PAGES[output.suffix.lower()](run.name, found, spoken()),
        )
    if as_json:
        print_results(
            "leaderboards", {"leaderboards": len(found)}, [one.to_dict() for one in found]
        )
        return ExitCode.OK
    for one in found:
        _show(one)
    return ExitCode.OK


def _write(path: Path, text: str) -> None:
    try:
        with text_file(path, is_page=path.suffix.lower() == ".html") as file:
            file.write(text)
    except OSError as error:
        raise RunError(
            "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
        ) from error


def _show(found: Leaderboard) -> None:
    console = open_console(soft_wrap=True)
    name = verbatim(found.criteria or found.judge)
    console.print(
        Text(told(f"{name}: {found.contests} contests on {found.rows} rows"), style="bold")
    )
    table = plain_table()
    headings = ["rank", "system", "rating", "interval", "win rate", "wins", "ties", "losses"]
    for heading in [*headings, *(["controlled"] if found.controlled else [])]:
        table.add_column(told(heading), overflow="fold")
    for one in found.ranking.places:
        limits = (
            "–" if one.lower is None or one.upper is None else f"{one.lower:.0f}–{one.upper:.0f}"
        )
        cells = [
            f"{one.rating:.0f}",
            limits,
            f"{one.win_rate:.2%}",
            *map(str, (one.wins, one.ties, one.losses)),
        ]
        extra = [f"{found.controlled.ratings[one.name]:.0f}"] if found.controlled else []
        table.add_row(shown_rank(one), Text(clean(one.name)), *cells, *extra)
    console.print(table)
    for note in [found.ranking.reason, *found.notes]:
        if note:
            console.print(Text(told(note), style="yellow"))
