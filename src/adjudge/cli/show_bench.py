"""A benchmark of judges in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.show import clean, told
from adjudge.cli.terminal import open_console, plain_table
from adjudge.results.counts import count_rows
from adjudge.results.russian import verbatim
from adjudge.trust.benchmark import BenchedJudge, Benchmark, Ranking
from adjudge.view.benchmark import beside, table_of, title_of

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


def show_benchmark(found: Benchmark, disagreements: int = 0) -> None:
    """A line per judge, the best first; then what to know of it."""
    console = open_console()
    for ranking in found.rankings:
        console.print(
            Text(f"{clean(found.source)}: {told(title_of(found, ranking))}", style="bold")
        )
        for table in _tables(ranking, console.width):
            console.print(table)
        for line in beside(ranking):
            console.print(Text(told(line), style="dim"))
        for judge in ranking.judges:
            _show_failures(console, judge)
            if disagreements:
                _show_disagreements(console, judge, disagreements)
    for note in found.notes:
        console.print(Text(told(note), style="yellow"))


def _tables(ranking: Ranking, width: int) -> Iterator[Table]:
    """One, or where that is wider than the terminal two: who is best first, then how they judge."""
    headings, lines = table_of(ranking)
    natural = sum(
        max(len(told(one)) for one in (name, *cells)) + 1
        for name, *cells in zip(headings, *lines, strict=True)
    )
    if natural <= width:
        yield _table(headings, lines)
        return
    first = [place for place, name in enumerate(headings) if name in _FIRST or place < _NAMED]
    rest = [0, *(place for place in range(len(headings)) if place not in first)]
    for places in (first, rest):
        if len(places) > 1:
            yield _table(
                [headings[place] for place in places],
                [[cells[place] for place in places] for cells in lines],
            )


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = plain_table(gap=1)
    for name in headings:
        judge = name == "judge"
        side: Literal["left", "right"] = "right" if name in _RIGHT else "left"
        table.add_column(
            told(name),
            justify=side,
            overflow="fold",
            no_wrap=not judge,
            min_width=12 if judge else None,
        )
    for cells in lines:
        table.add_row(
            *(
                Text(clean(cell) if name == "judge" else told(cell))
                for name, cell in zip(headings, cells, strict=True)
            )
        )
    return table


def _show_failures(console: Console, judge: BenchedJudge) -> None:
    name = verbatim(judge.judge)
    for reason, count in judge.reasons.items():
        line = f"{name}: no verdict on {count_rows(count)}: {_short(reason)}"
        console.print(Text(told(line), style="yellow"))


def _show_disagreements(console: Console, judge: BenchedJudge, most: int) -> None:
    console.print(
        Text(
            told(f"{verbatim(judge.judge)}: {len(judge.disagreements)} disagreements"), style="bold"
        )
    )
    for one in judge.disagreements[:most]:
        both = told(f"judge {verbatim(one.said)}, people {verbatim(one.truth)}")
        console.print(Text(f"  {clean(str(one.id or one.row))}: {both}: {clean(_short(one.text))}"))
        if one.explanation:
            console.print(Text(clean(f"    {_short(one.explanation)}"), style="dim"))
    if len(judge.disagreements) > most:
        console.print(
            Text(
                told(
                    f"  … and {len(judge.disagreements) - most} more: --show-disagreements "
                    f"{len(judge.disagreements)}"
                )
            )
        )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
