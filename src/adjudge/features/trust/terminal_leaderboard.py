"""Systems that a run compares, ranked, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.features.trust.leaderboard_view import leaderboard_table, leaderboard_title
from adjudge.runs.results.leaderboard import Leaderboard
from adjudge.runs.view.terminal import Screen


def show_leaderboard(found: Leaderboard, boards: Sequence[Leaderboard], screen: Screen) -> None:
    """A line per system, the best first; then what to know of it. ``boards``: all of the run."""
    screen.say(leaderboard_title(found, boards), "bold")
    headings, rows = leaderboard_table(found)
    table = screen.table(())
    for heading in headings:
        table.add_column(screen.render(heading), overflow="fold")
    for row in rows:
        screen.add_row(table, *row)
    screen.show(table)
    for note in [found.ranking.reason, *found.notes]:
        if note:
            screen.say(note, "yellow")
