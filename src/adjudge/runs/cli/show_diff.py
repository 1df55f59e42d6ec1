"""How two runs differ, in a terminal and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.messages import Message
from adjudge.runs.cli.json_text import Document, print_results
from adjudge.runs.cli.output import echo
from adjudge.runs.counts import grouped
from adjudge.runs.diff import Change, JudgedRow, run_diff
from adjudge.runs.folder import run_facts
from adjudge.runs.results.comparison_words import comparison_lines
from adjudge.runs.view.differences import alone_line, change_line, difference_line
from adjudge.trust.comparison import ComparisonSettings, RunComparison, compare_runs

MOST_SHOWN = 100
"""Rows of a kind that a terminal shows."""


@light_dataclass(frozen=True, kw_only=True)
class DiffFlags:
    """What ``runs diff`` can be told."""

    everything: bool = False
    confidence: float = 0.95
    margin: float = 0.0
    cluster: str | None = None
    id: str | None = None
    by: str | None = None

    @property
    def settings(self) -> ComparisonSettings:
        return ComparisonSettings(level=self.confidence, margin=self.margin)


def show_diff(one: Path, two: Path, flags: DiffFlags) -> None:
    """The settings, the rows that came out otherwise, those that only one run has, and which run is
    better.
    """
    most = None if flags.everything else MOST_SHOWN
    for folder in (one, two):
        if not run_facts(folder).has_ended:
            echo(
                Message(
                    "{run} is not finished: the rows that it lacks may change what follows",
                    run=folder,
                )
            )
    with run_diff(one, two, flags.cluster, flags.id, flags.by) as found:
        for setting in found.settings:
            echo(setting)
        _show(map(change_line, found.changes()), found.changed, most)
        _show((alone_line(row, str(one)) for row in found.only_in(0)), found.alone(0), most)
        _show((alone_line(row, str(two)) for row in found.only_in(1)), found.alone(1), most)
        echo(difference_line(found, (str(one), str(two))))
        _show_comparisons(compare_runs(one, two, found, flags.settings), two)


def show_comparison(one: Path, two: Path) -> None:
    """Which run is better by each criterion that both have; nothing else about them."""
    with run_diff(one, two) as found:
        comparisons = compare_runs(one, two, found)
        _show_comparisons(comparisons, two)
    if not comparisons:
        echo(
            Message(
                "no criterion of {run} was judged again, so there is nothing to compare", run=one
            )
        )


def _show_comparisons(comparisons: Iterable[RunComparison], two: Path) -> None:
    for comparison in comparisons:
        for line in comparison_lines(comparison, str(two)):
            echo(line)


def print_diff(one: Path, two: Path, flags: DiffFlags) -> None:
    """The same as JSON, written as it is read."""
    with run_diff(one, two, flags.cluster, flags.id, flags.by) as found:
        comparisons = [each.to_dict() for each in compare_runs(one, two, found, flags.settings)]
        counts = {"compared": found.compared, "changed": found.changed}
        alone = {"only_in_one": found.alone(0), "only_in_two": found.alone(1)}
        only = {
            "only_in_one": map(_row_data, found.only_in(0)),
            "only_in_two": map(_row_data, found.only_in(1)),
        }
        more: Document = {"settings": found.settings, "comparisons": comparisons, **only}
        print_results("diff", {**counts, **alone}, map(_change_data, found.changes()), more)


def _show(lines: Iterable[Message], count: int, most: int | None) -> None:
    for line in islice(lines, most):
        echo(line)
    if most is not None and count > most:
        echo(Message("… and {count} more: --all shows them", count=grouped(count - most)))


def _change_data(change: Change) -> JsonDict:
    before, after = _row_data(change.before), _row_data(change.after)
    return {"before": before, "after": after, "same_content": change.same_content}


def _row_data(row: JudgedRow) -> JsonDict:
    known = ("judge", "criteria", "row", "id")
    systems: JsonDict = {"systems": list(row.systems)} if row.systems else {}
    outcome = some_of(row.summary, "status", "score", "chosen")
    return {**some_of(row, *known), **outcome, **systems}
