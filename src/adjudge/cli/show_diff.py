"""How two runs differ, in a terminal and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click

from adjudge.cli.inputs import spoken
from adjudge.cli.json_text import print_results
from adjudge.cli.show import clean, told
from adjudge.domain.verdict import TIE
from adjudge.messages import Message, render
from adjudge.results.compared import comparison_lines
from adjudge.results.russian import verbatim
from adjudge.runs.diff import Change, JudgedRow, run_diff
from adjudge.trust.comparison import ComparisonSettings, RunComparison, compare_runs
from adjudge.trust.contestants import system_at

MOST_SHOWN = 100
"""Rows of a kind that a terminal shows."""


@dataclass(frozen=True, kw_only=True)
class DiffFlags:
    """What ``runs diff`` can be told."""

    everything: bool = False
    confidence: float = 0.95
    margin: float = 0.0
    cluster: str | None = None
    id: str | None = None

    @property
    def settings(self) -> ComparisonSettings:
        return ComparisonSettings(level=self.confidence, margin=self.margin)


def show_diff(one: Path, two: Path, flags: DiffFlags) -> None:
    """The settings, the rows that came out otherwise, those that only one run has, and which run is
    better.
    """
    most = None if flags.everything else MOST_SHOWN
    with run_diff(one, two, flags.cluster, flags.id) as found:
        alone = (found.alone(0), found.alone(1))
        for line in found.settings:
            click.echo(clean(line))
        _show(map(_change, found.changes()), found.changed, most)
        first, second = verbatim(one), verbatim(two)
        _show(
            (f"only in {first}: {_row(row)}: {_came(row)}" for row in found.only_in(0)),
            alone[0],
            most,
        )
        _show(
            (f"only in {second}: {_row(row)}: {_came(row)}" for row in found.only_in(1)),
            alone[1],
            most,
        )
        settings, changed = (
            _counted(len(found.settings), "setting"),
            _counted(found.changed, "judgment"),
        )
        both = f"{settings} and {changed} differ, of {found.compared} in both runs"
        click.echo(told(f"{both}; {alone[0]} only in {first}, {alone[1]} only in {second}"))
        _show_comparisons(compare_runs(one, two, found, flags.settings), two)


def show_comparison(one: Path, two: Path) -> None:
    """Which run is better by each criterion that both have; nothing else about them."""
    with run_diff(one, two) as found:
        comparisons = compare_runs(one, two, found)
        _show_comparisons(comparisons, two)
    if not comparisons:
        click.echo(
            told(f"no criteria of {verbatim(one)} was judged again, so there is nothing to compare")
        )


def _show_comparisons(comparisons: Iterable[RunComparison], two: Path) -> None:
    for comparison in comparisons:
        for line in comparison_lines(comparison, str(two)):
            click.echo(told(line))


def print_diff(one: Path, two: Path, flags: DiffFlags) -> None:
    """The same as JSON, written as it is read."""
    with run_diff(one, two, flags.cluster, flags.id) as found:
        comparisons = [each.to_dict() for each in compare_runs(one, two, found, flags.settings)]
        counts = {"compared": found.compared, "changed": found.changed}
        alone = {"only_in_one": found.alone(0), "only_in_two": found.alone(1)}
        only = {
            "only_in_one": map(_row_data, found.only_in(0)),
            "only_in_two": map(_row_data, found.only_in(1)),
        }
        more = {"settings": found.settings, "comparisons": comparisons, **only}
        print_results("diff", {**counts, **alone}, map(_change_data, found.changes()), more)


def _show(lines: Iterable[str], count: int, most: int | None) -> None:
    for line in islice(lines, most):
        click.echo(told(line))
    if most is not None and count > most:
        click.echo(
            render(Message("… and {count} more: --all shows them", count=count - most), spoken())
        )


def _change(change: Change) -> str:
    before, after = change.before, change.after
    moved = "" if before.row == after.row else f" → {after.row}"
    other = "" if change.same_content else ", another text"
    return f"{_row(before)}{moved}{other}: {_came(before)} → {_came(after)}"


def _row(row: JudgedRow) -> str:
    name = f" ({verbatim(row.id)})" if row.id else ""
    return f"{verbatim(row.judge)}, {verbatim(row.criteria)}, row {row.row}{name}"


def _came(row: JudgedRow) -> str:
    """The score, what was chosen, and the status of what was not scored."""
    to = row.came
    if to.score is None and to.status == "scored" and to.chosen is not None:
        return (
            verbatim(system_at(row.systems, to.chosen))
            if isinstance(to.chosen, int)
            else _option(to.chosen)
        )
    score = "no score" if to.score is None else f"{to.score:.3f}"
    chosen = None if to.chosen is None else _option(to.chosen)
    more = [
        one for one in (chosen, None if to.status == "scored" else to.status) if one is not None
    ]
    return f"{score} ({', '.join(more)})" if more else score


def _option(chosen: object) -> str:
    """An option as its criterion names it; a tie is a word of ours."""
    return TIE if chosen == TIE else verbatim(chosen)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _change_data(change: Change) -> dict[str, object]:
    before, after = _row_data(change.before), _row_data(change.after)
    return {"before": before, "after": after, "same_content": change.same_content}


def _row_data(row: JudgedRow) -> dict[str, object]:
    known = {"systems": list(row.systems)} if row.systems else {}
    return {
        "judge": row.judge,
        "criteria": row.criteria,
        "row": row.row,
        "id": row.id,
        **row.came._asdict(),
        **known,
    }
