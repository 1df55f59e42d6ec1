"""Show a benchmark of judges in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.table import Table

from adjudge.features.bench.benchmark import BenchedJudge, Benchmark, Ranking
from adjudge.features.bench.report import beside, table_of, title_of
from adjudge.messages import Message, plural
from adjudge.runs.counts import count_rows
from adjudge.runs.view.terminal import Screen

_RIGHT = (
    "rank",
    "agreement",
    "kappa",
    "one vote",
    "consistency",
    "order effect",
    "confidence error",
    "per 1000 rows",
)
_FIRST = ("agreement", "interval", "kappa", "vs the best", "failed")
_NAMED = 3
"""The rank, the judge and its agreement, whatever that is measured by."""
_LONGEST = 160


def show_benchmark(benchmark: Benchmark, screen: Screen, disagreements: int = 0) -> None:
    """Show one line per judge, best first, then notes. List up to ``disagreements`` rows per
    judge.
    """
    for ranking in benchmark.rankings:
        title = Message(
            "{source}: {title}", source=benchmark.source, title=title_of(benchmark, ranking)
        )
        screen.say(title, "bold")
        for table in _tables(ranking, screen):
            screen.show(table)
        for line in beside(ranking):
            screen.say(line, "dim")
        for judge in ranking.judges:
            for line in failure_lines(judge):
                screen.say(line, "yellow")
            if disagreements:
                _show_disagreements(judge, disagreements, screen)
    for note in benchmark.notes:
        screen.say(note, "yellow")


def _tables(ranking: Ranking, screen: Screen) -> Iterator[Table]:
    """Yield one table, or two if it is wider than the terminal: the main results, then the rest."""
    headings, lines = table_of(ranking)
    natural = sum(
        max(len(screen.render(cell)) for cell in (name, *cells)) + 1
        for name, *cells in zip(headings, *lines, strict=True)
    )
    if natural <= screen.console.width:
        yield _table(headings, lines, screen)
        return
    main_places = [place for place, name in enumerate(headings) if name in _FIRST or place < _NAMED]
    other_places = [0, *(place for place in range(len(headings)) if place not in main_places)]
    for places in (main_places, other_places):
        if len(places) > 1:
            yield _table(
                [headings[place] for place in places],
                [[cells[place] for place in places] for cells in lines],
                screen,
            )


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], screen: Screen) -> Table:
    table = screen.table((), gap=1)
    for name in headings:
        judge = name == "judge"
        side: Literal["left", "right"] = "right" if name in _RIGHT else "left"
        table.add_column(
            screen.render(name),
            justify=side,
            overflow="fold",
            no_wrap=not judge,
            min_width=12 if judge else None,
        )
    for cells in lines:
        screen.add_row(table, *cells)
    return table


def failure_lines(judge: BenchedJudge) -> Iterator[Message]:
    """Yield a line per reason why a judge has no verdict on some rows."""
    for reason, count in judge.reasons.items():
        yield Message(
            "{judge}: no verdict on {rows}: {reason}",
            judge=judge.judge,
            rows=count_rows(count),
            reason=reason,
        )


def _show_disagreements(judge: BenchedJudge, most: int, screen: Screen) -> None:
    count = len(judge.disagreements)
    title = plural(
        "{judge}: {count} disagreement", "{judge}: {count} disagreements", count, judge=judge.judge
    )
    screen.say(title, "bold")
    for row in judge.disagreements[:most]:
        screen.say(
            Message(
                "  {id}: judge {said}, people {truth}: {text}",
                id=row.id or row.row,
                said=row.said,
                truth=row.truth,
                text=_short(row.text),
            )
        )
        if row.explanation:
            screen.say(f"    {_short(row.explanation)}", "dim")
    if count > most:
        screen.say(
            Message(
                "  … and {more} more: --show-disagreements {count}", more=count - most, count=count
            )
        )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
